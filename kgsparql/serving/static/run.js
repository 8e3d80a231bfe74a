// One run: its question with what each name was taken for, its answer, drawing, evidence, steps and meter.
import * as api from "./api.js";
import { answerPart, nearestPart } from "./answer.js";
import { chipsPart } from "./chips.js";
import { button, copyButton, count, el, name, put, shortened, troubleOf } from "./dom.js";
import { Drawing } from "./drawing.js";
import { evidencePart } from "./evidence.js";
import { NodeCard } from "./node.js";
import { questionPart } from "./question.js";

const KEPT = 8;
const DOUBTED = { not_in_graph: "not in the graph", no_entity: "nothing recognised", failed: "failed" };

export class RunView {
  /** `mean(link, candidate)` asks once more, with another meaning of a name; `ask(question)` asks another, `choose(number)` by a reading, `edit` puts it in the box. */
  constructor(run, { mean, ask, choose, edit }) {
    const acts = { mean, ask, choose, edit, light: (markers) => this.light(markers), open: (marker) => this.open(marker), look: (node) => this.look(node) };
    Object.assign(this, { run, acts, leaving: new AbortController(), started: performance.now() });
    this.badge = el("span", { class: "badge", role: "status" }, "working");
    this.question = el("h2", {}, run.question);
    this.stopper = button("Stop", () => this.stop(), "stop");
    this.meter = el("p", { class: "meter quiet" });
    this.body = el("div", { class: "body" });
    this.steps = el("ol", { class: "steps" });
    this.stepCount = el("summary", {}, "Steps");
    this.folded = el("details", {}, this.stepCount, this.steps);
    const method = run.options?.method?.replaceAll("_", " ");
    this.element = el("article", { class: "run", "aria-busy": "true" }, this.question,
      el("p", { class: "state" }, method && el("span", {}, method), this.badge, this.stopper), this.body, this.meter, this.folded);
  }

  async follow() {
    try {
      if (this.run.state === "running") {
        this.body.append(el("p", { class: "now quiet" }, "Reading the question …"));
        const ticking = setInterval(() => this.tick(), 200);
        try {
          this.run = (await api.follow(this.run.id, (event) => this.step(event), this.leaving.signal)) ?? this.run;
        } finally {
          clearInterval(ticking);
        }
        if (this.leaving.signal.aborted) return;
        this.isNew = !this.run.answer?.graphs.some((graph) => graph.startsWith("http")); // endpoints are asked when somebody wants it
      } else {
        for (const event of this.run.events ?? []) this.step(event);
      }
      if (this.run.error) throw api.trouble(this.run.error);
      this.finish();
    } catch (error) {
      this.fail(error);
    } finally {
      if (document.activeElement === this.stopper) this.element.parentElement.focus();
      this.stopper.remove();
      this.element.removeAttribute("aria-busy");
    }
  }

  async stop() {
    this.stopper.textContent = "Stopping …";
    await api.stop(this.run.id).catch((error) => this.fail(error));
  }

  step(event) {
    const item = stepItem(event);
    if (!item) return;
    this.steps.append(item);
    this.stepCount.textContent = count(this.steps.children.length, "step");
    const now = this.body.querySelector(".now");
    if (!now) return;
    if (event.kind === "drafted") this.draft();
    if (!this.isDrafted) now.textContent = event.kind === "query_run" ? "Looking in the graph …" : item.dataset.words;
    const kept = keptList(event);
    if (!kept) return;
    this.body.querySelector(".live")?.remove();
    now.after(kept);
  }

  tick() {
    this.meter.textContent = `${((performance.now() - this.started) / 1000).toFixed(1)} s`;
  }

  /** Shows the answer without a model, while the model is asked. */
  async draft() {
    const drafted = await api.run(this.run.id).catch(() => null); // the answer itself says what is wrong
    const now = this.body.querySelector(".now");
    if (!drafted?.answer || !now || this.leaving.signal.aborted) return;
    this.show(drafted);
    this.isDrafted = true;
    now.textContent = "This is the answer without the model, which is asked now …";
    this.body.querySelector(".answer-part").append(now);
  }

  finish() {
    const { answer } = this.run;
    this.show(this.run);
    this.badge.textContent = answer.gaps.length || answer.status in DOUBTED ? DOUBTED[answer.status] ?? "not sure" : this.run.likely || answer.status;
    this.badge.dataset.status = answer.status;
    this.body.querySelector(".answer-part").prepend(this.badge);
    this.meter.replaceChildren();
    put(this.meter, this.run.meter);
    this.meter.after(this.exports());
    this.body.querySelector(".answer-part").append(...chipsPart(this.run, this.isNew));
  }

  /** Shows an answer: what it says, its drawing, the card of a node, and its evidence. */
  show(run) {
    const { answer, drawing, meanings } = run;
    const { light, open, mean } = this.acts;
    const question = questionPart(answer, meanings ?? answer.linked, mean);
    this.question.replaceWith(question);
    this.question = question;
    const evidence = evidencePart(run, light);
    this.drawing = drawing ? new Drawing(run, this.acts) : null;
    this.card = new NodeCard({ graphs: answer.graphs, light, open }, evidence.querySelector(".pieces"));
    const hadFocus = this.body.contains(document.activeElement);
    this.body.replaceChildren();
    const rests = [this.drawing?.element, this.card.element, evidence];
    const nearest = nearestPart(run, this.acts);
    put(this.body, el("div", { class: "answer-part" }, answerPart(run, this.acts)),
      nearest ? el("details", { class: "nearest" }, nearest, rests) : rests);
    if (hadFocus) this.element.parentElement.focus();
  }

  /** Shows what a node is, and what may be done with it. */
  look(node) {
    this.drawing?.choose(node.term);
    this.card.show(this.drawing?.shown.nodes.find((one) => one.term === node.term) ?? node);
    for (const folded of this.body.querySelectorAll(".nearest")) folded.open = true; // it holds the card
    this.card.element.scrollIntoView({ block: "nearest" });
  }

  fail(error) {
    this.badge.textContent = "failed";
    this.badge.dataset.status = "failed";
    this.body.querySelector(".now")?.remove();
    this.body.prepend(troubleOf(error));
  }

  /** Lights what has one of the markers, in the drawing, the table and the answer; nothing for none. */
  light(markers) {
    const lit = new Set(markers);
    for (const one of this.element.querySelectorAll("[data-markers]")) {
      one.classList.toggle("lit", one.dataset.markers.split(" ").some((marker) => lit.has(marker)));
    }
    this.drawing?.light(lit);
  }

  open(marker) {
    const piece = this.element.querySelector(`.piece[data-markers="${CSS.escape(marker)}"]`);
    if (!piece) return;
    for (let folded = piece.querySelector(".query") ?? piece; folded; folded = folded.parentElement.closest("details")) folded.open = true;
    piece.scrollIntoView({ block: "nearest" });
    piece.querySelector(".query summary")?.focus({ preventScroll: true });
  }

  exports() {
    const suffixes = ["json", ...Object.keys(this.run.files ?? {})];
    const names = { md: "Markdown", trig: "TriG" };
    return el("div", { class: "exports" }, button("Edit the question", this.acts.edit), " · ", el("a", { href: `/runs/${this.run.id}` }, "Permalink"),
      suffixes.map((suffix) => [" · ", el("a", { href: `/runs/${this.run.id}.${suffix}`, download: true }, names[suffix] ?? suffix.toUpperCase())]),
      this.run.not_logged ? el("p", { class: "quiet" }, `Not logged: ${this.run.not_logged}`) : "");
  }
}

// A step: one line in words, with the query, or the prompt and reply, folded.
function stepItem(event) {
  const words = event.words || (event.kind === "evidence_found" ? `found ${count(event.items.length, "piece")} of evidence` : "");
  if (!words) return null;
  const parts = [
    ["SPARQL", event.kind === "query_run" ? event.text : ""],
    ["prompt", event.prompt], ["reply", event.reply],
    ["kept", event.kept?.join("\n")],
    ["evidence", event.items?.map(([marker, text]) => `${marker}  ${shortened(text, 400)}`).join("\n")],
  ].filter(([, text]) => text);
  const time = el("span", { class: "quiet time" }, `${event.at_s.toFixed(2)} s`);
  const item = el("li", { class: event.kind, data: { words } });
  if (!parts.length) return put(item, el("span", {}, words), time);
  const folded = el("details", {}, el("summary", {}, words, " ", time));
  folded.addEventListener("toggle", () => {  // what is not looked at is not made
    if (folded.open && folded.children.length === 1) {
      folded.append(...parts.map(([title, text]) => el("figure", {}, el("figcaption", {}, title, " ", copyButton(() => text)), el("pre", { tabindex: 0 }, text))));
    }
  });
  item.append(folded);
  return item;
}

/** What a step kept, and the first of what it let go. */
function keptList({ kept, pruned = 0, pruned_texts: gone = [], items = [] }) {
  const texts = kept ?? items.map(([marker, text]) => `[${marker}] ${text}`);
  const lines = (kind, some, more) => [...some.slice(0, KEPT), ...(more > 0 ? [`+${more} more`] : [])].map((text) => el("li", { class: kind }, name(text)));
  return texts.length ? el("ul", { class: "live" }, lines("kept", texts, texts.length - KEPT), lines("gone", gone, pruned - gone.length)) : null;
}
