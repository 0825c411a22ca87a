// Headings that have every word of the search, titles first.
const search = document.getElementById("search"), hits = document.getElementById("hits");

search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length === 0 ? [] : INDEX.filter(([title, heading]) => {
    const text = `${title} ${heading}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  hits.replaceChildren(...found.slice(0, 20).map(([title, heading, address]) => {
    const item = document.createElement("li"), link = document.createElement("a"), small = document.createElement("small");
    link.href = document.body.dataset.root + address;
    link.textContent = heading;
    small.textContent = heading === title ? "" : title;
    link.append(small);
    item.append(link);
    return item;
  }));
});
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") hits.querySelector("a")?.click();
});
