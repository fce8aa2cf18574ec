// The admin's pages. Without it every field is shown, and the server reads those that the choices name.

// A field with data-only-when="kind=slack" is shown while the field "kind" has that value; "a|b": one of them.
function showFieldsOf(form) {
  for (const field of form.querySelectorAll("[data-only-when]")) {
    const [name, values] = field.dataset.onlyWhen.split("=");
    const chosen = new FormData(form).get(name);
    field.closest(".field-line").hidden = !values.split("|").includes(chosen);
  }
}

// What the form would do, as the server says it, next to its button
function preview(form) {
  const output = document.getElementById("preview");
  let newest = 0; // an older answer may come after a newer one
  return async () => {
    if (!output) return;
    const number = ++newest;
    const answer = await fetch(output.dataset.address, { method: "POST", body: new FormData(form) });
    const html = await answer.text();
    if (answer.ok && number === newest) output.innerHTML = html;
  };
}

// Another machine offers other builds and tracks; every other choice stays
async function offerFor(machine) {
  const address = new URL(location.href);
  address.searchParams.set("machine", machine);
  const answer = await fetch(address);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const id of ["id_build", "id_track"]) {
    document.getElementById(id).replaceChildren(...page.getElementById(id).children);
  }
}

// Pickers find by words, in any order; what begins with the first word comes first
function findByWords(select2) {
  let words = [];
  select2.defaults.set("matcher", ({ term }, option) => {
    words = (term ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const text = option.text.toLowerCase();
    return words.every((word) => text.includes(word)) ? option : null;
  });
  const isLater = (option) => !option.text.toLowerCase().startsWith(words[0]);
  select2.defaults.set("sorter", (options) =>
    words.length ? options.toSorted((one, other) => isLater(one) - isLater(other)) : options,
  );
}

// The pickers' search fields have no names of their own
function namePickers($) {
  const name = (select, search) => {
    const label = document.querySelector(`label[for="${select.id}"]`);
    search?.setAttribute("aria-label", label?.textContent.replace("*", "").trim() ?? "Search");
  };
  $("select.select2-hidden-accessible").each((_, select) =>
    name(select, select.nextElementSibling?.querySelector(".select2-search__field")),
  );
  $(document).on("select2:open", ({ target }) =>
    name(target, document.querySelector(".select2-dropdown .select2-search__field")),
  );
}

function nameScrollRegions() {
  document.querySelectorAll(".simplebar-content-wrapper").forEach((region, number) => {
    const isSidebar = region.closest("#nav-sidebar-apps");
    region.setAttribute("aria-label", isSidebar ? "Lists of the admin" : `Scrollable part ${number}`);
  });
}

function followForm(form) {
  const showPreview = preview(form);
  const changed = async (event) => {
    showFieldsOf(form);
    if (event?.target.name === "machine" && document.getElementById("id_build")) {
      await offerFor(event.target.value);
    }
    showPreview();
  };
  form.addEventListener("change", changed);
  // A picker tells jQuery alone
  window.django?.jQuery?.(form).on("change", "select[multiple], .unfold-admin-autocomplete", showPreview);
  changed();
}

// Before the pickers are drawn, which Unfold does at the same event
document.addEventListener("DOMContentLoaded", () => {
  const $ = window.django?.jQuery;
  if ($?.fn.select2) {
    findByWords($.fn.select2);
    $(() => namePickers($));
  }
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  for (const select of document.querySelectorAll("select[data-own-zone]")) {
    if ([...select.options].some(({ value }) => value === timeZone)) select.value = timeZone;
  }
  const form = document.querySelector("#content-main form[id$=_form]");
  if (form) followForm(form);
});

window.addEventListener("load", nameScrollRegions);
