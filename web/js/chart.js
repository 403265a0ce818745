/* Amounts over time as stacked steps: what was, what is to come, and how much there is at most. */

import { el, svg } from "./dom.js";
import { count, when } from "./format.js";

const HIGH = 260, LEFT = 54, BOTTOM = 26, TOP = 10;

/* Sums of intervals [{from, to, amount}] in n equal slices of time, each the mean over its slice. */
export function slices(intervals, from, to, n) {
  const sums = new Float64Array(n), width = (to - from) / n;
  for (const { from: a, to: b, amount } of intervals) {
    const lo = Math.max(a, from), hi = Math.min(b, to);
    if (hi <= lo || !amount) continue;
    const first = Math.floor((lo - from) / width), last = Math.min(n - 1, Math.floor((hi - from) / width));
    for (let i = first; i <= last; i++) {
      const s = from + i * width;
      sums[i] += amount * (Math.min(hi, s + width) - Math.max(lo, s)) / width;
    }
  }
  return sums;
}

const nice = top => {
  const unit = 10 ** Math.floor(Math.log10(top || 1));
  return [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10].map(f => f * unit).find(v => v >= top) ?? top;
};

function area(values, x, y, from, to) {
  let path = `M${x(from)},${y(0)}`;
  for (let i = from; i < to; i++) path += `L${x(i)},${y(values[i])}L${x(i + 1)},${y(values[i])}`;
  return `${path}L${x(to)},${y(0)}Z`;
}

/* {values, from, to, now, capacity, unit} */
export function areaChart({ values, from, to, now, capacity, unit, label }) {
  const wide = 900, n = values.length, most = Math.max(capacity, ...values), top = nice(most * 1.02);
  const x = i => +(LEFT + i / n * (wide - LEFT - 8)).toFixed(1), y = v => +(TOP + (1 - v / top) * (HIGH - TOP - BOTTOM)).toFixed(1);
  const present = Math.max(0, Math.min(n, Math.round((now - from) / (to - from) * n)));
  const parts = [0, 0.25, 0.5, 0.75, 1].map(f => svg("g", { class: "rule" },
    svg("line", { x1: LEFT, x2: wide - 8, y1: y(f * top), y2: y(f * top) }), svg("text", { x: LEFT - 8, y: y(f * top) + 4, "text-anchor": "end" }, count(Math.round(f * top * 10) / 10))));
  const marks = Array.from({ length: 7 }, (_, i) => svg("text", { class: "tick", x: x(i / 6 * n), y: HIGH - 6, "text-anchor": i === 0 ? "start" : i === 6 ? "end" : "middle" },
    when(from + i / 6 * (to - from)).slice(to - from > 2 * 86400 ? 5 : -5)));
  const chart = svg("svg", { viewBox: `0 0 ${wide} ${HIGH}`, class: "chart", role: "img", "aria-label": label },
    parts, svg("path", { class: "past", d: area(values, x, y, 0, present) }), present < n && svg("path", { class: "future", d: area(values, x, y, present, n) }),
    capacity > 0 && svg("line", { class: "capacity", x1: LEFT, x2: wide - 8, y1: y(capacity), y2: y(capacity) }),
    svg("line", { class: "now-line", x1: x(present), x2: x(present), y1: TOP, y2: HIGH - BOTTOM }), marks);
  return el("figure", {}, chart, el("figcaption", {}, el("span", { class: "key past" }, `${unit} in use`), el("span", { class: "key future" }, "planned"),
    capacity > 0 && el("span", { class: "key cap" }, `all ${count(capacity)}`)));
}
