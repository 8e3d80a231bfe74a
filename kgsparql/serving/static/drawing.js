// The drawing of what an answer rests on: laid out on the server, shown with cytoscape.
import * as api from "./api.js";
import { button, count, el, number, shortened, troubleOf } from "./dom.js";
import { NodeCard, tell } from "./node.js";

const FONT = "system-ui, sans-serif";

export class Drawing {
  /** At most 60 nodes of a run's drawing are shown, until more are asked for. */
  constructor(run, table, light, open) {
    Object.assign(this, { run, shown: run.drawing, graphs: run.answer.graphs, light_: light, open, added: [] });
    this.card = new NodeCard(this, table);
    const placed = () => this.cy?.resize(); // cytoscape keeps where it is, and is not told when what is above it grows
    this.canvas = el("div", { class: "canvas", role: "img", onpointerenter: placed, onpointerdown: placed });
    this.about = el("p", { class: "about quiet" }, legend());
    this.more = button("", () => this.redraw(true));
    this.nodes = el("select", { class: "small", "aria-label": "A thing in the drawing" });
    this.element = el("section", { class: "drawing", "aria-label": "Drawing" }, this.canvas,
      el("p", { class: "tools" }, button("Whole drawing", () => this.cy.fit(undefined, 12)), button("Larger", () => this.zoom(1.25)), button("Smaller", () => this.zoom(0.8)), this.more,
        this.nodes, button("What is it?", () => this.look(this.nodes.value))),
      this.card.element, this.about);
  }

  async draw() {
    await import("./vendor/cytoscape-3.34.4.min.js");
    const { nodes, edges, left_out: left } = this.shown;
    const isOpen = (node) => node.term === this.card.node?.term;
    this.cy?.destroy();
    this.cy = globalThis.cytoscape({
      container: this.canvas, elements: elements(this.shown, isOpen), layout: { name: "preset" }, style: styles(getComputedStyle(this.element)),
      autoungrabify: true, boxSelectionEnabled: false, userZoomingEnabled: false,
    });
    const box = this.cy.elements().boundingBox();
    const scale = Math.min(1, Math.max(0.5, (this.canvas.clientWidth - 24) / box.w)); // as fit()
    this.canvas.style.height = `${Math.min(Math.max(box.h * scale + 48, 160), 480)}px`;
    this.canvas.setAttribute("aria-label", `Drawing of ${count(nodes.length, "thing")} and ${count(edges.length, "triple")}; the table below says the same`);
    this.more.hidden = !left;
    this.more.textContent = `+${number(left)} more${this.isWhole ? ": in the table" : ""}`;
    this.nodes.replaceChildren(...nodes.map((node) => el("option", { value: node.term, selected: isOpen(node) }, shortened(node.label, 40))));
    this.cy.resize();
    this.fit();
    this.cy.on("mouseover", "node, edge", ({ target }) => { this.tell(target.data()); this.light_(target.data("markers")); });
    this.cy.on("mouseout", "node, edge", () => this.light_([]));
    this.cy.on("tap", "node", ({ target }) => this.look(target.data("term")));
    this.cy.on("tap", "edge", ({ target }) => { this.tell(target.data()); this.open(target.data("markers")[0]); });
    this.schemes ??= matchMedia("(prefers-color-scheme: dark)");
    this.schemes.onchange = () => this.cy.style(styles(getComputedStyle(this.element)));
    this.watching ??= new ResizeObserver(() => { this.cy.resize(); this.fit(); });
    this.watching.observe(this.canvas);
  }

  /** Shows what a node is, and what may be done with it. */
  look(term) {
    const node = this.cy.nodes().unselect().filter((one) => one.data("term") === term).select();
    const { x, y } = node.renderedPosition();
    if (x < 0 || y < 0 || x > this.cy.width() || y > this.cy.height()) this.cy.center(node);
    this.nodes.value = term;
    this.card.show(this.shown.nodes.find((one) => one.term === term));
  }

  async redraw(isWhole = this.isWhole, triples = []) {
    this.isWhole = isWhole;
    this.added.push(...triples);
    try {
      this.shown = this.added.length ? await api.drawing(this.run.id, { is_whole: Boolean(isWhole), triples: this.added }) : this.run.whole_drawing;
      const hadFocus = document.activeElement === this.more;
      await this.draw();
      if (hadFocus) (this.more.hidden ? this.nodes : this.more).focus();
    } catch (error) {
      this.about.replaceChildren(troubleOf(error));
    }
  }

  /** All of it; where that is too small to be read, all layers, from the question on. */
  fit() {
    const { cy } = this;
    const all = cy.elements();
    cy.fit(undefined, 12);
    if (cy.zoom() >= 0.45) {
      cy.zoom(Math.min(cy.zoom(), 1));
      return cy.center();
    }
    cy.zoom(Math.min(Math.max((cy.width() - 24) / all.boundingBox().w, 0.5), 0.8));
    cy.center(cy.nodes(".question"));
    const seen = all.renderedBoundingBox();
    cy.panBy({ x: seen.w < cy.width() ? (cy.width() - seen.x1 - seen.x2) / 2 : 12 - seen.x1, y: 0 });
  }

  zoom(by) {
    const { cy } = this;
    cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  }

  tell({ full, description, term, is_inverse: isInverse, markers }) {
    tell(this.about, full, description, shortened(term, 200), isInverse ? "(walked back) " : "", markers.join(", "));
  }

  light(markers) {
    if (!this.cy) return;
    this.cy.batch(() => {
      const all = this.cy.elements().removeClass("lit dim");
      if (!markers.size) return;
      const lit = all.filter((one) => one.data("markers").some((marker) => markers.has(marker)));
      all.difference(lit).addClass("dim");
      lit.addClass("lit");
    });
    this.canvas.dataset.litNodes = this.cy.nodes(".lit").map((node) => node.data("full")).join("|");
  }
}

const KEYS = { question: "in the question", answer: "answer", other: "on the way", around: "around, not evidence" };

const legend = () => [Object.entries(KEYS).map(([role, text]) => [el("span", { class: `key ${role}` }, text), " "]), "Arrows point as the triples do; dashed: walked back."];

function elements({ nodes, edges }, isOpen) {
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = `13px ${FONT}`;
  const kind = (one, role) => `${role} ${one.markers.length ? "" : "around"}`;
  return [
    ...nodes.map((node) => {
      const label = shortened(node.label, 28);
      return { classes: kind(node, node.role), selected: isOpen(node), position: { x: node.x, y: node.y },
        data: { ...node, id: `n${node.id}`, label, full: node.label, width: Math.ceil(measure.measureText(label).width) + 22 } };
    }),
    ...edges.map((edge) => ({ classes: kind(edge, edge.is_inverse ? "inverse" : ""),
      data: { ...edge, id: `e${edge.id}`, source: `n${edge.source}`, target: `n${edge.target}`, label: shortened(edge.label, 26), full: edge.label, term: edge.predicate } })),
  ];
}

function styles(colours) {
  const colour = (name) => colours.getPropertyValue(`--${name}`).trim();
  const role = (name, width) => ({ "border-color": colour(name), "background-color": colour(`${name}-fill`), "border-width": width });
  const line = (name, width) => ({ "line-color": colour(name), "target-arrow-color": colour(name), width });
  const rules = {
    "node, edge": { label: "data(label)", "font-family": FONT },
    node: { width: "data(width)", height: 30, shape: "round-rectangle", "text-valign": "center", "font-size": 13, color: colour("ink"), ...role("line", 1.2) },
    ".question": { ...role("blue", 2.5), "font-weight": 600 },
    ".answer": role("green", 2),
    ".literal": { shape: "rectangle", ...role("faint", 1) },
    edge: { ...line("line", 1.4), "target-arrow-shape": "triangle", "curve-style": "bezier", "font-size": 11, color: colour("soft"), "text-background-color": colour("ground"), "text-background-opacity": 1 },
    ".inverse": { "line-style": "dashed" },
    "node.around": { "border-style": "dotted", color: colour("soft"), "background-color": colour("ground") },
    "edge.around": line("faint", 1),
    ":selected": { "underlay-color": colour("blue"), "underlay-opacity": 0.25, "underlay-padding": 5 },
    ".dim": { opacity: 0.18 },
    "edge.lit": { ...line("amber", 3), color: colour("ink") },
    "node.lit": { "border-width": 3, "border-color": colour("amber") },
  };
  return Object.entries(rules).map(([selector, style]) => ({ selector, style }));
}
