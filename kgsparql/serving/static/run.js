// One run: its question with what each name was taken for, its answer, drawing, evidence, steps and meter.
import * as api from "./api.js";
import { answerPart } from "./answer.js";
import { count, el, put } from "./dom.js";
import { Drawing } from "./drawing.js";
import { evidencePart } from "./evidence.js";
import { questionPart } from "./question.js";
import { stepItem } from "./steps.js";

const STATUS = {
  answered: "answered", partial: "partial", not_in_graph: "not in the graph", no_entity: "nothing recognised",
};

export class RunView {
  /** `askAgain(question, entities, meanings)` asks once more; `meanings` are shown in the place of the run's own links. */
  constructor(run, askAgain, meanings) {
    Object.assign(this, { run, askAgain, meanings, leaving: new AbortController(), queries: 0, calls: 0, tokens: 0, started: performance.now() });
    this.badge = el("span", { class: "badge", role: "status" }, "working");
    this.question = el("h2", {}, run.question);
    this.stopper = el("button", { type: "button", class: "small stop", onclick: () => this.stop() }, "Stop");
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
      this.stopper.remove();
      this.element.removeAttribute("aria-busy");
    }
  }

  async stop() {
    this.stopper.disabled = true;
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
    if (now) now.textContent = item.dataset.words;
  }

  tick() {
    const seconds = ((performance.now() - this.started) / 1000).toFixed(1);
    const model = this.calls ? ` · ${count(this.calls, "model call")} · ${count(this.tokens, "token")}` : "";
    this.meter.textContent = `${count(this.queries, "query", "queries")}${model} · ${seconds} s`;
  }

  finish() {
    const { answer, drawing, whole_drawing: whole } = this.run;
    this.badge.textContent = answer.is_ranked && answer.status === "answered" ? "ranked, no model" : STATUS[answer.status] ?? answer.status;
    this.badge.dataset.status = answer.is_ranked && answer.status === "answered" ? "ranked" : answer.status;
    this.question.replaceWith(questionPart(answer, this.meanings, this.askAgain));
    const light = (markers) => this.light(markers);
    const open = (marker) => this.open(marker);
    this.table = evidencePart(answer, light);
    this.drawing = drawing ? new Drawing(drawing, whole, light, open) : null;
    this.body.replaceChildren(el("div", { class: "answer-part" }, answerPart(answer, light, open)));
    if (this.drawing) this.body.append(this.drawing.element);
    this.body.append(this.table);
    this.meter.replaceChildren();
    put(this.meter, meterText(answer.usage, this.run.left_out));
    this.meter.after(this.exports());
    this.drawing?.draw();
  }

  fail(error) {
    this.badge.textContent = "failed";
    this.badge.dataset.status = "failed";
    this.body.querySelector(".now")?.remove();
    this.body.prepend(el("p", { class: "trouble", role: "alert" }, el("strong", {}, error.message), error.hint ? ` ${error.hint}` : ""));
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
  async recheck(button, outcome) {
    button.disabled = true;
    outcome.textContent = "Checking …";
    try {
      outcome.replaceChildren(...recheckLines(await api.recheck(this.run.id)));
    } catch (error) {
      outcome.replaceChildren(el("p", { class: "trouble" }, el("strong", {}, error.message), error.hint ? ` ${error.hint}` : ""));
    } finally {
      button.disabled = false;
    }
  }

  exports() {
    const outcome = el("div", { class: "recheck", role: "status" });
    const button = el("button", { type: "button", class: "small", onclick: () => this.recheck(button, outcome) }, "Check again");
    const suffixes = ["json", ...Object.keys(this.run.files ?? {})];
    const names = { json: "JSON", md: "Markdown", trig: "TriG", svg: "SVG" };
    return el("div", { class: "exports" }, this.run.answer.evidence.length ? [button, " "] : "", el("a", { href: `/runs/${this.run.id}` }, "Permalink"),
      suffixes.map((suffix) => [" · ", el("a", { href: `/runs/${this.run.id}.${suffix}`, download: true }, names[suffix] ?? suffix)]), outcome);
  }
}

function recheckLines(found) {
  const changed = found.items.filter((item) => item.verdict === "changed" || item.verdict === "refused");
  const all = `${count(found.triples.found, "triple")} found again, ${count(found.items.length, "query", "queries")} run again`;
  const verdict = !found.stands ? "It does not stand any more." : found.is_whole ? `It stands: ${all}.` : "What could be checked stands; not all could be checked.";
  const lines = [el("p", {}, el("strong", {}, verdict), ` (${new Date().toLocaleTimeString("en-GB")})`)];
  if (found.is_of_other_graphs) lines.push(el("p", { class: "gap" }, `answered from ${found.answered_from.join(", ")}, but checked on ${found.checked_on.join(", ")}`));
  if (found.triples.gone.length) lines.push(el("p", {}, "Gone from the graph:"), el("pre", { tabindex: 0 }, found.triples.gone.join("\n")));
  if (changed.length) lines.push(el("ul", {}, changed.map((item) => el("li", {}, `${item.marker}: ${item.why || `${count(item.gone.length, "answer")} gone, ${item.new.length} new`}`))));
  return lines;
}

function meterText(usage, left) {
  const cost = !usage.model_calls ? "" : usage.cost === null ? " · cost unknown (no prices)" : ` · cost ${usage.cost}`;
  const model = usage.model_calls
    ? `${count(usage.model_calls, "model call")}${usage.cached_calls ? ` (${count(usage.cached_calls, "kept reply", "kept replies")})` : ""} · ${count(usage.prompt_tokens, "token")} in, ${usage.completion_tokens.toLocaleString("en")} out${cost}`
    : "no model calls";
  const time = usage.seconds === null ? "" : ` · ${usage.seconds.toFixed(2)} s`;
  return `${count(usage.queries, "query", "queries")} · ${count(usage.rows, "solution")} · ${model}${time}${left ? ` · ${count(left, "step")} not kept` : ""}`;
}
