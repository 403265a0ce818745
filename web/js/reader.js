/* The worker that reads long lists: an answer is cut into its objects while it arrives, so that the first rows are shown
 * long before the last one has been read, and the page's own thread stays free.
 *
 * in:  {id, url, headers, list, kind}     out: {id, rows} many times, then {id, done, status, errors, cursor} */

import { jobOf, nodeOf } from "./records.js";

const MAKE = { jobs: jobOf, nodes: nodeOf };
const FIRST = 200, BATCH = 4000;
const QUOTE = 34, ESCAPE = 92, OPEN = 123, CLOSE = 125, LIST = 91, UNLIST = 93;

/* Finds the objects of one list of the outer object, byte by byte; other members are passed over but for `errors`. */
class Cutter {
  constructor(list, take) {
    this.list = list;
    this.take = take;
    this.depth = 0;
    this.inText = this.escaped = false;
    this.key = "";       // the newest text of the outer object: a list's name
    this.keyBytes = [];
    this.inside = "";    // the list of the outer object that we are in
    this.kept = [];      // pieces of an object that began in an earlier chunk
    this.decoder = new TextDecoder();
  }

  feed(bytes) {
    let start = this.kept.length ? 0 : -1;
    for (let i = 0; i < bytes.length; i++) {
      const c = bytes[i];
      if (this.inText) {
        if (this.escaped) this.escaped = false;
        else if (c === ESCAPE) this.escaped = true;
        else if (c === QUOTE) {
          this.inText = false;
          if (this.depth === 1) this.key = String.fromCharCode(...this.keyBytes.slice(0, 64));
        } else if (this.depth === 1 && this.keyBytes.length < 64) this.keyBytes.push(c);
      } else if (c === QUOTE) {
        this.inText = true;
        if (this.depth === 1) this.keyBytes = [];
      } else if (c === OPEN || c === LIST) {
        if (this.depth === 1) this.inside = c === LIST ? this.key : "";
        if (c === OPEN && this.depth === 2 && this.inside) start = i;
        this.depth++;
      } else if (c === CLOSE || c === UNLIST) {
        this.depth--;
        if (c === CLOSE && this.depth === 2 && this.inside && start >= 0) {
          this.emit(bytes, start, i + 1);
          start = -1;
        }
      }
    }
    if (start >= 0) this.kept.push(bytes.slice(start));
  }

  emit(bytes, start, end) {
    let text = "";
    for (const piece of this.kept) text += this.decoder.decode(piece, { stream: true });
    text += this.decoder.decode(bytes.subarray(start, end));
    this.kept = [];
    if (this.inside === this.list || this.inside === "errors") this.take(this.inside, JSON.parse(text));
  }
}

async function readList({ id, url, headers, list, kind }) {
  const answer = await fetch(url, { headers, cache: "no-store", redirect: "error" });
  const errors = [];
  let rows = [], sent = 0;
  const flush = () => {
    if (rows.length) postMessage({ id, rows });
    sent += rows.length;
    rows = [];
  };
  const cutter = new Cutter(list, (name, object) => {
    if (name === "errors") errors.push(object);
    else rows.push(MAKE[kind](object));
    if (rows.length >= (sent ? BATCH : FIRST)) flush();
  });
  if (!(answer.headers.get("Content-Type") ?? "").includes("json")) {
    postMessage({ id, done: true, status: answer.status, errors: [{ description: (await answer.text()).slice(0, 300) }] });
    return;
  }
  const reader = answer.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    cutter.feed(value);
  }
  flush();
  postMessage({ id, done: true, status: answer.status, errors });
}

onmessage = ({ data }) => readList(data).catch(e =>
  postMessage({ id: data.id, done: true, status: 0, errors: [{ description: `The list could not be read: ${e.message}` }] }));
