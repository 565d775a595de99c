// Shows the keyed HTML parts that Python makes, changes only what changed, and sends clicks back.
// One file, no imports: anywidget loads it from a Blob URL.
//
// from the kernel   {t: "snapshot", n, parts: [[key, slot, html], …]}        everything, answers a hello
//                   {t: "patch", n, set: [[key, slot, after, html], …], drop: [key, …]}
//                   {t: "ack", id}, {t: "error", id, text}, {t: "file", id, name, text}
// to the kernel     {action: "hello"}, {action, id, …}

/** Waits before another hello, in milliseconds. A busy kernel answers the ones it has when it gets to them. */
const HELLO_AGAIN = [1000, 2000, 4000, 8000, 16000];
/** After this long without an answer the view says what it waits for. */
const PATIENCE = 2000;

/** Attributes that belong to the person once the element is there. */
const LOCAL = new Set(["open", "hidden", "tabindex", "value", "checked", "aria-expanded", "aria-busy", "data-lm-suppress-shortcuts"]);

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
    // Keys are for this view: without this, Jupyter's own shortcuts take them first ("a" inserts a cell).
    el.setAttribute("data-lm-suppress-shortcuts", "true");

    this.listen("click", (event) => this.onClick(event));
    this.listen("change", (event) => this.onChange(event));
    this.listen("submit", (event) => this.onSubmit(event));
    this.listen("keydown", (event) => this.onKey(event));
    this.listen("mouseover", (event) => this.showRowTools(event.target));
    this.listen("mouseleave", () => this.showRowTools(null));
    this.listen("focusin", (event) => this.onFocus(event.target));
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
    this.closed = true;
  }

  // -- the kernel --------------------------------------------------------------------------------

  /** Nothing may look alive before the kernel has answered: it may be gone, and the page a saved one. */
  connect() {
    this.setLive(false);
    this.hellos = 0;
    this.hello();
  }

  hello() {
    clearTimeout(this.helloTimer);
    if (this.closed) return;
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
        else if (this.live) this.connect();
        break;
      case "ack":
        this.settle(message.id, null);
        break;
      case "error":
        this.settle(message.id, message.text);
        break;
      case "file":
        if (this.pending.has(message.id)) download(message.name, message.text);
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
      return [key, slot, after, html];
    });
    this.patch({ set, drop: [...this.parts.keys()].filter((key) => !keys.has(key)) });
    this.n = n;
  }

  /** Returns false when the patch does not fit what is shown. */
  patch({ set, drop }) {
    const sticking = [...this.el.querySelectorAll("[data-stick]")].filter(
      (log) => log.scrollHeight - log.scrollTop - log.clientHeight < 4,
    );
    const focused = this.focused();
    const trail = ancestors(focused, this.el);
    for (const key of drop) this.drop(key);
    for (const one of set) if (!this.set(...one)) return false;
    for (const log of sticking) log.scrollTop = log.scrollHeight;
    if (focused && this.focused() !== focused) this.refocus(focused, trail);
    if (!this.live) for (const field of this.el.querySelectorAll("select, input, textarea")) field.disabled = true;
    for (const tools of this.el.querySelectorAll("li > .acp-row-tools")) this.labelRowTools(tools);
    this.rove();
    return true;
  }

  set(key, slot, after, html) {
    const place = this.slots.get(slot);
    const before = after === null ? null : this.parts.get(after);
    if (!place || (after !== null && !before)) return false;
    let part = this.parts.get(key);
    if (!part) {
      part = { slot, html, node: parse(html) };
      this.parts.set(key, part);
      this.addSlots(part.node);
    } else if (part.html !== html) {
      const node = parse(html);
      if (node.nodeName === part.node.nodeName) morph(part.node, node);
      else {
        part.node.replaceWith(node);
        part.node = node;
        this.addSlots(node);
      }
      part.html = html;
    }
    part.slot = slot;
    const next = before ? before.node.nextSibling : place.firstChild;
    if (next !== part.node && !(before && part.node.previousSibling === before.node && part.node.parentNode === place))
      place.insertBefore(part.node, next);
    return true;
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
    part.node.remove();
    this.parts.delete(key);
    for (const [name, holder] of this.slots) if (name !== "" && part.node.contains(holder)) this.slots.delete(name);
  }

  // -- focus -------------------------------------------------------------------------------------

  focused() {
    const active = this.el.getRootNode().activeElement;
    return active && this.el.contains(active) ? active : null;
  }

  /** The element that had the focus is gone: give it to what stands around it, never to another button. */
  refocus(lost, trail) {
    const around = trail.find((node) => this.el.contains(node));
    if (!around || this.focused()) return;
    const place = around.closest(".acp-permission, .acp-entry, .acp-plan, .acp-turn, .acp-view");
    if (!place) return;
    if (!place.hasAttribute("tabindex")) place.tabIndex = -1;
    place.focus({ preventScroll: true });
  }

  /** One entry of each list takes part in the Tab order; arrow keys go to the others. */
  rove(chosen) {
    for (const list of this.el.querySelectorAll(".acp-entries")) {
      if (chosen && !list.contains(chosen)) continue;
      const stops = [...list.querySelectorAll(':scope > .acp-entry[tabindex="0"]')];
      const stop = chosen ?? stops[0] ?? list.querySelector(":scope > .acp-entry[tabindex]");
      for (const entry of stops) if (entry !== stop) entry.tabIndex = -1;
      if (stop) stop.tabIndex = 0;
    }
  }

  // -- tools of a row ------------------------------------------------------------------------------

  /** Puts the buttons into the entry under `target`, and takes them from entries with neither pointer nor focus. */
  showRowTools(target) {
    const entry = this.live ? target?.closest?.(".acp-entry") : null;
    for (const tools of this.el.querySelectorAll("li > .acp-row-tools")) {
      const row = tools.parentNode;
      if (row !== entry && !row.matches(":hover") && !row.contains(this.focused())) tools.remove();
    }
    if (!entry || entry.querySelector(".acp-row-tools")) return;
    const template = entry.closest(".acp-plan")?.querySelector("[data-row-tools]");
    if (!template) return;
    const tools = template.cloneNode(true);
    tools.removeAttribute("data-row-tools");
    tools.removeAttribute("hidden");
    tools.setAttribute("data-local", "");
    entry.append(tools);
    this.labelRowTools(tools);
  }

  labelRowTools(tools) {
    const entry = tools.parentNode;
    for (const button of tools.querySelectorAll("button")) {
      const undo = button.dataset.status && button.dataset.status === entry.dataset.status;
      const label = undo ? button.dataset.undo : button.title;
      button.setAttribute("aria-label", `${label}, step ${entry.dataset.index}`);
      button.setAttribute("aria-disabled", String(this.edge(button.dataset.op, entry)));
    }
  }

  edge(op, entry) {
    return (op === "up" && !entry.previousElementSibling) || (op === "down" && !entry.nextElementSibling);
  }

  // -- events ------------------------------------------------------------------------------------

  onClick(event) {
    const button = event.target.closest("button");
    if (!button || !this.el.contains(button) || !this.live) return;
    const { action, option, format, op, plan } = button.dataset;
    const card = button.closest(".acp-permission");
    if (option !== undefined) this.command({ action: "option", request: card.dataset.request, option }, button);
    else if (action === "edit-arguments" || action === "deny-with-reason") toggleForm(card, button);
    else if (action === "close-form") closeForms(card);
    else if (action === "show-request") this.showRequest();
    else if (action === "export") this.command({ action, format, plan }, button);
    else if (action === "plan") this.edit(op, plan, button);
    else if (action) this.command({ action }, button);
  }

  /** A card can be far below the header: bring it into view, and the keys to it. */
  showRequest() {
    const card = this.el.querySelector('.acp-permission[data-status="pending"]');
    card?.scrollIntoView({ block: "center" });
    card?.focus({ preventScroll: true });
  }

  edit(op, plan, button) {
    const entry = button.closest(".acp-entry");
    const list = entry.parentNode;
    const index = Number(entry.dataset.index);
    if (this.edge(op, entry)) return;
    const to = op === "up" ? index - 1 : op === "down" ? index + 1 : index;
    const message = op === "up" || op === "down" ? { op: "move", index, to } : { op, index };
    const focused = this.focused();
    this.command({ action: "plan", plan, ...message }, button, () => {
      if (!focused || !entry.contains(focused)) return;
      // The focus goes along with the entry that was moved.
      const now = list.querySelector(`:scope > [data-index="${to}"]`) ?? list.lastElementChild;
      if (!now) return;
      this.showRowTools(now);
      this.rove(now);
      (focused === entry ? now : now.querySelector(`[data-op="${op}"]`) ?? now).focus();
    });
  }

  onFocus(target) {
    // Notebook looks for shortcuts before the view hears of a key, and at the focused element before its parents.
    target.setAttribute("data-lm-suppress-shortcuts", "true");
    this.showRowTools(target);
  }

  onChange(event) {
    const field = event.target;
    const id = field.dataset.config;
    if (id === undefined || !this.live) return;
    const value = field.type === "checkbox" ? field.checked : field.value;
    this.command({ action: "config", option: id, value }, field, null, () => showInEffect(field));
  }

  onSubmit(event) {
    event.preventDefault();
    const form = event.target;
    const { action, op, plan } = form.dataset;
    const request = form.closest(".acp-permission")?.dataset.request;
    const values = Object.fromEntries(new FormData(form));
    if (!this.live) return;
    if (action !== "plan") this.command({ action, request, ...values }, form);
    else if (values.content.trim()) this.add({ action, op, plan, ...values }, form);
  }

  /** The field is free at once: on a slow line the next step is typed before the kernel has answered. */
  add(message, form) {
    if (form.getAttribute("aria-busy") === "true") return;
    const field = form.elements.content;
    let added = false;
    this.command(message, form, () => (added = true), () => {
      if (!added && !field.value) field.value = message.content;
    });
    form.reset();
  }

  onKey(event) {
    event.stopPropagation();
    if (event.ctrlKey || event.metaKey) {
      // Saving is Jupyter's, also from here.
      if (event.key === "s" && event.isTrusted && !this.el.parentElement?.dispatchEvent(new KeyboardEvent("keydown", event)))
        event.preventDefault();
      return;
    }
    const card = event.target.closest(".acp-permission");
    const entry = event.target.closest(".acp-entry");
    if (event.target.matches("input, textarea, select")) {
      if (event.key === "Escape" && card) closeForms(card);
    } else if (card && !event.altKey && !event.repeat && /^[a-z]$/i.test(event.key)) {
      const button = card.querySelector(`button[data-key="${event.key}"]`);
      if (button && this.live) {
        event.preventDefault();
        button.click();
      }
    } else if (entry) this.onEntryKey(event, entry);
  }

  onEntryKey(event, entry) {
    const rows = [...entry.parentNode.querySelectorAll(":scope > .acp-entry")];
    const at = rows.indexOf(entry);
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (event.altKey) {
      this.showRowTools(entry);
      entry.querySelector(`[data-op="${{ ArrowUp: "up", ArrowDown: "down" }[event.key]}"]`)?.click();
    } else if (rows[to]) {
      this.rove(rows[to]);
      rows[to].focus();
    }
  }

  // -- commands ----------------------------------------------------------------------------------

  /** Sends a command; `done` is called when it was carried out, `after` also when it was not. */
  command(message, origin, done = null, after = null) {
    if (origin.getAttribute("aria-busy") === "true") return;
    const id = `${this.id}-${(this.commands += 1)}`;
    origin.setAttribute("aria-busy", "true");
    const wait = () => this.say(origin, "Sent. The kernel is busy and will get to it.", "status");
    this.pending.set(id, { origin, done, after, timer: setTimeout(wait, PATIENCE) });
    this.post({ id, ...message });
  }

  settle(id, error) {
    const command = this.pending.get(id);
    if (!command) return;
    this.pending.delete(id);
    clearTimeout(command.timer);
    command.origin.removeAttribute("aria-busy");
    this.unsay(command.origin);
    if (error !== null) this.say(command.origin, error, "alert");
    else command.done?.();
    command.after?.();
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
    return this.el.contains(origin) ? origin.closest(".acp-permission, .acp-plan, .acp-head") ?? this.el : this.el;
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
  if (old.hasAttribute("data-slot") || old.matches("textarea")) return;
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
  else if (field.hasAttribute("data-config")) field.value = field.defaultValue;
}

function toggleForm(card, button) {
  const form = card.querySelector(`form[data-action="${button.dataset.action}"]`);
  const opening = form.hidden;
  closeForms(card);
  if (!opening) return;
  form.hidden = false;
  button.setAttribute("aria-expanded", "true");
  form.querySelector("input, textarea").focus();
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

function ancestors(node, top) {
  const found = [];
  for (let at = node?.parentElement; at && at !== top; at = at.parentElement) found.push(at);
  return found;
}

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
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
