// The evidence as a list that says all that the drawing shows, each piece with the query that finds it again.
import { box, button, copyButton, count, el, name, put, troubleOf } from "./dom.js";

const TRIPLES = 6;

export function evidencePart({ answer }, light) {
  const cited = new Set(answer.cited);
  const used = answer.evidence.filter((item) => cited.has(item.marker));
  const others = answer.evidence.filter((item) => !cited.has(item.marker));
  const listOf = (items) => el("ol", { class: "pieces" }, items.map((item) => piece(item, light, answer)));
  const folded = () => el("details", {}, el("summary", {}, `Other readings: ${count(others.length, "piece")} of evidence`), listOf(others));
  return el("section", { class: "evidence" }, answer.evidence.length > 0 && el("h3", {}, used.length ? "Evidence" : "Found in the graph"), listOf(used.length ? used : others),
    used.length > 0 && others.length > 0 && folded());
}

function piece(item, light, answer) {
  const facts = item.triples.length && item.kind !== "passage" ? triples(item.triples) : el("p", {}, item.text);
  const states = new Set(item.triples.map((one) => one.verified));
  const checked = !item.triples.length ? "" : states.has(false) ? "✗ not found" : states.has(null) ? "– not checkable" : "✓ found in the graph";
  return el("li", { class: "piece", data: { markers: item.marker }, onmouseenter: () => light([item.marker]), onmouseleave: () => light([]) },
    el("p", { class: "head quiet" }, el("span", { class: "marker" }, item.marker), " ", el("span", { class: "checked" }, checked)),
    facts, item.cuts.map((cut) => el("p", { class: "note" }, cut)), item.query && queryPart(item.marker, item.query));
}

const triples = (all) => [el("ul", { class: "triples" }, all.slice(0, TRIPLES).map(triple)),
  all.length > TRIPLES && el("details", {}, el("summary", {}, `${all.length - TRIPLES} more`), el("ul", { class: "triples" }, all.slice(TRIPLES).map(triple)))];

function queryPart(marker, query) {
  const figure = () => (part.open && part.children.length === 1 ? put(part, queryFigure(query)) : part);
  const part = el("details", { class: "query", ontoggle: figure }, el("summary", { "aria-label": `SPARQL of ${marker}` }, "SPARQL"));
  return part;
}

function queryFigure(query) {
  const tools = el("figcaption", {}, copyButton(() => query), " ");
  tools.append(button("Open in the SPARQL box", () => box(query).catch((error) => tools.append(troubleOf(error)))));
  return el("figure", {}, tools, el("pre", { tabindex: 0 }, query));
}

export function triple(one) {
  const term = (found) => name(found.label || found.value, { title: found.value, class: found.type });
  return el("li", { class: one.direction }, term(one.subject), " ", el("span", { class: "predicate", title: one.predicate.value }, "—", name(one.predicate.label), "→"), " ", term(one.object));
}
