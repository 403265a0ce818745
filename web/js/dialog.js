/* Questions before something is done: a form in a dialog, whose answer from the server is shown in it. */

import { el, replace, toast } from "./dom.js";

let lastId = 0;

/* One field of a form: {name, label, type, value, hint, options: [[value, text]], required, rows, placeholder} */
export function field(f) {
  const id = `f${++lastId}-${f.name}`, hint = f.hint ? `${id}-hint` : null;
  const common = { id, name: f.name, required: f.required, placeholder: f.placeholder, "aria-describedby": hint, spellcheck: "false" };
  let input;
  if (f.type === "select") {
    input = el("select", common, f.options.map(([value, text]) => el("option", { value, selected: value === f.value }, text)));
  } else if (f.type === "text-area") {
    input = el("textarea", { ...common, rows: f.rows ?? 3 });
    input.value = f.value ?? "";
  } else input = el("input", { autocomplete: "off", ...common, type: f.type ?? "text", value: f.value ?? "", min: f.min, step: f.step, list: f.list });
  return el("div", { class: `field ${f.class ?? ""}` }, el("label", { for: id }, f.label), input, hint && el("p", { class: "hint", id: hint }, f.hint));
}

export const valuesOf = form => Object.fromEntries(new FormData(form).entries());

export function showRefusal(place, error) {
  replace(place, el("div", { class: "refusal", role: "alert" }, (error.sentences ?? [error.message]).map(s => el("p", {}, s))));
}

/* act(values) does it and gives the sentence that is shown; what it throws stays in the dialog. */
export function askFor({ title, text, fields = [], go = "OK", danger = false, act }) {
  const opener = document.activeElement, place = el("div", {}), id = `d${++lastId}`;
  const button = el("button", { type: "submit", class: danger ? "danger" : "primary" }, go);
  const form = el("form", {}, el("h2", { id }, title), text && el("p", {}, text), fields.map(field), place,
    el("div", { class: "actions" }, el("button", { type: "button", onclick: () => box.close() }, "Not now"), button));
  const box = el("dialog", { "aria-labelledby": id }, form);
  form.addEventListener("submit", async e => {
    e.preventDefault();
    button.disabled = true;
    try {
      const said = await act(valuesOf(form));
      box.close();
      toast(said);
    } catch (error) {
      showRefusal(place, error);
    } finally {
      button.disabled = false;
    }
  });
  box.addEventListener("close", () => {
    box.remove();
    opener?.focus?.();
  });
  document.body.append(box);
  box.showModal();
  return box;
}
