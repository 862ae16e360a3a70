// A heat map of two dimensions.

import { MAPS, SCALES, lowestPositive, paint, percentiles, scaleOf, table as colourTable } from "../colour.js";
import { brief, count, h } from "../dom.js";
import { frame, ticksOf } from "../plot.js";
import { View, rangeOf } from "./view.js";

export class HeatMap extends View {
  name = "Heat map";
  zoomable = true;

  constructor(host, context) {
    super(host, context);
    const { choices } = this;
    choices.map ??= "viridis";
    choices.scale ??= "linear";
    choices.domain ??= "99.8";
    this.aspects();
    this.select("Colours", MAPS, choices.map, (map) => {
      choices.map = map;
      this.save();
      this.draw();
    });
    this.select("Scale", SCALES, choices.scale, (scale) => {
      choices.scale = scale;
      this.rescale();
    });
    this.select("Domain", ["100", "99.8", "99", "95", "90", "by hand"], choices.domain, (domain) => {
      choices.domain = domain;
      this.rescale();
    }, { 100: "all values", 99.8: "99.8 %", 99: "99 %", 95: "95 %", 90: "90 %" });
    const bound = (label, at) => {
      const input = h("input", { type: "text", class: "short", inputMode: "decimal", "aria-label": label, onchange: () => {
        const value = Number(input.value.replace("−", "-"));
        if (!Number.isFinite(value)) return;
        choices.hand ??= [this.scale.low, this.scale.high];
        choices.hand[at] = value;
        choices.domain = "by hand";
        this.tools.querySelectorAll("select").forEach((select) => [...select.options].some(({ value }) => value === "by hand") && (select.value = "by hand"));
        this.rescale();
      } });
      return input;
    };
    this.low = bound("Lowest value", 0);
    this.high = bound("Highest value", 1);
    this.tools.append(h("label", {}, this.low, "to", this.high));
    this.check("inverted", choices.inverted, (on) => {
      choices.inverted = on;
      this.save();
      this.draw();
    });
    this.check("equal sides", choices.equal, (on) => {
      choices.equal = on;
      this.save();
      this.draw();
    });
    this.against();
    this.exports("PNG", "SVG", "npy", "CSV");
    this.sliders(2);
    this.canvas();
    this.reload();
  }

  /** The difference to another array of the same shape. */
  against() {
    const { choices } = this;
    const input = h("input", { type: "text", class: "short", placeholder: "/path", value: choices.minus ?? "", "aria-label": "Subtract the array at this path", spellcheck: false, onchange: () => {
      choices.minus = input.value.trim() || undefined;
      this.changed();
    } });
    this.tools.append(h("label", {}, "minus", input));
  }

  get axes() {
    const [y, x] = this.choices.axes.slice(-2);
    return { y, x };
  }

  async load() {
    const signal = this.fresh();
    const { of, choices, file } = this;
    const { y, x } = this.axes;
    const [down, across] = [rangeOf(choices, y, of.shape[y]), rangeOf(choices, x, of.shape[x])];
    const { width, height } = this.plot.getBoundingClientRect();
    const dense = Math.min(2, globalThis.devicePixelRatio || 1);
    const request = { ...this.request, y, x, y0: down.from, y1: down.to, x0: across.from, x1: across.to, rows: Math.max(64, Math.round(height * dense)), columns: Math.max(64, Math.round((width - 150) * dense)), signal };
    this.busy(true);
    const [grid, alongY, alongX] = await Promise.all([file.grid(of.path, request), this.along(y), this.along(x)]);
    if (choices.minus) {
      const other = await file.grid(choices.minus, request);
      if (other.shape.join() !== grid.shape.join()) throw new Error(`${choices.minus} has another shape than ${of.path}`);
      let [low, high] = [Infinity, -Infinity];
      for (let i = 0; i < grid.values.length; i += 1) {
        const apart = (grid.values[i] -= other.values[i]);
        if (!Number.isFinite(apart)) continue;
        if (apart < low) low = apart;
        if (apart > high) high = apart;
      }
      Object.assign(grid, { low, high });
    }
    this.data = { grid, down, across, alongY, alongX, y, x };
    this.busy(false);
    this.cost();
    this.rescale();
  }

  rescale() {
    const { choices, data } = this;
    this.save();
    if (!data) return;
    const { values, low, high } = data.grid;
    let ends = [low, high];
    if (choices.domain === "by hand" && choices.hand) ends = [...choices.hand];
    else if (choices.domain !== "100" && choices.domain !== "by hand") ends = percentiles(values, Number(choices.domain) / 100);
    if (choices.scale === "log" && !(ends[0] > 0)) ends[0] = lowestPositive(values);
    if (choices.minus && choices.domain !== "by hand") {
      const most = Math.max(Math.abs(ends[0]), Math.abs(ends[1])) || 1;
      ends = [-most, most];
    }
    this.scale = scaleOf(choices.scale, ...ends.map((end) => end ?? NaN));
    this.low.value = brief(this.scale.low);
    this.high.value = brief(this.scale.high);
    this.draw();
  }

  picture(painter, width, height) {
    const { data, choices, colours, scale } = this;
    if (!scale) return;
    const { grid, down, across, alongY, alongX } = data;
    const up = alongY.north && (alongY.rising ?? true);
    this.up = up;
    const title = [this.of.title, this.of.units && !/^1?$/.test(this.of.units) ? `(${this.of.units})` : ""].join(" ");
    const spanY = down.to - down.from;
    const spanX = across.to - across.from;
    const notes = [];
    if (grid.down.step > 1 || grid.across.step > 1) notes.push(`every ${grid.down.step > 1 ? `${grid.down.step}th row` : "row"}${grid.across.step > 1 ? `, every ${grid.across.step}th column` : ""}`);
    if (grid.missing) notes.push(`${count(grid.missing)} of ${count(grid.all)} missing`);
    if (grid.infinite) notes.push(`${count(grid.infinite)} infinite`);
    const axis = (along, range, flip, more = []) => ({
      title: [along.title(), ...more].join(" · "), grid: false,
      ticks: (most) => along.ticks(range.from, range.to - 1, most).map(({ at, text }) => {
        const part = (at + 0.5 - range.from) / (range.to - range.from);
        return { at: flip ? 1 - part : part, text };
      }),
    });
    // The place of the bar depends on the widest of its labels.
    const marks = ticksOf(scale, Math.max(2, Math.floor(height / 60)));
    const names = marks.map(brief);
    const right = 40 + Math.max(...names.map((name) => painter.width(name, 11.5)), 16) + 20;
    let area = frame(painter, { width, height, colours, right, x: axis(alongX, across, false, notes), y: axis(alongY, down, !up) });
    if (choices.equal) {
      // The picture is as large as its sides permit, and its axes are painted around it.
      const times = Math.min(area.width / spanX, area.height / spanY);
      const inner = { width: spanX * times, height: spanY * times };
      painter.rect(0, 0, width, height, colours.paper);
      area = frame(painter, { width: width - (area.width - inner.width), height: height - (area.height - inner.height), colours, right, x: axis(alongX, across, false, notes), y: axis(alongY, down, !up) });
    }
    this.area = area;
    const key = [choices.map, choices.inverted, scale.kind, scale.low, scale.high, up, choices.minus];
    if (this.painted?.grid !== grid || this.painted.key !== key.join()) {
      const map = choices.minus && choices.map === "viridis" ? "red–blue" : choices.map;
      const colourMap = colourTable(map, choices.inverted);
      const canvas = h("canvas", { width: grid.columns, height: grid.rows });
      canvas.getContext("2d").putImageData(paint(grid.values, grid.rows, grid.columns, scale, colourMap, up), 0, 0);
      this.painted = { grid, key: key.join(), canvas, colourMap };
    }
    painter.rect(area.x, area.y, area.width, area.height, colours.sheet);
    painter.image(this.painted.canvas, [0, 0, grid.columns, grid.rows], [area.x, area.y, area.width, area.height], false);
    painter.line([area.x, area.y, area.x + area.width, area.y, area.x + area.width, area.y + area.height, area.x, area.y + area.height, area.x, area.y], colours.line);
    // The bar.
    const bar = { x: area.x + area.width + 16, y: area.y, width: 12, height: area.height };
    const steps = Math.min(128, Math.max(2, Math.round(bar.height)));
    for (let i = 0; i < steps; i += 1) {
      const at = 4 * Math.round((1 - i / (steps - 1)) * 255);
      const [r, g, b] = this.painted.colourMap.slice(at, at + 3);
      painter.rect(bar.x, bar.y + (i * bar.height) / steps, bar.width, bar.height / steps + 0.6, `rgb(${r},${g},${b})`);
    }
    marks.forEach((value, at) => {
      const place = bar.y + bar.height * (1 - scale.to01(value));
      if (!(place >= bar.y - 1 && place <= bar.y + bar.height + 1)) return;
      painter.line([bar.x + bar.width, place, bar.x + bar.width + 4, place], colours.faint);
      painter.text(names[at], bar.x + bar.width + 8, place, { colour: colours.soft, size: 11.5 });
    });
    painter.text(choices.minus ? `${title} − ${choices.minus}` : title, width - 9, bar.y + bar.height / 2, { colour: colours.soft, size: 12, align: "center", turned: true });
    if (this.box) this.outline(painter);
  }

  outline(painter) {
    const [x0, y0, x1, y1] = this.box;
    const { area } = this;
    const [a, b, c, d] = [area.x + x0 * area.width, area.y + y0 * area.height, area.x + x1 * area.width, area.y + y1 * area.height];
    painter.line([a, b, c, b, c, d, a, d, a, b], this.colours.accent, 1.5);
  }

  hover(px, py) {
    const { data } = this;
    if (!data || !(px >= 0 && px < 1 && py >= 0 && py < 1)) {
      this.tip.hidden = true;
      return;
    }
    const { grid, down, across, alongY, alongX } = data;
    const part = this.up ? 1 - py : py;
    const row = Math.min(grid.rows - 1, Math.floor(part * grid.rows));
    const column = Math.min(grid.columns - 1, Math.floor(px * grid.columns));
    const [i, j] = [Math.floor(down.from + part * (down.to - down.from)), Math.floor(across.from + px * (across.to - across.from))];
    const value = grid.values[row * grid.columns + column];
    const units = this.of.units && !/^1?$/.test(this.of.units) ? ` ${this.of.units}` : "";
    const place = (along, index) => `${along.label || "index"} ${along.kind === "none" ? index : `${along.name(index)} [${index}]`}`;
    this.show(px, py, [h("b", {}, `${brief(value)}${Number.isFinite(value) ? units : ""}`), `${grid.whole ? "" : "  mean"}\n${place(alongY, i)}\n${place(alongX, j)}`]);
  }

  window() {
    const { y, x } = this.axes;
    return [rangeOf(this.choices, y, this.of.shape[y]), rangeOf(this.choices, x, this.of.shape[x])];
  }

  set(down, across) {
    const { y, x } = this.axes;
    const { shape } = this.of;
    const whole = ({ from, to }, length) => from <= 0 && to >= length;
    const range = {};
    const [a, b] = [this.kept(down.from, down.to, shape[y]), this.kept(across.from, across.to, shape[x])];
    if (!whole(a, shape[y])) range[y] = a;
    if (!whole(b, shape[x])) range[x] = b;
    this.choices.range = range;
    this.changed();
  }

  zoom(times, px, py, only) {
    const [down, across] = this.window();
    const part = this.up ? 1 - py : py;
    const scaled = ({ from, to }, at, fixed) => {
      if (fixed) return { from, to };
      const middle = from + at * (to - from);
      return { from: middle - (middle - from) * times, to: middle + (to - middle) * times };
    };
    this.set(scaled(down, part, only === "x"), scaled(across, px, only === "y"));
  }

  pan([down, across], dx, dy) {
    const moved = ({ from, to }, by) => {
      const far = Math.round(by * (to - from));
      return { from: from + far, to: to + far };
    };
    this.set(moved(down, this.up ? -dy : dy), moved(across, dx));
  }

  frame(x0, y0, x1, y1) {
    const [down, across] = this.window();
    const cut = ({ from, to }, a, b) => ({ from: from + a * (to - from), to: from + b * (to - from) });
    this.set(this.up ? cut(down, 1 - y1, 1 - y0) : cut(down, y0, y1), cut(across, x0, x1));
  }
}
