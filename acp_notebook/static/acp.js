// Shows the keyed HTML parts that Python makes, changes only what changed, and sends clicks back.
// One module with rows.js, plan.js and card.js, no imports: anywidget loads it from a Blob URL.
//
// from the kernel   {t: "snapshot", n, parts: [[key, slot, html], …]}        everything, answers a hello
//                   {t: "patch", n, set: [[key, html], …], drop: [key, …]}
//                       [key, html, slot, after] for a part that is new or moves; html null: as it was
//                   {t: "ack", id}, {t: "error", id, text, field}, {t: "file", id, name, text, mime}
// to the kernel     {action: "hello"}, {action, id, …}

/** Waits before another hello, in milliseconds. A busy kernel answers the ones it has when it gets to them. */
const HELLO_AGAIN = [1000, 2000, 4000, 8000, 16000];
/** After this long without an answer the view says what it waits for. */
const PATIENCE = 2000;

/** Attributes that belong to the person once the element is there. */
const LOCAL = new Set([
  ...["open", "hidden", "tabindex", "value", "checked", "aria-expanded", "aria-busy", "data-lm-suppress-shortcuts"],
  ...["data-index", "data-editing", "data-filter", "data-dragging", "data-dragged", "data-drop", "data-left"],
]);

class View {
  constructor(model, el) {
    this.model = model;
    this.el = el;
    this.id = Math.random().toString(36).slice(2);
    this.parts = new Map(); // key → {slot, html, node}
    this.slots = new Map([["", el]]);
    this.pending = new Map(); // id of a command → {origin, done, timer}
    this.commands = 0;
    this.n = -1; // number of the last patch shown
    this.live = false; // whether the kernel has answered a hello
    this.hellos = 0;
    this.ears = [];
    this.plans = new Plans(this);
    this.cards = new Cards(this);
    // Keys are for this view: without this, Jupyter's own shortcuts take them first ("a" inserts a cell).
    el.setAttribute("data-lm-suppress-shortcuts", "true");

    this.listen("click", (event) => this.onClick(event));
    this.listen("change", (event) => this.onChange(event));
    this.listen("submit", (event) => this.onSubmit(event));
    this.listen("keydown", (event) => this.onKey(event));
    this.listen("input", (event) => this.onInput(event.target));
    this.listen("dblclick", (event) => this.onDoubleClick(event));
    this.listen("pointerdown", (event) => this.plans.onPointerDown(event));
    this.listen("mouseover", (event) => this.plans.showTools(event.target));
    this.listen("mouseleave", () => this.plans.showTools(null));
    this.listen("focusin", (event) => this.onFocus(event.target));
    this.listen("focusout", () => queueMicrotask(() => this.el.isConnected && !this.focused() && (this.cell = null)));
    this.hear("msg:custom", (message) => this.onMessage(message));
    this.hear("change:state", () => this.onState());
    this.hear("comm_live_update", () => this.connect());

    this.connect();
    this.onState();
  }

  listen(type, ear) {
    this.el.addEventListener(type, ear);
    this.ears.push(() => this.el.removeEventListener(type, ear));
  }

  hear(name, ear) {
    this.model.on(name, ear);
    this.ears.push(() => this.model.off(name, ear));
  }

  close() {
    clearTimeout(this.helloTimer);
    for (const { timer } of this.pending.values()) clearTimeout(timer);
    for (const stop of this.ears) stop();
    this.voice?.remove();
    this.closed = true;
    // In place of this view comes its final form: the keys are its cell's then, not nobody's.
    if (document.activeElement === document.body) this.cell?.focus({ preventScroll: true });
  }

  /** The session is closed: what is shown stays, and nobody is there to say hello to. */
  end() {
    this.ended = true;
    clearTimeout(this.helloTimer);
    this.setLive(false);
    this.unsay(this.el);
  }

  // -- the kernel --------------------------------------------------------------------------------

  /** Nothing may look alive before the kernel has answered: it may be gone, and the page a saved one. */
  connect() {
    this.setLive(false);
    this.hellos = 0;
    this.hello();
  }

  /** Patches were lost, so the kernel is there: nothing that a person does is interrupted. */
  resync() {
    this.hellos = 0;
    this.hello();
  }

  hello() {
    clearTimeout(this.helloTimer);
    if (this.closed || this.ended) return;
    if (this.hellos > HELLO_AGAIN.length) {
      this.say(this.el, "No answer from the kernel. If it was restarted, run the cell again.", "status");
      return;
    }
    this.post({ action: "hello" });
    if (this.hellos > 0) this.say(this.el, "Waiting for the kernel. Buttons appear when it answers.", "status");
    this.helloTimer = setTimeout(() => this.hello(), HELLO_AGAIN[this.hellos] ?? HELLO_AGAIN.at(-1));
    this.hellos += 1;
  }

  setLive(live) {
    this.live = live;
    this.el.classList.toggle("acp-offline", !live);
    for (const field of this.el.querySelectorAll("select, input, textarea")) field.disabled = !live;
    if (live) {
      clearTimeout(this.helloTimer);
      this.unsay(this.el);
      this.cards.after();
    }
  }

  post(message) {
    try {
      this.model.send(message);
    } catch (error) {
      console.warn("acp: not sent", error); // no kernel: the view stays offline
    }
  }

  onState() {
    const state = this.model.get("state");
    if (!this.live && state && state.n > this.n) this.snapshot(state);
    if (state?.final) this.end();
  }

  onMessage(message) {
    switch (message.t) {
      case "snapshot":
        this.snapshot(message);
        this.setLive(true);
        break;
      case "patch":
        // A view that opened later has not seen the ones before; the socket may have lost some.
        if (message.n <= this.n) break;
        if (message.n === this.n + 1 && this.patch(message)) this.n = message.n;
        else if (this.live) this.resync();
        break;
      case "ack":
        this.settle(message.id, null);
        break;
      case "error":
        this.settle(message.id, message.text, message.field);
        break;
      case "file":
        if (this.pending.has(message.id)) download(message);
        break;
    }
  }

  // -- parts -------------------------------------------------------------------------------------

  snapshot({ n, parts }) {
    const last = new Map();
    const keys = new Set(parts.map(([key]) => key));
    const set = parts.map(([key, slot, html]) => {
      const after = last.get(slot) ?? null;
      last.set(slot, key);
      return [key, html, slot, after];
    });
    this.patch({ set, drop: [...this.parts.keys()].filter((key) => !keys.has(key)) });
    this.n = n;
  }

  /** Returns false when the patch does not fit what is shown. */
  patch({ set, drop }) {
    const sticking = this.holders("[data-stick]").filter((log) => log.scrollHeight - log.scrollTop - log.clientHeight < 4);
    const focused = this.focused();
    const trail = ancestors(focused, this.el);
    const plans = this.plans.before();
    this.rearranged = new Set(); // slots whose parts are others now, or stand in another order
    for (const key of drop) this.drop(key);
    for (let at = 0, next; at < set.length; at = next) {
      next = this.endOfNew(set, at);
      if (next > at) {
        if (!this.insert(set.slice(at, next))) return false;
      } else if (!this.set(...set[(next = at + 1) - 1])) return false;
    }
    for (const log of sticking) log.scrollTop = log.scrollHeight;
    if (!this.live) for (const field of this.el.querySelectorAll("select, input, textarea")) field.disabled = true;
    this.cards.after();
    this.plans.after(plans, [...this.rearranged].filter((slot) => slot?.matches(".acp-entries")));
    if (focused && !focused.isConnected) this.refocus(trail);
    else if (focused && this.focused() !== focused) focused.focus({ preventScroll: true }); // it was moved
    return true;
  }

  /** Where the new parts that begin at `start`, each right behind the one before, come to their end. */
  endOfNew(set, start) {
    let end = start;
    for (; end < set.length; end += 1) {
      const [key, , slot, after] = set[end];
      if (slot === undefined || this.parts.has(key)) break;
      if (end > start && (slot !== set[end - 1][2] || after !== set[end - 1][0])) break;
    }
    return end;
  }

  /** New parts that stand together are parsed together: thousands of rows in one go. */
  insert(set) {
    const [, , slot, after] = set[0];
    const place = this.slots.get(slot);
    const before = after === null ? null : this.parts.get(after);
    if (!place || (after !== null && !before)) return false;
    const template = document.createElement("template");
    template.innerHTML = set.map(([, html]) => html).join("");
    const nodes = [...template.content.children];
    (before ? before.node.parentNode : place).insertBefore(template.content, before ? before.node.nextSibling : place.firstChild);
    set.forEach(([key, html], at) => {
      const node = nodes[at];
      this.parts.set(key, { slot, html, node });
      if (html.includes(" data-slot=")) this.addSlots(node);
      this.plans.set(node, html);
    });
    this.rearranged.add(place);
    return true;
  }

  set(key, html, slot, after) {
    const part = this.parts.get(key);
    if (!part) return false;
    if (html !== null && part.html !== html) {
      const node = parse(html);
      if (node.nodeName === part.node.nodeName) morph(part.node, node);
      else {
        part.node.replaceWith(node);
        part.node = node;
        this.addSlots(node);
      }
      part.html = html;
    }
    if (slot !== undefined && !this.place(part, slot, after)) return false;
    this.plans.set(part.node, part.html);
    return true;
  }

  place(part, slot, after) {
    const place = this.slots.get(slot);
    const before = after === null ? null : this.parts.get(after);
    if (!place || (after !== null && !before)) return false;
    part.slot = slot;
    const next = before ? before.node.nextSibling : place.firstChild;
    if (next === part.node || (before && part.node.matches(".acp-entry") && step(before.node, 1) === part.node)) return true;
    this.rearranged.add(place);
    (before ? before.node.parentNode : place).insertBefore(part.node, next);
    return true;
  }

  /** The elements that hold parts, as far as they match. */
  holders(selector) {
    return [...this.slots.values()].filter((holder) => holder.matches(selector));
  }

  addSlots(node) {
    const holders = node.matches("[data-slot]") ? [node] : [];
    for (const holder of [...holders, ...node.querySelectorAll("[data-slot]")]) {
      const old = this.slots.get(holder.dataset.slot);
      if (old && old !== holder) holder.append(...old.childNodes);
      this.slots.set(holder.dataset.slot, holder);
    }
  }

  drop(key) {
    const part = this.parts.get(key);
    if (!part) return;
    this.parts.delete(key);
    if (part.html.includes(" data-slot="))
      for (const [name, holder] of this.slots) if (name !== "" && part.node.contains(holder)) this.slots.delete(name);
    this.rearranged.add(this.slots.get(part.slot));
    if (!this.plans.keeps(part.node)) part.node.remove();
  }

  // -- focus -------------------------------------------------------------------------------------

  focused() {
    const active = this.el.getRootNode().activeElement;
    return active && this.el.contains(active) ? active : null;
  }

  /** The element that had the focus is gone: give it to what stands around it, never to another button. */
  refocus(trail) {
    const around = trail.find((node) => this.el.contains(node));
    if (!around || this.focused()) return;
    const place = around.closest(".acp-permission, .acp-entry, .acp-plan, .acp-turn, .acp-view");
    if (!place) return;
    if (!place.hasAttribute("tabindex")) place.tabIndex = -1;
    place.focus({ preventScroll: true });
  }

  // -- events ------------------------------------------------------------------------------------

  onClick(event) {
    const button = event.target.closest("button");
    if (!button || !this.el.contains(button) || !this.live) return;
    const { action, format, op } = button.dataset;
    const card = button.closest(".acp-permission");
    if (card) this.cards.onClick(button, card);
    else if (action === "answer-all") {
      const { answer, requests } = button.dataset;
      this.command({ action, answer, requests: JSON.parse(requests) }, button);
    } else if (action === "show-request") this.showRequest();
    else if (action === "show-plan") this.plans.show(button);
    else if (action === "export") this.command({ action, format, plan: where(button).plan }, button);
    else if (action === "plan") this.plans.operate(op, button.closest(".acp-entry"), button);
    else if (action === "cancel-edit") this.plans.closeEditor(button.form);
    else if (action === "work") this.plans.startWork(button);
    else if (action === "not-now") this.plans.leaveWork(button);
    else if (action === "undo") this.plans.undo(button);
    else if (action === "current") this.plans.goToCurrent(button);
    else if (action === "exports") this.plans.toggleExports(button);
    else if (action === "history") this.plans.toggleHistory(button);
    else if (action === "now") this.plans.backToNow(button);
    else if (action === "restore") this.plans.restore(button);
    else if (action) this.command({ action }, button);
  }

  /** A card can be far below the header: bring it into view, and the keys to it. */
  showRequest() {
    const card = this.el.querySelector('.acp-permission[data-status="pending"]');
    card?.scrollIntoView({ block: "center" });
    card?.focus({ preventScroll: true });
  }

  onFocus(target) {
    // Notebook looks for shortcuts before the view hears of a key, and at the focused element before its parents.
    target.setAttribute("data-lm-suppress-shortcuts", "true");
    this.cell = this.el.closest(".jp-Cell");
    this.plans.showTools(target);
  }

  onInput(field) {
    if (this.live && field.closest(".acp-form")) this.cards.onInput(field);
    if (field.matches("textarea")) grow(field);
    else if (field.name === "revision" && this.live) this.plans.slide(field);
  }

  onDoubleClick(event) {
    const text = event.target.closest(".acp-text");
    if (text && this.live && !event.target.closest("summary, a")) this.plans.edit(text.closest(".acp-entry"));
  }

  onChange(event) {
    const field = event.target;
    const id = field.dataset.config;
    if (!this.live) return;
    if (field.matches(".acp-filter")) this.plans.filter(field);
    else if (field.dataset.field !== undefined) this.plans.choose(field);
    else if (field.name === "covers") this.cards.onReach(field);
    if (id === undefined) return;
    const value = field.type === "checkbox" ? field.checked : field.value;
    this.command({ action: "config", option: id, value }, field, null, () => showInEffect(field));
  }

  onSubmit(event) {
    event.preventDefault();
    const form = event.target;
    if (!this.live) return;
    if (form.matches(".acp-edit")) this.plans.save(form);
    else if (form.matches(".acp-add")) this.plans.add(form);
    else if (form.matches(".acp-form")) this.cards.submit(form, form.closest(".acp-permission"));
  }

  onKey(event) {
    event.stopPropagation();
    const { target, key } = event;
    const card = target.closest(".acp-permission");
    const row = target.closest(".acp-entry");
    const typing = target.matches("input, textarea, select");
    if (event.ctrlKey || event.metaKey) {
      // Saving is Jupyter's, also from here.
      if (key === "s" && event.isTrusted && !this.el.parentElement?.dispatchEvent(new KeyboardEvent("keydown", event)))
        event.preventDefault();
      if (key === "z" && row && !typing && !event.shiftKey && this.live && this.plans.template(row)) {
        event.preventDefault();
        this.plans.undo(row);
      }
    } else if (typing) this.onFieldKey(event, card);
    else if (card && !event.altKey && !event.repeat && /^[a-z]$/i.test(key)) {
      // With caps lock on, "once" must not become "always".
      const locked = event.getModifierState("CapsLock");
      const wanted = !locked ? key : event.shiftKey ? key.toUpperCase() : key.toLowerCase();
      const button = card.querySelector(`button[data-key="${wanted}"]`);
      if (button && this.live) {
        event.preventDefault();
        button.click();
      }
    } else if (row) this.plans.onKey(event, row);
    else if (key === "Escape" && target.closest(".acp-exports"))
      this.plans.toggleExports(target.closest(".acp-plan").querySelector('[data-action="exports"]'));
  }

  onFieldKey(event, card) {
    const { target, key } = event;
    const form = target.closest(".acp-edit, .acp-add");
    if (target.matches("[data-field]")) target.setAttribute("data-keyed", "");
    if (key === "Escape" && card) closeForms(card);
    else if (key === "Escape" && target.closest(".acp-edit")) this.plans.closeEditor(form);
    else if (key === "Enter" && form && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  }

  // -- commands ----------------------------------------------------------------------------------

  /** Sends a command; `done` is called when it was carried out, `after` also when it was not. */
  command(message, origin, done = null, after = null) {
    if (origin.getAttribute("aria-busy") === "true") return;
    const id = `${this.id}-${(this.commands += 1)}`;
    origin.setAttribute("aria-busy", "true");
    const wait = () => this.say(origin, "Sent. The kernel is busy and will get to it.", "status");
    this.pending.set(id, { origin, card: origin.closest(".acp-permission"), done, after, timer: setTimeout(wait, PATIENCE) });
    this.post({ id, ...message });
  }

  settle(id, error, field) {
    const command = this.pending.get(id);
    if (!command) return;
    this.pending.delete(id);
    clearTimeout(command.timer);
    command.origin.removeAttribute("aria-busy");
    this.unsay(command.origin);
    // The button may be gone with the answer that another window gave: then its card says so.
    const there = this.el.contains(command.origin) ? command.origin : command.card ?? command.origin;
    const refused = field === undefined ? there : this.cards.refuse(there, field);
    if (error !== null) this.say(refused, error, "alert");
    else command.done?.();
    command.after?.();
    this.plans.goOn(command.origin, error !== null);
  }

  /** Says something about `origin` next to it. */
  say(origin, text, role) {
    const place = this.near(origin);
    this.unsay(origin);
    const line = document.createElement("p");
    line.className = role === "alert" ? "acp-fault" : "acp-fault acp-quiet";
    line.setAttribute("role", role);
    line.setAttribute("data-local", "");
    line.textContent = role === "alert" ? `✗ ${text}` : text;
    place.append(line);
  }

  unsay(origin) {
    for (const line of this.near(origin).querySelectorAll(":scope > .acp-fault")) line.remove();
  }

  near(origin) {
    const places = ".acp-edit, .acp-field, .acp-form, .acp-together, .acp-permission, .acp-entry, .acp-plan, .acp-head";
    return this.el.contains(origin) ? origin.closest(places) ?? this.el : this.el;
  }

  /** Says something that is there to be seen to those who do not see it. */
  announce(text) {
    if (!this.voice) {
      this.voice = document.createElement("div");
      this.voice.className = "acp-sr";
      this.voice.setAttribute("aria-live", "polite");
      this.el.append(this.voice);
    }
    // What one patch brings is said together: the last alone would be heard otherwise.
    if (!this.saying) queueMicrotask(() => (this.saying = null));
    this.saying = this.saying ? `${this.saying}. ${text}` : text;
    this.voice.textContent = this.saying;
  }
}

// -- elements ------------------------------------------------------------------------------------

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

/** Makes `old` like `fresh` and keeps what is the person's: focus, selection, typed text, open details. */
function morph(old, fresh) {
  for (const { name, value } of fresh.attributes)
    if (!LOCAL.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!LOCAL.has(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  if (old.matches("[data-slot], textarea, .acp-index")) return;
  if (old.matches("input")) {
    old.defaultChecked = fresh.defaultChecked;
    old.defaultValue = fresh.defaultValue;
    showInEffect(old);
    return;
  }
  const left = [...old.childNodes].filter((node) => !node.hasAttribute?.("data-local"));
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const at = left.findIndex((node) => alike(node, child));
    const kept = at < 0 ? child : left.splice(at, 1)[0];
    if (at >= 0 && kept.nodeType === Node.ELEMENT_NODE) morph(kept, child);
    else if (at >= 0 && kept.data !== child.data) kept.data = child.data;
    if (kept === place) place = place.nextSibling;
    else old.insertBefore(kept, place);
  }
  for (const node of left) node.remove();
  if (old.matches("select")) showInEffect(old);
}

function alike(a, b) {
  if (a.nodeName !== b.nodeName) return false;
  return a.nodeType !== Node.ELEMENT_NODE || identity(a) === identity(b);
}

function identity(node) {
  const { option, config, action, format, op, slot } = node.dataset;
  return [option, config, action, format, op, slot, node.getAttribute("name")].join("\n");
}

/** The value that Python wrote is the one in effect, whatever the person chose meanwhile. */
function showInEffect(field) {
  if (field.getAttribute("aria-busy") === "true") return;
  if (field.matches("select")) for (const option of field.options) option.selected = option.defaultSelected;
  else if (field.type === "checkbox") field.checked = field.defaultChecked;
  else if (field.type === "range" || field.hasAttribute("data-config")) field.value = field.defaultValue;
}

function ancestors(node, top) {
  const found = [];
  for (let at = node?.parentElement; at && at !== top; at = at.parentElement) found.push(at);
  return found;
}

function download({ name, text, mime }) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: `${mime};charset=utf-8` }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export default {
  render({ model, el }) {
    const view = new View(model, el);
    return () => view.close();
  },
};
