// What the server is asked. Every failure becomes an Error with `hint`: who failed, and what to do.

async function json(path, options = {}) {
  const reply = await fetch(path, options).catch(() => {
    throw trouble({ message: "the server does not answer", hint: "is it still running? once it is, reload this page" });
  });
  const value = reply.status === 204 ? {} : await reply.json().catch(() => ({}));
  if (!reply.ok) throw trouble(value.error ?? { message: `the server replied ${reply.status}`, hint: reply.status === 503 ? "it has too much to do: try again in a few seconds" : "" });
  return value;
}

export const trouble = ({ message, hint = "" }) => Object.assign(new Error(message), { hint });

export const graph = () => json("/api/graph");
const at = (id, what = "") => `/api/runs/${encodeURIComponent(id)}${what}`;
export const run = (id) => json(at(id));
export const stop = (id) => json(at(id), { method: "DELETE" });
const post = (path, value) => json(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(value) });
export const ask = (question, settings) => post("/api/ask", { question, ...settings });
export const chips = (id, part) => json(at(id, part === undefined ? "/chips" : `/chips/${part}`));
export const neighbours = (term, after) => json(`/api/neighbours?term=${encodeURIComponent(term)}&after=${after}`);
export const kinds = (plan) => json(plan === undefined ? "/api/kinds" : `/api/kinds?plan=${encodeURIComponent(plan)}`);
export const names = (text, signal) => json(`/api/names?text=${encodeURIComponent(text)}`, { signal });

/**
 * Calls `step` for each step of a run; resolves with the run when it is over, or when nobody looks any more (signal):
 * the server then ends the run. The browser itself resumes a broken stream.
 */
export function follow(id, step, signal) {
  return new Promise((resolve, reject) => {
    const source = new EventSource(at(id, "/events"));
    signal.addEventListener("abort", () => { source.close(); resolve(); });
    source.onmessage = (message) => step(JSON.parse(message.data));
    source.addEventListener("over", ({ data }) => { source.close(); resolve(JSON.parse(data)); });
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return;
      reject(trouble({ message: "the steps of this question broke off", hint: "reload the page: the answer may be there" }));
    };
  });
}
