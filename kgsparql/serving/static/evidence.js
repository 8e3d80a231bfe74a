// The evidence as a list that says all that the drawing shows, each piece with the query that finds it again.
import * as api from "./api.js";
import { box, button, copyButton, count, el, name, plain, troubleOf } from "./dom.js";

const TRIPLES = 6;

export function evidencePart({ id, answer }, light) {
  const cited = new Set(answer.cited);
  const used = answer.evidence.filter((item) => cited.has(item.marker));
  const others = answer.evidence.filter((item) => !cited.has(item.marker));
  const listOf = (items) => el("ol", { class: "pieces" }, items.map((item) => piece(item, light, answer, id)));
  const folded = () => el("details", {}, el("summary", {}, `Other readings: ${count(others.length, "piece")} of evidence`), listOf(others));
  return el("section", { class: "evidence" }, answer.evidence.length > 0 && el("h3", {}, used.length ? "Evidence" : "Found in the graph"), listOf(used.length ? used : others),
    used.length > 0 && others.length > 0 && folded());
}

function piece(item, light, answer, id) {
  const facts = item.triples.length && item.kind !== "passage" ? triples(item.triples) : el("p", {}, item.text);
  const document = item.source ? el("p", { class: "quiet" }, item.source.document) : "";
  const graphs = new Set(item.triples.flatMap((one) => one.sources.map((source) => source.graph)));
  const states = new Set(item.triples.map((one) => one.verified));
  const checked = !item.triples.length ? "" : states.has(false) ? "✗ not found" : states.has(null) ? "– not checkable" : "✓ found again";
  const queries = item.queries.length ? item.queries : item.query ? [{ query: item.query }] : [];
  return el("li", { class: "piece", data: { markers: item.marker }, onmouseenter: () => light([item.marker]), onmouseleave: () => light([]) },
    el("p", { class: "head quiet" }, el("span", { class: "marker" }, item.marker), " ", el("span", { class: "checked" }, checked), answer.graphs.length > 1 && [...graphs].map((graph) => [" ", name(graph)])),
    facts, document, item.cuts.map((cut) => el("p", { class: "note" }, cut)), queries.length > 0 && queriesPart(item.marker, queries, id));
}

const triples = (all) => [el("ul", { class: "triples" }, all.slice(0, TRIPLES).map(triple)),
  all.length > TRIPLES && el("details", {}, el("summary", {}, `${all.length - TRIPLES} more`), el("ul", { class: "triples" }, all.slice(TRIPLES).map(triple)))];

// How queries are run elsewhere is asked when they are looked at.
function queriesPart(marker, queries, id) {
  const figures = queries.map(queryFigure);
  const part = el("details", { class: "query" }, el("summary", { "aria-label": `SPARQL of ${marker}` }, "SPARQL"), figures.map(({ figure }) => figure));
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
    one.direction === "inverse" && el("span", { class: "quiet" }, " (walked back)"));
}
