// What a trend's page adds to its charts: a dragged stretch is asked for again at full resolution, charts above each
// other share one time axis, and two clicked points lead to their comparison.

// --- Charts above each other: one axis, one left edge, one crosshair --------------------------------------------------
const linked = () => [...document.querySelectorAll("[data-linked]")];
const largest = (plots, side) => Math.max(...plots.map((plot) => plot._fullLayout._size[side]));

// The time from the first to the last point of them all; nothing where the axis is not time.
function sharedRange(plots) {
  const axes = plots.filter((plot) => plot.dataset.time).map((plot) => plot._fullLayout.xaxis);
  if (!axes.length) return null;
  return [
    Math.min(...axes.map((axis) => axis.r2l(axis.range[0]))),
    Math.max(...axes.map((axis) => axis.r2l(axis.range[1]))),
  ];
}

function shareAxes() {
  const drawn = linked().filter((plot) => plot.figure?.data.length);
  if (drawn.length < 2) return;
  const ends = sharedRange(drawn);
  const margins = { "margin.l": largest(drawn, "l"), "margin.r": largest(drawn, "r") };
  for (const plot of drawn) {
    plot.isFollowing = true; // its own change of range is no wish of the viewer
    const change = {
      ...margins,
      "xaxis.showspikes": true,
      "xaxis.spikemode": "across",
      "xaxis.spikethickness": 1,
      "xaxis.spikedash": "dot",
      "xaxis.spikecolor": plot._fullLayout.font.color,
    };
    // As text: of numbers Plotly would make local time once more
    if (ends) change["xaxis.range"] = ends.map((end) => plot._fullLayout.xaxis.l2r(end));
    Plotly.relayout(plot, change).finally(() => { plot.isFollowing = false; });
  }
}

// The point of the same config at the same place of the axis, if the chart has one.
function samePoint(plot, { data, pointNumber }) {
  for (const [curveNumber, trace] of plot.data.entries()) {
    if (trace.name !== data.name || trace.meta.role !== "line") continue;
    const index = trace.x.indexOf(data.x[pointNumber]);
    if (index >= 0 && Number.isFinite(trace.y[index])) return [{ curveNumber, pointNumber: index }];
  }
  return null;
}

function follow(hovered, point) {
  for (const plot of linked()) {
    if (plot === hovered || !plot.data) continue;
    const same = samePoint(plot, point);
    if (same) Plotly.Fx.hover(plot, same, ["xy"], true);
    else Plotly.Fx.unhover(plot);
  }
}

document.addEventListener("chart:loaded", ({ target }) => {
  if (!("linked" in target.dataset)) return;
  target.on("plotly_hover", ({ points }) => follow(target, points[0]));
  target.on("plotly_unhover", () => {
    for (const plot of linked()) if (plot !== target && plot.data) Plotly.Fx.unhover(plot);
  });
});

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
  if ("linked" in target.dataset && linked().every((plot) => plot.figure)) shareAxes();
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
  else location.assign(`${button.dataset.picks}&${new URLSearchParams(picked.map((job) => ["job", job]))}`);
});

function reveal() {
  for (const button of document.querySelectorAll("[data-picks]")) button.hidden = false;
  picked = [];
}
reveal();
document.addEventListener("htmx:afterSettle", reveal);
