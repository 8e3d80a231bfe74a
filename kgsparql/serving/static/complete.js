// The question box as a combobox: names of the graph while one types, and recent questions where nothing is written yet.
import * as api from "./api.js";
import { el, name, put } from "./dom.js";

const KEPT = 8;
const STORE = `kgsparql questions of ${document.title}`;
const KINDS = { class: "kind of thing", predicate: "relation" };

/** What was asked last, the newest first; a browser that keeps nothing has none. */
function recent() {
  try {
    return JSON.parse(localStorage.getItem(STORE) ?? "[]");
  } catch {
    return [];
  }
}

export function remember(question) {
  try {
    localStorage.setItem(STORE, JSON.stringify([question, ...recent().filter((one) => one !== question)].slice(0, KEPT)));
  } catch { /* nothing is kept in this browser */ }
}

/** Completes what is written in a field; a whole question that is chosen is asked. */
export class Completion {
  constructor(field, list) {
    Object.assign(this, { field, list, at: -1, options: [], asking: new AbortController() });
    field.addEventListener("input", () => this.look());
    field.addEventListener("keydown", (event) => this.key(event));
    field.addEventListener("blur", () => this.close());
    list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
  }

  async look() {
    this.asking.abort();
    const { signal } = this.asking = new AbortController();
    const text = this.field.value.slice(0, this.field.selectionStart);
    if (!text.trim()) return this.close();
    const { start, names = [] } = await api.names(text, signal).catch(() => ({})); // none is no error
    if (text !== this.field.value.slice(0, this.field.selectionStart)) return undefined;
    return this.show(names.map((one) => ({ text: one.label, hint: [KINDS[one.kind], one.about].filter(Boolean).join(" · "), take: () => this.insert(one.label, start, text.length) })));
  }

  insert(label, start, end) {
    const { field } = this;
    field.setRangeText(label, start, end, "end");
    this.close();
  }

  recent() {
    this.show(recent().map((text) => ({ text, hint: "asked before", take: () => { this.field.value = text; this.close(); this.field.form.requestSubmit(); } })));
  }

  key(event) {
    const isOpen = this.options.length > 0;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !isOpen && !this.field.value) this.recent();
    else if (step && isOpen) this.move(this.at + step);
    else if (event.key === "Enter" && this.at >= 0) this.options[this.at].take();
    else if (event.key === "Escape" && isOpen) this.close();
    else return;
    event.preventDefault();
  }

  move(to) {
    this.at = ((to + 1 + this.options.length + 1) % (this.options.length + 1)) - 1; // before the first is the field itself
    [...this.list.children].forEach((one, at) => one.setAttribute("aria-selected", String(at === this.at)));
    this.field.setAttribute("aria-activedescendant", this.at < 0 ? "" : `name-${this.at}`);
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  show(options) {
    Object.assign(this, { options, at: -1 });
    this.list.replaceChildren(...options.map(({ text, hint, take }, at) => put(el("li", { role: "option", id: `name-${at}`, "aria-selected": "false", onclick: take }, name(text)), hint && [" ", name(hint, { class: "quiet" })])));
    this.list.hidden = !options.length;
    this.field.setAttribute("aria-expanded", String(options.length > 0));
    this.field.setAttribute("aria-activedescendant", "");
  }

  close() {
    this.asking.abort();
    this.show([]);
  }
}
