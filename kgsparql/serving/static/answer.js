// The answer, shown as what it is: a number, yes or no, names or one table; or a doubt, and what to ask instead.
import { button, count, el, name, number, shortened, troubleOf } from "./dom.js";
import { longTable } from "./table.js";

const NAMED = 10; // answers that are shown as names; more are a table
const ROWS = 1_000;
const FEW = 2; // notes that are shown at once

/**
 * Of a run; `said` are the lines of its text with their citations.
 * `acts` is what may be done from here: light, open, look, ask, and take another meaning of a name.
 */
export function answerPart(run, acts) {
  const { answer, gaps, outcome } = run;
  const followed = answer.notes.filter((note) => note.code === "follow_up").map((note) => note.text);
  const notes = run.notes.filter((text) => !followed.includes(text));
  const marks = marksOf(acts);
  return [
    answer.error && troubleOf(answer.error),
    gaps.length ? doubted(run, acts) : sure(run, acts, marks),
    followed.map((text) => el("p", { class: "how" }, text)),
    answer.computed && !gaps.length && basis(answer.computed),
    outcome && el("p", { class: "outcome quiet" }, outcome),
    notes.length > 0 && folded((notes.length > FEW || answer.status === "answered") && count(notes.length, "note"), el("ul", { class: "notes" }, notes.map((note) => el("li", {}, note)))),
  ];
}

const marksOf = (acts) => (markers) => markers.slice(0, 6).map((marker) => markerButton(marker, acts.light, acts.open));

export function markerButton(marker, light, open) {
  return el("button", {
    type: "button", class: "marker", data: { markers: marker }, title: "Show its triples and query",
    onmouseenter: () => light([marker]), onmouseleave: () => light([]),
    onfocus: () => light([marker]), onblur: () => light([]), onclick: () => open(marker),
  }, marker);
}

/** Folds what is below a title, where there is one. */
const folded = (title, ...inside) => (title ? el("details", {}, el("summary", {}, title), inside) : inside);

const parted = ({ answers }) => [true, false].map((isBest) => answers.filter((one) => one.best === isBest));

function sure(run, acts, marks) {
  const { answer, said } = run;
  const [best, others] = parted(answer);
  const isValue = answer.value !== null;
  if (answer.type === "table") return [tableOf(run), spoken(said.filter((line) => line.is_aside), marks)];
  if (isValue) return [valueLine(said[0], marks), spoken(said.slice(1), marks)];
  if (answer.grounding !== "graph" || !best.length) return written(run, acts, marks);
  return [best.length > NAMED ? tableOfNames(answer, best, acts) : names(best, acts, marks), answer.computed && spoken(said.filter((line) => line.is_aside), marks), further(others, acts, marks)];
}

/** What keeps it from being an answer, and what else may be asked. */
function doubted({ answer, gaps: [doubt, ...more], again }, acts) {
  const choices = answer.choices ?? []; // 0.2 had none
  return [
    el("p", { class: "gap" }, el("strong", {}, "No sure answer: "), doubt),
    choices.length ? chosen(choices, acts) : asked(answer, again, acts),
    more.length > 0 && folded(count(more.length, "further doubt"), el("ul", {}, more.map((one) => el("li", {}, one)))),
  ];
}

/** The likely readings as sentences, each with what it comes to; one that is clicked is the answer. */
const chosen = (choices, acts) => el("div", { class: "choices", role: "group", "aria-label": "Is one of these meant?" }, el("p", { class: "quiet" }, "Is one of these meant?"), choices.map((one, at) =>
  el("button", { type: "button", onclick: () => acts.choose(at + 1) }, name(one.reading), " ",
    el("span", { class: "quiet" }, one.count > 1 && `${number(one.count)}: `, name(one.first.join(", ")), one.count > one.first.length && " …"))));

/** What was found nearest, where no answer is sure: a line, and what it says when that is opened. */
export function nearestPart(run, acts) {
  const { answer, gaps, said } = run, { computed } = answer;
  if (!gaps.length || !answer.evidence.length) return null;
  const [best, others] = parted(answer), marks = marksOf(acts);
  const first = best.slice(0, 3).map((one) => one.term.label).join("; ") || said[1]?.parts.filter((part) => typeof part === "string").join("");
  return [
    el("summary", {}, "What was found nearest", first && answer.choices?.length > 0 && [": ", name(shortened(first, 80)), best.length > 3 && " …"]),
    computed ? spoken(said.slice(1), marks) : best.length > 0 && names(best.slice(0, NAMED), acts, marks),
    answer.type === "table" && folded("Its rows", tableOf(run)),
    further(others, acts, marks),
  ];
}

/** Buttons that ask again: other meanings of a name in doubt, names that are alike, readings in the words of the graph. */
function asked({ linked, gaps, status }, again, acts) {
  const doubts = new Set(gaps.filter((gap) => gap.code === "ambiguous").map((gap) => gap.words));
  const meanings = linked.flatMap((link, at) => (doubts.has(link.mention) ? link.candidates.slice(0, 4).map((one, other) =>
    button([name(one.term.label), one.description && ` (${one.description})`], () => acts.mean(at, other))) : []));
  const all = [...meanings, ...(again ?? []).map((question) => button(name(question), () => acts.ask(question)))];
  all.push(...linked.filter((link) => link.term.type === "uri").slice(0, 2).map(({ term, description }) => button(["What is said of ", name(term.label)], () => acts.look({ term: `<${term.value}>`, label: term.label, description, markers: [] }))));
  if (!all.length) return status !== "answered" && el("p", {}, "See ", el("a", { href: "/" }, "what is in the graph"), ", and begin with that.");
  return el("div", { class: "again", role: "group", "aria-label": "Ask instead" }, el("p", { class: "quiet" }, "Instead:"), all);
}

const further = (others, acts, marks) => others.length > 0 && folded(count(others.length, "other candidate"), names(others, acts, marks));

/** Names; what has an IRI opens its card. */
const names = (answers, acts, marks) => el("ul", { class: answers.length > 1 || answers[0]?.term.label.length > 60 ? "names" : "names one" }, answers.map((one) =>
  el("li", { data: { markers: one.markers.join(" ") } }, nameOf(one, acts), one.description && [" ", name(`(${one.description})`, { class: "quiet" })], " ", marks(one.markers))));

const nameOf = ({ term, description = "", markers }, acts) => (term.type === "uri"
  ? el("button", { type: "button", class: "link", onclick: () => acts.look({ term: `<${term.value}>`, label: term.label, description, markers }) }, name(term.label)) : name(term.label));

/** A number, a yes or a no: its first word large, its unit behind it. */
function valueLine({ parts }, marks) {
  const [, value, rest] = parts.filter((part) => typeof part === "string").join("").trim().match(/^(\S*)(.*)$/s);
  return el("p", { class: "value" }, el("strong", {}, name(value[0].toUpperCase() + value.slice(1))), " ", name(rest.trim() || " ", { class: "unit" }), parts.filter(Array.isArray).map(marks));
}

/** Lines of text, with a button for each marker. */
const spoken = (lines, marks) => lines.map(({ is_aside: isAside, parts }) => el("p", { class: isAside ? "how" : "said" }, parts.map((part) => (typeof part === "string" ? part : [" ", marks(part)]))));

function written({ answer, said, again }, acts, marks) {
  const isUnsaid = answer.answers.some((one) => !answer.text.toLowerCase().includes(one.term.label.toLowerCase()));
  return [spoken(said, marks), isUnsaid && names(answer.answers, acts, marks), asked(answer, again, acts)];
}

/** Of two things of one name in a column each is shown with its IRI. */
const tableOf = ({ heads, answer: { computed: { columns, rows, is_cut: isCut } } }) => {
  const named = columns.map((_, at) => Map.groupBy(new Map(rows.map((row) => [row[at]?.value, row[at]])).values(), (term) => term?.label));
  const cell = (term, at) => term && [name(term.label, { class: /^\S{1,12}$/.test(term.label) && "whole" }), term.type === "uri" && named[at].get(term.label).length > 1 && [" ", name(term.value, { class: "quiet" })]];
  return shownTable(heads?.length ? heads : columns, rows.slice(0, ROWS).map((row) => row.map(cell)), rows.length, isCut);
};

const tableOfNames = ({ more_answers: more }, best, acts) => shownTable(["Answer"], best.slice(0, ROWS).map((one) => [[nameOf(one, acts), one.description && ` (${one.description})`]]), best.length + more);

const shownTable = (columns, rows, all, isCut) => longTable("Answer", columns, rows, {
  more: rows.length < all || isCut ? `The first ${number(rows.length)} of ${count(all, "row")}${isCut ? " and more" : ""}; the query has all` : "" });

/** What a computed answer rests on: what comes next to the best, and of how many. */
function basis({ compared, facts, all_facts: areAll }) {
  const next = compared?.next.map(({ item, value }) => `${item.label}${value ? ` (${value.label})` : ""}`).join("; ");
  const parts = [next && `next: ${next}`, compared?.size && `of ${compared.size}`, facts && `${areAll ? "" : "more than "}${count(facts, "fact")}`].filter(Boolean);
  return parts.length > 0 && el("p", { class: "how" }, parts.join(" · "));
}
