// The drawing of what an answer rests on: layers by hop, made on the server, shown with cytoscape.
import { count, el, name, shortened } from "./dom.js";

const LIBRARY = "/static/vendor/cytoscape-3.34.4.min.js";
let loading;

/** The library is loaded with the first drawing: the page itself is there long before. */
function library() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = LIBRARY;
    script.onload = () => resolve(globalThis.cytoscape);
    script.onerror = () => reject(new Error("the drawing could not be loaded"));
    document.head.append(script);
  });
  return loading;
}

export class Drawing {
  /** `drawing` has at most 60 nodes; `whole` has more, where there are. */
  constructor(drawing, whole, light, open) {
    Object.assign(this, { drawing, whole, light_: light, open });
    this.canvas = el("div", { class: "canvas", role: "img", "aria-label": `Drawing of ${count(drawing.nodes.length, "thing")} and ${count(drawing.edges.length, "triple")}; the table below says the same` });
    this.about = el("p", { class: "about quiet" }, legend());
    this.more = drawing.left_out && whole ? el("button", { type: "button", class: "small", onclick: () => this.expand() }, `+${drawing.left_out.toLocaleString("en")} more`) : "";
    this.element = el("section", { class: "drawing", "aria-label": "Drawing" }, this.canvas,
      el("p", { class: "tools" }, el("button", { type: "button", class: "small", onclick: () => this.cy.fit(undefined, 12) }, "Whole drawing"),
        el("button", { type: "button", class: "small", onclick: () => this.zoom(1.25) }, "Larger"), el("button", { type: "button", class: "small", onclick: () => this.zoom(0.8) }, "Smaller"), this.more),
      this.about);
  }

  async draw() {
    const cytoscape = await library();
    this.cy?.destroy();
    this.cy = cytoscape({
      container: this.canvas, elements: elements(this.drawing), layout: { name: "preset" }, style: styles(getComputedStyle(this.element)),
      minZoom: 0.1, maxZoom: 3, autoungrabify: true, boxSelectionEnabled: false, userZoomingEnabled: false,
    });
    const box = this.cy.elements().boundingBox();
    const scale = Math.min(1, (this.canvas.clientWidth - 24) / box.w);
    this.canvas.style.height = `${Math.min(Math.max(box.h * scale + 48, 160), 480)}px`;
    this.cy.resize();
    this.fit();
    this.cy.on("mouseover", "node, edge", ({ target }) => { this.tell(target.data()); this.light_(target.data("markers")); });
    this.cy.on("mouseout", "node, edge", () => this.light_([]));
    this.cy.on("tap", "node, edge", ({ target }) => { this.tell(target.data()); this.open(target.data("markers")[0]); });
    this.schemes ??= matchMedia("(prefers-color-scheme: dark)");
    this.schemes.onchange = () => this.cy.style(styles(getComputedStyle(this.element)));
    this.watching ??= new ResizeObserver(() => { this.cy.resize(); this.fit(); });
    this.watching.observe(this.canvas);
  }

  expand() {
    this.drawing = this.whole;
    this.more.remove();
    if (this.drawing.left_out) this.about.before(el("p", { class: "quiet" }, `${this.drawing.left_out.toLocaleString("en")} more are only in the table`));
    this.draw();
  }

  /** All of it, but nothing larger than life, and nothing too small to be read: then all layers, from the question on. */
  fit() {
    const all = this.cy.elements().boundingBox();
    this.cy.fit(undefined, 12);
    if (this.cy.zoom() >= 0.45) {
      if (this.cy.zoom() > 1) this.cy.zoom(1);
      this.cy.center();
      return;
    }
    this.cy.zoom(Math.min(Math.max((this.cy.width() - 24) / all.w, 0.5), 0.8));
    this.cy.center(this.cy.nodes(".question"));
    const seen = this.cy.elements().renderedBoundingBox();
    this.cy.panBy({ x: seen.w < this.cy.width() ? (this.cy.width() - seen.x1 - seen.x2) / 2 : 12 - seen.x1, y: 0 });
  }

  zoom(by) {
    this.cy.zoom({ level: this.cy.zoom() * by, renderedPosition: { x: this.cy.width() / 2, y: this.cy.height() / 2 } });
  }

  tell(data) {
    const said = data.source === undefined ? [el("strong", {}, name(data.full)), data.description ? [" ", name(data.description)] : "", " ", el("code", {}, shortened(data.term, 200))]
      : [el("strong", {}, name(data.full)), " ", el("code", {}, shortened(data.predicate, 200)), data.inverse ? " (walked back)" : ""];
    this.about.replaceChildren(...el("span", {}, ...said, data.markers.length ? ` [${data.markers.join(", ")}]` : "").childNodes);
  }

  light(markers) {
    this.canvas.dataset.lit = [...markers].join(" ");
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

function legend() {
  return [el("span", { class: "key question" }, "in the question"), " ", el("span", { class: "key answer" }, "answer"), " ", el("span", { class: "key other" }, "on the way"),
    " Arrows point as the triples do; dashed ones are walked back."];
}

function elements({ nodes, edges }) {
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = "13px system-ui, sans-serif";
  return [
    ...nodes.map((node) => {
      const label = shortened(node.label, 28);
      return { group: "nodes", classes: node.role, position: { x: node.x, y: node.y },
        data: { id: `n${node.id}`, label, full: node.label, width: Math.ceil(measure.measureText(label).width) + 22, term: node.term, description: node.description, markers: node.markers } };
    }),
    ...edges.map((edge) => ({ group: "edges", classes: edge.is_inverse ? "inverse" : "",
      data: { id: `e${edge.id}`, source: `n${edge.source}`, target: `n${edge.target}`, label: shortened(edge.label, 26), full: edge.label, predicate: edge.predicate, inverse: edge.is_inverse, markers: edge.markers } })),
  ];
}

function styles(colours) {
  const colour = (name) => colours.getPropertyValue(`--${name}`).trim();
  const role = (name, width) => ({ "border-color": colour(name), "background-color": colour(`${name}-fill`), "border-width": width });
  return [
    { selector: "node", style: { label: "data(label)", width: "data(width)", height: 30, shape: "round-rectangle", "text-valign": "center", "font-size": 13, "font-family": "system-ui, sans-serif", color: colour("ink"), ...role("line", 1.2) } },
    { selector: ".question", style: { ...role("blue", 2.5), "font-weight": 600 } },
    { selector: ".answer", style: role("green", 2) },
    { selector: ".literal", style: { shape: "rectangle", ...role("faint", 1) } },
    { selector: "edge", style: { label: "data(label)", width: 1.4, "line-color": colour("line"), "target-arrow-color": colour("line"), "target-arrow-shape": "triangle", "curve-style": "bezier", "font-size": 11, "font-family": "system-ui, sans-serif", color: colour("soft"), "text-background-color": colour("ground"), "text-background-opacity": 1, "text-background-padding": 2 } },
    { selector: ".inverse", style: { "line-style": "dashed" } },
    { selector: ".dim", style: { opacity: 0.18 } },
    { selector: "edge.lit", style: { width: 3, "line-color": colour("amber"), "target-arrow-color": colour("amber"), color: colour("ink") } },
    { selector: "node.lit", style: { "border-width": 3, "border-color": colour("amber") } },
  ];
}
