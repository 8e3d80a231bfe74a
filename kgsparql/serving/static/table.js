// A table that may be long: filtered by words, sorted by a column, and taken along as CSV.
import { button, count, el, number, put } from "./dom.js";

const LONG = 10; // rows from which there is a filter
const compared = new Intl.Collator("en", { numeric: true, sensitivity: "base" }).compare;

/**
 * `rows` hold what is in each cell; `more` says what is not among them. `csvRows` are lines of texts, where there are
 * more than are shown.
 */
export function longTable(label, columns, rows, { more = "", csvRows } = {}) {
  const lines = rows.map((row) => el("tr", {}, row.map((value) => el("td", {}, value))));
  const texts = new Map(lines.map((line) => [line, [...line.children].map((cell) => cell.textContent)]));
  const body = el("tbody", {}, lines), said = el("span", { class: "quiet", role: "status" });
  const heads = columns.map((column, at) => el("th", { scope: "col" }, lines.length > 1 ? el("button", { type: "button", class: "head-button", onclick: () => sort(at) }, column) : column));

  function sort(at) {
    const way = heads[at].ariaSort === "ascending" ? -1 : 1;
    for (const head of heads) head.ariaSort = null;
    heads[at].ariaSort = way === 1 ? "ascending" : "descending";
    body.append(...[...lines].sort((one, other) => way * order(texts.get(one)[at], texts.get(other)[at])));
  }

  function filter(wanted) {
    const words = wanted.toLowerCase().split(/\s+/);
    for (const line of lines) {
      const text = texts.get(line).join(" ").toLowerCase();
      line.hidden = !words.every((word) => text.includes(word));
    }
    tell();
  }

  function tell() {
    const shown = lines.filter((line) => !line.hidden).length;
    said.textContent = shown < lines.length ? `${number(shown)} of ${count(lines.length, "row")}` : more || count(lines.length, "row");
  }

  function save() {
    const all = csvRows ?? [...body.children].filter((line) => !line.hidden).map((line) => texts.get(line));
    const link = el("a", { href: URL.createObjectURL(new Blob([[columns, ...all].map((row) => `${row.map(quoted).join(",")}\r\n`).join("")], { type: "text/csv" })), download: "kgsparql.csv" });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  tell();
  const field = lines.length > LONG && el("input", { type: "search", class: "small", placeholder: "Filter", "aria-label": `Filter: ${label}`, oninput: ({ target }) => filter(target.value) });
  return [
    el("div", { class: "wide", tabindex: 0, role: "group", "aria-label": label }, el("table", { class: "values" }, el("thead", {}, el("tr", {}, heads)), body)),
    el("p", { class: "tools" }, field, button("CSV", save), said),
  ];
}

const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Numbers by what they are, other texts by their letters; what is empty comes last. */
function order(one, other) {
  if (!one || !other) return one ? -1 : other ? 1 : 0;
  const [first, second] = [one, other].map((text) => Number(text.replaceAll(",", "").replace(/ .*$/, "")));
  return Number.isNaN(first - second) ? compared(one, other) : first - second;
}
