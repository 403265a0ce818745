/* My accounts: the shares I have, what I have used of them, and the limits that hold me. */

import * as api from "./api.js";
import { card, el, facts, heading, replace, table } from "./dom.js";
import { count, duration, num, percent, trim } from "./format.js";
import { meter } from "./words.js";

const limited = value => {
  const n = num(value);
  return n === null || n === Infinity ? "" : count(n);
};
const minutes = value => {
  const n = num(value);
  return n === null || n === Infinity ? "" : duration(n * 60);
};
const list = items => (items ?? []).map(t => `${t.name ? `${t.type}/${t.name}` : t.type}=${count(t.count)}`).join(", ");

function limitFacts(a) {
  const max = a.max ?? {}, t = max.tres ?? {};
  return [["Jobs at a time", limited(max.jobs?.active)], ["Jobs in the queue", limited(max.jobs?.total)], ["Jobs of the account at a time", limited(max.jobs?.per?.count)],
    ["Jobs of the account in the queue", limited(max.jobs?.per?.submitted)],
    ["Longest job", minutes(max.jobs?.per?.wall_clock)], ["Largest job", list(t.per?.job)], ["At most of a node", list(t.per?.node)],
    ["At a time", list(t.total)], ["Of the account at a time", list(t.group?.active)], ["Minutes of a job", list(t.minutes?.per?.job)],
    ["Minutes of the account", list(t.group?.minutes)], ["QOS", (a.qos ?? []).join(", ")], ["QOS by default", a.default?.qos]].filter(([, v]) => v);
}

/* What holds every job of a QOS, beside the limits of the account. */
function qosFacts(q) {
  const max = q.limits?.max ?? {}, jobs = max.jobs ?? {}, running = jobs.active_jobs?.per ?? {}, t = max.tres ?? {};
  return [["Jobs of a user at a time", limited(running.user)], ["Jobs of a user in the queue", limited(jobs.per?.user)],
    ["Jobs of an account at a time", limited(running.account)], ["Jobs of an account in the queue", limited(jobs.per?.account)],
    ["Jobs at a time, of all", limited(max.active_jobs?.count)], ["Jobs in the queue, of all", limited(jobs.count)],
    ["Longest job", minutes(max.wall_clock?.per?.job)], ["Largest job", list(t.per?.job)], ["Smallest job", list(q.limits?.min?.tres?.per?.job)],
    ["At most of a node", list(t.per?.node)], ["Of a user at a time", list(t.per?.user)], ["Of an account at a time", list(t.per?.account)],
    ["Of all at a time", list(t.total)], ["Minutes of a job", list(t.minutes?.per?.job)], ["Minutes of all", list(t.minutes?.total)],
    ["Priority", limited(q.priority)]].filter(([, v]) => v && v !== "0");
}

function qosCard(q) {
  const limits = qosFacts(q);
  return card(`QOS ${q.name}`, q.description && q.description !== q.name && el("p", { class: "muted" }, q.description),
    limits.length ? facts(limits) : el("p", { class: "empty" }, "It limits nothing."));
}

/* The line of shares of one association, and of the accounts above it. */
function sharesOf(shares, account, user) {
  const found = [];
  for (let name = account, first = true; name; first = false) {
    const row = shares.find(s => (first && user ? s.name === user && s.parent === name && s.type?.includes("USER") : s.name === name && !s.type?.includes("USER")));
    if (row) found.push(row);
    if (!first || !user) name = shares.find(s => s.name === name && !s.type?.includes("USER"))?.parent;
  }
  return found;
}

const shareColumns = [
  ["Who", s => s.name], ["Shares", s => num(s.shares) ?? "", "right"], ["Share of all", s => percent(num(s.shares_normalized)), "right"],
  ["Used of all", s => percent(num(s.usage_normalized) ?? num(s.effective_usage)), "right"], ["Usage, CPU hours", s => trim((s.usage ?? 0) / 3600), "right"],
  ["Fair share", s => (num(s.fairshare?.factor) === null ? "" : trim(num(s.fairshare.factor) * 100) + " %"), "right"]];

export function accountsPage(main) {
  const body = el("div", {}, el("p", { class: "muted" }, "Reading your accounts …"));
  let gone = false;
  replace(main, heading("My accounts"), body);

  async function load() {
    const user = api.me();
    try {
      const [assocs, shares, known] = await Promise.all([api.get(`${api.SLURMDB}associations/`, { words: { user } }), api.get(`${api.SLURM}shares/`),
        api.get(`${api.SLURMDB}qos/`)]);
      if (gone) return;
      const mine = (assocs.associations ?? []).filter(a => a.user === user), all = shares.shares?.shares ?? [];
      if (!mine.length) {
        replace(body, el("p", { class: "empty" }, `No account is known for ${user}: nothing limits you but the partitions.`));
        return;
      }
      const allowed = new Set(mine.flatMap(a => [...(a.qos ?? []), a.default?.qos]));
      const qos = (known.qos ?? []).filter(q => allowed.has(q.name));
      replace(body, [...mine.map(a => {
        const rows = sharesOf(all, a.account, user), own = rows[0];
        const used = num(own?.usage_normalized) ?? 0, due = num(own?.shares_normalized) ?? 0, limits = limitFacts(a);
        return card(`Account ${a.account}${a.partition ? `, partition ${a.partition}` : ""}`,
          own && meter("Used of my share", used, due, `${percent(used)} of all use; my share is ${percent(due)}`),
          table("Shares", shareColumns, rows, "No shares are kept here."),
          el("h3", {}, "Limits"), limits.length ? facts(limits) : el("p", { class: "empty" }, "There are no limits of your own."));
      }), ...qos.map(qosCard)]);
    } catch (e) {
      if (!gone) replace(body, el("p", { class: "refusal", role: "alert" }, e.message));
    }
  }
  load();
  return () => { gone = true; };
}
