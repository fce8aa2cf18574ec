// The head of every page: the search box ("/" leads there, arrows go through what was found, Escape leaves) and the
// menus, which close when one looks elsewhere.

const box = document.querySelector("[data-search]");
const hits = document.getElementById("hits");
const field = box.querySelector("input");

function isTyping(element) {
  return element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  event.preventDefault();
  field.focus();
  field.select();
});

function forget() {
  hits.replaceChildren();
}

function step(by) {
  const stops = [field, ...hits.querySelectorAll("a")];
  const next = stops.indexOf(document.activeElement) + by;
  stops[Math.max(0, Math.min(next, stops.length - 1))].focus();
}

box.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    step(event.key === "ArrowDown" ? 1 : -1);
  }
  if (event.key === "Escape") {
    forget();
    field.value = "";
    field.blur();
  }
});
box.addEventListener("focusout", ({ relatedTarget }) => {
  if (!box.contains(relatedTarget)) forget();
});
// An answer that comes when one has left the box already is not shown.
box.addEventListener("htmx:beforeSwap", (event) => {
  if (!box.contains(document.activeElement)) event.detail.shouldSwap = false;
});

// On a phone the row of pages is longer than the screen: the page that is open comes into sight.
const here = document.querySelector(".top nav [aria-current]");
if (here) here.parentElement.scrollLeft = here.offsetLeft - (here.parentElement.clientWidth - here.offsetWidth) / 2;

const menus = document.querySelectorAll("details.menu");
document.addEventListener("click", ({ target }) => {
  for (const menu of menus) if (!menu.contains(target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of menus) {
    if (menu.open && menu.contains(document.activeElement)) menu.querySelector("summary").focus();
    menu.open = false;
  }
});
