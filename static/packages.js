/* What package pages gain from scripts: bytes going up, a deadline that can be dragged, a grid that can be walked,
   and a live page that keeps its place. Everything works without it, by forms and by reloading. */
"use strict";

/* --- the drop zone --------------------------------------------------------------------------------------- */
const sizeText = (octets) => {
  const units = ["B", "kB", "MB", "GB"];
  let value = octets;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toFixed(unit ? 1 : 0)} ${units[unit]}`;
};

const setUpDrop = (form) => {
  const input = form.querySelector("input[type=file]");
  const part = (name) => form.querySelector(`[data-${name}]`);
  let sending = null;

  part("send").hidden = true;
  part("choose").hidden = false;

  const fail = (text) => {
    part("error").textContent = text;
    part("sending").hidden = true;
    input.value = "";
    input.setAttribute("aria-invalid", "true");
  };

  const finish = (request) => {
    let said = {};
    try {
      said = JSON.parse(request.responseText);
    } catch {
      /* not ours: the sentence below says enough */
    }
    if (request.status === 201) window.location.assign(said.address);
    else fail(said.error ? said.error.message : form.dataset.failed);
  };

  const send = (file) => {
    const body = new FormData(form);
    body.set("file", file);
    const request = new XMLHttpRequest();
    sending = request;
    part("error").textContent = "";
    part("name").textContent = file.name;
    part("sending").hidden = false;
    request.upload.addEventListener("progress", (event) => {
      part("progress").value = event.total ? (event.loaded / event.total) * 100 : 0;
      part("bytes").textContent = `${sizeText(event.loaded)} / ${sizeText(event.total)}`;
    });
    request.addEventListener("load", () => finish(request));
    request.addEventListener("error", () => fail(form.dataset.failed));
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    request.send(body);
  };

  input.addEventListener("change", () => input.files.length && send(input.files[0]));
  part("stop").addEventListener("click", () => {
    if (sending) sending.abort();
    fail("");
  });
  form.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("over");
  });
  form.addEventListener("dragleave", (event) => {
    if (!form.contains(event.relatedTarget)) form.classList.remove("over");
  });
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
  });
};

document.querySelectorAll("form[data-drop]").forEach(setUpDrop);

/* --- the task: a click on a column puts it into the prompt; the preview follows by itself ------------------ */
document.querySelectorAll("[data-look]").forEach((button) => {
  button.hidden = true;
});
document.querySelectorAll("[data-insert]").forEach((button) => {
  button.addEventListener("click", () => {
    const prompt = document.getElementById("id_user_template");
    prompt.setRangeText(`{{${button.dataset.insert}}}`, prompt.selectionStart, prompt.selectionEnd, "end");
    prompt.dispatchEvent(new Event("input", { bubbles: true }));
    prompt.focus();
  });
});

/* What was typed in the last moment before leaving is kept as well. */
const task = document.getElementById("task");
if (task) {
  let typed = 0;
  let sent = 0;
  let kept = 0;
  task.addEventListener("input", () => {
    typed += 1;
  });
  task.addEventListener("htmx:beforeSend", () => {
    sent = typed;
  });
  task.addEventListener("htmx:afterOnLoad", () => {
    kept = sent;
  });
  task.addEventListener("submit", () => {
    kept = typed;
  });
  window.addEventListener("pagehide", () => {
    if (kept !== typed) navigator.sendBeacon(task.getAttribute("hx-post"), new FormData(task));
  });
}

/* --- the tide chart: drag the deadline, or move it with the arrow keys ------------------------------------- */
const STEP_MS = 600000;

const setUpDeadline = (tide) => {
  const input = document.getElementById(tide.dataset.input);
  if (!input) return;
  const typedAt = new Date(`${input.value}:00Z`).getTime();

  tide.querySelectorAll("svg").forEach((svg) => {
    const handle = svg.querySelector("[data-deadline]");
    if (!handle) return;
    const { left, right, start, end } = Object.fromEntries(
      ["left", "right", "start", "end"].map((name) => [name, Number(svg.dataset[name])]),
    );
    const xOf = (at) => left + ((at - start) / (end - start)) * (right - left);
    const shown = Number(/translate\(([\d.]+)/.exec(handle.getAttribute("transform"))[1]);
    const shownAt = start + ((shown - left) / (right - left)) * (end - start);
    let at = Math.round(shownAt / STEP_MS) * STEP_MS;

    const move = (wanted) => {
      at = Math.min(end, Math.max(start + STEP_MS, Math.round(wanted / STEP_MS) * STEP_MS));
      handle.setAttribute("transform", `translate(${xOf(at).toFixed(1)} 0)`);
      /* the input is in the department's zone, whatever the browser's is: shift what was typed by the same amount */
      const local = new Date(Math.round((typedAt + at - shownAt) / STEP_MS) * STEP_MS).toISOString().slice(0, 16);
      input.value = local;
      const label = handle.querySelector("text");
      label.textContent = local.replace("T", " ");
      handle.setAttribute("aria-valuetext", label.textContent);
    };
    const ask = () => input.form.requestSubmit();

    handle.classList.add("movable");
    handle.setAttribute("role", "slider");
    handle.setAttribute("tabindex", "0");
    handle.setAttribute("aria-label", input.labels[0].textContent);
    handle.setAttribute("aria-valuetext", handle.querySelector("text").textContent);
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, PageDown: -6, PageUp: 6 }[event.key];
      if (by) move(at + by * STEP_MS);
      else if (event.key === "Enter") ask();
      else return;
      event.preventDefault();
    });
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      handle.classList.add("held");
      event.preventDefault();
    });
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      move(start + ((point.x - left) / (right - left)) * (end - start));
    });
    handle.addEventListener("pointerup", () => {
      if (!handle.classList.contains("held")) return;
      handle.classList.remove("held");
      ask();
    });
  });
};

document.querySelectorAll("[data-tide][data-input]").forEach(setUpDeadline);

/* --- the shard grid: one tab stop, arrows walk, the shard in focus is spelled out --------------------------- */
const perRow = (grid) => getComputedStyle(grid).gridTemplateColumns.split(" ").length;

document.addEventListener("keydown", (event) => {
  const grid = event.target.closest("[data-cells]");
  if (!grid) return;
  const cells = [...grid.children];
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -perRow(grid), ArrowDown: perRow(grid) }[event.key];
  const next = by && cells[cells.indexOf(event.target) + by];
  if (!next) return;
  event.preventDefault();
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});

const sayCell = (event) => {
  const cell = event.target.closest("[data-cells] > button");
  if (cell) cell.closest("[data-cells]").parentElement.querySelector("[data-cells-say]").textContent = cell.title;
};
document.addEventListener("focusin", sayCell);
document.addEventListener("mouseover", sayCell);

/* --- the live page: what was open stays open, focus stays, and silence is said ------------------------------- */
const live = document.getElementById("live");
if (live) {
  const stale = document.getElementById("stale");
  let open = [];
  let focused = "";
  live.addEventListener("htmx:sseBeforeMessage", () => {
    open = [...live.querySelectorAll("details[open][id]")].map((details) => details.id);
    focused = live.contains(document.activeElement) ? document.activeElement.id : "";
  });
  live.addEventListener("htmx:sseMessage", () => {
    stale.hidden = true;
    open.forEach((id) => {
      const details = document.getElementById(id);
      if (details) details.open = true;
    });
    const target = focused && document.getElementById(focused);
    if (target) target.focus({ preventScroll: true });
  });
  live.addEventListener("htmx:sseOpen", () => {
    stale.hidden = true;
  });
  live.addEventListener("htmx:sseError", () => {
    stale.hidden = false;
  });
  live.addEventListener("htmx:sseClose", (event) => {
    if (event.detail.type === "message") window.location.reload();
  });
}
