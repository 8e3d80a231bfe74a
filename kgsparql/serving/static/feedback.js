// Whether an answer is right, and what is: kept in the log of questions.
import * as api from "./api.js";
import { button, el, put, troubleOf } from "./dom.js";

/** `rating` is what was said before: null where nothing was. */
export function feedbackPart(id, rating) {
  const said = el("p", { class: "quiet", role: "status" });
  const right = el("textarea", { rows: 2 });
  const thumbs = ["✓ Right", "✗ Wrong"].map((words, at) => button(words, () => rate({ is_right: !at })));
  const form = el("details", {}, el("summary", {}, "The right answer is …"), el("label", {}, "One name, value or IRI a line", right),
    button("Save", () => (right.value.trim() ? rate({ right_answers: right.value.split("\n").filter((line) => line.trim()) }) : right.focus())), " ",
    button("The graph has no answer", () => rate({ right_answers: [] })));

  async function rate(rated) {
    said.replaceChildren();
    await api.rate(id, rated).then(show, (error) => said.append(troubleOf(error)));
    form.open = rated.is_right === false && !right.value;
  }

  function show({ is_right: isRight, right_answers: answers }) {
    thumbs.forEach((thumb, at) => thumb.setAttribute("aria-pressed", String(isRight === !at)));
    if (answers) right.value = answers.join("\n");
    put(said, isRight === null ? "" : isRight ? "Rated right. " : "Rated wrong. ", answers && (answers.length ? `The right answer: ${answers.join("; ")}` : "The graph has no answer."));
  }

  show(rating);
  return el("div", { class: "feedback tools" }, "Is this right?", thumbs, said, form);
}
