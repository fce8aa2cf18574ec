// The zone of all times and charts: the viewer's own, or UTC where the switch below a chart has chosen it; remembered.
// A chart gets its moments as text in that zone: of a number Plotly makes local time, whatever the axis says.

const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";

const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

const zone = {
  name: ownZone,

  // Minutes ahead of UTC
  offset: (at) => (zone.name === "UTC" ? 0 : -new Date(at).getTimezoneOffset()),

  // Milliseconds since 1970 as Plotly's text, "2026-01-02 03:04:05.678".
  text: (at) => new Date(Number(at) + zone.offset(at) * 60000).toISOString().slice(0, 23).replace("T", " "),

  // "22 Nov 2026, 13:53 UTC−3": as dashboard/language/moments.py has it, whatever the browser's language is.
  stamp(at) {
    const [, year, month, day, time] = zone.text(at).match(/^(.+)-(\d\d)-(\d\d) (\d\d:\d\d)/);
    const offset = zone.offset(at);
    const [hours, rest] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
    const ahead = offset ? `${offset > 0 ? "+" : "−"}${hours}${rest ? `:${String(rest).padStart(2, "0")}` : ""}` : "";
    return `${Number(day)} ${months[month - 1]} ${year}, ${time} UTC${ahead}`;
  },

  // The moment of such a text; Plotly leaves out what is zero at its end.
  moment(text) {
    const [day, time = "00:00"] = String(text).split(" ");
    return new Date(`${day}T${time.slice(0, 12)}${zone.name === "UTC" ? "Z" : ""}`);
  },
};

try {
  if (localStorage.getItem("zone") === "UTC") zone.name = "UTC";
} catch {
  // The viewer's own where storage is forbidden.
}

function nameZone() {
  for (const element of document.querySelectorAll("[data-zone]")) element.textContent = zone.name;
  for (const button of document.querySelectorAll("[data-zone-switch]")) {
    button.hidden = ownZone === "UTC";
    button.textContent = zone.name === "UTC" ? "Show my time" : "Show UTC";
  }
}

document.addEventListener("click", ({ target }) => {
  if (!target.closest?.("[data-zone-switch]")) return;
  zone.name = zone.name === "UTC" ? ownZone : "UTC";
  try {
    localStorage.setItem("zone", zone.name);
  } catch {
    // Not remembered.
  }
  nameZone();
  document.dispatchEvent(new Event("zonechange"));
});
// As soon as the page is read, which is before any of it is seen
document.addEventListener("readystatechange", nameZone, { once: true });
document.addEventListener("htmx:afterSettle", nameZone);
