// What the question was understood as, in parts; each can be another that has results, and the answer follows.
import * as api from "./api.js";
import { button, el, name, number, put, troubleOf } from "./dom.js";

let next = -1; // the part that was changed gets the focus again

/** Of a finished run; chosen options are told as the event `plan`. It looks at the graph when it is opened. */
export function chipsPart(run, isOpen) {
  const said = el("p", { class: "quiet", role: "status" });
  const list = el("div", { class: "parts", role: "group", "aria-label": "Parts of the question" });
  const folded = el("details", { class: "guide", open: isOpen }, el("summary", {}, "Change a part of the question"), said, list);
  const further = el("p", { class: "next tools" });
  folded.addEventListener("toggle", () => load(run, said, list, further).catch((error) => said.replaceChildren(troubleOf(error))), { once: true });
  return [further, folded];
}

async function load(run, said, list, further) {
  const { id } = run;
  const { words, chips, is_near: isNear, next: following } = await api.chips(id);
  said.replaceChildren();
  if (!run.answer.computed || run.answer.gaps.length) put(said, words ? [isNear || run.answer.gaps.length ? "Near it, to begin with: " : "Understood as: ", name(words)] : "No other words say just this: what it rests on is listed below.");
  if (following.length) put(further, el("span", { class: "quiet" }, "Ask next: "), following.map((one) => button(name(one.words), () => choose(one, further, -1))));
  list.closest(".guide").hidden = !words && (run.answer.gaps.length || !chips.length);
  const offered = el("ul", { class: "offered", role: "listbox", tabindex: 0, hidden: true });
  const more = el("p", { class: "quiet", role: "status" });
  const buttons = chips.map(({ kind, words: text }, at) => {
    const made = button(text === "+" ? `+ add a ${kind}` : name(text), () => toggle(made, at), "part");
    made.ariaHasPopup = "listbox";
    made.ariaExpanded = "false";
    made.dataset.kind = kind;
    return made;
  });
  put(list, buttons, offered, more);
  if (next >= 0) (buttons[next] ?? buttons.at(-1))?.focus();
  next = -1;

  function close(from) {
    offered.hidden = true;
    more.textContent = "";
    for (const one of buttons) one.ariaExpanded = "false";
    from?.focus();
  }

  async function toggle(from, at) {
    const isOpen = from.ariaExpanded === "true";
    close();
    if (isOpen) return;
    from.ariaExpanded = "true";
    from.ariaBusy = "true";
    try {
      show(await api.chips(id, at), from, at);
    } catch (error) {
      said.append(troubleOf(error));
      close(from);
    }
    from.ariaBusy = "false";
  }

  function show({ options, is_cut: isCut, most }, from, at) {
    const amount = (count) => (count === null ? "" : count > most ? `${number(most)}+` : number(count));
    const lines = options.map((one, place) => el("li", {
      id: `option-${id}-${place}`, role: "option", "aria-selected": "false", onclick: () => choose(one, from, at),
    }, name(one.words), " ", el("span", { class: "quiet" }, amount(one.count), one.is_now ? " now" : "")));
    offered.replaceChildren(...lines);
    more.textContent = isCut ? "There are others, less common." : "";
    offered.setAttribute("aria-label", `Instead of ${from.textContent}`);
    offered.hidden = false;
    let active = Math.max(0, options.findIndex((one) => one.is_now));
    const mark = (place) => {
      lines[active]?.setAttribute("aria-selected", "false");
      active = Math.min(Math.max(place, 0), lines.length - 1);
      lines[active]?.setAttribute("aria-selected", "true");
      lines[active]?.scrollIntoView({ block: "nearest" });
      offered.setAttribute("aria-activedescendant", lines[active]?.id ?? "");
    };
    const keys = { ArrowDown: () => mark(active + 1), ArrowUp: () => mark(active - 1), Home: () => mark(0), End: () => mark(lines.length),
      Enter: () => lines[active]?.click(), " ": () => lines[active]?.click(), Escape: () => close(from) };
    offered.onkeydown = (event) => {
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    };
    offered.focus();
    mark(active);
  }

  function choose({ plan }, from, at) {
    next = at;
    from.dispatchEvent(new CustomEvent("plan", { bubbles: true, detail: plan }));
  }
}
