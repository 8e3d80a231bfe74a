// The drawing of what an answer rests on: laid out on the server, and shown here as SVG.
import { button, count, el, number, put, shortened, svg } from "./dom.js";
import { tell } from "./node.js";

const ARROW = 9;
const LEAST = 0.72; // of its size: smaller, its words could not be read
const BESIDE = 600; // pixels that there are beside an answer

export class Drawing {
  /** At most 14 nodes of a run's drawing are shown, until more are asked for. */
  constructor(run, acts) {
    Object.assign(this, { run, acts, shown: run.drawing, scale: 1 });
    this.picture = svg("svg", { "aria-hidden": "true" });
    this.canvas = el("div", { class: "canvas", role: "img", tabindex: 0 }, this.picture);
    this.about = el("p", { class: "about quiet" });
    this.more = button("", () => this.drawWhole());
    this.nodes = el("select", { class: "small", "aria-label": "A thing in the drawing" });
    const inside = [this.canvas, el("p", { class: "tools" }, el("span", { class: "zoom tools" }, button("Whole drawing", () => this.zoom(0)), button("Larger", () => this.zoom(1.25)), button("Smaller", () => this.zoom(0.8))), this.more,
      this.nodes, button("What is it?", () => this.look(this.nodes.value))), this.about];
    const isPart = run.answer.answers.filter((one) => one.best).length > this.shown.nodes.filter((one) => one.role === "answer").length && this.shown.left_out > 0;
    const needs = LEAST * this.shown.view[2], isWide = needs > BESIDE ? "wide-drawing" : "";
    this.element = el("div", { class: `drawing ${isWide}`, role: "group", "aria-label": "Drawing" },
      needs > innerWidth - 40 || isPart ? el("details", {}, el("summary", {}, isPart ? "Drawing of some" : "Drawing"), inside) : inside); // the evidence says the same
    this.draw();
  }

  draw() {
    const { nodes, edges, view, left_out: left } = this.shown;
    this.picture.setAttribute("viewBox", view.join(" "));
    this.picture.replaceChildren(...edges.map((edge) => this.edge(edge)), ...nodes.map((node) => this.node(node)));
    this.about.replaceChildren();
    put(this.about, legend(nodes));
    this.zoom(1);
    this.choose(this.chosen);
    this.canvas.setAttribute("aria-label", `Drawing of ${count(nodes.length, "thing")} and ${count(edges.length, "triple")}; the triples are listed, too`);
    this.more.hidden = !left;
    this.more.textContent = `+${number(left)} more${this.isWhole ? ": in the list" : ""}`;
    this.nodes.replaceChildren(...nodes.map((node) => el("option", { value: node.term, selected: node.term === this.chosen }, shortened(node.label, 40))));
  }

  node(one) {
    const text = svg("text", { x: one.x, y: one.y + 4.5 }, shortened(one.label, 40));
    return this.part(one, `node ${one.role}`, () => this.look(one.term),
      svg("rect", { x: one.x - one.width / 2, y: one.y - 15, width: one.width, height: 30, rx: one.role === "literal" ? 0 : 7 }), text);
  }

  edge(one) {
    const [start, ...rest] = one.points, [x, y] = rest[2], base = x + (rest[1][0] < x ? -ARROW : ARROW);
    const d = `M${start} C${rest.join(" ")}`;
    const { label_at: at } = one;
    return this.part(one, "edge", () => this.acts.open(one.markers[0]),
      svg("path", { d, class: "reach" }), svg("path", { d }), svg("polygon", { points: `${x},${y} ${base},${y - 4} ${base},${y + 4}` }),
      at && svg("text", { x: at.x, y: at.y + 4 }, shortened(one.label, 30)));
  }

  /** A node or an edge, which lights what it is evidence of, and opens something. */
  part(one, kind, onclick, ...children) {
    const { label, description, term = one.predicate, markers } = one;
    const onmouseenter = () => {
      tell(this.about, label, description, shortened(term, 200), markers.join(", "));
      this.acts.light(markers);
    };
    const data = { part: markers.join(" "), full: label, term };
    return svg("g", { class: kind, data, onmouseenter, onmouseleave: () => this.acts.light([]), onclick }, ...children);
  }

  look(term) {
    this.acts.look(this.shown.nodes.find((one) => one.term === term));
  }

  /** Marks a node as the one that the card is about. */
  choose(term) {
    this.chosen = term;
    for (const one of this.picture.querySelectorAll(".node")) one.classList.toggle("chosen", one.dataset.term === term);
    if (this.shown.nodes.some((one) => one.term === term)) this.nodes.value = term;
  }

  drawWhole() {
    this.isWhole = true;
    this.shown = this.run.whole_drawing;
    this.draw();
    (this.more.hidden ? this.nodes : this.more).focus();
  }

  /** At 1 all of it is in view, if it can be read so, at 0 in any case; larger, what is left is scrolled to. */
  zoom(by) {
    const [, , width, height] = this.shown.view;
    this.scale = by === 0 || by === 1 ? 1 : Math.min(Math.max(this.scale * by, 1), 8);
    Object.assign(this.picture.style, by === 0 ? { minWidth: "", minHeight: "" } : { minWidth: `${LEAST * width}px`, minHeight: `${LEAST * height}px` });
    this.picture.style.width = `${100 * this.scale}%`;
    this.picture.style.maxWidth = `${width * this.scale}px`;
    this.picture.style.maxHeight = this.scale === 1 ? "30rem" : `${height * this.scale}px`;
  }

  light(markers) {
    const all = [...this.picture.children];
    const isLit = (one) => one.dataset.part.split(" ").some((marker) => markers.has(marker));
    for (const one of all) {
      one.classList.toggle("lit", isLit(one));
      one.classList.toggle("dim", markers.size > 0 && !isLit(one));
    }
    this.canvas.dataset.litNodes = all.filter((one) => one.matches(".node.lit")).map((one) => one.dataset.full).join("|");
  }
}

const KEYS = { question: "in the question", answer: "answer", other: "on the way" };

const legend = (nodes) => [Object.entries(KEYS).filter(([role]) => nodes.some((one) => one.role === role)).map(([role, text]) => [el("span", { class: `key ${role}` }, text), " "]), "Arrows point as the triples do."];
