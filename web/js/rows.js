/* A table of any length: only the rows that are seen are elements.  Rows are taken from a pool and filled anew. */

import { el, replace } from "./dom.js";

const SPARE = 6; // rows above and below what is seen
const MOST_PX = 15e6; // a browser's own limit of an element's height is above this

/* columns: [{key, title, class, show(row) => content, sort}]; rowHeight: () => pixels; id(row); open(row); change() tells
 * that the order or the selection is another. */
export class Rows {
  constructor({ label, columns, rowHeight, id, open, sort, descending, onsort }) {
    Object.assign(this, { columns, rowHeight, id, open, onsort, sort, descending });
    this.rows = [];
    this.current = -1;
    this.pool = [];
    this.head = el("div", { class: "vrow vhead", role: "row" });
    this.space = el("div", { class: "vspace", role: "rowgroup" });
    this.box = el("div", { class: "vbox", tabindex: "0", role: "grid", "aria-label": label, onscroll: () => this.paint(), onkeydown: e => this.key(e) },
      el("div", { role: "rowgroup", class: "vheadgroup" }, this.head), this.space);
    this.watcher = new ResizeObserver(() => this.paint());
    this.watcher.observe(this.box);
    this.paintHead();
  }

  paintHead() {
    replace(this.head, this.columns.map(c => el("span", { role: "columnheader", class: `c-${c.key} ${c.class ?? ""}`,
      "aria-sort": this.sort === c.key ? (this.descending ? "descending" : "ascending") : "none" },
    el("button", { type: "button", class: "plain", onclick: () => this.sortBy(c.key) }, c.title,
      el("span", { class: "arrow", "aria-hidden": "true" }, this.sort === c.key ? (this.descending ? "▼" : "▲") : "")))));
  }

  sortBy(key) {
    this.descending = this.sort === key ? !this.descending : false;
    this.sort = key;
    this.paintHead();
    this.onsort(key, this.descending);
  }

  set(rows) {
    const known = this.current >= 0 && this.rows[this.current] ? this.id(this.rows[this.current]) : null;
    this.rows = rows;
    this.current = known === null ? -1 : rows.findIndex(r => this.id(r) === known);
    this.paint(true);
  }

  paint(all = false) {
    const height = this.rowHeight(), n = this.rows.length, total = Math.min(n * height, MOST_PX), seen = this.box.clientHeight, scrolled = this.box.scrollTop;
    const scale = n * height > MOST_PX ? (n * height - seen) / (MOST_PX - seen) : 1;
    const top = scrolled * scale, first = Math.max(0, Math.floor(top / height) - SPARE), last = Math.min(n, Math.ceil((top + seen) / height) + SPARE);
    if (!all && first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    this.space.style.height = `${total}px`;
    this.box.setAttribute("aria-rowcount", n + 1);
    if (this.pool.length < last - first) all = true; // rows get other elements
    while (this.pool.length < last - first) this.pool.push(this.newRow());
    /* A row stays in its element while it is in sight: what scrolls by is filled once. */
    const n_pool = this.pool.length, shift = scrolled - top;
    for (let at = first; at < first + n_pool; at++) {
      const node = this.pool[at % n_pool];
      node.hidden = at >= last;
      if (node.hidden) continue;
      node.style.transform = `translateY(${at * height + shift}px)`;
      if (!all && node.at === at) continue;
      node.style.height = `${height}px`;
      this.fillRow(node, at);
    }
  }

  newRow() {
    const node = el("div", { class: "vrow", role: "row" }, this.columns.map(c => el("span", { role: "gridcell", class: `c-${c.key} ${c.class ?? ""}` })));
    node.addEventListener("click", e => { if (!e.target.closest("a, button")) this.open(this.rows[node.at]); });
    this.space.append(node);
    return node;
  }

  fillRow(node, at) {
    const row = this.rows[at];
    node.at = at;
    node.setAttribute("aria-rowindex", at + 2);
    node.id = `row-${this.id(row)}`;
    node.classList.toggle("current", at === this.current);
    this.columns.forEach((c, i) => {
      const cell = node.children[i], content = c.show(row);
      if (typeof content !== "string") replace(cell, content);
      else if (cell.textContent !== content) cell.textContent = content;
    });
    if (at === this.current) this.box.setAttribute("aria-activedescendant", node.id);
  }

  key(e) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.rowHeight()) - 1);
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[e.key];
    if (e.ctrlKey || e.metaKey || e.altKey || e.target !== this.box) return;
    if (by !== undefined) {
      e.preventDefault();
      this.move(by);
    } else if (e.key === "Enter" && this.rows[this.current]) this.open(this.rows[this.current]);
  }

  move(by) {
    const height = this.rowHeight(), head = this.head.offsetHeight;
    this.current = Math.max(0, Math.min(this.rows.length - 1, this.current + by));
    const y = this.current * height;
    if (y < this.box.scrollTop) this.box.scrollTop = y;
    else if (y + height + head > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = y + height + head - this.box.clientHeight;
    this.paint(true);
  }

  close() {
    this.watcher.disconnect();
  }
}
