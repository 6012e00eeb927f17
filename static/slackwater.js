/* The little that the frame needs beyond htmx: menus that close, and a word when the server does not answer. */
"use strict";

document.addEventListener("click", (event) => {
  document.querySelectorAll("details.menu[open]").forEach((menu) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  document.querySelectorAll("details.menu[open]").forEach((menu) => {
    menu.open = false;
    menu.querySelector("summary").focus();
  });
});

const showTrouble = (shown) => () => {
  document.getElementById("trouble").hidden = !shown;
};
document.addEventListener("htmx:sendError", showTrouble(true));
document.addEventListener("htmx:responseError", showTrouble(true));
document.addEventListener("htmx:afterOnLoad", showTrouble(false));

/* A press that cannot be taken back asks first: <form data-confirm="What will be lost?"> */
document.addEventListener("submit", (event) => {
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});

/* On a narrow screen the navigation scrolls: begin with the current page in sight. */
document.querySelector(".nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

/* On a narrow screen a table's rows become blocks (slackwater.css): every cell is told the name of its column, and
   roles keep it a table for those who hear it. Tables of a file's own columns have .rows, and scroll. */
const stack = (table) => {
  const nameOf = (cell) => (cell.querySelector(".visually-hidden") ? "" : cell.textContent.trim());
  const names = [...table.querySelectorAll("thead tr:last-child > *")].map(nameOf);
  if (!names.length || table.matches(".rows, .packages")) return;
  const say = (role, parts) => table.querySelectorAll(parts).forEach((part) => part.setAttribute("role", role));
  table.setAttribute("role", "table");
  say("rowgroup", "thead, tbody, tfoot");
  say("row", "tr");
  say("columnheader", "thead th");
  say("cell", "td");
  say("rowheader", "tbody th, tfoot th");
  table.querySelectorAll("tbody > tr, tfoot > tr").forEach((row) => {
    let column = 0;
    [...row.cells].forEach((cell) => {
      const name = cell.colSpan === 1 ? names[column] : "";
      if (name) cell.dataset.label = name;
      column += cell.colSpan;
    });
  });
  table.dataset.stacks = "";
};
const stackAll = (part) => part.querySelectorAll("table").forEach(stack);
stackAll(document);
document.addEventListener("htmx:load", (event) => stackAll(event.target));
