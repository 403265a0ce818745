/* States as people see them: a colour, a shape and a letter, so that none of the three is needed alone. */

import { el } from "./dom.js";

const JOB = {
  RUNNING: ["R", "run", "Running"], PENDING: ["P", "wait", "Waiting"], COMPLETED: ["C", "good", "Completed"], FAILED: ["F", "bad", "Failed"],
  CANCELLED: ["X", "quiet", "Cancelled"], TIMEOUT: ["T", "bad", "Out of time"], NODE_FAIL: ["N", "bad", "Node failed"],
  OUT_OF_MEMORY: ["M", "bad", "Out of memory"], PREEMPTED: ["E", "quiet", "Preempted"], SUSPENDED: ["S", "pause", "Suspended"],
  DEADLINE: ["D", "bad", "Past its deadline"], BOOT_FAIL: ["B", "bad", "Boot failed"],
};
export const JOB_STATES = Object.keys(JOB);

export const NODE_KINDS = {
  idle: ["I", "Idle"], mixed: ["M", "Partly used"], full: ["A", "Allocated"], reserved: ["R", "Reserved"], drain: ["D", "Drained"],
  down: ["X", "Down"], away: ["–", "Away"],
};

export function stateWord(job) {
  const [, , word] = JOB[job.state] ?? ["", "", job.state];
  if (job.held) return "Held";
  if (job.flags?.includes("COMPLETING")) return "Completing";
  if (job.flags?.includes("CONFIGURING")) return "Starting";
  return word;
}

export function jobBadge(job) {
  const [letter, style] = job.held ? ["H", "pause"] : JOB[job.state] ?? ["?", "quiet"];
  return el("span", { class: `state ${style}` }, el("span", { class: "mark", "aria-hidden": "true" }, letter), el("span", { class: "word" }, stateWord(job)));
}

export function nodeBadge(node) {
  const [letter, word] = NODE_KINDS[node.kind];
  return el("span", { class: `state n-${node.kind}` }, el("span", { class: "mark", "aria-hidden": "true" }, letter),
    el("span", { class: "word" }, word));
}

/* A share of something, as a bar with its numbers in words. */
export function meter(label, used, total, text) {
  const share = total > 0 ? Math.min(1, used / total) : 0;
  const bar = el("span", { class: "fill" });
  bar.style.width = `${share * 100}%`;
  return el("div", { class: "meter" }, el("div", { class: "meter-text" }, el("span", {}, label), el("span", { class: "value" }, text)),
    el("div", { class: "bar", role: "meter", "aria-label": label, "aria-valuemin": "0", "aria-valuemax": String(total || 1),
      "aria-valuenow": String(Math.min(used, total || 0)), "aria-valuetext": text }, bar));
}
