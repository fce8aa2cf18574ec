// Draws the page's figures with Plotly. The server sends what is to be drawn; the colours come from the stylesheet's
// tokens, so that a figure follows the theme. A click on a point opens the job that measured it.

const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);

function token(name, alpha = 1) {
  probe.style.color = `var(${name})`;
  const [red, green, blue] = getComputedStyle(probe).color.match(/[\d.]+/g);
  return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
}

const painters = {
  line(trace, color) {
    trace.line = { ...trace.line, color };
    trace.marker = { ...trace.marker, color };
  },
  band(trace, _, slot) {
    trace.fillcolor = token(slot, 0.16);
    trace.line = { ...trace.line, color: "rgba(0, 0, 0, 0)" };
  },
  failure(trace, color) {
    trace.marker = { ...trace.marker, color, line: { ...trace.marker.line, color } };
  },
  bar(trace, _, slot) {
    trace.marker = { color: token(slot, 0.55), line: { color: token(slot), width: 1 } };
  },
};

// The moments of a figure, milliseconds since 1970, as text in the zone that the page names.
function inZone({ data, layout }) {
  const text = (at) => (typeof at === "number" ? zone.text(at) : at);
  const axis = layout.xaxis;
  for (const trace of data) {
    trace.x = trace.x.map(text);
    trace.hovertemplate = trace.hovertemplate?.replace(" UTC", ` ${zone.name}`);
  }
  for (const shape of layout.shapes ?? []) Object.assign(shape, { x0: text(shape.x0), x1: text(shape.x1) });
  for (const note of layout.annotations ?? []) note.x = text(note.x);
  for (const skipped of axis.rangebreaks ?? []) skipped.bounds = skipped.bounds.map(text);
  if (axis.range) axis.range = axis.range.map(text);
  if (axis.tickvals) axis.tickvals = axis.tickvals.map(text);
  else axis.tickformatstops = dateFormats;
}

function painted(figure) {
  const copy = structuredClone(figure);
  if (copy.layout.xaxis?.type === "date") inZone(copy);
  for (const trace of copy.data) {
    const slot = `--series-${trace.meta.slot}`;
    painters[trace.meta.role](trace, token(slot), slot);
  }
  const ink = token("--ink");
  const soft = token("--ink-soft");
  const rule = token("--rule");
  const layout = copy.layout;
  const font = { family: getComputedStyle(document.body).fontFamily, color: soft, size: 12 };
  Object.assign(layout, { paper_bgcolor: "rgba(0, 0, 0, 0)", plot_bgcolor: "rgba(0, 0, 0, 0)", font });
  layout.hoverlabel = { bgcolor: token("--surface"), bordercolor: token("--rule-strong"), font: { ...font, color: ink } };
  layout.legend = { ...layout.legend, font: { ...font, color: ink } };
  layout.modebar = { bgcolor: "rgba(0, 0, 0, 0)", color: soft, activecolor: ink };
  for (const name of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
    layout[name] = { gridcolor: rule, linecolor: token("--rule-strong"), zerolinecolor: rule, ...layout[name] };
  }
  for (const shape of layout.shapes ?? []) {
    shape.line = { ...shape.line, color: shape.name ? token(shape.name.replace("slot", "--series")) : token("--rule-strong") };
  }
  return copy;
}

const settings = {
  responsive: true,
  displaylogo: false,
  // The first one offers to send the data to a third party
  modeBarButtonsToRemove: ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
};

const narrow = matchMedia("(max-width: 40rem)"); // what the stylesheets take for a phone

// By the distance of two ticks; the part below is written where it changes. Day and month stand as in zone.stamp.
const dateFormats = [
  { dtickrange: [null, 59_999], value: "%H:%M:%S\n%-d %b" },
  { dtickrange: [60_000, 86_399_999], value: "%H:%M\n%-d %b" },
  { dtickrange: ["M12", null], value: "%Y" },
  { dtickrange: ["M1", "M12"], value: "%b\n%Y" },
  { dtickrange: [86_400_000, "M1"], value: "%-d %b\n%Y" },
];

// The names of builds lie flat, cut to the letters that have room; where those are too few, every second or third build
// has a name. Hovering a point shows the whole one.
const LETTER = 7, FEWEST_LETTERS = 6, VALUES_WIDTH = 80; // px, letters, px

function flatNames(axis, width) {
  const names = axis.ticktext ?? axis.categoryarray;
  const letters = (width - VALUES_WIDTH) / names.length / LETTER;
  const every = Math.ceil(FEWEST_LETTERS / letters);
  const most = Math.floor(letters * every);
  const cut = (line) => (line.length > most ? `${line.slice(0, most - 1)}…` : line);
  const isNamed = (_, index) => index % every === 0;
  return {
    tickangle: 0,
    tickfont: { size: 11 },
    tickvals: axis.categoryarray.filter(isNamed),
    ticktext: names.filter(isNamed).map((name) => name.split("<br>").map(cut).join("<br>")),
  };
}

function onPhone(axis, width) {
  if (axis?.type === "date") return { ...axis, automargin: true, nticks: 4 };
  if (axis?.categoryarray) return { ...axis, automargin: true, ...flatNames(axis, width) };
  return { ...axis, automargin: true };
}

// There the legend, often a row for each entry, has room of its own below the drawing.
function draw(plot) {
  const { data, layout } = painted(plot.figure);
  const entries = data.filter((trace) => trace.showlegend !== false).length;
  plot.style.setProperty("--entries", Math.max(entries, 2)); // as the stylesheet reserves, so that little moves
  if (narrow.matches) {
    Object.assign(layout.legend, { yref: "container", y: 0, yanchor: "bottom" });
    layout.xaxis = onPhone(layout.xaxis, plot.clientWidth);
  }
  return Plotly.react(plot, data, layout, { ...settings, displayModeBar: narrow.matches ? false : "hover" });
}

async function drawAgain() {
  for (const plot of document.querySelectorAll("[data-figure]")) {
    if (!plot.figure) continue;
    await draw(plot);
    plot.dispatchEvent(new CustomEvent("chart:drawn", { bubbles: true }));
  }
}

// The axis of values fits the points within the stretch of time that is shown, unless the server draws that stretch.
function fitValues(plot, change) {
  const { xaxis, yaxis } = plot._fullLayout;
  if (plot.dataset.time || xaxis.type !== "date" || !Object.keys(change).some((key) => key.startsWith("xaxis."))) return;
  const [from, to] = xaxis.range.map((end) => xaxis.r2l(end));
  const seen = [];
  for (const trace of plot._fullData) {
    if (trace.visible !== true || trace.yaxis !== "y") continue;
    seen.push(...trace.y.filter((value, index) => {
      const at = xaxis.r2l(trace.x[index]);
      return value !== null && from <= at && at <= to;
    }).map((value) => yaxis.d2l(value)));
  }
  if (xaxis.autorange || !seen.length) return Plotly.relayout(plot, { "yaxis.autorange": true });
  const [low, high] = [Math.min(...seen), Math.max(...seen)];
  const margin = (high - low || Math.abs(high) || 1) * 0.05;
  Plotly.relayout(plot, { "yaxis.range": [low - margin, high + margin] });
}

// Labels over a chart of any width: each within the chart, none over another one. Of two that would overlap the later of
// the figure's list stays whole; the other keeps its sign, or nothing where it has none or even that has no room.
function placed(label, edge) {
  label.style.transform = "";
  const box = label.getBoundingClientRect();
  const over = Math.max(0, box.right - edge);
  if (over) label.style.transform = `translate(${-over}px)`;
  return new DOMRect(box.x - over, box.y, box.width, box.height);
}

function shorten(label) {
  const text = label.querySelector("text");
  const [sign] = text.textContent.match(/^[⚙✎]/) ?? [];
  if (!sign) return;
  text.textContent = sign;
  label.querySelector(".bg").setAttribute("width", text.getBBox().width + 2);
}

function separate(plot) {
  const edge = plot.getBoundingClientRect().right;
  const kept = [];
  const isFree = (box) => kept.every((one) => box.right < one.left || one.right < box.left || box.bottom < one.top || one.bottom < box.top);
  // One that lies outside what is shown is an element without a text
  const labels = [...plot.querySelectorAll(".annotation")].filter((label) => label.querySelector("text"));
  for (const label of labels.sort((a, b) => b.dataset.index - a.dataset.index)) {
    if (!isFree(placed(label, edge))) shorten(label);
    const box = placed(label, edge);
    const isShown = isFree(box);
    label.style.visibility = isShown ? "" : "hidden";
    if (isShown) kept.push(box);
  }
}

function nothing(plot, text) {
  plot.innerHTML = "";
  const note = document.createElement("p");
  note.className = "failed-to-load";
  note.setAttribute("role", "alert");
  note.textContent = text;
  plot.append(note);
}

// Where the mark leads that lies on the clicked point: a mark has an address of its own, a point the id of its job.
function markAt(plot, { data, pointNumber }) {
  for (const { x, y, customdata } of plot.data) {
    if (!customdata?.[0]?.startsWith?.("/")) continue;
    const at = x.findIndex((moment, index) => moment === data.x[pointNumber] && y[index] === data.y[pointNumber]);
    if (at >= 0) return customdata[at];
  }
  return null;
}

async function load(plot) {
  plot.dataset.loaded = "";
  try {
    const answer = await fetch(plot.dataset.figure, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(`the site answered ${answer.status}`);
    plot.figure = await answer.json();
    await draw(plot);
    plot.on("plotly_relayout", (change) => fitValues(plot, change));
    plot.dispatchEvent(new CustomEvent("chart:loaded", { bubbles: true }));
    plot.dispatchEvent(new CustomEvent("chart:drawn", { bubbles: true }));
    separate(plot);
    for (const change of ["plotly_afterplot", "plotly_relayout"]) plot.on(change, () => separate(plot));
    plot.on("plotly_click", ({ points }) => {
      const job = points.find((point) => point.customdata)?.customdata;
      const clicked = new CustomEvent("chart:point", { bubbles: true, cancelable: true, detail: { job, point: points[0] } });
      if (job && !plot.dispatchEvent(clicked)) return; // somebody else takes it
      const page = markAt(plot, points[0]) ?? (job && plot.dataset.job.replace("00000000-0000-0000-0000-000000000000", job));
      if (page) open(page, "_self", "noopener");
    });
  } catch (error) {
    nothing(plot, `The chart could not be drawn: ${error.message}. The numbers are in the table; reload the page to try again.`);
  }
  plot.removeAttribute("aria-busy");
}

function loadAll() {
  for (const plot of document.querySelectorAll("[data-figure]:not([data-loaded])")) load(plot);
}

loadAll();
document.addEventListener("htmx:afterSettle", loadAll);
for (const change of ["themechange", "zonechange"]) document.addEventListener(change, drawAgain);
narrow.addEventListener("change", drawAgain);
