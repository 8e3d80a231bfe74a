// The SPARQL box: a query of one's own, run read-only at /sparql. Its editor is loaded when it is first opened.
import { button, count, el, name, put, troubleOf } from "./dom.js";
import { longTable } from "./table.js";

const EDITOR = "/static/vendor/yasqe-4.6.2.min";
const SHOWN = 200;
const FIRST = "SELECT * { ?s ?p ?o } LIMIT 20";
let opening, offered = FIRST;

export async function openBox(query, isOffer) {
  opening ??= make().catch((error) => { opening = null; throw error; });  // it is tried again
  const editor = await opening;
  if (query && (!isOffer || editor.getValue() === offered)) editor.setValue(offered = query);
  editor.focus();
  document.getElementById("sparql").scrollIntoView({ block: "nearest" });
}

const loaded = (tag, attributes) => new Promise((resolve, reject) => {
  document.head.append(el(tag, { ...attributes, onload: resolve, onerror: () => reject(new Error("the editor could not be loaded")) }));
});

async function make() {
  await Promise.all([loaded("link", { rel: "stylesheet", href: `${EDITOR}.css` }), loaded("script", { src: `${EDITOR}.js` })]);
  const place = el("div"), outcome = el("div", { role: "status" });
  let running;
  const runner = button("Run", () => (running ? running.abort() : run()));

  async function run() {
    if (running) return;
    running = new AbortController();
    runner.textContent = "Stop";
    outcome.textContent = "Running …";
    const parts = await result(editor.getValue(), running.signal).catch((error) => [error.name === "AbortError" ? "Stopped." : troubleOf(error)]);
    outcome.textContent = "";
    put(outcome, parts);
    outcome.scrollIntoView({ block: "nearest" });  // else it may stand below what is seen
    running = null;
    runner.textContent = "Run";
  }

  const box = document.getElementById("sparql");
  box.append(el("h2", {}, "SPARQL"), place, el("p", {}, runner, el("span", { class: "quiet" }, " read-only; Ctrl+Enter")), outcome);
  box.hidden = false;
  // YASQE would declare prefixes as prefix.cc has them; those of the graph need no declaration. Tab leaves it.
  Yasqe.defaults.autocompleters = [];
  const editor = new Yasqe(place, {
    value: FIRST, screenReaderLabel: "SPARQL query", editorHeight: "auto", lineWrapping: true, viewportMargin: Infinity, showQueryButton: false, resizeable: false,
    persistenceId: null, createShareableLink: null, consumeShareLink: null, highlightSelectionMatches: false,
    extraKeys: { "Ctrl-Enter": run, "Cmd-Enter": run, Tab: false, "Shift-Tab": false },
  });
  return editor;
}

async function result(query, signal) {
  const headers = { "content-type": "application/sparql-query", accept: "application/sparql-results+json, text/turtle", "x-kgsparql-why": "1" };
  const reply = await fetch("/sparql", { method: "POST", body: query, signal, headers });
  const text = await reply.text();
  if (!reply.ok) {
    const [message, hint] = text.startsWith("{") ? Object.values(JSON.parse(text).error).slice(1) : text.split(/\n(.*)/s);
    throw Object.assign(new Error(message), { hint });
  }
  const cut = reply.headers.get("x-kgsparql-cut");
  const why = reply.headers.get("x-kgsparql-nothing"), nothing = why && el("p", { class: "quiet" }, why);
  const missing = cut && el("p", { class: "gap" }, "incomplete: ", cut);
  if (!/json/.test(reply.headers.get("content-type"))) return [el("pre", { tabindex: 0 }, text), nothing, missing];
  const { boolean, head, results } = JSON.parse(text);
  if (!results) return [String(boolean), nothing];
  const found = results.bindings;
  return [el("p", {}, count(found.length, "solution"), found.length > SHOWN && `, of which the first ${SHOWN} are shown`), nothing, missing,
    longTable("Solutions", head.vars.map((variable) => `?${variable}`), found.slice(0, SHOWN).map((solution) => head.vars.map((variable) => solution[variable] && term(solution[variable]))),
      { csvRows: found.map((solution) => head.vars.map((variable) => solution[variable]?.value ?? "")) })];
}

function term({ type, value, datatype, "xml:lang": language }) {
  if (type === "triple") return Object.values(value).map((part) => [term(part), " "]);
  const kind = language ? ` @${language}` : datatype && ` ^^${datatype.split(/[#/]/).pop()}`;
  return [name(type === "bnode" ? `_:${value}` : value), kind && el("span", { class: "quiet" }, kind)];
}
