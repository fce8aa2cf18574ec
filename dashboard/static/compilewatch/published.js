// The search of a published copy leads to the list of all pages, which shows those that have the words.

const words = new URLSearchParams(location.search).get("q")?.toLowerCase().split(/\s+/) ?? [];
const field = document.querySelector("[data-search] input");
field.value = words.join(" ");
for (const page of document.querySelectorAll(".all-pages li")) {
  const title = page.textContent.toLowerCase();
  page.hidden = !words.every((word) => title.includes(word));
}
