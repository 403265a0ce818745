/* The stream of changes: /penstock/v1/watch, read with fetch because an EventSource cannot send the token's header.  It
 * comes again by itself where it was, so that no change is missed or told twice. */

import * as api from "./api.js";

const HIDDEN_MS = 10000;
const WAITS_MS = [250, 500, 1000, 2000, 5000, 10000];

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part) yield part;
  }
}

/* on: hello(), change(event), reset(), lost(sentence), away(), back(); each may be missing.  Gives {stop()}.  Lost is the
 * connection, away is slurmctld behind it; back ends both.
 *
 * A browser has six connections to a server for all its tabs together: a tab that nobody looks at gives its own back, and
 * reads on from its cursor once it is looked at again. */
export function watch(words, on) {
  let stopped = false, paused = false, cursor = words.cursor, failures = 0, known = false, control = null, wake = null, hiding = 0;

  function take(event) {
    if (event.cursor) cursor = event.cursor;
    if (event.event === "hello") {
      failures = 0;
      if (known) on.back?.();
      else on.hello?.();
      known = true;
    } else if (event.event === "reset") on.reset?.();
    else if (event.event === "away") on.away?.();
    else if (event.event === "back") on.back?.();
    else if (event.lsn !== undefined) on.change?.(event);
  }

  async function once() {
    control = new AbortController();
    const answer = await fetch(api.address(`${api.OWN}watch`, { ...words, cursor }),
      { headers: api.headers({ Accept: "application/x-ndjson" }), signal: control.signal, cache: "no-store", redirect: "error" });
    if (api.isRefusal(answer.status)) {
      stopped = true;
      return api.refuse();
    }
    if (!answer.ok) throw new Error(`The stream of changes was refused (${answer.status}).`);
    for await (const line of lines(answer.body)) take(JSON.parse(line));
    throw new Error("The stream of changes ended.");
  }

  function pause() {
    paused = true;
    control?.abort();
  }

  function resume() {
    clearTimeout(hiding);
    paused = false;
    wake?.();
  }

  function look() {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(pause, HIDDEN_MS);
    else resume();
  }

  const after = ms => new Promise(done => {
    wake = done;
    if (ms) setTimeout(done, ms);
  });

  (async () => {
    while (!stopped) {
      try {
        if (paused) await after(0);
        else await once();
      } catch (e) {
        if (stopped || paused) continue;
        on.lost?.(e.message.startsWith("The ") ? e.message : "The server does not answer.");
        await after(WAITS_MS[Math.min(failures++, WAITS_MS.length - 1)]);
      }
    }
  })();
  document.addEventListener("visibilitychange", look);
  window.addEventListener("pagehide", pause);
  window.addEventListener("pageshow", resume);
  return { stop() {
    stopped = true;
    document.removeEventListener("visibilitychange", look);
    window.removeEventListener("pagehide", pause);
    window.removeEventListener("pageshow", resume);
    clearTimeout(hiding);
    control?.abort();
    wake?.();
  } };
}
