// A table of any size. Rows and columns that are in view are cells; their texts come in blocks.

import { h } from "./dom.js";

const ROWS = 64;
const COLUMNS = 24;
const KEPT = 96;

/** Browsers limit the height of an element, so of very long tables each pixel stands for several rows. */
const HEIGHT = 8_000_000;

export class Table {
  /**
   * `rows` and `columns` are numbers; `heads` are the names of columns, or null; `fetch(firstRow, rows, firstColumn,
   * columns, signal)` returns the texts row by row; `rowName` and `columnName` return headings.
   */
  constructor(host, { rows, columns, heads = null, left = false, fetch, rowName = String, columnName = String, choose, problem }) {
    Object.assign(this, { host, rows, columns, heads, left, fetch, rowName, columnName, choose, problem });
    this.blocks = new Map();
    this.space = h("div", { class: "space" });
    this.table = h("table", { role: "grid", "aria-rowcount": rows + 1, "aria-colcount": columns + 1 });
    host.replaceChildren(this.space, this.table);
    host.tabIndex = 0;
    this.on = [0, 0];
    this.aims = {};
    this.stop = new AbortController();
    this.widths = heads ? heads.map((head) => Math.min(300, Math.max(84, 12 + 7.4 * head.name.length))) : null;
    this.width = left ? 190 : 112;
    host.onscroll = () => this.render();
    host.onkeydown = (event) => this.key(event);
    host.onclick = (event) => {
      const cell = event.target.closest("td[data-row]");
      if (!cell) return;
      this.on = [Number(cell.dataset.row), Number(cell.dataset.column)];
      this.render();
    };
    this.observer = new ResizeObserver(() => this.render());
    this.observer.observe(host);
  }

  close() {
    this.stop.abort();
    this.observer.disconnect();
  }

  get height() {
    return parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 28;
  }

  /** Whether the columns together are wider than an element may be, so that a pixel stands for more of them. */
  get wide() {
    return !this.widths && this.columns * this.width > HEIGHT;
  }

  /** The row or column that keys have brought into view, as long as nothing else has scrolled: a pixel may stand for many of them. */
  aimed(side, scrolled) {
    const aim = this.aims[side];
    return aim && Math.abs(aim.scrolled - scrolled) < 1 ? aim.at : null;
  }

  block(row, column) {
    const [y, x] = [Math.floor(row / ROWS), Math.floor(column / COLUMNS)];
    const key = `${y},${x}`;
    const known = this.blocks.get(key);
    if (known) return known;
    const height = Math.min(ROWS, this.rows - y * ROWS);
    const width = this.heads ? this.columns : Math.min(COLUMNS, this.columns - x * COLUMNS);
    const block = { y: y * ROWS, x: this.heads ? 0 : x * COLUMNS, width };
    this.blocks.set(key, block);
    if (this.blocks.size > KEPT) this.blocks.delete(this.blocks.keys().next().value);
    this.fetch(block.y, height, block.x, width, this.stop.signal).then((cells) => {
      block.cells = cells;
      if (this.heads) this.fit(cells, width);
      this.render();
    }, (error) => {
      if (error.name === "AbortError") return;
      block.cells = [];
      block.error = error.message;
      this.problem?.(error);
      this.render();
    });
    return block;
  }

  /** Columns of tables become as wide as their texts. */
  fit(cells, width) {
    for (let i = 0; i < cells.length; i += 1) {
      const column = i % width;
      this.widths[column] = Math.min(320, Math.max(this.widths[column], 24 + 7.6 * cells[i].length));
    }
  }

  cell(row, column) {
    const block = this.block(row, this.heads ? 0 : column);
    if (!block.cells) return null;
    return block.error ? "error" : block.cells[(row - block.y) * block.width + (column - block.x)];
  }

  render() {
    const { host, height } = this;
    const wide = (column) => this.widths?.[column] ?? this.width;
    const view = { width: host.clientWidth, height: host.clientHeight };
    if (view.height === 0) return;
    const visible = Math.max(1, Math.floor(view.height / height) - 1);
    const total = Math.min(HEIGHT, (this.rows + 1) * height);
    const reach = Math.max(1, total - view.height);
    const most = Math.max(0, this.rows - visible);
    const first = Math.min(most, this.aimed("top", host.scrollTop) ?? Math.round(Math.min(1, host.scrollTop / reach) * most));
    const last = Math.min(this.rows, first + visible + 1);
    const heads = 90;
    let column = 0;
    let widths = heads;
    if (this.widths) {
      let skipped = 0;
      while (column < this.columns - 1 && skipped + wide(column) <= host.scrollLeft) skipped += wide(column++);
      widths += this.widths.reduce((sum, width) => sum + width, 0);
    } else {
      column = Math.min(Math.max(0, this.columns - 1), Math.floor(host.scrollLeft / this.width));
      widths += Math.min(HEIGHT, this.columns * this.width);
      if (this.wide) column = this.aimed("left", host.scrollLeft) ?? Math.round(Math.min(1, host.scrollLeft / (HEIGHT - view.width)) * (this.columns - 1));
    }
    this.space.style.height = `${total}px`;
    this.space.style.width = `${Math.max(widths, 1)}px`;
    let right = column;
    for (let x = heads; right < this.columns && x < view.width; right += 1) x += wide(right);
    const text = (at) => this.heads ? !this.heads[at].number : this.left;
    const sized = (element, width) => {
      element.style.width = `${width}px`;
      return element;
    };
    const head = h("tr", { "aria-rowindex": 1 }, sized(h("th", { scope: "col" }, ""), heads));
    for (let at = column; at < right; at += 1) {
      const named = this.heads?.[at];
      head.append(sized(h("th", { scope: "col", class: text(at) ? "text" : "", "aria-colindex": at + 2, title: named?.title ?? "" },
        named ? [named.name, named.units ? h("small", {}, named.units) : null] : this.columnName(at)), wide(at)));
    }
    const body = [];
    for (let row = first; row < last; row += 1) {
      const line = h("tr", { "aria-rowindex": row + 2 }, h("th", { scope: "row", title: this.rowName(row) }, this.rowName(row)));
      for (let at = column; at < right; at += 1) {
        const cell = this.cell(row, at);
        const on = this.on[0] === row && this.on[1] === at;
        line.append(h("td", { class: [text(at) ? "text" : "", cell === null ? "wait" : "", on ? "on" : ""].join(" "), "data-row": row, "data-column": at, "aria-colindex": at + 2, title: cell?.length > 12 ? cell : null }, cell ?? "·"));
      }
      body.push(line);
    }
    this.table.replaceChildren(h("thead", {}, head), h("tbody", {}, body));
    Object.assign(this, { first, visible, column, right, reach });
    const on = this.cell(...this.on.map((at, axis) => Math.min(at, (axis ? this.columns : this.rows) - 1)));
    if (on !== null && on !== undefined) this.choose?.(this.on[0], this.on[1], on);
  }

  key(event) {
    const page = Math.max(1, this.visible - 1);
    const moves = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageDown: [page, 0], PageUp: [-page, 0] };
    let move = moves[event.key];
    if (event.key === "Home") move = event.ctrlKey ? [-this.rows, -this.columns] : [0, -this.columns];
    if (event.key === "End") move = event.ctrlKey ? [this.rows, this.columns] : [0, this.columns];
    if (!move) return;
    event.preventDefault();
    this.on = [Math.max(0, Math.min(this.rows - 1, this.on[0] + move[0])), Math.max(0, Math.min(this.columns - 1, this.on[1] + move[1]))];
    const [row, column] = this.on;
    if (row < this.first || row >= this.first + this.visible) {
      const wanted = row < this.first ? row : row - this.visible + 1;
      this.host.scrollTop = (wanted / Math.max(1, this.rows - this.visible)) * this.reach;
      this.aims.top = { at: wanted, scrolled: this.host.scrollTop };
    }
    if (this.wide && (column < this.column || column >= this.right - 1)) {
      const { clientWidth } = this.host;
      const shown = Math.max(1, Math.floor((clientWidth - 90) / this.width));
      const wanted = column < this.column ? column : Math.max(0, column - shown + 1);
      this.host.scrollLeft = (wanted / (this.columns - 1)) * (HEIGHT - clientWidth);
      this.aims.left = { at: wanted, scrolled: this.host.scrollLeft };
    } else if (column < this.column || column >= this.right - 1) {
      const before = this.widths ? this.widths.slice(0, column).reduce((sum, width) => sum + width, 0) : column * this.width;
      this.host.scrollLeft = column < this.column ? before : Math.max(0, before - this.host.clientWidth + 90 + 2 * (this.widths?.[column] ?? this.width));
    }
    this.render();
  }
}
