/* The frame of the page: who is signed in, where one is, the keys. */

import * as api from "./api.js";
import { el, link, replace } from "./dom.js";
import { when } from "./format.js";
import { installKeys, showKeys } from "./keys.js";
import * as store from "./store.js";
import { accountsPage } from "./accounts.js";
import { clusterPage } from "./cluster.js";
import { jobPage } from "./job.js";
import { nodePage, partitionsPage } from "./node.js";
import { queuePage } from "./queue.js";
import { reservationsPage } from "./reservations.js";
import { forgetDraft, submitPage } from "./submit.js";
import { efficiencyPage, usagePage } from "./usage.js";

const PAGES = { queue: queuePage, job: jobPage, submit: submitPage, cluster: clusterPage, node: nodePage, partitions: partitionsPage,
  reservations: reservationsPage, accounts: accountsPage, usage: usagePage, efficiency: efficiencyPage };
const NAV = [["queue", "Queue", "q", ["job"]], ["cluster", "Cluster", "c", ["node", "partitions"]], ["reservations", "Reservations", "r", []],
  ["usage", "Usage", "u", ["efficiency"]], ["accounts", "Accounts", "a", []], ["submit", "Submit", "s", []]];
const THEMES = ["auto", "light", "dark"];

const app = document.getElementById("app");
let leave = null, unsubscribe = null, main = null, note = null;

/* ---- light and dark ---- */

function setTheme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  localStorage.setItem("penstock-theme", name);
  document.dispatchEvent(new Event("theme"));
}

function themeButton() {
  const show = () => localStorage.getItem("penstock-theme") ?? "auto";
  const words = () => [el("span", { "aria-hidden": "true" }, "◐ "), el("span", { class: "theme-word" }, "Theme: "), show()];
  const b = el("button", { type: "button", class: "plain", title: "Light, dark, or as the system has it", onclick: () => {
    setTheme(THEMES[(THEMES.indexOf(show()) + 1) % THEMES.length]);
    replace(b, words());
  } }, words());
  return b;
}

/* ---- signing in ---- */

function signOut(sentence) {
  leave?.();
  unsubscribe?.();
  leave = unsubscribe = main = note = null;
  api.forget();
  forgetDraft();
  store.stop();
  signInPage(sentence);
}

function signInPage(sentence) {
  const said = el("p", { class: "refusal", role: "alert", hidden: !sentence }, sentence);
  const input = el("input", { id: "token", type: "password", autocomplete: "off", required: true, spellcheck: "false" });
  const button = el("button", { type: "submit", class: "primary" }, "Sign in");
  const form = el("form", { class: "sign-in", onsubmit: async e => {
    e.preventDefault();
    button.disabled = said.hidden = true;
    await signIn(input.value.trim().replace(/^SLURM_JWT=/, ""));
    button.disabled = false;
  } },
  el("h1", {}, "Penstock"), el("p", {}, "Sign in with a token. On the cluster, ", el("code", {}, "scontrol token"), " prints one."),
  el("label", { for: "token" }, "Token"), input, said, button);
  document.title = "Sign in · Penstock";
  replace(app, el("main", { id: "main", class: "centre" }, form));
  input.focus();
}

/* Whether a token is good is for the cluster to say: it is asked something that only known users learn. */
async function signIn(token) {
  api.keep(token);
  try {
    const [answer] = await Promise.all([api.get(`${api.SLURM}ping/`),
      api.get(`${api.SLURM}jobs/state/`, { words: { job_id: "1" } }).catch(e => { if (api.isRefusal(e.status) || e.status === 0) throw e; })]);
    if (api.token() !== token) return;
    enter(answer.meta?.slurm?.cluster ?? "");
  } catch (e) {
    signOut(api.isRefusal(e.status) ? "This token is not good: it is wrong, or its time is over." : e.message);
  }
}

/* What stands behind the address's # is taken out of the address and the history before anything else.  `penstock ui` prints a
   word that is good once; a token is what somebody made himself. */
function signInByAddress() {
  const match = /^#(token|word)=(.+)$/.exec(location.hash);
  if (!match) return false;
  history.replaceState(null, "", `${location.pathname}#/queue`);
  const given = decodeURIComponent(match[2]);
  if (match[1] === "token") signIn(given);
  else signInByWord(given);
  return true;
}

async function signInByWord(word) {
  let token;
  try {
    token = await api.exchange(word);
  } catch (e) {
    signOut(e.status === 0 || e.status === 503 ? e.message : "This address was used already, or its minute is over: penstock ui prints another.");
    return;
  }
  if (main) signOut(""); // somebody else was here
  await signIn(token);
}

/* ---- pages ---- */

function show() {
  const [, name = "queue", word] = location.hash.split("/");
  const page = PAGES[name] ?? queuePage, given = word === undefined ? null : decodeURIComponent(word);
  leave?.();
  leave = null;
  replace(main);
  main.className = "";
  main.scrollTop = 0;
  window.scrollTo(0, 0);
  leave = page(main, given);
  const title = main.querySelector("h1");
  document.title = `${title?.textContent ?? ""} · Penstock`;
  for (const a of document.querySelectorAll("nav a")) {
    const here = a.dataset.page === name || a.dataset.below.split(" ").includes(name);
    if (here) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  title?.focus({ preventScroll: true });
}

function liveMark() {
  const mark = el("span", { class: "live", role: "status" });
  const paint = () => {
    awayNote();
    const words = { on: "Live", away: "slurmctld is away", lost: "Connecting again …", off: "Connecting …" };
    mark.dataset.state = store.state.live;
    mark.title = store.state.error;
    replace(mark, el("span", { class: "dot", "aria-hidden": "true" }), el("span", { class: "word" }, words[store.state.live]));
  };
  paint();
  unsubscribe = store.subscribe(words => { if (words.has("live")) paint(); });
  return mark;
}

/* What everybody must know before he believes a page or changes something. */
function awayNote() {
  const { live, since, jobsRead } = store.state;
  if ((live === "away") === Boolean(note)) return;
  note?.remove();
  note = live !== "away" ? null : el("p", { class: "away-note", role: "alert" }, el("b", {}, `slurmctld has not answered since ${when(since)}.`),
    jobsRead ? " What you see is from before that." : " Nothing is known of its jobs and nodes now.", " Jobs that run go on; changes are refused until it is back.");
  if (note) app.append(note);
}

function enter(cluster) {
  main = el("main", { id: "main", tabindex: "-1" });
  replace(app, el("header", { class: "top" },
    el("div", { class: "brand" }, el("img", { src: "icon.svg", alt: "", width: "24", height: "24" }), el("span", {}, "Penstock"), cluster && el("span", { class: "cluster" }, cluster)),
    liveMark(), el("span", { class: "who" }, api.me()), themeButton(),
    el("button", { type: "button", class: "plain keys-button", onclick: showKeys, "aria-label": "Keyboard shortcuts" }, "?"),
    el("button", { type: "button", class: "plain", onclick: () => signOut("") }, "Sign out")),
  el("nav", { "aria-label": "Pages" }, NAV.map(([page, title, , below]) => {
    const a = link(page, null, title);
    a.dataset.page = page;
    a.dataset.below = below.join(" ");
    return a;
  })), main);
  store.start();
  show();
}

api.onRefused(() => { if (main) signOut("Your token is not good any more. Sign in again."); });
window.addEventListener("hashchange", () => {
  if (!signInByAddress() && main) show();
});
installKeys(NAV, () => main);
setTheme(localStorage.getItem("penstock-theme") ?? "auto");
if (!signInByAddress()) {
  if (api.token()) signIn(api.token());
  else signInPage("");
}
