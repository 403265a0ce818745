/* Values of the API as people read them. */

/* A number that may be unset or infinite. */
export function num(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return value;
  if (value.infinite) return Infinity;
  return value.set ? value.number : null;
}

const TWO = n => String(n).padStart(2, "0");

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds === Infinity) return "unlimited";
  const s = Math.max(0, Math.floor(seconds));
  const days = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
  if (days) return `${days}-${TWO(h)}:${TWO(m)}:${TWO(s % 60)}`;
  return h ? `${h}:${TWO(m)}:${TWO(s % 60)}` : `${m}:${TWO(s % 60)}`;
}

/* "3 min", "2 h", "5 d": for a glance. */
export function rough(seconds) {
  if (seconds === Infinity) return "unlimited";
  const s = Math.abs(seconds);
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 129600) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} d`;
}

export function when(seconds) {
  if (!seconds) return "";
  const d = new Date(seconds * 1000), now = new Date();
  const time = `${TWO(d.getHours())}:${TWO(d.getMinutes())}`;
  if (d.toDateString() === now.toDateString()) return time;
  const day = `${d.getFullYear()}-${TWO(d.getMonth() + 1)}-${TWO(d.getDate())}`;
  return `${day} ${time}`;
}

export function ago(seconds) {
  if (!seconds) return "";
  const off = Date.now() / 1000 - seconds;
  return off >= 0 ? `${rough(off)} ago` : `in ${rough(off)}`;
}

export function mebibytes(mib) {
  if (mib === null || mib === undefined) return "";
  if (mib >= 1048576) return `${trim(mib / 1048576)} TiB`;
  if (mib >= 1024) return `${trim(mib / 1024)} GiB`;
  return `${trim(mib)} MiB`;
}

export const trim = n => (n >= 100 ? Math.round(n) : Math.round(n * 10) / 10).toLocaleString("en");
export const count = n => (n === Infinity ? "unlimited" : Number(n ?? 0).toLocaleString("en"));
export const percent = share => (Number.isFinite(share) ? `${Math.round(share * 100)} %` : "–");

/* "cpu=8,mem=16G,gres/gpu:a100=2" -> Map; mem in MiB. */
export function tres(text) {
  const found = new Map();
  for (const part of (text ?? "").split(",")) {
    const at = part.lastIndexOf("=");
    if (at < 0) continue;
    const match = /^([\d.]+)([KMGTP]?)/.exec(part.slice(at + 1));
    if (!match) continue;
    let value = Number(match[1]);
    const name = part.slice(0, at);
    if (name === "mem") value *= { K: 1 / 1024, "": 1, M: 1, G: 1024, T: 1048576, P: 1073741824 }[match[2]];
    found.set(name, value);
  }
  return found;
}

/* GPUs of a TRES text: the total, or the types added up. */
export function gpus(map) {
  if (map.has("gres/gpu")) return map.get("gres/gpu");
  let sum = 0;
  for (const [name, value] of map) if (name.startsWith("gres/gpu:")) sum += value;
  return sum;
}

/* "gpu:a100:4(S:0-1),gpu:2" -> 6 */
export function gresGpus(text) {
  let sum = 0;
  for (const m of (text ?? "").matchAll(/(?:^|,)gpu(?::[A-Za-z][\w.-]*)?(?::(\d+))?(?=[(,]|$)/g)) sum += Number(m[1] ?? 1);
  return sum;
}

/* Minutes from "90", "1:30:00", "2-00:00" as commands read a time limit; NaN: it is none. */
export function minutes(text) {
  const match = /^(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$/.exec(text.trim());
  if (!match) return NaN;
  const [, days, a, b, c] = match.map(v => (v === undefined ? undefined : Number(v)));
  if (days !== undefined) return days * 1440 + a * 60 + (b ?? 0) + Math.ceil((c ?? 0) / 60);
  if (b === undefined) return a;
  if (c === undefined) return a + Math.ceil(b / 60);
  return a * 60 + b + Math.ceil(c / 60);
}
