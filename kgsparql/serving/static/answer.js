// The answer in words, or as ranked candidates, or computed; each marker lights what it stands for.
import { count, el, name, troubleOf, valuesTable } from "./dom.js";

const LISTED = 12;
const ROWS = 50;

/** Of a run; `said` are the lines of its text: sentences with their citations, and whether they rest on anything. */
export function answerPart({ answer, said, prose, prose_title, gaps, notes }, light, open) {
  const marks = (markers) => markers.map((marker) => markerButton(marker, light, open));
  return [
    answer.error && troubleOf(answer.error),
    answer.is_ranked || isChosen(answer) ? ranked(answer, gaps, marks) : written(answer, said, marks),
    answer.computed && computed(answer.computed),
    prose.length > 0 && el("div", { class: "prose" }, el("p", { class: "quiet" }, prose_title), spoken(prose, marks)),
    notes.length > 0 && el("ul", { class: "notes" }, notes.map((note) => el("li", {}, note))),
  ];
}

/** A model chose which of our readings is meant: what that leads to is listed as where nobody chose. */
const isChosen = (answer) => answer.answers.length > 0 && !answer.computed && answer.grounding === "graph";

export function markerButton(marker, light, open) {
  return el("button", {
    type: "button", class: "marker", data: { markers: marker }, title: "Show its triples and query",
    onmouseenter: () => light([marker]), onmouseleave: () => light([]),
    onfocus: () => light([marker]), onblur: () => light([]), onclick: () => open(marker),
  }, marker);
}

function ranked(answer, gaps, marks) {
  const parts = gaps.map((gap, at) => el("p", { class: "gap" }, at ? "" : el("strong", {}, "No sure answer: "), gap));
  if (!answer.answers.length) return [...parts, el("p", {}, answer.text.split("\n")[0])];
  const line = lineOf(marks);
  const [best, others] = [true, false].map((isBest) => answer.answers.filter((one) => one.is_best === isBest));
  return [parts, listed(best, line), others.length > 0 && folded(`${count(others.length, "further candidate")}, less likely`, others.map(line))];
}

const lineOf = (marks) => (one) => el("li", { data: { markers: one.markers.join(" ") } }, name(one.term.label),
  one.description && [" ", name(`(${one.description})`, { class: "quiet" })], " ", marks(one.markers.slice(0, 6)));

const listed = (answers, line, unlisted = 0) => [el("ol", { class: "best" }, answers.slice(0, LISTED).map(line)),
  answers.length > LISTED && folded(`${answers.length - LISTED + unlisted} more`, answers.slice(LISTED).map(line))];

const folded = (title, lines) => el("details", {}, el("summary", {}, title), el("ol", {}, lines));

/** Lines of sentences, with a button for each marker. */
const spoken = (lines, marks) => lines.map((line) => el("p", { class: line.is_aside ? "quiet" : "said" }, line.sentences.map(({ parts, rests }) =>
    el("span", rests ? {} : { class: "unsupported", title: "not from the graph: nothing that was found carries this" }, parts.map((part) => (typeof part === "string" ? part : [" ", marks(part)])), " ",
      rests ? "" : el("span", { class: "label" }, "not from the graph")))));

function written(answer, said, marks) {
  const isTable = answer.computed && answer.computed.columns.length > 1;
  const named = answer.answers.filter((one) => !answer.text.toLowerCase().includes(one.term.label.toLowerCase()));
  return [
    answer.grounding === "model" && el("p", { class: "gap" }, el("strong", {}, "From the model's memory, not from the graph")), spoken(said, marks),
    named.length > 0 && !isTable && answer.value === null && listed(answer.answers, lineOf(marks), answer.more_answers),
  ];
}

function computed(one) {
  const isTable = one.columns.length > 1;
  return [
    isTable && valuesTable(one.columns, one.rows.slice(0, ROWS).map((row) => row.map((term) => term && name(term.label)))),
    isTable && (one.rows.length > ROWS || one.is_cut) && el("p", { class: "quiet" }, `the first ${Math.min(ROWS, one.rows.length)} rows; all are in the JSON, or found by the query`),
    el("p", { class: "how" }, el("strong", {}, "Computed: "), one.words),
    el("details", {}, el("summary", {}, "Plan"), el("pre", { tabindex: 0 }, JSON.stringify(one.plan, null, 2))),
  ];
}
