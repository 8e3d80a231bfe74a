// The answer in words, or as ranked candidates, or computed; each marker lights what it stands for.
import { count, el, name } from "./dom.js";

const CITED = /\s?\[([A-Z]\d+(?:, [A-Z]\d+)*)\]/g;
const LISTED = 12;
const ROWS = 50;

export function answerPart(answer, light, open) {
  const marks = (markers) => markers.map((marker) => markerButton(marker, light, open));
  const parts = answer.is_ranked ? ranked(answer, marks) : written(answer, marks);
  if (answer.computed) parts.push(computed(answer.computed));
  const said = new Set(answer.not_understood.map((gap) => gap.text));
  const notes = answer.notes.filter((note) => note.code !== "frontier" && !said.has(note.text));
  if (answer.error) parts.unshift(el("p", { class: "trouble", role: "alert" }, el("strong", {}, answer.error.message), answer.error.hint ? ` ${answer.error.hint}` : ""));
  if (answer.removed) parts.push(el("p", { class: "note" }, `${count(answer.removed, "citation or step", "citations or steps")} that the model made up: removed`));
  if (notes.length) parts.push(el("ul", { class: "notes" }, notes.map((note) => el("li", {}, note.code === "way_out" ? "ask again with a name as the graph has it" : note.text))));
  return parts.flat();
}

export function markerButton(marker, light, open) {
  return el("button", {
    type: "button", class: "marker", data: { markers: marker }, title: "Show its triples and query",
    onmouseenter: () => light([marker]), onmouseleave: () => light([]),
    onfocus: () => light([marker]), onblur: () => light([]), onclick: () => open(marker),
  }, marker);
}

function ranked(answer, marks) {
  const parts = answer.not_understood.map((gap, at) => el("p", { class: "gap" }, at ? "" : el("strong", {}, "No sure answer: "), told(gap)));
  if (!answer.answers.length) return [...parts, el("p", {}, answer.text.split("\n")[0])];
  const line = (one) => el("li", { data: { markers: one.markers.join(" ") } }, name(one.term.label), one.description ? [" ", name(`(${one.description})`, { class: "quiet" })] : "", " ", marks(one.markers.slice(0, 6)));
  const best = answer.answers.filter((one) => one.is_best);
  const others = answer.answers.filter((one) => !one.is_best);
  parts.push(el("ol", { class: "best" }, best.slice(0, LISTED).map(line)));
  if (best.length > LISTED) parts.push(folded(`${best.length - LISTED} more`, best.slice(LISTED).map(line)));
  if (others.length) parts.push(folded(`${count(others.length, "further candidate")}, less likely`, others.map(line)));
  return parts;
}

const folded = (title, lines) => el("details", {}, el("summary", {}, title), el("ol", {}, lines));

/** The gap, with the names that may be meant where the terminal tells of options. */
function told(gap) {
  const text = gap.text.replace(/ \(-e .*?\)(?=,| or |;|$)/g, "");
  return gap.code === "ambiguous" ? `${text}. Click the underlined name to choose.` : text;
}

function written(answer, marks) {
  const isTable = answer.computed && answer.computed.columns.length > 1;
  const wrote = Boolean(answer.model) && answer.status !== "not_in_graph";
  const parts = answer.text.split("\n").filter((line) => line.trim()).map((line) => {
    const isAside = /^\(.*\)$/.test(line.trim());
    return el("p", { class: isAside ? "quiet" : "said" }, sentences(line).map((sentence) => {
      const rests = [...sentence.matchAll(CITED)].length > 0 || isAside || !wrote || isClaimed(sentence, answer.claims) || !/\w{2}/.test(sentence);
      return el("span", rests ? {} : { class: "unsupported", title: "not from the graph: nothing that was found carries this" }, withMarkers(sentence, marks), " ",
        rests ? "" : el("span", { class: "label" }, "not from the graph"));
    }));
  });
  if (answer.grounding === "model") parts.unshift(el("p", { class: "gap" }, el("strong", {}, "From the model's memory, not from the graph")));
  const named = answer.answers.filter((one) => !answer.text.toLowerCase().includes(one.term.label.toLowerCase()));
  if (named.length && !isTable && answer.value === null) {
    const line = (one) => el("li", { data: { markers: one.markers.join(" ") } }, name(one.term.label), " ", marks(one.markers.slice(0, 6)));
    parts.push(el("ol", { class: "best" }, answer.answers.slice(0, LISTED).map(line)));
    const more = answer.answers.slice(LISTED);
    if (more.length) parts.push(folded(`${more.length + answer.more_answers} more`, more.map(line)));
  }
  return parts;
}

const isClaimed = (sentence, claims) => claims.some((claim) => claim.markers.length && (claim.text.includes(sentence.trim()) || sentence.includes(claim.text)));

function withMarkers(sentence, marks) {
  const parts = [];
  let done = 0;
  for (const found of sentence.matchAll(CITED)) {
    parts.push(sentence.slice(done, found.index), " ", ...marks(found[1].split(", ")));
    done = found.index + found[0].length;
  }
  return [...parts, sentence.slice(done)];
}

/** The sentences of a line, each with the citations behind its full stop; initials and abbreviations end none. */
export function sentences(line) {
  const found = [];
  let begun = 0;
  for (const end of line.matchAll(/[.!?]["')\]]*(?:\s?\[[A-Z]\d+(?:, [A-Z]\d+)*\])*\s+(?=\S)/g)) {
    const before = line.slice(begun, end.index + 1);
    if (/(?:^|[\s.])(?:\p{Lu}|Dr|Mr|Mrs|Ms|St|Prof|Jr|Sr|No|vs|ca|e\.g|i\.e|etc)\.$/u.test(before) || /^\s*\d+\.$/.test(before)) continue;
    found.push(line.slice(begun, end.index + end[0].length).trimEnd());
    begun = end.index + end[0].length;
  }
  return [...found, line.slice(begun)];
}

function computed(one) {
  const parts = [];
  if (one.columns.length > 1) {
    parts.push(el("table", { class: "values" }, el("thead", {}, el("tr", {}, one.columns.map((column) => el("th", { scope: "col" }, column)))),
      el("tbody", {}, one.rows.slice(0, ROWS).map((row) => el("tr", {}, row.map((term) => el("td", {}, term ? name(term.label) : "")))))));
    if (one.rows.length > ROWS || one.is_cut) parts.push(el("p", { class: "quiet" }, `the first ${Math.min(ROWS, one.rows.length)} rows; all are in the JSON, or found by the query`));
  }
  parts.push(el("p", { class: "how" }, el("strong", {}, "Computed: "), one.words));
  parts.push(el("details", {}, el("summary", {}, "Plan"), el("pre", { tabindex: 0 }, JSON.stringify(one.plan, null, 2))));
  return parts;
}
