// What was asked before, above the box: a line for each question with its answer, which opens to all of it.
import * as api from "./api.js";
import { count, el, name, put, shortened } from "./dom.js";

const MOST = 12;
const known = new Map(); // runs that are over, by their id

export const remember = (run) => known.set(run.id, run);

/** Shows the questions that a run follows, the latest last; `viewOf` makes the view of one. */
export async function showThread(section, { options }, viewOf) {
  const chain = [];
  let { after } = options;
  while (after && chain.length < MOST) {
    const run = known.get(after) ?? await api.run(after).catch(() => null); // an old one may have been removed
    if (!run?.answer) break;
    remember(run);
    chain.unshift(run);
    after = run.options.after;
  }
  const parts = chain.map((run) => pastPart(run, viewOf));
  section.replaceChildren();
  put(section, parts.length > 1 ? el("details", {}, el("summary", {}, `${count(parts.length, "earlier question")}, the last: `, titleOf(chain.at(-1))), parts) : parts);
  section.hidden = !parts.length;
}

function pastPart(run, viewOf) {
  const part = el("details", { class: "past" }, el("summary", {}, titleOf(run)));
  part.addEventListener("toggle", () => {
    const view = viewOf(run);
    part.append(view.element);
    view.follow();
  }, { once: true });
  return part;
}

const titleOf = (run) => [name(shortened(run.answer.question, 120)), " ", el("strong", {}, name(shortBy(run)))];

function shortBy({ answer, gaps, said }) {
  const best = answer.answers.filter((one) => one.best).map((one) => one.term.label);
  const line = said[0]?.parts.filter((part) => typeof part === "string").join("").trim();
  const named = best.length > 2 ? `${best[0]} and ${best.length - 1 + answer.more_answers} more` : best.join(", ");
  return shortened(gaps.length ? "no sure answer" : answer.value === null && named ? named : line ?? "", 60);
}
