/* What the page knows about the cluster: jobs and nodes, listed once and then kept up by the stream of changes. */

import * as api from "./api.js";
import { JOB_FIELDS, NODE_FIELDS, jobOf, nodeOf } from "./records.js";
import { watch } from "./watch.js";

export const jobs = new Map(), nodes = new Map();
export const state = { live: "off", since: 0, jobsRead: false, nodesRead: false, error: "" };

const listeners = new Set();
const dirty = new Set();
let timer = 0;

/* fn(words): words is a Set of "jobs", "nodes", "live".  Gives the function that takes it back. */
export function subscribe(fn) {
  listeners.add(fn);
  return () => listeners.delete(fn);
}

/* Many changes make one call: at the next frame, or soon when the page is not seen. */
function tell(word) {
  dirty.add(word);
  if (timer) return;
  timer = setTimeout(() => {
    const words = new Set(dirty);
    timer = 0;
    dirty.clear();
    for (const fn of [...listeners]) fn(words);
  }, 50);
}

/* ---- long lists ---- */

let worker = null, lastId = 0;
const waiting = new Map();

/* The one script that the policy of the page lets be started.  A page may make it once: signing out ends the worker alone. */
const READER = new URL("./reader.js", import.meta.url).href;
const policy = window.trustedTypes?.createPolicy("reader", { createScriptURL: () => READER });

function readerWorker() {
  if (worker) return worker;
  worker = new Worker(policy ? policy.createScriptURL("") : READER, { type: "module" });
  worker.onmessage = ({ data }) => waiting.get(data.id)?.(data);
  return worker;
}

function readList(path, list, kind, words, take) {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    waiting.set(id, message => {
      if (message.rows) return take(message.rows);
      waiting.delete(id);
      const sentences = api.errorSentences(message.errors);
      if (api.isRefusal(message.status)) api.refuse();
      return sentences.length ? reject(new api.ApiError(message.status, sentences)) : resolve();
    });
    readerWorker().postMessage({ id, url: api.address(path, words), headers: api.headers({ Accept: "application/json;indent=0" }), list, kind });
  });
}

/* What changed while a list was read is newer than the list. */
const fresh = { jobs: new Set(), nodes: new Set() };

/* A list read anew: what is not in it any more goes, once it is there whole. */
async function refill(map, path, word, fields, key) {
  const seen = new Set(), newer = fresh[word];
  newer.clear();
  await readList(path, word, word, { fields: fields.join(",") }, rows => {
    for (const row of rows) {
      seen.add(row[key]);
      if (!newer.has(row[key])) map.set(row[key], row);
    }
    tell(word);
  });
  for (const known of [...map.keys()]) if (!seen.has(known) && !newer.has(known)) map.delete(known);
  tell(word);
}

export async function loadJobs() {
  await refill(jobs, `${api.SLURM}jobs/`, "jobs", JOB_FIELDS, "id");
  state.jobsRead = true;
  tell("jobs");
}

export async function loadNodes() {
  await refill(nodes, `${api.SLURM}nodes/`, "nodes", NODE_FIELDS, "name");
  state.nodesRead = true;
  tell("nodes");
}

/* Where nodes stand: the leaf switch, block, ring or torus of each.  It changes seldom; read once. */
const places = new Map();
export const placeOf = node => places.get(node.name) ?? "";

async function loadPlaces() {
  const { topology } = await api.get(`${api.OWN}topology`);
  places.clear();
  for (const unit of topology?.units ?? []) for (const name of unit.nodes) places.set(name, unit.name);
  tell("nodes");
}

/* ---- changes ---- */

let stream = null, nodesDue = 0, behind = false;
const NODES_FEW = 1500, SOON_MS = 700, LATER_MS = 10000;

/* Allocations change with every job: the nodes are listed again, soon when they are few. */
function nodesSoon() {
  if (nodesDue || !state.nodesRead) return;
  nodesDue = setTimeout(() => {
    nodesDue = 0;
    loadNodes().catch(() => {});
  }, nodes.size > NODES_FEW ? LATER_MS : SOON_MS);
}

/* Changes that are read from the log come without their jobs: these are asked for, or all when they are many. */
const wanted = new Set();
let wantedDue = 0;
const MANY = 40;

function fetchJob(id) {
  wanted.add(id);
  if (wantedDue) return;
  wantedDue = setTimeout(async () => {
    const ids = [...wanted];
    wantedDue = 0;
    wanted.clear();
    if (ids.length > MANY) return void loadJobs().catch(() => {});
    for (const one of ids) {
      const found = (await api.get(`${api.SLURM}job/${one}`).catch(() => ({}))).jobs?.find(j => j.job_id === one);
      if (found) jobs.set(one, jobOf(found));
      tell("jobs");
    }
  }, 30);
}

function takeChange(event) {
  if (event.entity === "WATCH_JOB") {
    fresh.jobs.add(event.id);
    if (event.gone) jobs.delete(event.id);
    else if (event.job) jobs.set(event.job.job_id, jobOf(event.job));
    else fetchJob(event.id);
    tell("jobs");
    if (/start|end|clean|requeue/.test(event.event)) nodesSoon();
  } else if (event.entity === "WATCH_NODE") {
    api.get(`${api.SLURM}node/${api.part(event.name)}`).then(answer => {
      for (const n of answer.nodes ?? []) {
        fresh.nodes.add(n.name);
        nodes.set(n.name, nodeOf(n));
      }
      tell("nodes");
    }).catch(nodesSoon);
  }
}

function setLive(word, error = "") {
  if (word !== state.live) state.since = Date.now() / 1000;
  state.live = word;
  state.error = error;
  tell("live");
}

function loadAll() {
  loadPlaces().catch(() => places.clear()); // a cluster without one
  return Promise.all([loadJobs(), loadNodes()]).catch(e => setLive(state.live, e.message));
}

/* Questions of the time when slurmctld was away had no answer. */
function catchUp() {
  if (!behind) return;
  behind = false;
  loadAll();
}

/* The stream first, then the lists: what changes between them is in one of the two. */
export function start() {
  readerWorker(); // it loads while the stream begins
  stream?.stop();
  stream = watch({ types: "job,node", objects: "true" }, {
    hello: () => { setLive("on"); loadAll(); },
    reset: () => loadAll(),
    change: takeChange,
    lost: text => setLive("lost", text),
    away: () => { behind = true; setLive("away", "slurmctld does not answer."); },
    back: () => { setLive("on"); catchUp(); },
  });
}

export function stop() {
  stream?.stop();
  stream = null;
  worker?.terminate();
  worker = null;
  waiting.clear();
  clearTimeout(nodesDue);
  nodesDue = 0;
  behind = false;
  jobs.clear();
  nodes.clear();
  places.clear();
  Object.assign(state, { live: "off", since: 0, jobsRead: false, nodesRead: false, error: "" });
}
