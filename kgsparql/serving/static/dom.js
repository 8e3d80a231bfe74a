// Makes elements. Whatever a graph, a model or a person wrote becomes text: there is no innerHTML on this page.

// Controls, and what turns the direction of the text around it; line ends and tabs stay.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

export const plain = (text) => String(text ?? "").replace(UNSEEN, "\ufffd");

export const shortened = (text, most) => {
  const characters = Array.from(plain(text));
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : characters.join("");
};

/** An element; `on…` are listeners, `data` its dataset, other names attributes; strings among the children are text. */
export const el = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) => filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function filled(made, attributes = {}, children = []) {
  for (const [name, value] of Object.entries(attributes)) {
    if (isNothing(value)) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(made.dataset, value);
    else made.setAttribute(name, value === true ? "" : plain(value));
  }
  return put(made, children);
}

const isNothing = (value) => value === undefined || value === null || value === false;

export function put(parent, ...children) {
  const shown = children.flat(Infinity).filter((child) => !isNothing(child));
  parent.append(...shown.map((child) => (child instanceof Node ? child : plain(child))));
  return parent;
}

/** A name, kept apart from the direction of the text around it. */
export const name = (label, attributes = {}) => el("bdi", attributes, shortened(label, 300) || "(no name)");

export const number = (value) => Number(value).toLocaleString("en");

export const count = (value, one, several = `${one}s`) => `${number(value)} ${value === 1 ? one : several}`;

export const button = (text, onclick, more = "") => el("button", { type: "button", class: `small ${more}`, onclick }, text);

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}`;

/** What is wrong, and what to do. */
export const troubleOf = (error) => el("span", { class: "trouble", role: "alert" }, el("strong", {}, sentence(error.message)), error.hint ? ` ${sentence(error.hint)}` : "");

/** Copies what `text` gives when it is clicked. */
export const copyButton = (text) => button("Copy", async ({ target }) => {
  await navigator.clipboard.writeText(text());
  target.textContent = "Copied";
});

/** Opens the SPARQL box, with a query if there is one; one that is only offered takes no other's place. */
export const box = async (query, isOffer) => (await import("./sparql.js")).openBox(query, isOffer);
