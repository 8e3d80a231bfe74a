// The card of a node: what it is, what the graph has around it, and a question about it.
import { markerButton } from "./answer.js";
import * as api from "./api.js";
import { button, el, name, number, put, shortened, troubleOf } from "./dom.js";
import { triple } from "./evidence.js";

/** Says what something is called, what it is, and which term. */
export function tell(parent, label, what, term, ...more) {
  parent.replaceChildren();
  put(parent, el("strong", {}, name(label)), what ? [" ", name(what)] : "", " ", el("code", {}, term), " ", more);
}

export class NodeCard {
  /** Of a run; neighbours are added to the list of its evidence. */
  constructor({ graphs, light, open }, list) {
    Object.assign(this, { graphs, light, open, list, lists: new Map() });
    this.said = el("p", { role: "status" });
    this.more = button("", () => this.take());
    this.ask = button("Ask about this", () => this.element.dispatchEvent(new CustomEvent("about", { bubbles: true, detail: this.node })));
    this.element = el("div", { class: "card", hidden: true }, this.said, this.more, " ", this.ask);
  }

  /** Says what a node is, and fetches the next of its neighbours. */
  async show(node) {
    if (node.term !== this.node?.term) this.more.hidden = this.ask.hidden = true;
    Object.assign(this, { node, next: [] });
    this.element.hidden = false;
    this.say(node.description, shortened(node.term, 200));
    if (!node.term.startsWith("<")) return;
    const after = this.lists.get(node.term)?.children.length ?? 0;
    const { graphs } = this;
    this.element.ariaBusy = "true";
    try {
      const found = await api.neighbours(node.term, after);
      if (this.node !== node) return;
      const all = `${number(found.count)}${found.is_exact ? "" : "+"}`;
      this.next = found.triples;
      this.say([...found.kinds, found.description].filter(Boolean).join(" · "), found.curie);
      if (!found.graphs.some((graph) => graphs.includes(graph))) this.said.append(` (as ${found.graphs.join(", ")} has it; the answer is from ${graphs.join(", ")})`);
      this.more.textContent = after ? `+${this.next.length} more of ${all}` : `Its neighbours (${all})`;
      this.more.hidden = !this.next.length;
      if (after < found.count && this.more.hidden) this.said.append(`${number(after)} of ${all} are shown; a query finds the others`);
      this.ask.hidden = false;
      if (after && this.more.hidden) this.ask.focus();
    } catch (error) {
      if (this.node === node) this.said.append(troubleOf(error));
    }
    if (this.node === node) this.element.ariaBusy = "false";
  }

  say(what, term) {
    tell(this.said, this.node.label, what, term, this.node.markers.slice(0, 6).map((marker) => markerButton(marker, this.light, this.open)));
  }

  /** Adds the neighbours that were fetched. */
  take() {
    const { node, next } = this;
    if (!next.length) return;
    this.next = [];
    let list = this.lists.get(node.term);
    if (!list) {
      this.lists.set(node.term, list = el("ul", { class: "triples" }));
      this.list.append(el("li", { class: "piece", data: { around: node.term } }, el("p", { class: "quiet" }, "Around ", name(node.label), ", not evidence"), list));
    }
    list.append(...next.map(triple));
    this.element.scrollIntoView({ block: "nearest" });
    if (this.node === node) this.show(node);
  }
}
