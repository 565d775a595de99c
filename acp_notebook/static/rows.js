// The rows of a plan's entries: which stands where, what of them is in sight, and a row that is dragged.
// The first part of the module that ends with acp.js.

/** Long lists stand in groups of so many rows: a browser does not lay out groups that are out of sight. */
const GROUP = 100;
/** So many groups out of sight are numbered in one go. */
const AT_ONCE = 20;
/** How near to the edge of a list a dragged row scrolls it, and by how much a frame, in pixels. */
const EDGE = 24;
const SCROLL = 12;

function listOf(row) {
  return row.closest(".acp-entries");
}

function rowsOf(list) {
  return [...list.querySelectorAll(".acp-entry")];
}

/** The row behind (`by` 1) or before (-1) another, also in the next group. */
function step(row, by) {
  const [beside, end] = by > 0 ? ["nextElementSibling", "firstElementChild"] : ["previousElementSibling", "lastElementChild"];
  if (row[beside] || !row.parentNode.matches(".acp-rows")) return row[beside];
  return row.parentNode[beside]?.[end] ?? null;
}

/** The next row in a direction that the filter shows. */
function nextShown(row, by) {
  let next = step(row, by);
  while (next && !isShown(next)) next = step(next, by);
  return next;
}

function isShown(row) {
  if (!row.isConnected || !isCounted(row)) return false;
  return !row.closest(".acp-plan").dataset.filter || row.checkVisibility();
}

/** Puts the rows of a long list into groups, and keeps the groups at a good size. */
function group(list) {
  if (list.childElementCount <= 2 * GROUP && !list.querySelector(":scope > .acp-rows")) return;
  let loose = [];
  for (const child of [...list.children, null]) {
    if (child?.matches(".acp-entry")) {
      loose.push(child);
      continue;
    }
    if (child && loose.length <= GROUP) child.prepend(...loose.splice(0));
    while (loose.length) list.insertBefore(groupOf(loose.splice(0, GROUP)), child);
    if (child?.childElementCount === 0) child.remove();
    else if (child?.childElementCount > 3 * GROUP) loose = [...child.children].slice(GROUP);
  }
}

function groupOf(rows) {
  const made = document.createElement("div");
  made.className = "acp-rows";
  made.setAttribute("role", "none");
  made.append(...rows);
  return made;
}

/** Numbers the rows: Python sends them without, so that a new one changes no other. */
// Groups out of sight come a little later, so that no frame waits for thousands.
function number(list) {
  clearTimeout(list.acpNumbering);
  const late = [];
  let before = 0;
  for (const holder of list.firstElementChild?.matches(".acp-rows") ? list.children : [list]) {
    const start = before;
    const rows = [...holder.children].filter(isCounted);
    if (holder === list || isInSight(list, holder)) numberRows(rows, start);
    else late.push(() => numberRows(rows, start));
    before += rows.length;
  }
  const goOn = () => {
    for (const group of late.splice(0, AT_ONCE)) group();
    if (late.length) list.acpNumbering = setTimeout(goOn);
  };
  if (late.length) list.acpNumbering = setTimeout(goOn);
}

function numberRows(rows, before) {
  rows.forEach((row, at) => {
    const index = before + at + 1;
    if (row.acpNumber === index) return;
    row.acpNumber = index;
    row.setAttribute("data-index", index);
    const shown = row.querySelector(".acp-index");
    if (shown.firstChild) shown.firstChild.data = index; // half the cost of setting `textContent`
    else shown.textContent = index;
  });
}

/** The number of a row by its place, which its attribute may not show yet. */
function indexOf(row) {
  let index = 1;
  for (let at = row; (at = at.previousElementSibling); ) index += isCounted(at);
  if (!row.parentNode.matches(".acp-rows")) return index;
  for (let at = row.parentNode; (at = at.previousElementSibling); ) index += [...at.children].filter(isCounted).length;
  return index;
}

/** Rows that are gone from the plan, and stay for what is typed in them, have no number. */
function isCounted(row) {
  return !row.hasAttribute("data-left");
}

/** How far a row is below the upper edge of what the list shows, in pixels. */
function below(list, row) {
  return row.getBoundingClientRect().top - list.getBoundingClientRect().top - list.clientTop;
}

function isInSight(list, row) {
  const top = below(list, row);
  return top > -row.offsetHeight && top < list.clientHeight;
}

/** Scrolls the list, and nothing around it; `barely`: no further than needed. */
function bringIntoSight(list, row, barely = false, again = 2) {
  const top = below(list, row);
  const room = list.clientHeight - row.offsetHeight;
  if (top < 0 || top > room) list.scrollTop += !barely ? top - room / 2 : top < 0 ? top : top - room;
  // Heights of rows that were never in sight are estimates, until a frame has been painted.
  if (again > 0) requestAnimationFrame(() => row.isConnected && bringIntoSight(list, row, barely, again - 1));
}

/** A row on its way to another place, from the press on its number, mark or grip until it is let go. */
class Drag {
  constructor(plans, row, { clientY, pointerId }) {
    Object.assign(this, { plans, row, list: listOf(row), start: clientY, y: clientY, target: null });
    // At the document: a patch may move the row, or take it away, and the capture with it.
    const ears = {
      pointermove: (event) => this.move(event),
      pointerup: () => this.drop(),
      pointercancel: () => this.end(),
      keydown: (event) => event.key === "Escape" && (event.stopPropagation(), this.end()),
    };
    for (const [type, ear] of Object.entries(ears)) document.addEventListener(type, ear, true);
    row.setPointerCapture(pointerId);
    this.stop = () => {
      for (const [type, ear] of Object.entries(ears)) document.removeEventListener(type, ear, true);
      if (row.hasPointerCapture(pointerId)) row.releasePointerCapture(pointerId);
    };
  }

  move({ clientY }) {
    this.y = clientY;
    if (!this.list.hasAttribute("data-dragging") && Math.abs(clientY - this.start) < 4) return;
    if (!this.list.hasAttribute("data-dragging")) {
      this.list.setAttribute("data-dragging", "");
      this.row.setAttribute("data-dragged", "");
      this.plans.showTools(null);
      this.scroll();
    }
    this.aim();
  }

  /** Marks the place where the row would go: a line before or behind the row under the pointer. */
  aim() {
    const box = this.list.getBoundingClientRect();
    const y = Math.min(Math.max(this.y, box.top + 1), box.bottom - 1);
    const over = this.list.getRootNode().elementFromPoint(box.left + 20, y)?.closest(".acp-entry");
    this.target?.removeAttribute("data-drop");
    this.target = this.list.contains(over) && isCounted(over) ? over : null;
    if (!this.target) return;
    const { top, height } = this.target.getBoundingClientRect();
    this.target.dataset.drop = y < top + height / 2 ? "before" : "after";
  }

  scroll() {
    if (!this.list.hasAttribute("data-dragging")) return;
    const { top, bottom } = this.list.getBoundingClientRect();
    const by = this.y < top + EDGE ? -SCROLL : this.y > bottom - EDGE ? SCROLL : 0;
    if (by) {
      this.list.scrollTop += by;
      this.aim();
    }
    requestAnimationFrame(() => this.scroll());
  }

  drop() {
    const { row, target } = this;
    const side = target?.dataset.drop;
    this.end();
    if (!side || !row.isConnected || !target.isConnected || target === row) return;
    const from = indexOf(row);
    const at = indexOf(target) + (side === "after" ? 1 : 0);
    row.focus({ preventScroll: true });
    this.plans.move(row, at > from ? at - 1 : at);
  }

  end() {
    this.stop();
    this.target?.removeAttribute("data-drop");
    this.list.removeAttribute("data-dragging");
    this.row.removeAttribute("data-dragged");
    this.plans.drag = null;
  }
}
