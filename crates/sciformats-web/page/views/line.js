// A line along one dimension, alone or beside others.

import { SCALES, lowestPositive, roomy, scaleOf } from "../colour.js";
import { brief, h } from "../dom.js";
import { apart, frame, ticksOf } from "../plot.js";
import { View, every, rangeOf } from "./view.js";

export class Line extends View {
  name = "Line";
  zoomable = true;

  constructor(host, context) {
    super(host, context);
    const { choices } = this;
    choices.scaleY ??= "linear";
    this.aspects();
    this.select("Scale", SCALES, choices.scaleY, (scale) => {
      choices.scaleY = scale;
      this.save();
      this.draw();
    });
    this.check("points", choices.points, (on) => {
      choices.points = on;
      this.save();
      this.draw();
    });
    const input = h("input", { type: "text", class: "short", placeholder: "/path", value: choices.beside ?? "", "aria-label": "Draw the array at this path too", spellcheck: false, onchange: () => {
      choices.beside = input.value.trim() || undefined;
      this.changed();
    } });
    this.tools.append(h("label", {}, "compare", input));
    this.exports("PNG", "SVG", "npy", "CSV");
    this.sliders(1);
    this.canvas();
    this.reload();
  }

  get axis() {
    return this.choices.axes.at(-1) ?? 0;
  }

  async load() {
    const signal = this.fresh();
    const { of, choices, file, axis } = this;
    const range = rangeOf(choices, axis, of.shape[axis]);
    const columns = Math.max(100, Math.round(this.plot.clientWidth));
    this.busy(true);
    const request = { ...this.request, x: axis, from: range.from, to: range.to, columns, signal };
    const errors = of.meaning?.coordinates?.find(({ role }) => role === "errors")?.path;
    const [line, along, error] = await Promise.all([
      file.line(of.path, request), this.along(axis),
      errors && !choices.beside ? file.line(errors, { ...request, field: undefined }).catch(() => null) : null,
    ]);
    const beside = choices.beside ? await file.line(choices.beside, { ...request, field: undefined }) : null;
    this.data = { line, along, range, beside, error: error?.raw && line.raw ? error : null };
    this.busy(false);
    this.cost();
    this.draw();
  }

  picture(painter, width, height) {
    const { data, choices, colours } = this;
    const { line, along, range, beside, error } = data;
    let low = Math.min(line.low ?? Infinity, beside?.low ?? Infinity);
    let high = Math.max(line.high ?? -Infinity, beside?.high ?? -Infinity);
    if (!(low <= high)) [low, high] = [0, 1];
    if (choices.scaleY !== "log") {
      [low, high] = roomy(low, high, 0.05);
    } else if (!(low > 0)) {
      low = lowestPositive(line.values);
    }
    const scale = scaleOf(choices.scaleY, low, high);
    const span = Math.max(1, range.to - range.from - 1);
    const units = this.of.units && !/^1?$/.test(this.of.units) ? ` (${this.of.units})` : "";
    const area = frame(painter, {
      width, height, colours,
      x: { title: [along.title(), ...every(line.along.step)].join(" · "), ticks: (most) => along.ticks(range.from, range.to - 1, most).map(({ at, text }) => ({ at: (at - range.from) / span, text })) },
      y: { title: `${choices.field ?? this.of.title}${units}`, ticks: (most) => ticksOf(scale, most).map((value) => ({ at: scale.to01(value), text: brief(value) })) },
    });
    this.area = area;
    this.scale = scale;
    const across = (index) => area.x + area.width * ((index - range.from) / span);
    const up = (value) => area.y + area.height * (1 - scale.to01(value));
    painter.within(area.x, area.y - 1, area.width, area.height + 2, () => {
      if (error) {
        const band = [];
        const whole = [...line.values.keys()].filter((i) => Number.isFinite(line.values[i] + error.values[i]));
        for (const i of whole) band.push(across(range.from + i), up(line.values[i] + error.values[i]));
        for (const i of whole.reverse()) band.push(across(range.from + i), up(line.values[i] - error.values[i]));
        painter.area(band, `${colours.lines[0]}33`);
      }
      [line, beside].forEach((one, at) => one && this.stroke(painter, one, colours.lines[at], { across, up, points: choices.points }));
    });
    if (beside) {
      [this.of.path, choices.beside].forEach((text, at) => {
        painter.rect(area.x + 12, area.y + 13 + at * 19, 18, 3, colours.lines[at]);
        painter.text(text, area.x + 38, area.y + 15 + at * 19, { colour: colours.ink, size: 12 });
      });
      const apart = this.apart();
      if (apart) painter.text(apart, area.x + area.width - 8, area.y + 15, { colour: colours.soft, size: 12, align: "right" });
    }
  }

  /** How far two lines of the same length are apart. */
  apart() {
    const { line, beside } = this.data;
    if (!line.raw || !beside?.raw || line.values.length !== beside.values.length) return "";
    return apart(line.values, beside.values, /^u?int64$/.test(this.of.type));
  }

  stroke(painter, { raw, values, columns, along }, colour, { across, up, points }) {
    const path = [];
    if (raw) {
      for (let i = 0; i < values.length; i += 1) path.push(across(along.first + i * along.step), up(values[i]));
      painter.line(path, colour, 1.6);
      if (points || values.length < 60) painter.dots(path.filter((_, i) => Number.isFinite(path[i - (i % 2) + 1])), values.length < 60 ? 2.6 : 1.7, colour);
      return;
    }
    for (let i = 0; i < columns; i += 1) {
      // The middle of the elements of the column; another array may be shorter than the range.
      const x = across(along.first + (((i + 0.5) * along.count) / columns - 0.5) * along.step);
      if (!Number.isFinite(values[i])) {
        path.push(NaN, NaN);
        continue;
      }
      path.push(x, up(values[i]), x, up(values[columns + i]));
    }
    painter.line(path, colour, 1.2);
  }

  hover(px, py) {
    const { data } = this;
    if (!data || !(px >= 0 && px <= 1 && py >= 0 && py <= 1)) {
      this.tip.hidden = true;
      return;
    }
    const { line, along, range, beside } = data;
    const index = Math.round(range.from + px * (range.to - range.from - 1));
    const of = (one) => {
      const { first, step, count: read } = one.along;
      const place = Math.max(0, Math.round((index - first) / step));
      // Another array may be shorter. If only some elements were read, the last one stands for those after it.
      if (index >= first + read * step) return "–";
      if (one.raw) return brief(one.values[Math.min(read - 1, place)]);
      const column = Math.min(one.columns - 1, Math.floor(((place + 0.5) * one.columns) / read));
      return `${brief(one.values[column])} … ${brief(one.values[one.columns + column])}`;
    };
    const units = this.of.units && !/^1?$/.test(this.of.units) ? ` ${this.of.units}` : "";
    this.show(px, py, [h("b", {}, `${of(line)}${units}`), beside ? `\n${of(beside)}` : "", `\n${along.label || "index"} ${along.kind === "none" ? index : `${along.name(index)} [${index}]`}`]);
  }

  window() {
    return rangeOf(this.choices, this.axis, this.of.shape[this.axis]);
  }

  set({ from, to }) {
    const length = this.of.shape[this.axis];
    const kept = this.kept(from, to, length);
    this.choices.range = kept.from <= 0 && kept.to >= length ? {} : { [this.axis]: kept };
    this.changed();
  }

  zoom(times, px) {
    const { from, to } = this.window();
    const middle = from + px * (to - from);
    this.set({ from: middle - (middle - from) * times, to: middle + (to - middle) * times });
  }

  pan({ from, to }, dx) {
    const far = Math.round(dx * (to - from));
    this.set({ from: from + far, to: to + far });
  }

  frame(x0, _, x1) {
    const { from, to } = this.window();
    this.set({ from: from + x0 * (to - from), to: from + x1 * (to - from) });
  }
}
