// What a trend's page adds to its charts: a dragged stretch is asked for again at full resolution, charts above each
// other share one time axis, and two clicked points lead to their comparison.

// --- One time axis ----------------------------------------------------------------------------------------------------
const onTime = () => [...document.querySelectorAll("[data-time]")];

function shareTime() {
  const drawn = onTime().filter((plot) => plot.figure?.data.length);
  if (drawn.length < 2) return;
  const axes = drawn.map((plot) => plot._fullLayout.xaxis);
  const ends = [
    Math.min(...axes.map((axis) => axis.r2l(axis.range[0]))),
    Math.max(...axes.map((axis) => axis.r2l(axis.range[1]))),
  ];
  for (const plot of drawn) {
    plot.isFollowing = true; // its own change of range is no wish of the viewer
    // As text: of numbers Plotly would make local time once more
    const range = ends.map((end) => plot._fullLayout.xaxis.l2r(end));
    Plotly.relayout(plot, { "xaxis.range": range }).finally(() => { plot.isFollowing = false; });
  }
}

// --- A dragged stretch: part of the address, so that it can be sent, and Back undoes it ---------------------------------
// In UTC, whatever zone the chart is drawn in; the end is exclusive, so it is rounded up to the next second.
const inAddress = (text, add = 0) => (text ? new Date(zone.moment(text).getTime() + add).toISOString().slice(0, 19) : "");

function zoom(plot, change) {
  const [from, to] = change["xaxis.range"] ?? [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  if (plot.isFollowing || (from === undefined && !change["xaxis.autorange"])) return;
  const form = document.getElementById(plot.dataset.time);
  form.elements.from.value = inAddress(from);
  form.elements.to.value = inAddress(to, 999);
  form.requestSubmit();
}

document.addEventListener("chart:loaded", ({ target }) => {
  if (target.dataset.time) target.on("plotly_relayout", (change) => zoom(target, change));
});
document.addEventListener("chart:drawn", ({ target }) => {
  if (target.dataset.time && onTime().every((plot) => plot.figure)) shareTime();
});

// --- Two points ---------------------------------------------------------------------------------------------------------
let picked = [];

function say(text) {
  document.querySelector("[data-picked]").textContent = text;
}

function startOrStop(button) {
  const starts = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(starts));
  picked = [];
  say(starts ? "Click the first point." : "");
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-picks]");
  if (button) startOrStop(button);
});

document.addEventListener("chart:point", (event) => {
  const button = document.querySelector("[data-picks][aria-pressed=true]");
  if (!button || event.detail.job.startsWith("/")) return;
  event.preventDefault();
  if (!picked.includes(event.detail.job)) picked.push(event.detail.job);
  if (picked.length < 2) say(`First: ${event.detail.point.text ?? "chosen"}. Click the second point.`);
  else location.assign(`${button.dataset.picks}?${new URLSearchParams(picked.map((job) => ["job", job]))}`);
});

function reveal() {
  for (const button of document.querySelectorAll("[data-picks]")) button.hidden = false;
  picked = [];
}
reveal();
document.addEventListener("htmx:afterSettle", reveal);
