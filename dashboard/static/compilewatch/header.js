// The head of every page: the search box ("/" and ⌘K lead there, arrows go through what was found, Escape leaves), what is
// behind buttons where the row is narrow, and the menus, which close when one looks elsewhere.

const box = document.querySelector("[data-search]");
const hits = document.getElementById("hits");
const field = box.querySelector("input");
const pages = document.getElementById("pages");
const buttonOf = (part) => document.querySelector(`.icon-button[aria-controls="${part.id}"]`);

// --- The search box and the pages, behind their buttons -------------------------------------------------------------
function unfold(part, open) {
  buttonOf(part).setAttribute("aria-expanded", String(open));
  part.classList.toggle("is-open", open);
}

for (const part of [box, pages]) {
  buttonOf(part).addEventListener("click", () => {
    unfold(part, !part.classList.contains("is-open"));
    part.querySelector("input, a").focus();
  });
}

// --- The search box -------------------------------------------------------------------------------------------------
function isTyping(element) {
  return element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);
}

document.addEventListener("keydown", (event) => {
  const isCommand = event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey) && !event.altKey;
  const isSlash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target);
  if (!isCommand && !isSlash) return;
  event.preventDefault();
  unfold(box, true);
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
    unfold(box, false);
  }
});
box.addEventListener("focusout", ({ relatedTarget }) => {
  if (!box.contains(relatedTarget)) forget();
});
// An answer that comes when one has left the box already is not shown.
box.addEventListener("htmx:beforeSwap", (event) => {
  if (!box.contains(document.activeElement)) event.detail.shouldSwap = false;
});

// --- The menus ------------------------------------------------------------------------------------------------------
const menus = document.querySelectorAll("details.menu");
document.addEventListener("click", ({ target }) => {
  for (const menu of menus) if (!menu.contains(target)) menu.open = false;
  if (!pages.contains(target) && !buttonOf(pages).contains(target)) unfold(pages, false);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of menus) {
    if (menu.open && menu.contains(document.activeElement)) menu.querySelector("summary").focus();
    menu.open = false;
  }
  if (pages.classList.contains("is-open") && pages.contains(document.activeElement)) buttonOf(pages).focus();
  unfold(pages, false);
});
