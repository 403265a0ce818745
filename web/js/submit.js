/* A new job: a form and a script, a plan before it is sent, and a key that makes sending again safe. */

import * as api from "./api.js";
import { field, showRefusal, valuesOf } from "./dialog.js";
import { card, el, heading, replace, toast } from "./dom.js";
import { ago, count, minutes, when } from "./format.js";
import { nodes } from "./store.js";

const SCRIPT = "#!/bin/bash\nhostname\n";
let draft = null; // what was typed, while one is signed in
export const forgetDraft = () => { draft = null; };

const fieldsOf = partitions => [
  { name: "name", label: "Name", value: "job", required: true },
  { name: "partition", label: "Partition", type: "select", value: "", options: [["", "The default"], ...partitions.map(p => [p, p])] },
  { name: "account", label: "Account", placeholder: "the default" },
  { name: "tasks", label: "Tasks", type: "number", min: "1", value: "1", required: true },
  { name: "cpus", label: "CPUs of a task", type: "number", min: "1", value: "1", required: true },
  { name: "nodes", label: "Nodes", placeholder: "as many as it takes", hint: "A number, or least-most: 2-4." },
  { name: "memory", label: "Memory of a node, GiB", type: "number", min: "0", step: "any", placeholder: "the default" },
  { name: "gpus", label: "GPUs of a node", type: "number", min: "0", placeholder: "none" },
  { name: "limit", label: "Time limit", value: "1:00:00", hint: "Minutes, or hours:minutes:seconds, or days-hours:minutes." },
  { name: "folder", label: "Working folder", value: "/tmp", required: true },
  { name: "array", label: "Array", placeholder: "none", hint: "Such as 1-100 or 1-100%10." },
  { name: "script", label: "Script", type: "text-area", rows: 12, value: SCRIPT, class: "wide code" },
];

/* The body of job/submit. */
function bodyOf(v) {
  const set = number => ({ set: true, infinite: false, number });
  const job = { name: v.name, tasks: Number(v.tasks), cpus_per_task: Number(v.cpus), current_working_directory: v.folder,
    environment: ["PATH=/usr/local/bin:/usr/bin:/bin"] };
  if (v.partition) job.partition = v.partition;
  if (v.account) job.account = v.account;
  if (v.nodes) job.nodes = v.nodes;
  if (v.memory) job.memory_per_node = set(Math.round(Number(v.memory) * 1024));
  if (Number(v.gpus)) job.tres_per_node = `gres/gpu:${Number(v.gpus)}`;
  if (v.array) job.array = v.array;
  if (v.limit) {
    const limit = minutes(v.limit);
    if (Number.isNaN(limit)) throw new Error(`“${v.limit}” is no time limit.`);
    job.time_limit = set(limit);
  }
  return { script: v.script, job };
}

/* What the server says would happen: when and where, whom it would displace, and its own sentences. */
function planText({ plan: p }) {
  const lines = [];
  if (p.starts) {
    lines.push(p.wait > 0 ? `It would start ${when(p.start_time)} (${ago(p.start_time)}).` : "It would start at once.");
    lines.push(`It would run on ${p.nodes}${p.partition ? ` in partition ${p.partition}` : ""}, with ${count(p.cpus)} CPUs${p.end_time ? `, until ${when(p.end_time)}` : ""}.`);
  } else lines.push(`No start can be planned${p.reason ? `: ${p.reason}` : ""}.`);
  if (p.preempts?.length)
    lines.push(`${count(p.preempt_count)} ${p.preempt_count === 1 ? "job" : "jobs"} would make room: ${p.preempts.map(j => `${j.id} of ${j.user_name}`).join(", ")}.`);
  return [...lines, ...(p.starts && !(p.wait > 0) ? [] : p.sentences ?? [])];
}

export function submitPage(main) {
  const partitions = [...new Set([...nodes.values()].flatMap(n => n.partitions))].sort();
  const answer = el("div", { "aria-live": "polite" });
  const fields = fieldsOf(partitions).map(f => (draft ? { ...f, value: draft[f.name] ?? f.value } : f));
  const plan = el("button", { type: "button" }, "Plan"), send = el("button", { type: "submit", class: "primary" }, "Submit");
  const form = el("form", { class: "submit" }, fields.map(field), el("div", { class: "actions" }, plan, send), answer);
  let sent = "", key = "";

  async function tryPlan() {
    if (!form.reportValidity()) return;
    plan.disabled = true;
    try {
      const said = await api.post(`${api.OWN}job/plan`, bodyOf(valuesOf(form)));
      replace(answer, el("div", { class: "plan", role: "status" }, el("h3", {}, "What would happen"), planText(said).map(s => el("p", {}, s))));
    } catch (e) {
      showRefusal(answer, e);
    } finally {
      plan.disabled = false;
    }
  }

  /* The same form sent again has the same key: an answer that was lost makes no second job. */
  async function submit(e) {
    e.preventDefault();
    send.disabled = true;
    try {
      const body = bodyOf(valuesOf(form)), text = JSON.stringify(body);
      if (text !== sent) key = api.freshKey();
      sent = text;
      const said = await api.post(`${api.SLURM}job/submit`, body, { key });
      sent = "";
      toast(`Job ${said.job_id} is submitted.${said.job_submit_user_msg ? ` ${said.job_submit_user_msg}` : ""}`);
      location.hash = `#/job/${said.job_id}`;
    } catch (error) {
      if (error.status) sent = "";
      showRefusal(answer, error);
    } finally {
      send.disabled = false;
    }
  }

  plan.addEventListener("click", tryPlan);
  form.addEventListener("submit", submit);
  form.addEventListener("input", () => { draft = valuesOf(form); });
  replace(main, heading("Submit a job"), card("The job", form));
  return () => {};
}
