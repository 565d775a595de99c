// What a person does with a request that waits: its answers, the forms that say more, arguments as fields or JSON.
// In one module with rows.js and plan.js before it and acp.js behind.

class Cards {
  constructor(view) {
    this.view = view;
    this.known = new Map(); // request → whether it waited when last looked at
  }

  /** Those who do not see the page hear that an answer is needed, and what became of it. */
  after() {
    if (!this.view.live) return;
    const said = [];
    for (const card of this.view.el.querySelectorAll(".acp-permission")) {
      const { request, status } = card.dataset;
      const waits = status === "pending";
      const waited = this.known.get(request);
      this.known.set(request, waits);
      if (waits && !waited) said.push(card.getAttribute("aria-label"));
      else if (waited && !waits) said.push(card.querySelector("summary, .acp-said")?.innerText ?? "");
    }
    if (said.length) this.view.announce(said.join(". "));
  }

  onClick(button, card) {
    const { action, option, choice } = button.dataset;
    if (option !== undefined) this.answer(card, { action: "option", option }, button);
    else if (choice !== undefined)
      this.answer(card, { action: "option", option: choice, ...contentOf(button.form) }, button);
    else if (action === "close-form") closeForms(card);
    else if (action === "as-json") this.switch(button);
    else if (action) toggleForm(card, button);
  }

  /** One answer at a time: until the kernel has said what became of it, no other is given. */
  answer(card, message, origin) {
    if (card.querySelector('[aria-busy="true"]')) return;
    this.view.command({ request: card.dataset.request, ...message }, origin);
  }

  submit(form, card) {
    if (form.getAttribute("aria-busy") === "true") return;
    for (const line of form.querySelectorAll(".acp-fault")) line.remove();
    for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
    const content = contentOf(form);
    if (form.querySelector(".acp-raw")?.hidden) delete content.arguments;
    this.answer(card, { action: form.dataset.action, ...content }, form);
  }

  /** An argument cannot be used: where it stands. Returns the field, beside which the reason is said. */
  refuse(form, place) {
    const field = form.querySelector(`.acp-fields:not([hidden]) [name="v${place}"]`);
    if (!field) return form;
    field.setAttribute("aria-invalid", "true");
    field.focus();
    return field;
  }

  onInput(target) {
    const field = target.closest(".acp-field");
    const given = field?.querySelector(".acp-given input");
    if (given && given !== target) given.checked = true;
  }

  /** How far an answer reaches was chosen: what may be typed in its place is beside it. */
  onReach(select) {
    for (const label of select.form.querySelectorAll("[data-covers]")) label.hidden = label.dataset.covers !== select.value;
  }

  /** From the fields to JSON with what stands in them, and back where the fields can show it. */
  switch(button) {
    const form = button.form;
    const raw = form.querySelector(".acp-raw");
    const area = raw.querySelector("textarea");
    const toRaw = raw.hidden;
    this.view.unsay(form);
    if (toRaw) {
      area.value = jsonOf(form);
      grow(area);
    } else {
      const problem = fillFields(form, area.value);
      if (problem) return this.view.say(form, problem, "alert");
    }
    raw.hidden = !toRaw;
    form.querySelector(".acp-fields").hidden = toRaw;
    button.setAttribute("aria-pressed", String(toRaw));
    if (toRaw) area.focus();
  }
}

function contentOf(form) {
  return Object.fromEntries(new FormData(form));
}

/** The fields as a JSON text, numbers and JSON to the letter as they were written. */
function jsonOf(form) {
  const pairs = [];
  for (const field of form.querySelectorAll(".acp-field")) {
    const given = field.querySelector(".acp-given input");
    if (given && !given.checked) continue;
    const control = field.querySelector("[name^=v]");
    const { name, kind } = field.dataset;
    const value = kind === "text" ? JSON.stringify(control.value) : kind === "choice" ? control.selectedOptions[0].dataset.json : control.value;
    pairs.push(`  ${JSON.stringify(name)}: ${value.replaceAll("\n", "\n  ")}`);
  }
  return `{\n${pairs.join(",\n")}\n}`;
}

/** Puts the arguments of a JSON text into the fields. Returns why that cannot be; then nothing has changed. */
function fillFields(form, text) {
  if (!JSON.rawJSON) return "This browser cannot read numbers to the letter: stay with JSON.";
  const exactly = (_, value, { source }) => (typeof value === "number" ? JSON.rawJSON(source) : value);
  let given;
  try {
    given = JSON.parse(text, exactly);
  } catch {
    return "This is not JSON.";
  }
  if (given === null || typeof given !== "object" || Array.isArray(given) || JSON.isRawJSON(given)) return "The arguments are an object, {…}.";
  const fields = [...form.querySelectorAll(".acp-field")];
  const names = new Set(fields.map((field) => field.dataset.name));
  const more = Object.keys(given).find((name) => !names.has(name));
  if (more !== undefined) return `There is no field for ${more}: stay with JSON.`;
  const filled = [];
  for (const field of fields) {
    const { name, kind } = field.dataset;
    const box = field.querySelector(".acp-given input");
    const there = Object.hasOwn(given, name);
    if (!there && !box) return `${name} is missing.`;
    const value = there ? shownIn(field, kind, given[name], exactly) : null;
    if (there && value === null) return `${name} is nothing that its field can show: stay with JSON.`;
    filled.push([field.querySelector("[name^=v]"), box, there, value]);
  }
  for (const [control, box, there, value] of filled) {
    if (box) box.checked = there;
    if (there) control.value = value;
    if (control.matches("textarea")) grow(control);
  }
  return null;
}

/** A value as its field shows it, null where that cannot be. */
function shownIn(field, kind, value, exactly) {
  if (kind === "text") return typeof value === "string" && !value.includes("\r") ? value : null;
  if (kind === "json") return JSON.stringify(value, null, 2);
  if (kind !== "choice") return JSON.isRawJSON(value) ? value.rawJSON : null;
  const same = (option) => JSON.stringify(JSON.parse(option.dataset.json, exactly)) === JSON.stringify(value);
  return [...field.querySelectorAll("option")].find(same)?.value ?? null;
}

function toggleForm(card, button) {
  const form = card.querySelector(`form[data-action="${button.dataset.action}"]`);
  const opening = form.hidden;
  closeForms(card);
  if (!opening) return;
  form.hidden = false;
  button.setAttribute("aria-expanded", "true");
  [...form.querySelectorAll("input:not([type=hidden], [type=checkbox]), textarea, select, button")]
    .find((field) => field.checkVisibility())
    ?.focus();
}

function closeForms(card) {
  for (const form of card.querySelectorAll("form")) {
    if (form.hidden) continue;
    form.hidden = true;
    const opener = card.querySelector(`button[data-action="${form.dataset.action}"]`);
    opener.setAttribute("aria-expanded", "false");
    opener.focus();
  }
}
