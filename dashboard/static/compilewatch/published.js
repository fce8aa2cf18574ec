// The search box of a published copy: the titles of all pages are one small file, read when one begins to type.

const MOST = 12;
const box = document.querySelector("[data-index]");
const field = box.querySelector("input");
const hits = document.getElementById("hits");
const index = new URL(box.dataset.index, location.href);
let pages;

function matching() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  return pages.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
}

function entry({ title, url }) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = new URL(url, index);
  link.textContent = title;
  item.append(link);
  return item;
}

function listed(found) {
  const list = document.createElement("ul");
  list.append(...found.slice(0, MOST).map(entry));
  return list;
}

function nothing() {
  const line = document.createElement("p");
  line.className = "nothing";
  line.textContent = "No page has these words in its title.";
  return line;
}

async function search() {
  pages ??= await (await fetch(index)).json();
  const found = matching();
  const isEmpty = !field.value.trim();
  hits.replaceChildren(...(isEmpty ? [] : [found.length ? listed(found) : nothing()]));
}

field.addEventListener("input", search);

// Enter leads here with the words in the address
const asked = new URLSearchParams(location.search).get(field.name);
if (asked) {
  field.value = asked;
  field.focus();
  search();
}
