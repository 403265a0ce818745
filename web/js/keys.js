/* Keys: what a hand on the keyboard reaches without the mouse. */

import { el, replace } from "./dom.js";

const LISTED = [["g then q, c, r, u, a, s", "Queue, Cluster, Reservations, Usage, Accounts, Submit"], ["/", "Search"], ["j, k or ↓, ↑", "Next and previous job, in the list"],
  ["Page down, Page up, Home, End", "Further in the list"], ["Enter", "Open the job, or the node below the cursor"], ["← ↑ → ↓", "Walk over the nodes of the grid"],
  ["Esc", "Leave a dialog or the search"], ["?", "These keys"]];
const CHAIN_MS = 1200;

export function showKeys() {
  const box = el("dialog", { "aria-label": "Keyboard shortcuts" });
  replace(box, el("h2", {}, "Keys"), el("dl", { class: "keys" }, LISTED.map(([k, what]) => el("div", {}, el("dt", {}, el("kbd", {}, k)), el("dd", {}, what)))),
    el("div", { class: "actions" }, el("button", { type: "button", class: "primary", onclick: () => box.close() }, "Close")));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

/* nav: [[page, title, key]]; ready(): is somebody signed in? */
export function installKeys(nav, ready) {
  let chained = 0;
  document.addEventListener("keydown", e => {
    const typing = e.target.closest("input, textarea, select, dialog");
    if (!ready() || e.ctrlKey || e.metaKey || e.altKey) return;
    if (typing) {
      if (e.key === "Escape" && e.target.matches("input[type=search]")) document.querySelector("[role=grid], canvas")?.focus();
      return;
    }
    const page = Date.now() - chained < CHAIN_MS && nav.find(([, , key]) => key === e.key);
    chained = 0;
    if (page) location.hash = `#/${page[0]}`;
    else if (e.key === "g") chained = Date.now();
    else if (e.key === "/") {
      e.preventDefault();
      document.getElementById("search")?.focus();
    } else if (e.key === "?") showKeys();
    else if ((e.key === "j" || e.key === "k") && e.target === document.querySelector("h1")) document.querySelector("[role=grid]")?.focus();
  });
}
