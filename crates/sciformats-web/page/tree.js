// The tree of objects. Only the rows in view are elements; the members of a group come in pages when they come into view.

import { KINDS, h, icon, sides } from "./dom.js";

const PAGE = 200;

export class Tree {
  constructor(host, { choose, problem }) {
    Object.assign(this, { host, choose, problem });
    this.space = h("div", { class: "space" });
    host.replaceChildren(this.space);
    host.addEventListener("scroll", () => this.render(), { passive: true });
    host.addEventListener("keydown", (event) => this.key(event));
    host.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.render()).observe(host);
    this.rows = [];
  }

  get height() {
    return parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 28;
  }

  async show(file) {
    this.file = file;
    this.found = null;
    this.rows = [{ path: "/", name: file.name, depth: 0, kind: file.about.root, open: false }];
    this.active = 0;
    this.pending = new Set();
    this.render();
    if (file.about.root === "g") await this.expand(0);
  }

  /** Shows what a search found, or the tree again. */
  results(found, words) {
    if (found) {
      this.before ??= this.rows;
      this.words = words;
      this.rows = found.map(([path, kind]) => ({ path, name: path, depth: 0, kind, flat: true }));
    } else if (this.before) {
      this.rows = this.before;
      this.before = null;
      this.words = null;
    }
    this.active = Math.max(0, this.rows.findIndex((row) => row.path === this.current));
    this.host.scrollTop = found ? 0 : this.active * this.height - 100;
    this.render();
  }

  async expand(at) {
    const row = this.rows[at];
    if (!row || row.kind !== "g" || row.open || row.flat) return;
    row.open = true;
    const { file } = this;
    try {
      const { total, members } = await file.members(row.path, { first: 0, count: PAGE });
      if (this.file !== file || !row.open) return;
      const now = this.rows.indexOf(row);
      if (now < 0) return;
      const depth = row.depth + 1;
      const children = Array.from({ length: total }, (_, index) => index < members.length ? made(members[index], depth, row) : { depth, parent: row, index, empty: true });
      row.total = total;
      // Long lists are put together without passing each row as an argument.
      this.rows = this.rows.slice(0, now + 1).concat(children, this.rows.slice(now + 1));
      if (this.active > now) this.active += total;
    } catch (error) {
      row.open = false;
      row.error = error.message;
      this.problem(error);
    }
    this.render();
  }

  collapse(at) {
    const row = this.rows[at];
    if (!row?.open) return;
    row.open = false;
    let end = at + 1;
    while (end < this.rows.length && this.rows[end].depth > row.depth) end += 1;
    this.rows = this.rows.slice(0, at + 1).concat(this.rows.slice(end));
    if (this.active > at) this.active = this.active < end ? at : this.active - (end - at - 1);
    this.render();
  }

  /** Brings the page of a row that is not there yet. */
  async bring(row) {
    const first = Math.floor(row.index / PAGE) * PAGE;
    const key = `${row.parent.path}\n${first}`;
    if (this.pending.has(key)) return;
    this.pending.add(key);
    const { file } = this;
    try {
      const { members } = await file.members(row.parent.path, { first, count: PAGE });
      if (this.file !== file) return;
      const rows = this.before ?? this.rows;
      const start = rows.indexOf(row.parent);
      if (start < 0) return;
      let seen = 0;
      for (let at = start + 1; at < rows.length && seen < first + members.length; at += 1) {
        if (rows[at].parent !== row.parent) continue;
        if (rows[at].empty && seen >= first) rows[at] = made(members[seen - first], rows[at].depth, row.parent);
        seen += 1;
      }
      this.render();
    } catch (error) {
      this.problem(error);
    } finally {
      this.pending.delete(key);
    }
  }

  /** Marks an object as the one that is shown, and opens the groups that lead to it. */
  async reveal(path) {
    this.current = path;
    if (!this.before) {
      let at = 0;
      const parts = path.split("/").filter(Boolean);
      for (let depth = 1; depth <= parts.length; depth += 1) {
        await this.expand(at);
        const wanted = `/${parts.slice(0, depth).join("/")}`;
        const found = this.rows.findIndex((row, index) => index > at && row.path === wanted);
        if (found < 0) break;
        at = found;
      }
      if (this.rows[at]?.path === path) this.active = at;
      this.scroll();
    }
    this.render();
  }

  scroll() {
    const { height } = this;
    const top = this.active * height;
    if (top < this.host.scrollTop) this.host.scrollTop = top;
    else if (top + height > this.host.scrollTop + this.host.clientHeight) this.host.scrollTop = top + height - this.host.clientHeight;
  }

  render() {
    const { height, host, rows } = this;
    this.space.style.height = `${rows.length * height}px`;
    const first = Math.max(0, Math.floor(host.scrollTop / height) - 4);
    const last = Math.min(rows.length, Math.ceil((host.scrollTop + host.clientHeight) / height) + 4);
    const elements = [];
    for (let at = first; at < last; at += 1) elements.push(this.element(rows[at], at, height));
    this.space.replaceChildren(...elements);
    if (rows[this.active]) host.setAttribute("aria-activedescendant", `node-${this.active}`);
  }

  element(row, at, height) {
    if (row.empty) this.bring(row);
    const group = row.kind === "g" && !row.flat;
    const classes = ["node", row.kind ?? "", row.path !== undefined && row.path === this.current ? "current" : "", at === this.active ? "active" : ""];
    const element = h("div", {
      class: classes.join(" "), role: "treeitem", id: `node-${at}`, "data-at": at, "aria-level": row.depth + 1,
      "aria-selected": String(row.path === this.current), "aria-expanded": group ? String(Boolean(row.open)) : null,
      title: row.error ?? (row.to ? `${row.name} → ${row.to}` : row.name ?? ""),
    });
    element.style.top = `${at * height}px`;
    element.style.paddingLeft = `${6 + row.depth * 15}px`;
    element.append(h("span", { class: "twist" }, group ? icon("twist") : []));
    if (row.empty) {
      element.append(h("span", { class: "name pale" }, "…"));
      return element;
    }
    element.append(icon(row.to !== undefined ? "link" : KINDS[row.kind] ?? "unknown", "kind"));
    element.append(h("span", { class: "name" }, this.words?.length ? marked(row.name, this.words) : row.name));
    const right = row.error ? "" : row.shape !== undefined ? (row.shape?.length === 0 ? "" : sides(row.shape)) : row.text ?? "";
    if (right) element.append(h("span", { class: "shape" }, right.length > 26 ? `${right.slice(0, 25)}…` : right));
    return element;
  }

  click(event) {
    const element = event.target.closest(".node");
    if (!element) return;
    const at = Number(element.dataset.at);
    const row = this.rows[at];
    if (!row || row.empty) return;
    this.active = at;
    if (event.target.closest(".twist") && row.kind === "g" && !row.flat) {
      if (row.open) this.collapse(at);
      else this.expand(at);
      return;
    }
    if (row.kind === "g" && !row.open) this.expand(at);
    else if (row.kind === "g" && row.path === this.current) this.collapse(at);
    this.choose(row.path);
  }

  key(event) {
    const row = this.rows[this.active];
    const page = Math.max(1, Math.floor(this.host.clientHeight / this.height) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.rows.length, End: this.rows.length };
    if (event.altKey || event.ctrlKey || event.metaKey || !row) return;
    if (event.key in moves) {
      this.active = Math.max(0, Math.min(this.rows.length - 1, this.active + moves[event.key]));
    } else if (event.key === "ArrowRight") {
      if (row.kind === "g" && !row.open && !row.flat) this.expand(this.active);
      else if (row.open && row.total) this.active += 1;
    } else if (event.key === "ArrowLeft") {
      if (row.open) this.collapse(this.active);
      else if (row.parent) this.active = this.rows.indexOf(row.parent);
    } else if (event.key === "Enter" || event.key === " ") {
      if (!row.empty) this.choose(row.path);
    } else {
      return;
    }
    event.preventDefault();
    this.scroll();
    this.render();
  }
}

function made(member, depth, parent) {
  return { path: member.p, name: member.n, kind: member.k, shape: member.s, type: member.t, text: member.v, to: member.to, error: member.e, depth, parent };
}

/** The parts of a path, with the found words marked. */
function marked(text, words) {
  const low = text.toLowerCase();
  const spans = words.map((word) => [low.lastIndexOf(word), word.length]).filter(([at]) => at >= 0).sort((a, b) => a[0] - b[0]);
  const out = [];
  let done = 0;
  for (const [at, length] of spans) {
    if (at < done) continue;
    out.push(text.slice(done, at), h("mark", {}, text.slice(at, at + length)));
    done = at + length;
  }
  out.push(text.slice(done));
  return out;
}
