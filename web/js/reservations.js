/* Reservations: a calendar of the coming days, and making and deleting them. */

import * as api from "./api.js";
import { askFor } from "./dialog.js";
import { el, heading, replace, table } from "./dom.js";
import { count, duration, minutes, num, when } from "./format.js";

const DAY = 86400;
const TWO = n => String(n).padStart(2, "0");
const clock = d => `${d.getFullYear()}-${TWO(d.getMonth() + 1)}-${TWO(d.getDate())}T${TWO(d.getHours())}:${TWO(d.getMinutes())}`;

const start = r => num(r.start_time) ?? 0, end = r => num(r.end_time) ?? Infinity;

function make(done) {
  askFor({ title: "Make a reservation", go: "Make it", fields: [
    { name: "name", label: "Name", placeholder: "made up by the server" },
    { name: "start", label: "Begins", type: "datetime-local", required: true, value: clock(new Date(Date.now() + 3600e3)) },
    { name: "length", label: "Lasts", required: true, value: "2:00:00", hint: "Minutes, or hours:minutes:seconds, or days-hours:minutes." },
    { name: "nodes", label: "Nodes", required: true, placeholder: "n[1-4], ALL, or how many", hint: "A number means: any so many." },
    { name: "users", label: "Users", placeholder: "ann,bob" }, { name: "accounts", label: "Accounts" },
    { name: "flags", label: "Purpose", type: "select", value: "", options: [["", "For these users"], ["MAINT", "Maintenance"]] },
  ], act: async v => {
    const length = minutes(v.length), begin = Math.round(new Date(v.start).getTime() / 1000), set = number => ({ set: true, infinite: false, number });
    if (Number.isNaN(length)) throw new Error(`“${v.length}” is no length of time.`);
    const body = { start_time: set(begin), duration: set(length) };
    if (v.name) body.name = v.name;
    if (/^\d+$/.test(v.nodes)) body.node_count = set(Number(v.nodes));
    else body.node_list = [v.nodes];
    if (v.users) body.users = v.users.split(",");
    if (v.accounts) body.accounts = v.accounts.split(",");
    if (v.flags) body.flags = [v.flags];
    await api.post(`${api.SLURM}reservation`, body);
    done();
    return `The reservation ${v.name} is made.`;
  } });
}

function drop(name, done) {
  askFor({ title: `Delete reservation ${name}?`, text: "Its nodes are free for everybody again.", go: "Delete", danger: true, act: async () => {
    await api.remove(`${api.SLURM}reservation/${api.part(name)}`);
    done();
    return `The reservation ${name} is deleted.`;
  } });
}

/* Each reservation is a bar in its own line; the days are columns. */
function calendar(list, days) {
  const today = new Date();
  today.setHours(0, 0, 0, 0);
  const from = today.getTime() / 1000, to = from + days * DAY, now = Date.now() / 1000;
  const at = t => `${Math.max(0, Math.min(1, (t - from) / (to - from))) * 100}%`;
  const heads = Array.from({ length: days }, (_, i) => {
    const d = new Date((from + i * DAY + DAY / 2) * 1000);
    return el("div", { class: "day" }, el("span", { class: "wd" }, d.toLocaleDateString("en", { weekday: "short" })), ` ${d.getDate()}`);
  });
  const line = el("div", { class: "now", "aria-hidden": "true" });
  line.style.left = at(now);
  const bars = list.filter(r => end(r) > from && start(r) < to).map(r => {
    const label = `${r.name}: ${r.node_count} nodes, ${when(start(r))} to ${when(end(r))}`;
    const bar = el("div", { class: `resv${(r.flags ?? []).includes("MAINT") ? " maint" : ""}${start(r) <= now && end(r) > now ? " active" : ""}`, title: label });
    const name = el("span", {}, `${r.name} · ${count(r.node_count)} ${r.node_count === 1 ? "node" : "nodes"}`);
    bar.style.marginLeft = name.style.marginLeft = at(start(r));
    if (start(r) > from + (to - from) * 0.6) { // its words would run out of the calendar
      name.style.float = "right";
      name.style.marginLeft = "0";
      bar.style.clear = "both";
    }
    bar.style.width = `calc(${at(end(r))} - ${at(start(r))})`;
    return el("li", { "aria-label": label }, name, bar);
  });
  const box = el("div", { class: "calendar" }, el("div", { class: "days", "aria-hidden": "true" }, heads), el("ul", { class: "lanes" }, bars), line);
  box.style.setProperty("--days", days);
  return bars.length ? box : el("p", { class: "empty" }, "Nothing is reserved in these days.");
}

export function reservationsPage(main) {
  const body = el("div", {}, el("p", { class: "muted" }, "Reading the reservations …"));
  let gone = false;
  const narrow = window.matchMedia("(max-width: 760px)");

  async function load() {
    try {
      const list = ((await api.get(`${api.SLURM}reservations/`)).reservations ?? []).sort((a, b) => start(a) - start(b));
      if (gone) return;
      const columns = [["Name", r => el("b", {}, r.name)], ["Begins", r => when(start(r))], ["Ends", r => when(end(r))], ["Lasts", r => duration(end(r) - start(r)), "right"],
        ["Nodes", r => `${count(r.node_count)}${r.node_list ? `: ${r.node_list}` : ""}`], ["For", r => [r.users, r.accounts, r.groups].filter(Boolean).join("; ")],
        ["Flags", r => (r.flags ?? []).join(" ").toLowerCase()],
        ["", r => el("button", { type: "button", class: "danger small", "aria-label": `Delete reservation ${r.name}`, onclick: () => drop(r.name, load) }, "Delete")]];
      replace(body, calendar(list, narrow.matches ? 5 : 14), table("Reservations", columns, list, "There are no reservations that you may see."));
    } catch (e) {
      if (!gone) replace(body, el("p", { class: "refusal", role: "alert" }, e.message));
    }
  }

  replace(main, heading("Reservations", el("button", { type: "button", onclick: () => make(load) }, "Make a reservation")), body);
  load();
  const again = setInterval(load, 20000);
  return () => {
    gone = true;
    clearInterval(again);
  };
}
