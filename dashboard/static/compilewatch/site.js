// Small comforts of every page: theme, times in the viewer's zone, explained words, copying, dialogs, choices that
// submit themselves. Each page works without this file; it adds to what the server sent.

const root = document.documentElement;

// --- Theme: the system's, until the button has chosen; then remembered --------------------------------------------
const systemDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return (root.dataset.theme ?? (systemDark.matches ? "dark" : "light")) === "dark";
}

function announceTheme() {
  for (const button of document.querySelectorAll("[data-theme-toggle]")) {
    const other = isDark() ? "light" : "dark";
    button.title = `Switch to the ${other} theme`;
    button.setAttribute("aria-label", button.title);
    const words = button.querySelector("span");
    if (words) words.textContent = button.title;
  }
  document.dispatchEvent(new Event("themechange"));
}

function toggleTheme() {
  root.dataset.theme = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {
    // Not remembered where storage is forbidden.
  }
  announceTheme();
}
systemDark.addEventListener("change", announceTheme);

// --- Times: UTC from the server, here in the zone of zone.js ------------------------------------------------------------
const onPaper = matchMedia("print"); // where "1 hour ago" says nothing, and everything is light
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const steps = [[60, "second", 1], [3600, "minute", 60], [86400, "hour", 3600], [7 * 86400, "day", 86400]];

function localTime(element) {
  const at = new Date(element.dateTime);
  const seconds = (at - Date.now()) / 1000;
  const near = steps.find(([limit]) => Math.abs(seconds) < limit);
  const step = near ?? ("relative" in element.dataset ? steps.at(-1) : undefined);
  const isRelative = step && !onPaper.matches && !("exact" in element.dataset);
  element.textContent = isRelative ? relative.format(Math.round(seconds / step[2]), step[1]) : zone.stamp(at);
  const inUtc = zone.name === "UTC" ? "" : `, ${zone.name} (${at.toISOString().slice(11, 16)} UTC)`;
  element.title = `${zone.stamp(at)}${inUtc}`;
}

// --- Words of the glossary: explained on hover and focus, put away by Escape ----------------------------------------
let tip = null;

function showTip(term) {
  hideTip();
  tip = document.createElement("div");
  tip.className = "tip";
  tip.id = "tip";
  tip.setAttribute("role", "tooltip");
  tip.textContent = term.dataset.about;
  document.body.append(tip);
  const place = term.getBoundingClientRect();
  const left = Math.min(place.left, root.clientWidth - tip.offsetWidth - 8);
  const fitsBelow = place.bottom + tip.offsetHeight + 8 < innerHeight;
  tip.style.left = `${Math.max(left, 8) + scrollX}px`;
  tip.style.top = `${(fitsBelow ? place.bottom + 6 : place.top - tip.offsetHeight - 6) + scrollY}px`;
  term.setAttribute("aria-describedby", "tip");
}

function hideTip() {
  tip?.remove();
  tip = null;
  document.querySelector("[aria-describedby=tip]")?.removeAttribute("aria-describedby");
}

for (const [show, hide] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
  document.addEventListener(show, (event) => {
    const term = event.target.closest?.("[data-about]");
    if (term) showTip(term);
  });
  document.addEventListener(hide, (event) => {
    if (event.target.closest?.("[data-about]")) hideTip();
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
});

// --- Buttons ----------------------------------------------------------------------------------------------------------
async function copy(button) {
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
    button.textContent = "Selected: press Ctrl+C";
  }
  setTimeout(() => { button.textContent = said; }, 2000);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button");
  if (!button) return;
  if (button.dataset.copy) copy(button);
  if ("themeToggle" in button.dataset) toggleTheme();
  if (button.dataset.opens) document.getElementById(button.dataset.opens).showModal();
  if ("closes" in button.dataset) button.closest("dialog").close();
});

// --- data-folds: folded on a phone, so that the answer is not a long way from the reasons; open elsewhere and without scripts.
// data-keeps: folded everywhere. Both stay as somebody left them when their part of the page is asked for again --
const narrow = matchMedia("(max-width: 40rem)");
const unfolded = new Set(); // by id: what was opened stays so when its part of the page is asked for again

function fold(within) {
  for (const part of within.querySelectorAll("details:is([data-folds], [data-keeps])")) {
    part.open = ("folds" in part.dataset && !narrow.matches) || unfolded.has(part.id);
  }
}
narrow.addEventListener("change", () => fold(document));
// A chart that was folded away knows its width only now
document.addEventListener("toggle", ({ target }) => {
  if (target.open && target.querySelector(".plot")) dispatchEvent(new Event("resize"));
}, true);
document.addEventListener("click", ({ target }) => {
  const part = target.closest?.("summary")?.parentElement;
  if (part?.matches("[data-folds], [data-keeps]")) unfolded[part.open ? "delete" : "add"](part.id);
});

// --- Choices that submit themselves; without htmx or scripts the form has a button --------------------------------
document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form?.dataset.submits === "on change") form.requestSubmit();
});

function enhance(within) {
  for (const element of within.querySelectorAll("time[datetime]")) localTime(element);
  for (const button of within.querySelectorAll("[data-copy], [data-picks]")) button.hidden = false;
  for (const button of within.querySelectorAll("[data-without-scripts]")) button.hidden = true;
  fold(within);
}

announceTheme();
enhance(document);
document.addEventListener("htmx:afterSettle", (event) => enhance(event.target));
// A question that is open, or text that is being selected, outlives the next refresh of the page's live part.
document.addEventListener("htmx:beforeRequest", (event) => {
  const live = event.target.matches("[data-live]");
  if (live && (document.querySelector("dialog[open]") || !getSelection().isCollapsed || document.hidden)) event.preventDefault();
});
// Addresses are for people: a choice that was not made is not written into them.
document.addEventListener("htmx:configRequest", ({ detail }) => {
  for (const [name, value] of [...detail.formData.entries()]) if (value === "") detail.formData.delete(name);
});
function tellTimes() {
  document.querySelectorAll("time[datetime]").forEach(localTime);
}
setInterval(tellTimes, 30000);
document.addEventListener("zonechange", tellTimes);
onPaper.addEventListener("change", () => {
  tellTimes();
  document.dispatchEvent(new Event("themechange"));
});
