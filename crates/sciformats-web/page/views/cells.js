// A table of elements.

import { h } from "../dom.js";
import { Table } from "../table.js";
import { NUMBERS } from "./subject.js";
import { View } from "./view.js";

export class Cells extends View {
  name = "Table";

  constructor(host, context) {
    super(host, context);
    const { choices, of } = this;
    const names = (fields) => fields?.map(({ name, type }) => `${name} ${type}`).join("\n");
    const differs = of.meaning?.flags || (of.meaning?.decoded && (of.sort !== "compound" || names(of.fields) !== names(of.array?.fields)));
    choices.look ??= differs || !of.array ? "words" : "stored";
    if (of.array && differs) {
      this.select("Values", ["words", "stored"], choices.look, (look) => {
        choices.look = look;
        this.save();
        this.load();
      }, { words: "as they are meant", stored: "as they are stored" });
    }
    this.exports(...(of.sort === "compound" ? ["CSV"] : ["CSV", "npy"]));
    const plain = of.sort !== "compound";
    if (plain && of.shape.length >= 2) this.sliders(2);
    this.rank = plain ? Math.min(2, of.shape.length) : 1;
    this.box = h("div", { class: "table", role: "region", "aria-label": `Elements of ${of.title}` });
    this.host.append(this.box);
    this.load();
  }

  close() {
    super.close();
    this.table?.close();
  }

  parts() {
    return this.of.sort === "compound" ? this.of.shape.map(() => ({})) : super.parts();
  }

  async load() {
    try {
      this.table?.close();
      const { of, choices, file } = this;
      const stored = choices.look === "stored" && of.array;
      const shape = stored ? of.array.shape : of.shape;
      const compound = of.sort === "compound";
      const fields = stored ? of.array.fields : of.fields;
      const flat = shape.length <= 1;
      const [y, x] = choices.axes.slice(-2);
      const other = { problem: (error) => this.say(error.message), choose: (row, column, text) => this.say(`${row}${flat ? "" : `, ${column}`}: ${text}`) };
      const ask = (slice, signal) => file.cells(of.path, { view: choices.look, slice, signal }).then((answer) => {
        this.cost();
        return answer;
      });
      if (compound && fields) {
        const rows = shape.length === 0 ? 1 : shape.reduce((product, length) => product * length, 1);
        if (shape.length > 1) throw new Error("a table of compounds with several dimensions is shown by sciformats cat");
        const heads = fields.map(({ name, units, type, sort }) => ({ name, units, title: type, number: sort ? NUMBERS.has(sort) : /int|float|bool/.test(type ?? "") }));
        const fetch = async (row, many, _x, _w, signal) => (await ask(shape.length ? `${row}:${row + many}` : "", signal)).cells;
        this.table = new Table(this.box, { rows, columns: fields.length, heads, fetch, ...other });
      } else if (flat) {
        const along = await this.along(0);
        const left = !NUMBERS.has(stored ? of.array.sort : of.sort);
        const fetch = async (row, many, _x, _w, signal) => (await ask(`${row}:${row + many}`, signal)).cells;
        this.table = new Table(this.box, { rows: shape[0] ?? 1, columns: 1, left, heads: [{ name: of.title, units: of.units, number: !left }], rowName: (row) => (along.kind === "none" ? String(row) : along.short(row)), fetch, ...other });
        this.table.widths = [Math.max(this.table.widths[0], left ? 320 : 170)];
      } else {
        const [alongY, alongX] = await Promise.all([this.along(y), this.along(x)]);
        const fetch = async (row, many, column, wide, signal) => {
          const slice = of.shape.map((_, axis) => (axis === y ? `${row}:${row + many}` : axis === x ? `${column}:${column + wide}` : String(choices.fixed[axis]))).join(",");
          const { cells } = await ask(slice, signal);
          if (y < x) return cells;
          return Array.from({ length: many * wide }, (_, i) => cells[(i % wide) * many + Math.floor(i / wide)]);
        };
        const name = (along) => (index) => (along.kind === "none" ? String(index) : along.short(index));
        this.table = new Table(this.box, { rows: of.shape[y], columns: of.shape[x], left: !NUMBERS.has(of.sort), rowName: name(alongY), columnName: name(alongX), fetch, ...other });
      }
      this.table.render();
    } catch (error) {
      this.fail(error);
    }
  }
}
