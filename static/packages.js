/* What package pages gain from scripts: a deadline that can be dragged, a grid that can be walked, and a live page that
   keeps its place (files going up: upload.js). Everything works without it, by forms and by reloading. */
"use strict";

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
