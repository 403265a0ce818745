/* One node, and the list of partitions. */

import * as api from "./api.js";
import { nodeActs } from "./acts.js";
import { card, el, facts, heading, link, replace, table } from "./dom.js";
import { ago, count, duration, mebibytes, num, tres, when } from "./format.js";
import { nodeOf } from "./records.js";
import { nodes, placeOf, subscribe } from "./store.js";
import { jobBadge, meter, nodeBadge } from "./words.js";
import { jobsOn } from "./places.js";

const jobColumns = [["Job", j => link("job", j.label, j.label)], ["State", jobBadge], ["Name", j => j.name], ["User", j => j.user],
  ["CPUs", j => count(j.cpus), "right"], ["Nodes", j => count(j.nNodes), "right"], ["Runs for", j => duration(Date.now() / 1000 - j.start), "right"]];

export function nodePage(main, name) {
  const top = el("div", {}), body = el("div", { class: "columns" });
  let gone = false, shown = "";
  replace(main, top, body);
  replace(top, heading(`Node ${name}`));

  async function load() {
    let n;
    try {
      [n] = (await api.get(`${api.SLURM}node/${api.part(name)}`)).nodes ?? [];
    } catch (e) {
      if (!gone) replace(body, el("p", { class: "refusal", role: "alert" }, e.message));
      return;
    }
    if (gone || !n) return;
    const node = nodeOf(n), here = await jobsOn(name);
    if (gone) return;
    const now = JSON.stringify([node.states, node.reason, node.by]);
    if (now !== shown) { // buttons stay while they can: one of them may have the focus
      shown = now;
      replace(top, heading(`Node ${name}`, nodeBadge(node), nodeActs(node)),
        node.reason && el("p", { class: "subtitle" }, `${node.reason}${node.by ? ` (${node.by}, ${when(num(n.reason_changed_at))})` : ""}`));
    }
    replace(body,
      card("In use", meter("Processors", node.usedCpus, node.cpus, `${count(node.usedCpus)} of ${count(node.cpus)} allocated`),
        meter("Load", node.load, node.cpus, `${node.load.toFixed(2)} over ${count(node.cpus)} CPUs`),
        meter("Memory", node.usedMemory, node.memory, `${mebibytes(node.usedMemory)} of ${mebibytes(node.memory)} allocated`),
        node.gpus > 0 && meter("GPUs", node.usedGpus, node.gpus, `${count(node.usedGpus)} of ${count(node.gpus)} allocated`)),
      card("What it is", facts([
        ["States", node.states.join(" ")], ["Partitions", node.partitions.join(", ")], ["Sockets × cores × threads", `${n.sockets} × ${n.cores} × ${n.threads}`],
        ["Generic resources", n.gres], ["Features", node.features.join(", ")], ["Place", placeOf(node)], ["Address", n.address], ["System", n.operating_system], ["Version", n.version],
        ["Booted", num(n.boot_time) ? `${when(num(n.boot_time))} (${ago(num(n.boot_time))})` : ""], ["Last busy", ago(num(n.last_busy))], ["Comment", n.comment]])),
      card("Jobs here", table("Jobs on this node", jobColumns, here, "No job that you may see runs here.")));
  }

  load();
  const off = subscribe(words => { if (words.has("nodes")) load(); });
  return () => {
    gone = true;
    off();
  };
}

const per = (p, key) => tres(p.tres?.configured).get(key) ?? 0;

export function partitionsPage(main) {
  const body = el("div", {}, el("p", { class: "muted" }, "Reading the partitions …"));
  const busy = name => {
    const t = { nodes: 0, cpus: 0, used: 0 };
    for (const n of nodes.values()) if (n.partitions.includes(name)) {
      t.nodes++;
      t.cpus += n.cpus;
      t.used += n.usedCpus;
    }
    return t;
  };
  const columns = [
    ["Partition", p => [el("b", {}, p.name), (p.flags ?? []).includes("DEFAULT") && el("span", { class: "tag" }, "default")]],
    ["State", p => (p.partition?.state ?? []).join(" ").toLowerCase()],
    ["In use", p => { const t = busy(p.name); return meter("CPUs", t.used, t.cpus, `${count(t.used)} of ${count(t.cpus || p.cpus?.total)}`); }, "wide"],
    ["Nodes", p => count(p.nodes?.total), "right"], ["GPUs", p => count(per(p, "gres/gpu")), "right"],
    ["Longest job", p => { const t = num(p.maximums?.time); return t === null ? "" : duration(t * 60); }, "right"],
    ["Priority tier", p => count(p.priority?.tier), "right"], ["Accounts", p => p.accounts?.allowed || "all"], ["QOS", p => p.qos?.allowed || "all"]];
  replace(main, heading("Partitions"), body);
  let list = [], gone = false;
  const show = () => replace(body, table("Partitions", columns, list, "There are no partitions that you may see."));
  api.get(`${api.SLURM}partitions/`).then(answer => {
    list = answer.partitions ?? [];
    if (!gone) show();
  }).catch(e => { if (!gone) replace(body, el("p", { class: "refusal", role: "alert" }, e.message)); });
  const off = subscribe(words => { if (words.has("nodes") && list.length) show(); });
  return () => {
    gone = true;
    off();
  };
}
