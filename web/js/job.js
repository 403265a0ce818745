/* One job: what it is, why it is so, what it uses, what happened to it. */

import * as api from "./api.js";
import { jobActs } from "./acts.js";
import { card, el, facts, heading, link, replace, table } from "./dom.js";
import { ago, count, duration, mebibytes, num, percent, tres, when } from "./format.js";
import { jobOf } from "./records.js";
import { watch } from "./watch.js";
import { jobBadge, meter } from "./words.js";

const MEM = ["mem", "memory"];

/* What one job used, of an answer of the accounting. */
export function usage(past) {
  const cpus = past.tres?.allocated?.find(t => t.type === "cpu")?.count ?? past.required?.CPUs ?? 0;
  const memory = past.tres?.allocated?.find(t => t.type === "mem")?.count ?? null; // MiB
  let used = 0, peak = 0;
  for (const step of past.steps ?? []) {
    used += (step.time?.total?.seconds ?? 0);
    const most = step.tres?.requested?.max?.find(t => MEM.includes(t.type))?.count ?? 0; // bytes, of one task
    peak = Math.max(peak, most * Math.max(1, step.tasks?.count ?? 1));
  }
  if (!used) used = past.time?.total?.seconds ?? 0;
  const elapsed = past.time?.elapsed ?? 0;
  return { cpus, elapsed, used, held: cpus * elapsed, memory, peak: peak / 1048576, limit: num(past.time?.limit) };
}

function usageCard(past) {
  const u = usage(past);
  if (!u.elapsed) return null;
  const limit = u.limit === null || u.limit === Infinity ? null : u.limit * 60;
  return card("Usage against request",
    meter("Processors", u.used, u.held, `${duration(u.used)} of ${duration(u.held)} CPU time, ${percent(u.held ? u.used / u.held : NaN)}`),
    u.memory && u.peak > 0 && meter("Memory", u.peak, u.memory, `${mebibytes(u.peak)} of ${mebibytes(u.memory)} at most`),
    limit && meter("Time", u.elapsed, limit, `${duration(u.elapsed)} of ${duration(limit)}`));
}

const stepRows = [
  ["Step", s => [el("b", {}, s.step?.id ?? ""), s.step?.name !== s.step?.id?.split(".")[1] && ` ${s.step?.name ?? ""}`]],
  ["State", s => (s.state ?? []).join(" ").toLowerCase()],
  ["Tasks", s => count(s.tasks?.count), "right"], ["Nodes", s => s.nodes?.range ?? ""],
  ["Started", s => when(num(s.time?.start))], ["Took", s => duration(s.time?.elapsed), "right"],
  ["Exit", s => num(s.exit_code?.return_code) ?? "", "right"],
];

function requestFacts(j, job) {
  const asked = tres(j.tres_req_str), alloc = tres(j.tres_alloc_str);
  const text = map => [...map].filter(([k]) => k !== "billing").map(([k, v]) => `${k.replace("gres/", "")} ${k === "mem" ? mebibytes(v) : count(v)}`).join(", ");
  return facts([
    ["Name", j.name], ["User", j.user_name], ["Account", j.account], ["Partition", j.partition], ["QOS", j.qos], ["Reservation", j.resv_name],
    ["Asked for", text(asked)], ["Has", text(alloc)], ["Nodes", j.nodes], ["Time limit", job.limit === null ? "" : duration(job.limit * 60)],
    ["Submitted", `${when(job.submit)} (${ago(job.submit)})`],
    ["Started", job.start && job.state !== "PENDING" ? `${when(job.start)} (${ago(job.start)})` : ""],
    ["Expected start", job.start && job.state === "PENDING" ? `${when(job.start)} (${ago(job.start)})` : ""],
    ["Ended", job.over && job.end ? `${when(job.end)} (${ago(job.end)})` : ""],
    ["Exit code", job.over ? String(num(j.exit_code?.return_code) ?? "") : ""],
    ["Priority", job.state === "PENDING" ? count(job.priority) : ""], ["Nice", j.nice ? String(j.nice) : ""], ["Dependency", j.dependency],
    ["Comment", j.comment], ["Folder", j.current_working_directory], ["Output", j.stdout_expanded || j.standard_output], ["Command", j.submit_line],
  ]);
}

/* The accounting's record of a job that slurmctld has forgotten, in the shape of a job. */
function fromPast(p) {
  const allocated = (p.tres?.allocated ?? []).map(t => `${t.type}${t.name ? "/" + t.name : ""}=${t.count}`).join(",");
  const set = n => ({ set: true, infinite: false, number: n });
  return { job_id: p.job_id, name: p.name, user_name: p.user, account: p.account, partition: p.partition, qos: p.qos, job_state: p.state?.current,
    state_reason: p.state?.reason, nodes: p.nodes, node_count: set(p.allocation_nodes), cpus: set(p.required?.CPUs ?? 0), time_limit: p.time?.limit,
    submit_time: set(p.time?.submission), start_time: set(p.time?.start), end_time: set(p.time?.end), priority: p.priority, exit_code: p.exit_code,
    tres_alloc_str: allocated, submit_line: p.submit_line, current_working_directory: p.working_directory, comment: p.comment?.job,
    stdout_expanded: p.stdout_expanded };
}

const EVENTS = { "job-submit": "was submitted", "job-start": "got its nodes", "job-launched": "began to run", "job-end": "ended", "job-cleaned": "left its nodes",
  "job-requeue": "was put back into the queue", "job-update": "was changed", "job-hold": "was held", "job-release": "was released",
  "job-suspend": "was suspended", "job-resume": "went on", "job-signal": "got a signal", "job-preempt": "has to make room" };

function told(event) {
  const after = event.after ?? {}, shown = Object.entries(after).filter(([k]) => !k.endsWith("_us") && k !== "state_flags" && k !== "alloc" && event.event !== "job-submit")
    .map(([k, v]) => `${k.replaceAll("_", " ")} ${String(typeof v === "object" ? JSON.stringify(v) : v).replace(/^(JOB|REASON)_/, "").toLowerCase()}`);
  const place = after.alloc?.nodes ? [`on ${after.alloc.nodes}`] : [];
  return el("li", {}, el("time", {}, when(event.time_us / 1e6)), el("span", {}, `The job ${EVENTS[event.event] ?? event.event.replace("job-", "")}`,
    shown.length || place.length ? el("span", { class: "muted" }, `: ${[...place, ...shown].join(", ")}`) : "."));
}

export function jobPage(main, id) {
  const output = el("div", {});
  const top = el("div", {}), why = el("div", { class: "sentences", "aria-live": "polite" }, el("p", { class: "muted" }, "Asking the scheduler …"));
  const request = el("div", {}), use = el("div", {}), steps = el("div", {}), script = el("div", {}), past = el("ol", { class: "history" });
  const notFound = el("div", {});
  let gone = false, ended = false, timer = 0, stream = null, shown = "";
  replace(main, top, notFound, el("div", { class: "columns" },
    card("In words", why), card("Request", request), use, card("Steps", steps), card("Output", output), card("Script", script), card("History", past)));
  replace(top, heading(`Job ${id}`));

  async function explain(job) {
    if (job.over) return replace(why, el("p", {}, `It is over: ${jobBadge(job).textContent.slice(1)}${job.reason ? ` (${job.reason})` : ""}.`));
    try {
      const answer = await api.get(`${api.OWN}job/${api.part(id)}/explain`), it = answer.explain;
      return replace(why, (it.sentences ?? []).map(s => el("p", {}, s)),
        it.expected_start > 0 && job.state === "PENDING" && el("p", { class: "expected" }, `Expected start: ${when(it.expected_start)} (${ago(it.expected_start)})`));
    } catch (e) {
      const fallback = job.state === "PENDING" ? `It waits: ${job.reason || "no reason is known yet"}.` : `It runs on ${job.nodes}.`;
      return replace(why, el("p", {}, fallback), e.status === 404 ? null : el("p", { class: "muted" }, e.message));
    }
  }

  function showPast(p) {
    if (!p) return;
    replace(use, usageCard(p));
    replace(steps, table("Steps", stepRows, p.steps ?? [], "It has no steps yet."));
  }

  /* The end of the file, as slurmd reads it for the job's owner.  Whoever has scrolled up stays there. */
  async function loadOutput(job) {
    if (job.state === "PENDING") return replace(output, el("p", { class: "empty" }, "It has not begun."));
    if (job.over && ended) return null;
    ended = job.over;
    try {
      const tail = (await api.get(`${api.OWN}job/${api.part(id)}/output`, { words: { bytes: "16384" } })).output;
      if (!gone) showOutput(tail);
    } catch (e) {
      if (!gone) replace(output, el("p", { class: "empty" }, e.message));
    }
    return null;
  }

  function showOutput(tail) {
    const before = output.querySelector("pre");
    const follows = !before || before.scrollTop + before.clientHeight >= before.scrollHeight - 8;
    const note = tail.from > 0 ? `The last ${count(tail.text.length)} characters of ${tail.path}` : tail.path;
    if (before && before.textContent === tail.text) return;
    const pre = el("pre", { tabindex: "0", "aria-label": "The end of its output" }, tail.text);
    replace(output, el("p", { class: "muted" }, note), tail.text ? pre : el("p", { class: "empty" }, "It has written nothing yet."));
    pre.scrollTop = follows ? pre.scrollHeight : before.scrollTop;
  }

  /* It does not change: once is enough. */
  async function loadScript() {
    let text = "";
    try {
      const found = await api.get(`${api.SLURMDB}jobs/`, { words: { step: id, skip_steps: "true", show_batch_script: "true" } });
      text = found.jobs?.at(-1)?.script ?? "";
    } catch { /* of another user, or of a site that keeps none */ }
    if (!gone) replace(script, text ? el("pre", { tabindex: "0", "aria-label": "The script" }, text) :
      el("p", { class: "empty" }, "You may not see its script, or it is not kept (AccountingStoreFlags=job_script keeps it)."));
  }

  /* Buttons are made anew only when they would be others: one of them may have the focus. */
  function showTop(job) {
    const now = JSON.stringify([job.state, job.flags, job.held, job.limit, job.nice, job.comment, job.name]);
    if (now === shown) return;
    shown = now;
    replace(top, heading(`Job ${id}`, jobBadge(job), jobActs(job)), el("p", { class: "subtitle" }, job.name));
  }

  async function load() {
    let now = null, before = null;
    const [live, db] = await Promise.allSettled([api.get(`${api.SLURM}job/${api.part(id)}`), api.get(`${api.SLURMDB}job/${api.part(id)}`)]);
    if (gone) return;
    if (live.status === "fulfilled") [now] = live.value.jobs ?? [];
    if (db.status === "fulfilled") before = db.value.jobs?.at(-1) ?? null;
    if (!now && before) now = fromPast(before);
    if (!now) {
      replace(notFound, el("p", { class: "refusal", role: "alert" }, live.reason?.message ?? "There is no such job."));
      return;
    }
    const job = { ...jobOf(now), nice: now.nice ?? 0, comment: now.comment ?? "", label: id };
    showTop(job);
    replace(request, requestFacts(now, job));
    showPast(before);
    explain(job);
    loadOutput(job);
    if (stream) return;
    loadScript();
    follow(now.job_id);
  }

  /* From the beginning of the log, as far as it reaches, and on. */
  function follow(number) {
    stream = watch({ cursor: "1", types: "job", job_id: String(number) }, {
      reset: () => past.prepend(el("li", { class: "muted" }, el("span", {}, "What is older is not in the log any more."))),
      change: event => {
        past.append(told(event));
        clearTimeout(timer);
        timer = setTimeout(load, 150);
      },
    });
  }

  load();
  const again = setInterval(load, 15000);
  return () => {
    gone = true;
    clearTimeout(timer);
    clearInterval(again);
    stream?.stop();
  };
}
