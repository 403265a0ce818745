/* Which jobs run on a node: their lists of nodes ("n[1-4,7]") are read by the server, which knows how. */

import * as api from "./api.js";
import { jobs } from "./store.js";

const known = new Map(); // list -> Set of names
const MOST_KNOWN = 20000;

async function namesOf(list) {
  if (!known.has(list)) {
    const simple = !list.includes("[") && !list.includes(",");
    const names = simple ? [list] : (await api.post("util/v0.0.45/hostnames", { hostlist: list })).hostnames ?? [];
    if (known.size > MOST_KNOWN) known.clear();
    known.set(list, new Set(names));
  }
  return known.get(list);
}

/* Lists that cannot hold the name are not asked about: what stands before the bracket is the start of a name. */
const mayHold = (list, name) => list.split(/,(?![^[]*\])/).some(p => (p.includes("[") ? name.startsWith(p.slice(0, p.indexOf("["))) : p === name));

export async function jobsOn(name) {
  const running = [...jobs.values()].filter(j => !j.over && j.state !== "PENDING" && j.nodes && mayHold(j.nodes, name));
  const found = [];
  for (const j of running) {
    try {
      if ((await namesOf(j.nodes)).has(name)) found.push(j);
    } catch {
      return found;
    }
  }
  return found;
}
