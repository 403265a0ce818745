/* Elements built from text.  What the cluster says (names of jobs, comments, reasons) is hostile: it becomes
 * text nodes and attributes that hold text, never markup. */

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked" || key === "selected") node[key] = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  put(node, children);
  return node;
}

function put(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/* el("a", {href, class, onclick}, "text", [more]) */
export const el = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const svg = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

export function replace(node, ...children) {
  node.replaceChildren();
  put(node, children);
  return node;
}

/* Only addresses of this page: what a caller puts into them stays one part of the path. */
export const link = (page, word, ...children) =>
  el("a", { href: `#/${page}${word === undefined || word === null ? "" : "/" + encodeURIComponent(word)}` }, ...children);

export const heading = (text, ...beside) =>
  el("header", { class: "page-head" }, el("h1", { tabindex: "-1" }, text), el("div", { class: "beside" }, ...beside));

/* A list of facts: [[name, value], ...]; empty ones are left out. */
export const facts = rows =>
  el("dl", { class: "facts" }, rows.filter(([, value]) => value !== "" && value !== null && value !== undefined).map(
    ([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));

export const card = (title, ...children) =>
  el("section", { class: "card", "aria-label": title }, el("h2", {}, title), ...children);

/* An ordinary table for what is short: columns [[title, row => content, class]]. */
export function table(caption, columns, rows, empty) {
  if (!rows.length) return el("p", { class: "empty" }, empty ?? "There is nothing here.");
  return el("div", { class: "scroll-x", tabindex: "0", role: "group", "aria-label": caption },
    el("table", {}, el("caption", { class: "hidden" }, caption),
      el("thead", {}, el("tr", {}, columns.map(([title, , style]) => el("th", { scope: "col", class: style }, title)))),
      el("tbody", {}, rows.map(row => el("tr", {}, columns.map(([, show, style]) => el("td", { class: style }, show(row))))))));
}

export function toast(text, kind = "good") {
  const note = el("div", { class: `toast ${kind}` }, el("span", { class: "mark", "aria-hidden": "true" }, kind === "good" ? "✓" : "!"), text,
    el("button", { type: "button", class: "plain", "aria-label": "Dismiss", onclick: () => note.remove() }, "×"));
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), kind === "good" ? 6000 : 15000);
}
