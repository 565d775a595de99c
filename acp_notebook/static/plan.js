// What a person does with the plans of a view: a row's tools, texts edited in place, the filter, the history.
// In one module with rows.js before it and acp.js behind.

/** How long the arrow keys must rest on a row's closed select before its value counts, in milliseconds. */
const CHOICE = 400;
/** How many commands wait for the one before: more would go on long after the key was let go. */
const WAITING = 4;
/** Most lines of a text field. */
const LINES = 12;

class Plans {
  constructor(view) {
    this.view = view;
    this.el = view.el;
    this.tools = new Set(); // tools that stand in rows
    this.stops = new Map(); // list → its row that takes part in the Tab order
    this.current = new Map(); // list → the row in progress, or the last that was
    this.editors = new Map(); // form → what it edits
    this.left = new Set(); // nodes that are gone from the plan, kept for the text that is typed in them
    this.drag = null;
    this.statuses = new WeakMap(); // row of a step → its status
    this.failed = []; // rows of steps that this patch tells to have failed, or to be denied
  }

  // -- patches -----------------------------------------------------------------------------------

  /** What has to be known before a patch: whether rows in progress are in sight, and where the focus is. */
  before() {
    const row = this.view.focused()?.closest(".acp-entry");
    const followed = new Map([...this.current].map(([list, old]) => [list, { old, seen: isInSight(list, old) }]));
    return { followed, row, beside: row ? [step(row, 1), step(row, -1)] : [] };
  }

  /** A part was set: `html` is what it was made of. */
  set(node, html) {
    if (!node.matches(".acp-entry")) return;
    if (html.includes(' aria-current="step"')) this.current.set(listOf(node), node);
    if (!html.includes("acp-step")) return;
    const before = this.statuses.get(node);
    const { status } = node.dataset;
    this.statuses.set(node, status);
    if (before && before !== status && ["_failed", "_denied"].includes(status)) this.failed.push(node);
  }

  /** A part that is to be dropped: it stays as long as a text is typed in it. */
  keeps(node) {
    if (![...this.editors.keys()].some((form) => node.contains(form))) return false;
    this.left.add(node);
    node.setAttribute("data-left", "");
    return true;
  }

  after({ followed, row, beside }, renumbered) {
    for (const list of renumbered) {
      group(list);
      number(list);
    }
    for (const list of this.view.holders(".acp-entries")) {
      const current = this.currentOf(list);
      const before = followed.get(list);
      const follow = before ? before.seen && before.old !== current : list.scrollTop === 0;
      if (current && follow && !list.contains(this.view.focused())) bringIntoSight(list, current);
      this.rove(list);
    }
    for (const map of [this.stops, this.current]) for (const list of map.keys()) if (!list.isConnected) map.delete(list);
    for (const plan of this.view.holders(".acp-plan")) if (!plan.querySelector(".acp-filter")) delete plan.dataset.filter;
    for (const tools of this.tools) {
      if (tools.isConnected && this.template(tools)) this.label(tools);
      else this.takeAway(tools);
    }
    this.tellFailed();
    // The row with the focus is gone, or hidden by the filter: the one in its place gets it.
    const lost = row && !row.hasAttribute("data-left") && !isShown(row);
    const place = lost && beside.find((one) => one && isShown(one));
    if (place) this.focus(place);
  }

  /** Those who do not see the page hear why a step did not go well. */
  tellFailed() {
    const [row, ...more] = this.failed.splice(0).filter((one) => one.isConnected);
    if (!row || !this.view.live) return;
    const [how, why] = [".acp-priority", ".acp-bad"].map((place) => row.querySelector(place)?.textContent ?? "");
    const others = more.length ? `, and ${more.length} more` : "";
    this.view.announce(`Step ${indexOf(row)} ${how}: ${why}${others}`);
  }

  currentOf(list) {
    const row = this.current.get(list);
    return row && list.contains(row) && row.hasAttribute("aria-current") ? row : null;
  }

  // -- rows --------------------------------------------------------------------------------------

  /** One row of a list takes part in the Tab order; arrow keys go to the others. */
  rove(list, chosen = null) {
    const stop = this.stops.get(list);
    if (chosen ? chosen === stop : stop && list.contains(stop) && isShown(stop)) return;
    stop?.setAttribute("tabindex", "-1");
    const next = chosen ?? [this.currentOf(list), ...rowsOf(list)].find((row) => row && isShown(row));
    next?.setAttribute("tabindex", "0");
    if (next) this.stops.set(list, next);
    else this.stops.delete(list);
  }

  focus(row, inside = null) {
    this.rove(listOf(row), row);
    this.showTools(row);
    (inside ?? row).focus();
  }

  /** Puts the tools into the row under `target`, and takes them from rows with neither pointer nor focus. */
  showTools(target) {
    const row = this.view.live && !this.drag ? target?.closest?.(".acp-entry") : null;
    for (const tools of this.tools) {
      const old = tools.parentNode;
      if (old !== row && !old?.matches(":hover") && !old?.contains(this.view.focused())) this.takeAway(tools);
    }
    if (!row || row.querySelector(".acp-row-tools")) return;
    const template = this.template(row);
    if (!template) return;
    const tools = template.cloneNode(true);
    tools.removeAttribute("data-row-tools");
    tools.removeAttribute("hidden");
    tools.setAttribute("data-local", "");
    row.append(tools);
    this.tools.add(tools);
    this.label(tools);
  }

  takeAway(tools) {
    tools.remove();
    this.tools.delete(tools);
  }

  /** The tools for the rows of a plan: there are none where it cannot be edited. */
  template(node) {
    return node.closest(".acp-plan")?.querySelector(":scope > [data-row-tools]");
  }

  label(tools) {
    const row = tools.parentNode;
    const which = `step ${indexOf(row)}`;
    for (const button of tools.querySelectorAll("button")) {
      const back = button.dataset.status && button.dataset.status === row.dataset.status;
      button.setAttribute("aria-label", `${back ? button.dataset.undo : button.title}, ${which}`);
      button.setAttribute("aria-disabled", String(neighbour(row, button.dataset.op) === null));
    }
    for (const select of tools.querySelectorAll("select")) {
      select.setAttribute("aria-label", `${select.title}, ${which}`);
      const value = row.dataset[select.dataset.field];
      if (select.dataset.shown === value || select.hasAttribute("data-chosen")) continue;
      for (const own of select.querySelectorAll("[data-own]")) own.remove();
      if (![...select.options].some((option) => option.value === value)) {
        const own = new Option(value, value);
        own.setAttribute("data-own", ""); // a status that only this row has
        select.append(own);
      }
      select.value = select.dataset.shown = value;
    }
  }

  /** An edit of the entry in a row, as it is numbered in the revision that the page shows. */
  send(row, edit, done = null) {
    const index = indexOf(row);
    this.view.command({ action: "plan", ...where(row), index, ...edit }, row, done, () => {
      for (const tools of this.tools) if (tools.isConnected) this.label(tools);
    });
  }

  /** Whether what is asked of a row comes later, because it still waits for the answer to what was before. */
  waits(origin, act) {
    if (origin.getAttribute("aria-busy") !== "true") return false;
    origin.acpWaiting ??= [];
    if (origin.acpWaiting.length < WAITING) origin.acpWaiting.push(act);
    return true;
  }

  /** The answer is there; after a refusal the rest is not done. */
  goOn(origin, refused) {
    if (refused || !origin.isConnected) origin.acpWaiting = [];
    while (origin.acpWaiting?.length && origin.getAttribute("aria-busy") !== "true") origin.acpWaiting.shift()();
  }

  /** What a button of a row does, or the key that stands for it. */
  operate(op, row, button = null) {
    if (!this.template(row) || this.waits(row, () => this.operate(op, row, button))) return;
    const { status } = row.dataset;
    const set = { done: "completed", start: "in_progress", skip: "cancelled" }[op];
    const other = neighbour(row, op);
    const index = indexOf(row);
    if (op === "edit") this.edit(row);
    else if (op === "work") other === undefined && this.work(row, index);
    else if (op === "remove") this.send(row, { op }, () => this.view.announce(`Step ${index} removed.`));
    else if (set) this.send(row, { op: "update", status: status === set ? "pending" : set });
    else if (other) this.move(row, indexOf(other), button);
  }

  /** The focus goes along with the row, where it was on it. */
  move(row, to, button = null) {
    const index = indexOf(row);
    if (index === to) return;
    const focused = row.contains(this.view.focused());
    this.send(row, { op: "move", to }, () => {
      this.view.announce(`Step ${index} moved to ${to}.`);
      const now = this.view.focused();
      if (!focused || !row.isConnected || (now && !row.contains(now))) return; // they have gone on
      this.focus(row, button?.isConnected ? button : null);
      bringIntoSight(listOf(row), row, true);
    });
  }

  // -- work --------------------------------------------------------------------------------------

  /** Has the agent work on one step, or with null from the next one on. Python asks first where it has to. */
  work(origin, index, confirmed = null) {
    const plan = origin.closest(".acp-plan");
    const ask = () => plan.querySelector(".acp-question button")?.focus();
    this.view.command({ action: "work", ...where(origin), index, confirmed }, origin, ask);
  }

  startWork(button) {
    const { step, confirmed } = button.dataset;
    this.work(button, step === undefined ? null : Number(step), confirmed === undefined ? null : Number(confirmed));
  }

  leaveWork(button) {
    const plan = button.closest(".acp-plan");
    const leave = () => plan.querySelector('button[data-action="work"]')?.focus();
    this.view.command({ action: "not-now", ...where(button) }, button, leave);
  }

  undo(origin) {
    if (this.waits(origin, () => this.undo(origin))) return;
    const { plan } = where(origin);
    this.view.command({ action: "undo", plan }, origin, () => this.view.announce("Undone."));
  }

  /** A value chosen in a row. Arrow keys step through a closed select: only the value where they rest counts. */
  choose(select) {
    const row = select.closest(".acp-entry");
    const { field } = select.dataset;
    const { value } = select;
    clearTimeout(select.choosing);
    select.setAttribute("data-chosen", "");
    const send = () => {
      if (this.waits(row, send)) return;
      select.removeAttribute("data-chosen");
      delete select.dataset.shown; // what is shown next is what Python says
      if (value !== row.dataset[field]) this.send(row, { op: "update", [field]: value });
    };
    select.choosing = setTimeout(send, select.hasAttribute("data-keyed") ? CHOICE : 0);
  }

  // -- texts -------------------------------------------------------------------------------------

  edit(row) {
    if (!this.template(row) || row.hasAttribute("data-editing")) return;
    const text = sourceOf(row);
    const index = indexOf(row);
    const form = parse(`<form class="acp-edit" data-local>
      <textarea aria-label="Text of step ${index}" dir="auto" rows="1"></textarea>
      <span class="acp-edit-foot"><button type="submit" class="acp-btn">Save</button>
      <button type="button" class="acp-btn acp-bare" data-action="cancel-edit">Cancel</button>
      <span class="acp-quiet">Enter saves, Shift+Enter begins a line, Esc cancels</span></span></form>`);
    this.editors.set(form, { row, text, ...where(row), index });
    const field = form.querySelector("textarea");
    field.value = text;
    row.setAttribute("data-editing", "");
    row.querySelector(".acp-text").after(form);
    grow(field);
    field.focus();
    field.setSelectionRange(text.length, text.length);
  }

  /** The entry is the one that it was when the person began to write, and is found by that revision's number. */
  save(form) {
    const { text, plan, revision, index } = this.editors.get(form);
    const content = form.querySelector("textarea").value;
    if (content.trim() === text.replaceAll("\r\n", "\n").trim()) return this.closeEditor(form);
    const edit = { action: "plan", op: "update", plan, revision, index, content };
    let saved = false;
    this.view.command(edit, form, () => (saved = true), () => {
      if (saved) this.closeEditor(form);
      else this.refused(form);
    });
  }

  /** Somebody has changed the entry meanwhile, and the person has read how: the next attempt is meant. */
  refused(form) {
    const edited = this.editors.get(form);
    const { row } = edited;
    const text = sourceOf(row);
    if (!row.isConnected || row.hasAttribute("data-left") || text === edited.text) return;
    Object.assign(edited, where(row), { text, index: indexOf(row) });
    form.querySelector(".acp-quiet").textContent = "Enter saves yours all the same, Esc cancels";
  }

  closeEditor(form) {
    const { row } = this.editors.get(form);
    const focused = form.contains(this.view.focused());
    this.editors.delete(form);
    form.remove();
    row.removeAttribute("data-editing");
    const beside = row.isConnected ? [step(row, 1), step(row, -1)] : [];
    for (const node of this.left) {
      if (this.keeps(node)) continue;
      node.remove();
      this.left.delete(node);
    }
    const place = [row, ...beside].find((one) => one?.isConnected);
    if (focused && place) this.focus(place);
  }

  /** The field is free at once: on a slow line the next step is typed before the kernel has answered. */
  add(form) {
    const field = form.elements.content;
    const content = field.value;
    if (!content.trim() || form.getAttribute("aria-busy") === "true") return;
    let added = false;
    const { plan, revision } = where(form);
    this.view.command({ action: "plan", op: "add", plan, revision, content }, form, () => (added = true), () => {
      if (!added && !field.value) field.value = content;
      grow(field);
    });
    form.reset();
    grow(field);
  }

  // -- dragging ----------------------------------------------------------------------------------

  onPointerDown(event) {
    const row = event.target.closest(".acp-entry");
    if (!row) return;
    this.rove(listOf(row), row);
    for (const select of row.querySelectorAll("select")) select.removeAttribute("data-keyed");
    if (event.button !== 0 || !event.target.closest(".acp-mark, .acp-index, .acp-grip")) return;
    if (!this.view.live || !this.template(row) || row.hasAttribute("data-editing")) return;
    this.drag = new Drag(this, row, event);
  }

  // -- keys --------------------------------------------------------------------------------------

  onKey(event, row) {
    const to = {
      ArrowUp: () => nextShown(row, -1),
      ArrowDown: () => nextShown(row, 1),
      Home: () => rowsOf(listOf(row)).find(isShown),
      End: () => rowsOf(listOf(row)).findLast(isShown),
    }[event.key];
    if (to && event.altKey) {
      event.preventDefault();
      const op = { ArrowUp: "up", ArrowDown: "down" }[event.key];
      if (op && this.view.live) this.operate(op, row);
    } else if (to) {
      event.preventDefault();
      const next = to();
      if (next) this.focus(next);
    } else if (event.key === "Enter" && event.target === row && !this.template(row)) {
      event.preventDefault();
      this.fold(row);
    } else if ((event.key === "Enter" || event.key === "F2") && event.target === row && this.view.live) {
      event.preventDefault();
      this.edit(row);
    }
  }

  /** Opens or closes what is known of a step. */
  fold(row) {
    const summary = row.querySelector(".acp-step > summary");
    summary?.focus();
    summary?.click();
  }

  // -- what is shown -----------------------------------------------------------------------------

  filter(select) {
    const plan = select.closest(".acp-plan");
    if (select.value === "all") delete plan.dataset.filter;
    else plan.dataset.filter = select.value;
    for (const list of plan.querySelectorAll(".acp-entries")) this.rove(list);
  }

  goToCurrent(button) {
    const plan = button.closest(".acp-plan");
    const list = plan.querySelector(".acp-entries");
    const row = list && this.currentOf(list);
    if (!row) return;
    if (!isShown(row)) {
      const select = plan.querySelector(".acp-filter");
      select.value = "all";
      this.filter(select);
    }
    bringIntoSight(list, row);
    this.rove(list, row);
    row.focus();
  }

  /** A plan can be far above the call whose steps it shows: bring it into view, and the keys to it. */
  show(button) {
    const plan = this.view.holders(".acp-plan").find(({ dataset }) => dataset.planId === button.dataset.plan);
    const row = plan && this.stops.get(plan.querySelector(".acp-entries"));
    if (!row) return this.view.say(button, "This plan is not shown here.", "status");
    plan.scrollIntoView({ block: "nearest" });
    row.focus({ preventScroll: true });
  }

  toggleExports(button) {
    const exports = button.closest(".acp-plan").querySelector(".acp-exports");
    exports.hidden = !exports.hidden;
    button.setAttribute("aria-expanded", String(!exports.hidden));
    (exports.hidden ? button : exports.querySelector("button")).focus();
  }

  // -- history -----------------------------------------------------------------------------------

  toggleHistory(button) {
    const plan = button.closest(".acp-plan");
    const open = button.getAttribute("aria-pressed") === "true";
    this.look(button, open ? null : 0, () => plan.querySelector("input[name=revision]")?.focus());
  }

  /** Look at a revision; 0 is now, null closes the history. */
  look(origin, revision, done = null, after = null) {
    this.view.command({ action: "look", plan: where(origin).plan, revision }, origin, done, after);
  }

  /** The slider is moved: its last place counts, also when the kernel is slower than the hand. */
  slide(slider) {
    const { value } = slider;
    this.look(slider, Number(value), null, () => {
      if (slider.value !== value && slider.isConnected) this.slide(slider);
    });
  }

  backToNow(button) {
    const plan = button.closest(".acp-plan");
    this.look(button, 0, () => plan.querySelector("input[name=revision]")?.focus());
  }

  restore(button) {
    const section = button.closest(".acp-plan");
    const plan = button.dataset.plan ?? section.dataset.planId;
    const revision = Number(button.dataset.revision ?? section.dataset.looking);
    this.view.command({ action: "restore", plan, revision }, button, () => this.view.announce("Restored."));
  }
}

/** Which plan an element belongs to, and the revision of it that the page shows. */
function where(node) {
  const { planId, revision } = node.closest(".acp-plan").dataset;
  return { plan: planId, revision: revision === undefined ? null : Number(revision) };
}

/** The row whose place `op` would take; undefined where it moves nothing, null where it cannot be done. */
function neighbour(row, op) {
  if (op === "work") return ["completed", "cancelled"].includes(row.dataset.status) ? null : undefined;
  return op === "up" ? nextShown(row, -1) : op === "down" ? nextShown(row, 1) : undefined;
}

/** The text of an entry as it was written: where it is not shown like that, the row carries it along. */
function sourceOf(row) {
  const { firstChild } = row.querySelector(".acp-text");
  return row.dataset.content ?? (firstChild?.nodeType === Node.TEXT_NODE ? firstChild.data : "");
}

/** As many lines as the text has: browsers that know `field-sizing` see to it by themselves. */
function grow(field) {
  field.rows = Math.min(LINES, field.value.split("\n").length);
}
