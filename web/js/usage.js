/* What was allocated, and what is planned, over time; and how well jobs used what they held. */

import * as api from "./api.js";
import { areaChart, slices } from "./chart.js";
import { card, el, heading, link, replace, table } from "./dom.js";
import { count, duration, mebibytes, percent, trim } from "./format.js";
import { usage } from "./job.js";
import { jobs, nodes, subscribe } from "./store.js";

const HOUR = 3600, SLICES = 240;
const RANGES = { "6 h": 6 * HOUR, "24 h": 24 * HOUR, "7 d": 168 * HOUR };
const MEASURES = {
  CPUs: { of: p => allocated(p, "cpu"), now: j => j.cpus, all: n => n.cpus },
  GPUs: { of: p => allocated(p, "gres", "gpu"), now: j => j.gpus, all: n => n.gpus },
  Nodes: { of: p => p.allocation_nodes ?? 0, now: j => j.nNodes, all: () => 1 },
};
const kept = { range: "24 h", measure: "CPUs" };

function allocated(past, type, name = "") {
  return (past.tres?.allocated ?? []).find(t => t.type === type && (t.name === name || (name && t.name?.startsWith(`${name}:`))))?.count ?? 0;
}

const choices = (name, label, options, act) => el("fieldset", { class: "choice" }, el("legend", {}, label), options.map(value =>
  el("label", {}, el("input", { type: "radio", name, value, checked: kept[name] === value, onchange: () => { kept[name] = value; act(); } }), el("span", {}, value))));

const pastJobs = async from => (await api.get(`${api.SLURMDB}jobs/`, { words: { start_time: Math.floor(from) } })).jobs ?? [];

/* Jobs that run until their limit, and jobs that wait at the start the scheduler expects. */
function planned(measure, now, until) {
  const list = [];
  for (const j of jobs.values()) {
    if (j.over || !j.start) continue;
    const length = j.limit === null || j.limit === Infinity ? until : j.limit * 60;
    const from = j.state === "PENDING" ? j.start : now;
    if (j.state === "PENDING" && j.start <= now) continue;
    list.push({ from, to: j.state === "PENDING" ? from + length : Math.max(now, j.start + length), amount: measure.now(j) });
  }
  return list;
}

export function usagePage(main) {
  const body = el("div", {}, el("p", { class: "muted" }, "Reading the accounting …"));
  let gone = false, past = null;

  function show() {
    const measure = MEASURES[kept.measure], now = Date.now() / 1000, span = RANGES[kept.range], from = now - span, to = now + span / 3;
    const was = past.filter(p => p.time?.start > 0).map(p => ({ from: p.time.start, to: Math.min(now, p.time.end || now), amount: measure.of(p) }));
    const values = slices([...was, ...planned(measure, now, span)], from, to, SLICES), present = Math.round(span / (to - from) * SLICES);
    const capacity = [...nodes.values()].reduce((n, node) => n + measure.all(node), 0), held = values.slice(0, present).reduce((a, b) => a + b, 0) / present;
    replace(body, card(`${kept.measure} over time`, areaChart({ values, from, to, now, capacity, unit: kept.measure, label: `${kept.measure} in use over ${kept.range}, and planned` }),
      el("p", {}, `On average ${trim(held)} of ${count(capacity)} ${kept.measure} were in use (${percent(capacity ? held / capacity : NaN)}), as far as you may see jobs.`)));
  }

  async function load() {
    try {
      past = await pastJobs(Date.now() / 1000 - RANGES[kept.range]);
      if (!gone) show();
    } catch (e) {
      if (!gone) replace(body, el("p", { class: "refusal", role: "alert" }, e.message));
    }
  }

  replace(main, heading("Use over time", link("efficiency", null, "Efficiency")), el("div", { class: "filters" },
    choices("range", "Time", Object.keys(RANGES), load), choices("measure", "Of", Object.keys(MEASURES), () => past && show())), body);
  load();
  const off = subscribe(words => { if (past && words.has("nodes")) show(); });
  return () => {
    gone = true;
    off();
  };
}

/* ---- efficiency ---- */

const OVER = new Set(["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "DEADLINE"]);

function byUser(list) {
  const users = new Map();
  for (const p of list) {
    const u = usage(p), t = users.get(p.user) ?? { user: p.user, jobs: 0, used: 0, held: 0, peak: 0, memory: 0, elapsed: 0, limit: 0, failed: 0 };
    t.jobs++;
    t.used += u.used;
    t.held += u.held;
    if (u.peak > 0 && u.memory) {
      t.peak += u.peak * u.elapsed;
      t.memory += u.memory * u.elapsed;
    }
    if (u.limit !== null && u.limit !== Infinity) {
      t.elapsed += u.elapsed;
      t.limit += u.limit * 60;
    }
    if (p.state.current[0] !== "COMPLETED") t.failed++;
    users.set(p.user, t);
  }
  return [...users.values()].sort((a, b) => b.held - b.used - (a.held - a.used));
}

function gauge(used, total) {
  if (!total) return "–";
  const bar = el("span", { class: "fill" });
  bar.style.width = `${Math.min(100, used / total * 100)}%`;
  return el("span", { class: "gauge" }, el("span", { class: "bar", "aria-hidden": "true" }, bar), percent(used / total));
}

export function efficiencyPage(main) {
  const body = el("div", {}, el("p", { class: "muted" }, "Reading the accounting …"));
  let gone = false;

  async function load() {
    try {
      const over = (await pastJobs(Date.now() / 1000 - RANGES[kept.range])).filter(p => OVER.has(p.state?.current?.[0]) && p.time?.elapsed > 0);
      if (gone) return;
      const wasted = over.map(p => ({ p, u: usage(p) })).map(w => ({ ...w, idle: w.u.held - w.u.used })).sort((a, b) => b.idle - a.idle).slice(0, 20);
      replace(body,
        card("By user", table("Efficiency by user", [
          ["User", t => el("b", {}, t.user)], ["Jobs", t => count(t.jobs), "right"], ["Not completed", t => count(t.failed), "right"], ["CPU hours held", t => trim(t.held / HOUR), "right"],
          ["Processors used", t => gauge(t.used, t.held)], ["Memory used", t => gauge(t.peak, t.memory)], ["Time used of limits", t => gauge(t.elapsed, t.limit)]], byUser(over), "No job has ended in this time.")),
        card("Most processor time that was held and idle", table("Jobs with the most idle processor time", [
          ["Job", w => link("job", w.p.job_id, String(w.p.job_id))], ["Name", w => w.p.name], ["User", w => w.p.user], ["CPUs", w => count(w.u.cpus), "right"],
          ["Took", w => duration(w.u.elapsed), "right"], ["Idle CPU hours", w => trim(w.idle / HOUR), "right"], ["Processors used", w => gauge(w.u.used, w.u.held)],
          ["Memory, of what was asked", w => (w.u.peak ? `${mebibytes(w.u.peak)} of ${mebibytes(w.u.memory)}` : "–")]], wasted, "No job has ended in this time.")));
    } catch (e) {
      if (!gone) replace(body, el("p", { class: "refusal", role: "alert" }, e.message));
    }
  }

  replace(main, heading("Efficiency", link("usage", null, "Use over time")), el("div", { class: "filters" }, choices("range", "Time", Object.keys(RANGES), load)), body);
  load();
  return () => { gone = true; };
}
