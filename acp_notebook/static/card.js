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
    const button = target.closest(".acp-raw") && target.form.querySelector('[data-action="as-json"]');
    // What is typed as JSON may be more than the fields can show.
    if (button) button.disabled = target.value !== button.acpSource;
  }

  /** From the fields to JSON with what stands in them, and back as long as it is the same. */
  switch(button) {
    const form = button.form;
    const raw = form.querySelector(".acp-raw");
    const area = raw.querySelector("textarea");
    const toRaw = raw.hidden;
    if (toRaw) {
      button.acpSource = area.value = jsonOf(form);
      grow(area);
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
