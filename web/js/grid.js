/* Nodes as a canvas of cells, in groups; thousands are drawn in a few milliseconds.  A cell's letter or pattern says what
 * its colour says; the keyboard moves a cursor over the cells, and what stands below it is told in words. */

import { el } from "./dom.js";
import { NODE_KINDS } from "./words.js";

const GAP = 2, GROUP_GAP = 14, TITLE = 18;
const NAMED = 50; // pixels of a cell that has room for its name
const PATTERNED = { drain: "stripe", down: "cross", reserved: "dot" };

function sizeFor(count, width) {
  const room = count <= 60 ? 64 : width < 500 ? 14 : 26; // of few, names have room
  for (let size = room; size > 5; size--) {
    const across = Math.floor(width / (size + GAP));
    if (Math.ceil(count / across) * (size + GAP) < (width < 500 ? 2400 : 900)) return size;
  }
  return 5;
}

export class Grid {
  /* paint(node) => {color, text, kind}; tell(node or null): the cursor or the pointer is there */
  constructor({ paint, tell, open }) {
    Object.assign(this, { paintOf: paint, tell, open });
    this.groups = [];
    this.cells = [];
    this.at = -1;
    this.canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": "Nodes", onkeydown: e => this.key(e),
      onmousemove: e => this.tell(this.hit(e)), onmouseleave: () => this.tell(null), onclick: e => { const n = this.hit(e); if (n) this.open(n); },
      onfocus: () => this.draw(), onblur: () => this.draw() });
    this.box = el("div", { class: "grid-box" }, this.canvas);
    this.card = el("div", { class: "grid-card" }, this.box);
    this.watcher = new ResizeObserver(() => { if (this.box.clientWidth !== this.width) this.layout(); });
    this.watcher.observe(this.box);
  }

  /* groups: [[title, nodes]] */
  set(groups) {
    this.groups = groups;
    this.layout();
  }

  layout() {
    const width = this.box.clientWidth;
    if (!width) return;
    const total = this.groups.reduce((n, [, list]) => n + list.length, 0), size = sizeFor(total, width), step = size + GAP;
    const across = Math.max(1, Math.floor((width + GAP) / step)), named = this.groups.length > 1;
    this.width = width;
    this.size = size;
    this.across = across;
    this.cells = [];
    this.titles = [];
    let x = 0, y = 0, low = 0;
    for (const [title, list] of this.groups) {
      const wide = named ? Math.min(across, Math.max(Math.ceil(Math.sqrt(list.length * 2)), Math.ceil(76 / step))) : across;
      if (x && x + wide * step > width) {
        x = 0;
        y = low + GROUP_GAP;
      }
      if (named) this.titles.push([title, list.length, x, y, wide * step]);
      const top = y + (named ? TITLE : 0);
      list.forEach((node, i) => this.cells.push({ node, x: x + (i % wide) * step, y: top + Math.floor(i / wide) * step }));
      low = Math.max(low, top + Math.ceil(list.length / wide) * step);
      x += wide * step + GROUP_GAP;
    }
    this.height = Math.max(low, 20);
    this.draw();
  }

  draw() {
    if (!this.width) return;
    const ratio = window.devicePixelRatio || 1, c = this.canvas, size = this.size;
    const w = Math.round(this.width * ratio), h = Math.round((this.height + 2) * ratio);
    if (c.width !== w || c.height !== h) {
      c.width = w;
      c.height = h;
      c.style.width = `${this.width}px`;
      c.style.height = `${this.height + 2}px`;
    }
    const g = c.getContext("2d"), style = getComputedStyle(c), ink = style.getPropertyValue("--ink").trim(), soft = style.getPropertyValue("--muted").trim();
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, this.width, this.height + 2);
    g.font = "600 11px system-ui, sans-serif";
    g.textAlign = "left";
    g.textBaseline = "alphabetic";
    g.fillStyle = soft;
    for (const [title, n, x, y, wide] of this.titles) g.fillText(this.fit(g, `${title || "elsewhere"} · ${n}`, wide), x, y + 11);
    this.drawCells(g, style, ink, size);
  }

  /* What has room: measuring is cheaper than letting the canvas squeeze letters. */
  fit(g, text, wide) {
    return text.length * 5 < wide || g.measureText(text).width <= wide ? text : text.split(" · ")[0].slice(0, Math.floor(wide / 7));
  }

  drawCells(g, style, ink, size) {
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.font = `600 ${Math.max(8, Math.round(size * (size > NAMED ? 0.3 : 0.5)))}px system-ui, sans-serif`;
    const colors = new Map();
    const color = name => {
      if (!colors.has(name)) colors.set(name, style.getPropertyValue(name).trim() || name);
      return colors.get(name);
    };
    let last = "";
    const fill = name => {
      if (name !== last) g.fillStyle = color(name);
      last = name;
    };
    for (const { node, x, y } of this.cells) {
      const p = this.paintOf(node);
      fill(p.color);
      g.fillRect(x, y, size, size);
      if (p.share !== undefined && p.share > 0) {
        fill(p.fill);
        const high = Math.max(1, Math.round(size * Math.min(1, p.share)));
        g.fillRect(x, y + size - high, size, high);
      }
      if (size >= 8 && PATTERNED[p.kind]) this.pattern(g, PATTERNED[p.kind], x, y, size, color(p.mark ?? "--ink"));
      if (size >= 17 && p.text) {
        fill(p.mark ?? "--ink");
        g.fillText(p.text, x + size / 2, y + size / 2 + 1 - (size > NAMED ? size / 8 : 0));
      }
      if (size > NAMED) this.name(g, node.name, x, y, color(p.mark ?? "--ink"));
    }
    if (document.activeElement === this.canvas && this.cells[this.at]) {
      const { x, y } = this.cells[this.at];
      g.lineWidth = 2;
      g.strokeStyle = ink;
      g.strokeRect(x - 1, y - 1, size + 2, size + 2);
    }
  }

  name(g, text, x, y, color) {
    g.save();
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = color;
    g.fillText(text.length > 9 ? `…${text.slice(-8)}` : text, x + this.size / 2, y + this.size * 0.8, this.size - 4);
    g.restore();
  }

  pattern(g, kind, x, y, s, color) {
    g.save();
    g.beginPath();
    g.rect(x, y, s, s);
    g.clip();
    g.globalAlpha = 0.3;
    g.strokeStyle = g.fillStyle = color;
    g.lineWidth = Math.max(1, s / 12);
    g.beginPath();
    if (kind === "stripe") for (let d = -s; d < s; d += Math.max(4, s / 4)) { g.moveTo(x + d, y + s); g.lineTo(x + d + s, y); }
    if (kind === "cross") { g.moveTo(x, y); g.lineTo(x + s, y + s); g.moveTo(x + s, y); g.lineTo(x, y + s); }
    g.stroke();
    if (kind === "dot") g.fillRect(x + s * 0.1, y + s * 0.1, s * 0.2, s * 0.2);
    g.restore();
  }

  hit(e) {
    const r = this.canvas.getBoundingClientRect(), px = e.clientX - r.left, py = e.clientY - r.top, s = this.size + GAP;
    this.at = this.cells.findIndex(c => px >= c.x && px < c.x + s && py >= c.y && py < c.y + s);
    return this.cells[this.at]?.node ?? null;
  }

  key(e) {
    const by = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[e.key];
    let to = this.at;
    if (by !== undefined) to = Math.max(0, Math.min(this.cells.length - 1, this.at + by));
    else if (e.key === "ArrowDown" || e.key === "ArrowUp") to = this.below(e.key === "ArrowDown" ? 1 : -1);
    else if (e.key === "Enter" && this.cells[this.at]) return this.open(this.cells[this.at].node);
    else return undefined;
    e.preventDefault();
    this.at = to;
    this.draw();
    this.tell(this.cells[to]?.node ?? null);
    return undefined;
  }

  /* The nearest cell one line up or down. */
  below(sign) {
    const from = this.cells[this.at] ?? { x: 0, y: -1 };
    let best = this.at, least = Infinity;
    this.cells.forEach((c, i) => {
      const dy = (c.y - from.y) * sign, cost = dy + Math.abs(c.x - from.x) * 4;
      if (dy > 0 && cost < least) {
        least = cost;
        best = i;
      }
    });
    return best < 0 ? 0 : best;
  }

  close() {
    this.watcher.disconnect();
  }
}

export const legend = counts => el("ul", { class: "legend", "aria-label": "Nodes by state" }, Object.entries(NODE_KINDS).filter(([k]) => counts[k]).map(([k, [letter, word]]) =>
  el("li", { class: `state n-${k}` }, el("span", { class: "mark", "aria-hidden": "true" }, letter), `${word} `, el("b", {}, counts[k].toLocaleString("en")))));
