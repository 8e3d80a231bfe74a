// The question with its names underlined: what each was taken for, and what else it may mean.
import { button, el, name, shortened } from "./dom.js";

export function questionPart(answer, links, askAgain) {
  const characters = Array.from(answer.question);
  const heading = el("h2");
  const panel = el("div", { class: "meanings", hidden: true });
  const chosen = (link) => (candidate) => askAgain(links.indexOf(link), candidate);
  let done = 0;
  const placed = links.filter((link) => link.start >= 0).sort((a, b) => a.start - b.start);
  for (const link of placed) {
    if (link.start < done) continue;
    heading.append(plainText(characters.slice(done, link.start)), mention(link, characters.slice(link.start, link.end).join(""), panel, chosen(link)));
    done = link.end;
  }
  heading.append(plainText(characters.slice(done)));
  const others = links.filter((link) => link.start < 0);
  const given = others.length ? el("p", { class: "given quiet" }, "about ", others.map((link) => mention(link, link.term.label, panel, chosen(link)))) : null;
  return el("div", { class: "question" }, heading, given, panel);
}

const plainText = (characters) => document.createTextNode(characters.join(""));

function mention(link, text, panel, choose) {
  const made = el("button", {
    type: "button", class: "mention", "aria-expanded": "false",
    title: `${shortened(link.term.label, 100)} (${link.matched} ${link.score.toFixed(2)})`,
    onclick: () => {
      const open = made.getAttribute("aria-expanded") === "true";
      for (const other of made.closest(".question").querySelectorAll(".mention")) other.setAttribute("aria-expanded", "false");
      panel.hidden = open;
      made.setAttribute("aria-expanded", String(!open));
      if (!open) panel.replaceChildren(...meaningsOf(link, choose));
    },
  }, text);
  return made;
}

function meaningsOf(link, choose) {
  const rivals = link.candidates.slice(0, 12);
  return [
    el("p", {}, "taken for ", meaning(link)),
    rivals.length ? el("p", { class: "quiet" }, "or is one of these meant? The question is asked again with it.") : el("p", { class: "quiet" }, "Nothing else in the graph has a name like this."),
    el("ul", {}, rivals.map((term, at) => el("li", {}, button("Use this", () => choose(at)), " ", meaning(term)))),
  ];
}

function meaning(one) {
  return el("span", {}, el("strong", {}, name(one.term.label)), one.description ? [" ", name(one.description)] : "",
    " ", el("code", {}, shortened(one.term.value, 160)), " ", el("span", { class: "quiet" }, `${one.matched} ${one.score.toFixed(2)}`));
}
