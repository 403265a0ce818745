// What keeps people out of a page, as sentences: names of controls, landmarks, contrast, order of the focus.
// The rules are those of WCAG 2.2 AA that a program can decide.
const found = [];
const seen = e => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";
const what = e => `${e.tagName.toLowerCase()}${e.id ? "#" + e.id : ""}${e.className && typeof e.className === "string" ? "." + e.className.trim().split(/\s+/).join(".") : ""}`;

// ---- landmarks and headings ----
if (!document.documentElement.lang) found.push("the page has no language");
if (!document.title.trim()) found.push("the page has no title");
if (document.querySelectorAll("main").length !== 1) found.push("there is not one main");
if (document.querySelectorAll("h1").length !== 1) found.push("there is not one h1");
for (const nav of document.querySelectorAll("nav")) if (!nav.getAttribute("aria-label")) found.push("a nav has no name");
const marks = [...document.querySelectorAll("nav, aside, section, [role=region], [role=search]")].filter(seen)
  .map(e => `${e.getAttribute("role") ?? e.tagName.toLowerCase().replace("section", "region")} ${e.getAttribute("aria-label") ?? e.getAttribute("aria-labelledby") ?? ""}`);
for (const mark of new Set(marks)) if (marks.indexOf(mark) !== marks.lastIndexOf(mark)) found.push(`the landmark ${mark} is there twice`);
let level = 1;
for (const h of document.querySelectorAll("main h1, main h2, main h3, main h4")) {
  const now = Number(h.tagName[1]);
  if (now > level + 1) found.push(`${h.textContent}: h${now} follows h${level}`);
  level = now;
}

// ---- names ----
function nameOf(e) {
  const by = (e.getAttribute("aria-labelledby") ?? "").split(" ").map(id => document.getElementById(id)?.textContent ?? "").join(" ").trim();
  const label = [...(e.labels ?? [])].map(l => l.innerText).join(" ").trim(); // what is not shown names nothing
  return e.getAttribute("aria-label") || by || label || (e.matches("a, button, summary") ? e.textContent.trim() : "") || e.title;
}
const controls = [...document.querySelectorAll("a[href], button, input, select, textarea, [tabindex='0'], canvas, svg[role=img], dialog[open], section, fieldset")].filter(seen);
for (const e of controls) {
  const name = e.matches("fieldset") ? e.querySelector("legend")?.textContent : nameOf(e);
  if (!name) found.push(`${what(e)} has no name`);
}
for (const img of document.querySelectorAll("img")) if (img.getAttribute("alt") === null) found.push(`${what(img)} has no alt`);
for (const th of document.querySelectorAll("th")) if (!th.scope) found.push("a th has no scope");

// ---- ids ----
const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
for (const id of new Set(ids)) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`the id ${id} is there twice`);
for (const key of ["aria-describedby", "aria-labelledby", "aria-activedescendant", "for"])
  for (const e of document.querySelectorAll(`[${key}]`)) for (const id of e.getAttribute(key).split(" ")) if (!document.getElementById(id)) found.push(`${what(e)}: ${key}=${id} is nothing`);

// ---- focus ----
for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) found.push(`${what(e)} breaks the order of the focus`);

// ---- size of what is pressed: 24 pixels, but for links in text ----
for (const e of document.querySelectorAll("button")) {
  const r = e.getBoundingClientRect();
  if (seen(e) && (r.height < 23.5 || r.width < 20)) found.push(`${what(e)} “${e.textContent}” is ${Math.round(r.width)}×${Math.round(r.height)} pixels small`);
}

// ---- contrast ----
const canvas = document.createElement("canvas");
canvas.width = canvas.height = 1;
const brush = canvas.getContext("2d", { willReadFrequently: true });
function rgba(color) {
  brush.clearRect(0, 0, 1, 1);
  brush.fillStyle = color;
  brush.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}
const over = (top, low) => [0, 1, 2].map(i => top[i] * top[3] + low[i] * (1 - top[3])).concat(1);
function behind(e) {
  const layers = [];
  for (let n = e; n; n = n.parentElement) {
    const c = rgba(getComputedStyle(n).backgroundColor);
    if (c[3] > 0) layers.push(c);
    if (c[3] >= 1) break;
  }
  return layers.reverse().reduce((low, top) => over(top, low), [255, 255, 255, 1]);
}
const light = c => c.slice(0, 3).map(v => v / 255).map(v => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const told = new Set();
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const e = node.parentElement;
  if (!node.data.trim() || !seen(e) || e.closest("script, option, svg, :disabled, .hidden")) continue;
  const style = getComputedStyle(e), back = behind(e), front = over(rgba(style.color), back);
  const [a, b] = [light(front), light(back)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  if (ratio < (large ? 3 : 4.5) && !told.has(what(e))) {
    told.add(what(e));
    found.push(`${what(e)} “${node.data.trim().slice(0, 30)}”: contrast ${ratio.toFixed(2)}`);
  }
}
return found;
