// A step of a run: one line in words, with the query, or the prompt and reply, folded.
import { copyButton, count, el, name, shortened } from "./dom.js";

const KEPT = 8;

export function stepItem(event) {
  const words = event.words || (event.kind === "evidence_found" ? `found ${count(event.items.length, "piece")} of evidence` : "");
  if (!words) return null;
  const parts = [
    ["SPARQL", event.kind === "query_run" ? event.text : ""],
    ["prompt", event.prompt], ["reply", event.reply],
    ["kept", event.kept?.join("\n")],
    ["evidence", event.items?.map(([marker, text]) => `${marker}  ${shortened(text, 400)}`).join("\n")],
  ].filter(([, text]) => text);
  const time = el("span", { class: "quiet time" }, `${event.at_s.toFixed(2)} s`);
  const item = el("li", { class: event.kind, data: { words } });
  if (!parts.length) {
    item.append(el("span", {}, words), time);
    return item;
  }
  const folded = el("details", {}, el("summary", {}, words, " ", time));
  folded.addEventListener("toggle", () => {  // what is not looked at is not made
    if (folded.open && folded.children.length === 1) {
      folded.append(...parts.map(([title, text]) => el("figure", {}, el("figcaption", {}, title, " ", copyButton(() => text)), el("pre", { tabindex: 0 }, text))));
    }
  });
  item.append(folded);
  return item;
}

/** What a step kept, and the first of what it let go. */
export function keptList({ kept, pruned = 0, pruned_texts: gone = [], items = [] }) {
  const texts = kept ?? items.map(([marker, text]) => `[${marker}] ${text}`);
  const lines = (kind, some, more) => [...some.slice(0, KEPT), ...(more > 0 ? [`+${more} more`] : [])].map((text) => el("li", { class: kind }, name(text)));
  return texts.length ? el("ul", { class: "live" }, lines("kept", texts, texts.length - KEPT), lines("gone", gone, pruned - gone.length)) : null;
}
