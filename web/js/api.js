/* Questions to the server that this page came from, and to no other. */

const ROOT = new URL("../", document.baseURI.split("#")[0]);
const KEY = "penstock-token";
export const SLURM = "slurm/v0.0.45/", SLURMDB = "slurmdb/v0.0.45/", OWN = "penstock/v1/";

export class ApiError extends Error {
  constructor(status, sentences) {
    super(sentences.join(" "));
    this.status = status;
    this.sentences = sentences;
  }
}

let refused = () => {};
export const onRefused = fn => { refused = fn; };
export const refuse = () => refused(); // the token is not believed any more
export const isRefusal = status => status === 401 || status === 511; // no token, or one that is not believed

/* ---- who asks ---- */

export const token = () => sessionStorage.getItem(KEY);
export const keep = text => sessionStorage.setItem(KEY, text);
export const forget = () => sessionStorage.removeItem(KEY);

/* What the token says about itself; the server alone decides what it is worth. */
export function claims() {
  try {
    const part = token().split(".")[1].replace(/-/g, "+").replace(/_/g, "/");
    return JSON.parse(atob(part));
  } catch {
    return {};
  }
}
export const me = () => claims().sun ?? claims().username ?? claims().sub ?? "";

/* ---- asking ---- */

const sentence = (...parts) => {
  const text = parts.filter((p, i) => p && parts.indexOf(p) === i).join(": ");
  return /[.!?]$/.test(text) ? text : `${text}.`;
};
export const errorSentences = errors => (errors ?? []).map(e => sentence(e.description, e.error)).filter(t => t !== ".");

export function address(path, words) {
  const url = new URL(path, ROOT);
  for (const [key, value] of Object.entries(words ?? {})) if (value !== undefined && value !== "") url.searchParams.set(key, value);
  return url.href;
}

export const headers = more => ({ "X-SLURM-USER-TOKEN": token() ?? "", ...more });

export async function ask(method, path, { words, body, key, signal } = {}) {
  let answer;
  const more = { Accept: "application/json" };
  if (body !== undefined) more["Content-Type"] = "application/json";
  if (key) more["Idempotency-Key"] = key;
  try {
    answer = await fetch(address(path, words), { method, headers: headers(more), signal, cache: "no-store", redirect: "error",
      body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new ApiError(0, ["The server does not answer."]);
  }
  return read(answer);
}

async function read(answer) {
  const text = await answer.text();
  let object = null;
  try {
    object = JSON.parse(text);
  } catch { /* a sentence of the server's */ }
  const errors = errorSentences(object?.errors);
  if (isRefusal(answer.status)) refused();
  if (errors.length || !answer.ok)
    throw new ApiError(answer.status, errors.length ? errors : [sentence(text.slice(0, 300) || `The server answered with status ${answer.status}`)]);
  return object ?? {};
}

/* The token of a word of `penstock ui`, which is good once. */
export async function exchange(word) {
  return (await post(`${OWN}signin`, { word })).token;
}

export const get = (path, options) => ask("GET", path, options);
export const post = (path, body, options) => ask("POST", path, { ...options, body });
export const remove = (path, options) => ask("DELETE", path, options);
export const part = encodeURIComponent;

/* Sent again with the same key, a submission makes no second job.  (randomUUID is for https alone.) */
export function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return "ui-" + Array.from(bytes, b => b.toString(16).padStart(2, "0")).join("");
}
