// The evidence as a table that says all that the drawing shows, each piece with the query that finds it again.
import { copyButton, count, el, name } from "./dom.js";

const TRIPLES = 12;

export function evidencePart(answer, light) {
  const cited = new Set(answer.cited);
  const used = answer.evidence.filter((item) => cited.has(item.marker));
  const others = answer.evidence.filter((item) => !cited.has(item.marker));
  const several = answer.graphs.length > 1;
  const part = el("section", { class: "evidence" }, el("h3", {}, used.length ? "Evidence" : "Found in the graph"));
  if (used.length) part.append(table(used, light, several));
  if (others.length) {
    const also = table(others, light, several);
    part.append(used.length ? el("details", {}, el("summary", {}, `Also found: ${count(others.length, "piece")}`), also) : also);
  }
  if (!answer.evidence.length) part.append(el("p", { class: "quiet" }, "None."));
  return part;
}

function table(items, light, several) {
  const headings = ["Marker", "Triples", several ? "Graphs" : null, "Checked"].filter(Boolean);
  return el("table", {}, el("thead", {}, el("tr", {}, headings.map((heading) => el("th", { scope: "col" }, heading)))), items.map((item) => row(item, light, several, headings.length)));
}

function row(item, light, several, columns) {
  const shown = item.triples.slice(0, TRIPLES).map(triple);
  const more = item.triples.slice(TRIPLES);
  const facts = shown.length && item.kind !== "passage"
    ? [el("ul", {}, shown), more.length ? el("details", {}, el("summary", {}, `${more.length} more`), el("ul", {}, more.map(triple))) : ""]
    : el("p", {}, item.text);
  const document = item.source ? el("p", { class: "quiet" }, item.source.document, item.source.page ? `, page ${item.source.page}` : "") : "";
  const graphs = new Set(item.triples.flatMap((one) => one.sources.map((source) => source.graph)));
  const states = new Set(item.triples.map((one) => one.verified));
  const checked = !item.triples.length ? "" : states.has(false) ? "✗ not found" : states.has(null) ? "– not checkable" : "✓ found again";
  const queries = item.queries.length ? item.queries : item.query ? [{ source: "", query: item.query }] : [];
  return el("tbody", { data: { markers: item.marker }, onmouseenter: () => light([item.marker]), onmouseleave: () => light([]) },
    el("tr", {}, el("th", { scope: "row" }, el("span", { class: "marker" }, item.marker)), el("td", {}, facts, document, item.cuts.map((cut) => el("p", { class: "note" }, cut))),
      several ? el("td", {}, [...graphs].map((graph) => el("p", {}, name(graph)))) : "", el("td", { class: "checked" }, checked)),
    queries.length ? el("tr", {}, el("td"), el("td", { colspan: columns - 1 }, el("details", {}, el("summary", { "aria-label": `SPARQL of ${item.marker}` }, "SPARQL"),
      queries.map((own) => el("figure", {}, el("figcaption", {}, own.source ? name(own.source) : "", " ", copyButton(own.query)), el("pre", { tabindex: 0 }, own.query)))))) : "");
}

function triple(one) {
  const term = (found) => name(found.label || found.value, { title: found.value, class: found.type });
  return el("li", { class: one.direction }, term(one.subject), " ", el("span", { class: "predicate", title: one.predicate.value }, "—", name(one.predicate.label), "→"), " ", term(one.object),
    one.direction === "inverse" ? el("span", { class: "quiet" }, " (walked back)") : "");
}
