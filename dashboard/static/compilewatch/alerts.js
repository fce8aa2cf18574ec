// The inbox with the keyboard: j and k move, x selects, Enter opens, a acknowledges, f goes to the search, ? helps.
// What the keys do can be done with the mouse, too.

const inbox = () => document.querySelector("[data-inbox]");
const rows = () => [...document.querySelectorAll("[data-row]")];

function current() {
  return document.activeElement.closest?.("[data-row]");
}

function move(step) {
  const all = rows();
  const at = all.indexOf(current());
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
  next?.querySelector("a").focus();
}

function choose() {
  const box = current()?.querySelector("input[type=checkbox]");
  if (box) box.click();
}

function acknowledge() {
  const button = inbox()?.querySelector("button[value=acknowledged]");
  if (button && inbox().querySelector("[name=group]:checked")) button.click();
}

// One box selects all; without scripts it is not shown.
function offerAll() {
  for (const box of document.querySelectorAll("[data-choose-all]")) box.hidden = false;
}

document.addEventListener("change", ({ target }) => {
  if (!target.matches?.("[data-choose-all]")) return;
  for (const box of inbox().querySelectorAll("[name=group]")) box.checked = target.checked;
});
document.addEventListener("htmx:afterSettle", offerAll);
offerAll();

const keys = {
  j: () => move(1),
  k: () => move(-1),
  x: choose,
  a: acknowledge,
  f: () => document.getElementById("filter-q")?.focus(),
  "?": () => document.getElementById("keys").showModal(),
};

function isTyping(target) {
  return target.closest("input:not([type=checkbox]), select, textarea, dialog") !== null;
}

document.addEventListener("keydown", (event) => {
  const act = keys[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  event.preventDefault();
  act();
});
