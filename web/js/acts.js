/* What one may do to jobs and nodes.  The server decides who may; its answer is shown. */

import * as api from "./api.js";
import { el } from "./dom.js";
import { askFor } from "./dialog.js";
import { duration, minutes } from "./format.js";

const jobPath = id => `${api.SLURM}job/${api.part(id)}`;

const button = (text, onclick, style) => el("button", { type: "button", class: style, onclick }, text);

function hold(id) {
  askFor({ title: `Hold job ${id}?`, text: "It keeps its place, and does not start until it is released.", go: "Hold",
    act: async () => { await api.post(jobPath(id), { hold: true }); return `Job ${id} is held.`; } });
}

function release(id) {
  askFor({ title: `Release job ${id}?`, text: "It may start as soon as there is room.", go: "Release",
    act: async () => { await api.post(jobPath(id), { hold: false }); return `Job ${id} is released.`; } });
}

function cancel(id) {
  askFor({ title: `Cancel job ${id}?`, text: "What it has not written is lost.", go: "Cancel the job", danger: true, act: async () => {
    const answer = await api.remove(jobPath(id));
    const bad = (answer.status ?? []).filter(s => s.error?.code);
    if (bad.length) throw new api.ApiError(200, bad.map(s => `${s.error.message}.`));
    return `Job ${id} is being cancelled.`;
  } });
}

function requeue(id) {
  askFor({ title: `Requeue job ${id}?`, text: "It ends, and waits in the queue again from its beginning.", go: "Requeue", danger: true, act: async () => {
    await api.get(`${jobPath(id)}/requeue`);
    return `Job ${id} is in the queue again.`;
  } });
}

function change(job) {
  askFor({ title: `Change job ${job.label}`, go: "Change",
    fields: [
      { name: "limit", label: "Time limit", value: job.limit === null || job.limit === Infinity ? "" : duration(job.limit * 60), placeholder: "unlimited",
        hint: "Minutes, or hours:minutes:seconds, or days-hours:minutes." },
      { name: "nice", label: "Nice", type: "number", step: "1", value: String(job.nice), hint: "More is a lower priority. Less than 0 needs an operator's rights." },
      { name: "comment", label: "Comment", value: job.comment },
    ],
    act: async values => {
      const body = {}, limit = minutes(values.limit);
      if (values.limit && Number.isNaN(limit)) throw new Error(`“${values.limit}” is no time limit.`);
      if (values.limit && limit !== job.limit) body.time_limit = { set: true, infinite: false, number: limit };
      if (Number(values.nice) !== job.nice) body.nice = Number(values.nice);
      if (values.comment !== job.comment) body.comment = values.comment;
      if (!Object.keys(body).length) throw new Error("Nothing has been changed.");
      await api.post(jobPath(job.label), body);
      return `Job ${job.label} is changed.`;
    } });
}

/* Buttons for the job as it is. */
export function jobActs(job) {
  if (job.over) return [];
  const waits = job.state === "PENDING";
  return [
    waits && (job.held ? button("Release", () => release(job.label)) : button("Hold", () => hold(job.label))),
    button("Change", () => change(job)),
    !waits && button("Requeue", () => requeue(job.label)),
    button("Cancel", () => cancel(job.label), "danger"),
  ];
}

const nodePath = name => `${api.SLURM}node/${api.part(name)}`;

function drain(name) {
  askFor({ title: `Drain node ${name}`, text: "Its jobs go on; no job starts there.", go: "Drain",
    fields: [{ name: "reason", label: "Reason", required: true, placeholder: "What others should know" }],
    act: async ({ reason }) => { await api.post(nodePath(name), { state: ["DRAIN"], reason }); return `Node ${name} is drained.`; } });
}

function resume(name) {
  askFor({ title: `Resume node ${name}?`, text: "Jobs may start there again.", go: "Resume",
    act: async () => { await api.post(nodePath(name), { state: ["RESUME"] }); return `Node ${name} is back in service.`; } });
}

export function nodeActs(node) {
  const out = node.kind === "drain" || node.kind === "down";
  return [out && button("Resume", () => resume(node.name)), node.kind !== "drain" && button("Drain", () => drain(node.name))];
}
