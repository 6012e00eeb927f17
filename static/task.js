/* What the page of a task gains from scripts: a click on a column puts it into the prompt, the preview follows by
   itself, and what was typed in the last moment is kept. */
"use strict";

document.querySelectorAll("[data-look]").forEach((button) => {
  button.hidden = true;
});

/* The heading of the table is swapped as the prompt is typed: listen above it. */
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-insert]");
  const prompt = document.getElementById("id_user_template");
  if (!button || !prompt) return;
  prompt.setRangeText(`{{${button.dataset.insert}}}`, prompt.selectionStart, prompt.selectionEnd, "end");
  prompt.dispatchEvent(new Event("input", { bubbles: true }));
  prompt.focus();
});

const task = document.getElementById("task");
if (task) {
  let typed = 0;
  let sent = 0;
  let kept = 0;
  /* Requests overtake each other: the server keeps the latest of what this page sends. */
  const view = Math.random().toString(36).slice(2);
  const edit = task.querySelector("[data-edit]");
  task.addEventListener("input", () => {
    typed += 1;
    edit.value = `${view}.${typed}`;
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

  /* Rows are run once only where answers are not drawn anew. */
  const temperature = document.getElementById("id_temperature");
  const repeats = task.querySelector(".repeats");
  const showRepeats = () => {
    repeats.hidden = Number(temperature.value) !== 0;
  };
  temperature.addEventListener("input", showRepeats);
  showRepeats();
}
