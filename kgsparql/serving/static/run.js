// One run: its question with what each name was taken for, its answer, drawing, evidence, steps and meter.
import * as api from "./api.js";
import { answerPart } from "./answer.js";
import { button, count, el, put, troubleOf } from "./dom.js";
import { Drawing } from "./drawing.js";
import { evidencePart } from "./evidence.js";
import { feedbackPart } from "./feedback.js";
import { questionPart } from "./question.js";
import { keptList, stepItem } from "./steps.js";

const STATUS = { not_in_graph: "not in the graph", no_entity: "nothing recognised" };

export class RunView {
  /** `askAgain(link, candidate)` asks once more, with another meaning of a name. */
  constructor(run, askAgain) {
    Object.assign(this, { run, askAgain, leaving: new AbortController(), queries: 0, calls: 0, tokens: 0, started: performance.now() });
    this.badge = el("span", { class: "badge", role: "status" }, "working");
    this.question = el("h2", {}, run.question);
    this.stopper = button("Stop", () => this.stop(), "stop");
    this.meter = el("p", { class: "meter quiet" });
    this.body = el("div", { class: "body" });
    this.steps = el("ol", { class: "steps" });
    this.stepCount = el("summary", {}, "Steps");
    this.folded = el("details", {}, this.stepCount, this.steps);
    const method = run.options?.method ? ` ${run.options.method.replaceAll("_", " ")}` : "";
    this.element = el("article", { class: "run", "aria-busy": "true" },
      el("p", { class: "state" }, this.badge, method, " ", this.stopper),
      this.question, this.body, this.meter, this.folded);
  }

  async follow() {
    try {
      if (this.run.state === "running") {
        this.body.append(el("p", { class: "now quiet" }, "Reading the question …"));
        const ticking = setInterval(() => this.tick(), 200);
        try {
          await api.follow(this.run.id, (event) => this.step(event), this.leaving.signal);
        } finally {
          clearInterval(ticking);
        }
        if (this.leaving.signal.aborted) return;
        this.run = await api.run(this.run.id);
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
    if (event.kind === "query_run") this.queries += 1;
    if (event.kind === "model_called") {
      this.calls += 1;
      this.tokens += event.prompt_tokens + event.completion_tokens;
    }
    const item = stepItem(event);
    if (!item) return;
    this.steps.append(item);
    this.stepCount.textContent = count(this.steps.children.length, "step");
    const now = this.body.querySelector(".now");
    if (!now) return;
    now.textContent = item.dataset.words;
    const kept = keptList(event);
    if (!kept) return;
    this.body.querySelector(".live")?.remove();
    now.after(kept);
  }

  tick() {
    const seconds = ((performance.now() - this.started) / 1000).toFixed(1);
    const model = this.calls ? ` · ${count(this.calls, "model call")} · ${count(this.tokens, "token")}` : "";
    this.meter.textContent = `${count(this.queries, "query", "queries")}${model} · ${seconds} s`;
  }

  finish() {
    const { answer, drawing } = this.run;
    const isRanked = answer.is_ranked && answer.status === "answered";
    this.badge.textContent = isRanked ? "ranked, no model" : STATUS[answer.status] ?? answer.status;
    this.badge.dataset.status = isRanked ? "ranked" : answer.status;
    this.question.replaceWith(questionPart(answer, this.run.meanings ?? answer.linked, this.askAgain));
    const light = (markers) => this.light(markers);
    const open = (marker) => this.open(marker);
    this.table = evidencePart(this.run, light);
    this.drawing = drawing ? new Drawing(this.run, this.table.querySelector("table"), light, open) : null;
    this.body.replaceChildren(el("div", { class: "answer-part" }, answerPart(this.run, light, open)));
    if (this.drawing) this.body.append(this.drawing.element);
    this.body.append(this.table);
    this.meter.replaceChildren();
    put(this.meter, this.run.meter);
    this.meter.after(this.exports());
    this.drawing?.draw();
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
    const row = this.element.querySelector(`tbody[data-markers="${CSS.escape(marker)}"]`);
    if (!row) return;
    const folded = row.closest("details");
    if (folded) folded.open = true;
    const query = row.querySelector("details");
    if (query) query.open = true;
    row.scrollIntoView({ block: "nearest" });
    row.querySelector("summary")?.focus({ preventScroll: true });
  }

  /** Looks the cited triples up and runs the queries again, on the graph as it is now. */
  async recheck(outcome) {
    outcome.textContent = "Checking …";
    try {
      outcome.replaceChildren(...recheckLines(await api.recheck(this.run.id)));
    } catch (error) {
      outcome.replaceChildren(troubleOf(error));
    }
  }

  exports() {
    const outcome = el("div", { class: "recheck", role: "status" });
    const check = button("Check again", () => this.recheck(outcome));
    const suffixes = ["json", ...Object.keys(this.run.files ?? {})];
    const names = { md: "Markdown", trig: "TriG" };
    return el("div", { class: "exports" }, this.run.answer.evidence.length ? [check, " "] : "", el("a", { href: `/runs/${this.run.id}` }, "Permalink"),
      suffixes.map((suffix) => [" · ", el("a", { href: `/runs/${this.run.id}.${suffix}`, download: true }, names[suffix] ?? suffix.toUpperCase())]), outcome,
      this.run.not_logged ? el("p", { class: "quiet" }, `Not logged: ${this.run.not_logged}`) : "", this.run.rating ? feedbackPart(this.run.id, this.run.rating) : "");
  }
}

function recheckLines({ verdict, notes, gone, changed }) {
  return [el("p", {}, el("strong", {}, verdict), ` (${new Date().toLocaleTimeString("en-GB")})`), ...notes.map((note) => el("p", { class: "gap" }, note)),
    gone.length ? el("pre", { tabindex: 0 }, `Gone from the graph:\n${gone.join("\n")}`) : "", el("ul", {}, changed.map((one) => el("li", {}, one)))];
}
