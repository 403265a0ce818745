/* Jobs and nodes as the page keeps them: the few fields it shows, of the many that the API has.  Used by the page and
 * by the worker that reads long lists. */

import { gpus, gresGpus, num, tres } from "./format.js";

export const JOB_FIELDS = ["job_id", "array_job_id", "array_task_id", "array_task_string", "name", "user_name", "account", "partition",
  "qos", "job_state", "state_reason", "nodes", "node_count", "cpus", "time_limit", "submit_time", "start_time", "end_time",
  "priority", "hold", "tres_req_str", "tres_alloc_str"];
export const NODE_FIELDS = ["name", "state", "partitions", "cpus", "alloc_cpus", "cpu_load", "real_memory", "alloc_memory", "gres", "gres_used",
  "reason", "reason_set_by_user", "features", "weight", "tres_used"];

const FINAL = new Set(["COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"]);

export function jobOf(j) {
  const array = num(j.array_job_id), task = num(j.array_task_id), states = j.job_state ?? [];
  let label = String(j.job_id);
  if (array && task !== null) label = `${array}_${task}`;
  else if (array && j.array_task_string) label = `${array}_[${j.array_task_string}]`;
  const asked = tres(j.tres_alloc_str || j.tres_req_str), state = states[0] ?? "UNKNOWN";
  return {
    id: j.job_id, label, name: j.name ?? "", user: j.user_name ?? "", account: j.account ?? "", partition: j.partition ?? "", qos: j.qos ?? "",
    state, flags: states.slice(1), over: FINAL.has(state), reason: j.state_reason === "None" ? "" : j.state_reason ?? "",
    nodes: j.nodes ?? "", nNodes: num(j.node_count) ?? 0, cpus: num(j.cpus) ?? 0, gpus: gpus(asked),
    limit: num(j.time_limit), submit: num(j.submit_time) ?? 0, start: num(j.start_time) ?? 0, end: num(j.end_time) ?? 0,
    priority: num(j.priority) ?? 0, held: Boolean(j.hold) || (state === "PENDING" && num(j.priority) === 0),
  };
}

const BAD = ["DOWN", "NOT_RESPONDING", "FAIL", "INVALID_REG", "ERROR"];
const AWAY = ["POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_DOWN", "FUTURE", "UNKNOWN", "REBOOT_REQUESTED", "REBOOT_ISSUED"];

/* One word for the colour; the words themselves stay beside it. */
function nodeKind(states) {
  const has = list => list.some(word => states.includes(word));
  if (has(BAD)) return "down";
  if (states.includes("DRAIN")) return "drain";
  if (has(AWAY)) return "away";
  if (has(["MAINTENANCE", "RESERVED"]) && !has(["ALLOCATED", "MIXED"])) return "reserved";
  if (states.includes("ALLOCATED")) return "full";
  if (states.includes("MIXED")) return "mixed";
  return states.includes("IDLE") ? "idle" : "away";
}

export function nodeOf(n) {
  const states = n.state ?? [], used = tres(n.tres_used);
  return {
    name: n.name, states, kind: nodeKind(states), partitions: n.partitions ?? [], cpus: n.cpus ?? 0, usedCpus: n.alloc_cpus ?? 0,
    load: (num(n.cpu_load) ?? 0) / 100, memory: n.real_memory ?? 0, usedMemory: n.alloc_memory ?? 0, gpus: gresGpus(n.gres),
    usedGpus: Math.max(gpus(used), gresGpus(n.gres_used)), reason: n.reason ?? "", by: n.reason_set_by_user ?? "",
    features: n.features ?? [],
  };
}
