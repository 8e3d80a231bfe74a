// The page: the question box, its settings and examples, and one or two runs below.
import * as api from "./api.js";
import { Completion, remember } from "./complete.js";
import { box, button, count, el, name, put, troubleOf } from "./dom.js";
import { RunView } from "./run.js";
import { showKinds } from "./start.js";
import { remember as rememberRun, showThread } from "./thread.js";

const at = (id) => document.getElementById(id);
const runs = at("runs");
let views = [];
let meant = null, showing = null;
const chip = button("", () => { mean(null); at("question").focus(); }, "chip");
document.querySelector(".box").after(chip);

const completion = new Completion(at("question"), at("names"));

/** What the next question is about, beside its words. */
function mean(node) {
  meant = node;
  chip.hidden = !node;
  chip.replaceChildren("about ", name(node?.label), " ×");
}
mean(null);

function show(error) {
  at("trouble").hidden = !error;
  if (error) at("trouble").replaceChildren(...troubleOf(error).childNodes);
}

/** Asks a question once for each of the settings, and shows the runs beside each other. */
async function ask(question, all) {
  show(null);
  completion.close();
  remember(question);
  const started = await Promise.all(all.map((settings) => api.ask(question, settings)));
  const [first, second] = started.map((run) => run.id);
  history.pushState(null, "", `/runs/${first}${second ? `?beside=${second}` : ""}`);
  await showRuns(started);
}

/** Takes the runs off the page; nobody follows those that are still on their way. */
function clear() {
  for (const view of views) view.leaving.abort();
  views = [];
  mean(null);
  runs.replaceChildren();
  at("thread").hidden = true;
}

function showRuns(found) {
  at("start").hidden = true;
  clear();
  runs.classList.toggle("two", found.length > 1);
  document.title = `${found[0].question} · kgsparql`;
  at("question").value = "";
  at("question").placeholder = "And its …? What about …? Which of them …?";
  views = found.map(viewOf);
  runs.append(...views.map((view) => view.element));
  if (document.activeElement !== at("question")) runs.focus();
  scrollTo(0, 0);
  showThread(at("thread"), found[0], viewOf).catch(show);
  return Promise.all(views.map((view) => view.follow().then(() => rememberRun(view.run))));
}

function viewOf(run) {
  const { id, question, options: { corrects, reading: _, ...options } } = run;
  return new RunView(run, {
    mean: (link, candidate) => ask(question, [{ ...options, corrects: { run: id, link, candidate } }]).catch(show),
    ask: (other) => ask(other, [options]).catch(show),
    choose: (reading) => ask(question, [{ ...options, reading }]).catch(show),
    edit: () => { at("question").value = question; at("question").select(); at("question").focus(); },
  });
}

function settings(method) {
  const chosen = { method: method || undefined, entities: meant ? [meant.term] : undefined, after: views[0]?.run.id };
  if (!at("model-choice").hidden && !at("use-model").checked) chosen.use_model = false;
  return chosen;
}

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const beside = at("beside").value;
  ask(at("question").value, [settings(at("method").value), ...(beside ? [settings(beside)] : [])]).catch(show);
});

document.addEventListener("plan", ({ detail }) => ask("", [{ plan: detail, after: views[0]?.run.id }]).catch(show));

runs.addEventListener("about", (event) => {
  mean(event.detail);
  at("question").focus();
  at("question").select();
});

async function open() {
  const kept = location.pathname.match(/^\/runs\/([\w-]+)$/);
  const wanted = new URLSearchParams(location.search);
  if (!kept) {
    clear();
    at("start").hidden = false;
    showing ??= showKinds(at("kinds"));
    showing.catch(show);
    if (wanted.get("q")) at("question").value = wanted.get("q");
    return;
  }
  await showRuns(await Promise.all([kept[1], wanted.get("beside")].filter(Boolean).map(api.run)));
}

async function about() {
  const graph = await api.graph();
  if (graph.error) show(graph.error);
  if (graph.triples !== null) put(at("facts"), ` · ${count(graph.triples, "triple")}`);
  for (const id of ["method", "beside"]) {
    at(id).append(...graph.methods.map((method) => el("option", { value: method }, method.replaceAll("_", " "))));
  }
  at("model-choice").hidden = !graph.model;
  put(at("model"), "write with ", name(graph.model));
  at("hint").hidden = graph.model;
  const wanted = new URLSearchParams(location.search);
  for (const id of ["method", "beside"]) if (graph.methods.includes(wanted.get(id))) at(id).value = wanted.get(id);
  at("options").open = at("method").value || at("beside").value;
  at("examples").querySelector("ul").append(...graph.examples.map((text) => el("li", {}, el("button", {
    type: "button",
    onclick: () => { at("question").value = text; at("ask").requestSubmit(); },
  }, name(text)))));
  at("examples").hidden = !graph.examples.length;
}

at("open-sparql").addEventListener("click", () => box(views[0]?.run.files?.rq, true).catch(show));
addEventListener("popstate", () => open().catch(show));
open().catch(show);
about().catch(show);
