// The start: what is in the graph, so that a question can be built without typing.
import * as api from "./api.js";
import { button, count, el, name, number, put, troubleOf } from "./dom.js";

const FIRST = 12; // kinds that are seen at once

/** Shows the kinds of things, each with how many there are, and what may be said of them once it is opened. */
export async function showKinds(section) {
  const { kinds } = await api.kinds();
  const listOf = (some) => el("div", { class: "kinds" }, some.map(kindPart));
  section.hidden = !kinds.length;
  put(section, listOf(kinds.slice(0, FIRST)));
  if (kinds.length > FIRST) put(section, el("details", {}, el("summary", {}, count(kinds.length - FIRST, "more kind")), listOf(kinds.slice(FIRST))));
}

function kindPart({ label, count: all, examples, plan }) {
  const inside = el("div", { class: "relations" });
  const part = el("details", { class: "kind" }, el("summary", {}, el("strong", {}, name(label)), " ", el("span", { class: "quiet" }, number(all)),
    examples.length > 0 && el("span", { class: "quiet such" }, "such as ", name(examples.join(", ")))), inside);
  part.addEventListener("toggle", () => relations(part, inside, plan, all).catch((error) => inside.replaceChildren(troubleOf(error))), { once: true });
  return part;
}

async function relations(part, inside, plan, all) {
  const choice = (text, own, amount) => button([text, amount !== null && el("span", { class: "quiet" }, ` ${number(amount)}`)], () =>
    part.dispatchEvent(new CustomEvent("plan", { bubbles: true, detail: own })));
  put(inside, choice("all of them", plan, all));
  const { options, most } = await api.kinds(plan);
  put(inside, options.map((one) => choice(name(one.words), one.plan, Math.min(one.count, most))));
}
