/* The cluster: every node as a cell, by state, load, memory or GPUs, in its rack, block or partition. */

import { el, heading, link, replace } from "./dom.js";
import { count, mebibytes, percent } from "./format.js";
import { Grid, legend } from "./grid.js";
import { nodes, placeOf, state, subscribe } from "./store.js";
import { NODE_KINDS, meter } from "./words.js";

const kept = { by: "state", group: "place", text: "" };

/* Names in the order of people: n2 before n10. */
const ORDER = new Intl.Collator("en", { numeric: true });

/* Names seldom change, and comparing them takes longest: their order is kept. */
let order = new Map();

function inOrder(list) {
  if (order.size !== nodes.size || list.some(n => !order.has(n.name)))
    order = new Map([...nodes.keys()].sort(ORDER.compare).map((name, i) => [name, i]));
  return list.sort((a, b) => order.get(a.name) - order.get(b.name));
}

const SHARES = {
  load: n => (n.cpus ? n.load / n.cpus : 0), cpus: n => (n.cpus ? n.usedCpus / n.cpus : 0),
  memory: n => (n.memory ? n.usedMemory / n.memory : 0), gpus: n => (n.gpus ? n.usedGpus / n.gpus : 0),
};

function paint(node) {
  if (kept.by === "state") return { color: `--n-${node.kind}`, kind: node.kind, text: NODE_KINDS[node.kind][0], mark: `--m-${node.kind}` };
  if (node.kind === "down" || node.kind === "away") return { color: "--n-away", kind: node.kind, text: NODE_KINDS[node.kind][0], mark: "--m-away" };
  if (kept.by === "gpus" && !node.gpus) return { color: "--hair" };
  const share = SHARES[kept.by](node);
  return { color: "--track", fill: share > 1.05 ? "--over" : "--use", share, text: kept.by === "gpus" ? String(node.usedGpus) : "", mark: "--ink" };
}

const sentence = n => `${n.name}: ${n.states.join(" ").toLowerCase()}, ${n.usedCpus} of ${n.cpus} CPUs, ${mebibytes(n.usedMemory)} of ${mebibytes(n.memory)}` +
  `${n.gpus ? `, ${n.usedGpus} of ${n.gpus} GPUs` : ""}, load ${n.load.toFixed(1)}${placeOf(n) ? `, in ${placeOf(n)}` : ""}${n.reason ? `. ${n.reason}` : ""}`;

function grouped(list) {
  const groups = new Map();
  for (const n of list) {
    const names = kept.group === "partition" ? n.partitions : kept.group === "place" ? [placeOf(n)] : [""];
    for (const name of names.length ? names : [""]) {
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(n);
    }
  }
  return [...groups].sort(([a], [b]) => ORDER.compare(a, b));
}

function sums(list) {
  const t = { cpus: 0, usedCpus: 0, memory: 0, usedMemory: 0, gpus: 0, usedGpus: 0 };
  for (const n of list) for (const key of Object.keys(t)) t[key] += n[key];
  return t;
}

export function clusterPage(main) {
  const told = el("p", { class: "told", "aria-live": "polite" }), top = el("div", { class: "meters" }), keys = el("div", {});
  const resting = "Point at a node, or walk with the arrow keys; Enter opens it.";
  const grid = new Grid({ paint, tell: n => replace(told, n ? sentence(n) : resting), open: n => { location.hash = `#/node/${encodeURIComponent(n.name)}`; } });
  const radio = (name, label, options) => el("fieldset", { class: "choice" }, el("legend", {}, label), options.map(([value, text]) =>
    el("label", {}, el("input", { type: "radio", name, value, checked: kept[name] === value, onchange: () => { kept[name] = value; refresh(false); } }), el("span", {}, text))));
  let shown = [], shape = "";

  function refresh(again) {
    const words = kept.text.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = n => !words.length || words.every(w => `${n.name} ${n.states.join(" ")} ${placeOf(n)} ${n.features.join(" ")} ${n.reason}`.toLowerCase().includes(w));
    shown = inOrder([...nodes.values()].filter(fits));
    const t = sums(shown), counts = {};
    for (const n of shown) counts[n.kind] = (counts[n.kind] ?? 0) + 1;
    replace(keys, legend(counts));
    const of = (used, total, show) => `${show(used)} of ${show(total)}, ${percent(total ? used / total : NaN)}`;
    replace(top, meter("Processors", t.usedCpus, t.cpus, of(t.usedCpus, t.cpus, count)), meter("Memory", t.usedMemory, t.memory, of(t.usedMemory, t.memory, mebibytes)),
      t.gpus > 0 && meter("GPUs", t.usedGpus, t.gpus, of(t.usedGpus, t.gpus, count)));
    const now = `${kept.group} ${shown.length}`;
    if (again || now !== shape || shown.length < 2000) grid.set(grouped(shown));
    else {
      for (const cell of grid.cells) cell.node = nodes.get(cell.node.name) ?? cell.node;
      grid.draw();
    }
    shape = now;
    grid.canvas.setAttribute("aria-label", `${shown.length} nodes: ${Object.entries(counts).map(([k, n]) => `${n} ${NODE_KINDS[k][1].toLowerCase()}`).join(", ")}. Arrow keys move, Enter opens.`);
    if (!shown.length) replace(told, state.nodesRead ? "No node fits." : state.error || "Reading the nodes …");
    else if (told.textContent === "" || told.textContent.startsWith("Reading")) replace(told, resting);
  }

  replace(main, heading("Cluster", link("partitions", null, "Partitions")), top,
    el("div", { class: "filters" }, el("input", { type: "search", id: "search", placeholder: "Search nodes …", "aria-label": "Search nodes", value: kept.text, oninput: e => { kept.text = e.target.value; refresh(true); } }),
      radio("by", "Show", [["state", "State"], ["load", "Load"], ["cpus", "CPUs"], ["memory", "Memory"], ["gpus", "GPUs"]]),
      radio("group", "Group by", [["place", "Rack or block"], ["partition", "Partition"], ["none", "Nothing"]])),
    keys, told, grid.card);
  refresh(true);
  const off = subscribe(words => { if (words.has("nodes") || words.has("live")) refresh(false); });
  const redraw = () => grid.draw();
  document.addEventListener("theme", redraw);
  return () => {
    off();
    grid.close();
    document.removeEventListener("theme", redraw);
  };
}
