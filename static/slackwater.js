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
