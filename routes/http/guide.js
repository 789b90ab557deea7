/** The search of the guides: the words of all pages come with the first letter that is typed. */
const FOUND_MAX = 12;
const field = document.getElementById("search_field");
const list = document.getElementById("search_found");
let index = null;

async function openIndex() {
  const [{ default: MiniSearch }, answer] = await Promise.all([
    import("./minisearch.js"),
    fetch(field.dataset.index),
  ]);
  const made = new MiniSearch({
    fields: ["title", "page", "text"],
    storeFields: ["title", "page", "url"],
    searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: 0.1, combineWith: "AND" },
  });
  made.addAll(await answer.json());
  return made;
}

function entryOf({ url, title, page }) {
  const [item, link, place] = ["li", "a", "small"].map((name) => document.createElement(name));
  link.href = url;
  link.textContent = title;
  place.textContent = page;
  link.append(place);
  item.append(link);
  return item;
}

async function search() {
  index ??= openIndex();
  const words = field.value.trim();
  const found = words === "" ? [] : (await index).search(words).slice(0, FOUND_MAX);
  if (words !== field.value.trim()) return; // another letter was typed meanwhile
  list.replaceChildren(...found.map(entryOf));
  list.hidden = found.length === 0;
}

field.hidden = false; // without this script there is no search
field.addEventListener("input", search);
field.addEventListener("keydown", ({ key }) => {
  if (key === "Enter") list.querySelector("a")?.click();
  if (key === "Escape") {
    field.value = "";
    list.hidden = true;
  }
});
