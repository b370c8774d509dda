/* What the scripts of all pages begin with. */
const data = JSON.parse(document.getElementById("data").textContent);
const by = id => document.getElementById(id);

/* An element; children are elements or text, and text stays text. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  for (const child of children) element.append(child);
  return element;
}
const fill = (id, ...children) => by(id).replaceChildren(...children);
function table(caption, head, rows) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, make("table", {},
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...head.map(h => make("th", { scope: "col" }, h)))),
    make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map(cell =>
      typeof cell === "number" ? make("td", { class: "number" }, cell.toLocaleString("en")) : make("td", {}, cell)))))));
}
function bytes(number) {
  if (!Number.isFinite(number)) return "not known";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (number >= 1024 && unit + 1 < units.length) { number /= 1024; unit++; }
  return (unit === 0 ? Math.ceil(number) : number < 1000 ? number.toPrecision(3) : Math.round(number)) + " " + units[unit];
}
if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.classList.add("dark");
by("theme").addEventListener("click", () => document.documentElement.classList.toggle("dark"));

