// The evidence as a table that says all that the drawing shows, each piece with the query that finds it again.
import * as api from "./api.js";
import { box, button, copyButton, count, el, name, plain, troubleOf } from "./dom.js";

const TRIPLES = 12;

export function evidencePart({ id, answer }, light) {
  const cited = new Set(answer.cited);
  const used = answer.evidence.filter((item) => cited.has(item.marker));
  const others = answer.evidence.filter((item) => !cited.has(item.marker));
  const tableOf = (items) => (items.length ? table(items, light, answer, id) : "");
  const folded = () => el("details", {}, el("summary", {}, `Also found: ${count(others.length, "piece")}`), tableOf(others));
  return el("section", { class: "evidence" }, el("h3", {}, used.length ? "Evidence" : "Found in the graph"), tableOf(used),
    used.length && others.length ? folded() : tableOf(others), answer.evidence.length ? "" : el("p", { class: "quiet" }, "None."));
}

function table(items, light, answer, id) {
  const headings = ["Marker", "Triples", answer.graphs.length > 1 ? "Graphs" : null, "Checked"].filter(Boolean);
  return el("table", {}, el("thead", {}, el("tr", {}, headings.map((heading) => el("th", { scope: "col" }, heading)))), items.map((item) => row(item, light, answer, id, headings.length)));
}

function row(item, light, answer, id, columns) {
  const shown = item.triples.slice(0, TRIPLES).map(triple);
  const more = item.triples.slice(TRIPLES);
  const facts = shown.length && item.kind !== "passage"
    ? [el("ul", {}, shown), more.length ? el("details", {}, el("summary", {}, `${more.length} more`), el("ul", {}, more.map(triple))) : ""]
    : el("p", {}, item.text);
  const document = item.source ? el("p", { class: "quiet" }, item.source.document, item.source.page ? `, page ${item.source.page}` : "") : "";
  const graphs = new Set(item.triples.flatMap((one) => one.sources.map((source) => source.graph)));
  const states = new Set(item.triples.map((one) => one.verified));
  const checked = !item.triples.length ? "" : states.has(false) ? "✗ not found" : states.has(null) ? "– not checkable" : "✓ found again";
  const queries = item.queries.length ? item.queries : item.query ? [{ query: item.query }] : [];
  return el("tbody", { data: { markers: item.marker }, onmouseenter: () => light([item.marker]), onmouseleave: () => light([]) },
    el("tr", {}, el("th", { scope: "row" }, el("span", { class: "marker" }, item.marker)), el("td", {}, facts, document, item.cuts.map((cut) => el("p", { class: "note" }, cut))),
      answer.graphs.length > 1 ? el("td", {}, [...graphs].map((graph) => el("p", {}, name(graph)))) : "", el("td", { class: "checked" }, checked)),
    queries.length ? el("tr", {}, el("td"), el("td", { colspan: columns - 1 }, queriesPart(item.marker, queries, id))) : "");
}

// How queries are run elsewhere is asked when they are looked at.
function queriesPart(marker, queries, id) {
  const figures = queries.map(queryFigure);
  const part = el("details", {}, el("summary", { "aria-label": `SPARQL of ${marker}` }, "SPARQL"), figures.map(({ figure }) => figure));
  const add = ({ ways, is_served: isServed }) => ways.forEach((own, at) => figures[at].add(own, isServed));
  part.addEventListener("toggle", () => api.queries(id, marker).then(add).catch((error) => part.append(troubleOf(error))), { once: true });
  return part;
}

function queryFigure({ source, query }) {
  let shown = query;
  const text = el("pre", { tabindex: 0 }, query);
  const choices = el("span", { role: "group", "aria-label": "As" });
  const tools = el("figcaption", {}, source ? name(source) : "", " ", choices, " ", copyButton(() => shown), " ");
  const choose = (choice, made) => {
    for (const one of choices.children) one.setAttribute("aria-pressed", String(one === choice));
    text.textContent = plain(shown = made);
  };
  const add = (ways, isServed) => {
    const all = Object.entries({ SPARQL: query, ...ways });
    choices.append(...all.map(([title, made]) => button(title, ({ target }) => choose(target, made))));
    choose(choices.firstChild, query);
    if (isServed) tools.append(button("Open in the SPARQL box", () => box(query).catch((error) => tools.append(troubleOf(error)))));
  };
  return { figure: el("figure", {}, tools, text), add };
}

export function triple(one) {
  const term = (found) => name(found.label || found.value, { title: found.value, class: found.type });
  return el("li", { class: one.direction }, term(one.subject), " ", el("span", { class: "predicate", title: one.predicate.value }, "—", name(one.predicate.label), "→"), " ", term(one.object),
    one.direction === "inverse" ? el("span", { class: "quiet" }, " (walked back)") : "");
}
