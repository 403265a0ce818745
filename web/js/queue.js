/* The queue: every job that the caller may see, filtered, sorted, and kept up while one looks at it. */

import { el, heading, link, replace } from "./dom.js";
import { ago, count, duration, rough } from "./format.js";
import { me } from "./api.js";
import { Rows } from "./rows.js";
import { jobs, state, subscribe } from "./store.js";
import { JOB_STATES, jobBadge, stateWord } from "./words.js";

const NARROW = window.matchMedia("(max-width: 760px)");
const kept = { text: "", states: "", user: "", partition: "", sort: "id", descending: true }; // while the page is open

function timeOf(j) {
  const now = Date.now() / 1000;
  if (j.state === "RUNNING") return `${duration(now - j.start)}`;
  if (j.state === "PENDING") return j.start > now ? ago(j.start) : `for ${rough(now - j.submit)}`;
  return j.end ? ago(j.end) : "";
}

const limitOf = j => (j.limit === null ? "" : duration(j.limit * 60));
const where = j => (j.state === "PENDING" ? j.reason : j.nodes || j.reason);

const columns = [
  { key: "id", title: "Job", show: j => link("job", j.label, j.label), by: j => j.id },
  { key: "state", title: "State", show: jobBadge, by: stateWord },
  { key: "name", title: "Name", show: j => j.name, by: j => j.name },
  { key: "user", title: "User", show: j => j.user, by: j => j.user },
  { key: "partition", title: "Partition", show: j => j.partition, by: j => j.partition },
  { key: "cpus", title: "CPUs", class: "right", show: j => count(j.cpus), by: j => j.cpus },
  { key: "gpus", title: "GPUs", class: "right", show: j => (j.gpus ? count(j.gpus) : ""), by: j => j.gpus },
  { key: "nodes", title: "Nodes", class: "right", show: j => count(j.nNodes), by: j => j.nNodes },
  { key: "time", title: "Time", class: "right", show: timeOf, by: j => (j.state === "RUNNING" ? j.start : j.submit) },
  { key: "limit", title: "Limit", class: "right", show: limitOf, by: j => j.limit ?? 0 },
  { key: "priority", title: "Priority", class: "right", show: j => (j.state === "PENDING" ? count(j.priority) : ""), by: j => j.priority },
  { key: "where", title: "Where, or why not", show: where, by: where },
];

/* Words of the search are all wanted: in the name, user, account, number or place. */
function matcher() {
  const words = kept.text.toLowerCase().split(/\s+/).filter(Boolean);
  const states = kept.states, mine = kept.user;
  return j => (!states || (states === "active" ? !j.over : states === "held" ? j.held : j.state === states)) && (!mine || j.user === mine) &&
    (!kept.partition || j.partition.split(",").includes(kept.partition)) &&
    words.every(w => `${j.label} ${j.name} ${j.user} ${j.account} ${j.nodes} ${j.reason} ${j.qos}`.toLowerCase().includes(w));
}

/* A long queue takes a while to sort: after that it rests three times as long, however many changes come. */
const REST = 3;

function sorted(list) {
  const by = columns.find(c => c.key === kept.sort).by, sign = kept.descending ? -1 : 1;
  const keyed = list.map(j => [by(j), j]);
  keyed.sort(([a, x], [b, y]) => sign * (typeof a === "string" ? a.localeCompare(b) : a - b) || x.id - y.id);
  return keyed.map(([, j]) => j);
}

function choice(label, name, options, refresh) {
  return el("label", { class: "filter" }, el("span", {}, label), el("select", { onchange: e => { kept[name] = e.target.value; refresh(); } },
    options.map(([value, text]) => el("option", { value, selected: kept[name] === value }, text))));
}

export function queuePage(main) {
  const total = el("p", { class: "total", role: "status" });
  const rows = new Rows({
    label: "Jobs", columns, id: j => j.id, sort: kept.sort, descending: kept.descending, rowHeight: () => (NARROW.matches ? 74 : 36),
    open: j => { location.hash = `#/job/${encodeURIComponent(j.label)}`; },
    onsort: (sort, descending) => { Object.assign(kept, { sort, descending }); refresh(); },
  });
  const partitions = el("select", { onchange: e => { kept.partition = e.target.value; refresh(); } });
  const search = el("input", { type: "search", id: "search", placeholder: "Search names, users, nodes …", "aria-label": "Search jobs", value: kept.text,
    oninput: e => { kept.text = e.target.value; refresh(); } });
  let names = "";

  function refresh() {
    const found = sorted([...jobs.values()].filter(matcher())), running = found.filter(j => j.state === "RUNNING").length;
    const waiting = found.filter(j => j.state === "PENDING").length;
    rows.set(found);
    replace(total, state.jobsRead || jobs.size
      ? `${count(found.length)} ${found.length === 1 ? "job" : "jobs"}${found.length === jobs.size ? "" : ` of ${count(jobs.size)}`}: ${count(running)} running, ${count(waiting)} waiting${state.jobsRead ? "" : " … reading on"}`
      : state.error || "Reading the queue …");
    const lists = new Set();
    for (const j of jobs.values()) lists.add(j.partition);
    const now = [...new Set([...lists].flatMap(l => l.split(",")))].sort().join("\n");
    if (now !== names) {
      names = now;
      replace(partitions, el("option", { value: "" }, "All"), now.split("\n").filter(Boolean).map(p => el("option", { value: p, selected: p === kept.partition }, p)));
    }
  }

  replace(main, heading("Queue", link("submit", null, "Submit a job")),
    el("div", { class: "filters", role: "search" }, search,
      choice("State", "states", [["", "All"], ["active", "Not over"], ["held", "Held"], ...JOB_STATES.map(s => [s, stateWord({ state: s })])], refresh),
      choice("User", "user", [["", "Everybody"], [me(), `Me (${me()})`]], refresh),
      el("label", { class: "filter" }, el("span", {}, "Partition"), partitions), total),
    el("div", { class: "queue" }, rows.box));
  main.classList.add("tall");
  refresh();
  let due = 0, cost = 0;
  const soon = () => {
    due ||= setTimeout(() => {
      const start = performance.now();
      due = 0;
      refresh();
      cost = performance.now() - start;
    }, cost * REST);
  };
  const off = subscribe(words => { if (words.has("jobs") || words.has("live")) soon(); });
  const clock = setInterval(() => rows.paint(true), 1000);
  const again = () => rows.paint(true);
  NARROW.addEventListener("change", again);
  return () => {
    off();
    clearTimeout(due);
    clearInterval(clock);
    rows.close();
    NARROW.removeEventListener("change", again);
    main.classList.remove("tall");
  };
}
