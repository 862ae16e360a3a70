// Points of two columns, or of values over their coordinates.

import { roomy, scaleOf } from "../colour.js";
import { brief, count, h } from "../dom.js";
import { frame, ticksOf } from "../plot.js";
import { NUMBERS, subject } from "./subject.js";
import { View, every } from "./view.js";

/** Points of a scatter plot. */
const POINTS = 200_000;

/** Every `step`th element of an array that has `length` of them along its only dimension, or along the only one that is longer than 1. */
export async function thinned(file, { path, shape }, { length, step, ...request }) {
  const axis = shape?.indexOf(length) ?? -1;
  const alike = axis >= 0 && shape.every((other, at) => at === axis || other === 1);
  const slice = alike && shape.map((_, at) => (at === axis && step > 1 ? `::${step}` : ":")).join(",");
  const values = alike ? (await file.read(path, { ...request, slice })).values : [];
  if (values.length !== Math.ceil(length / step)) throw new Error(`${path} has another shape than an array of ${count(length)} elements`);
  return values;
}

/** The coordinates of every `step`th place along a dimension, or the places themselves if the coordinates are no numbers. */
export async function coordinates(file, path, along, { step, count, signal }) {
  if (along.kind === "numbers" || (along.kind === "times" && along.gregorian)) {
    // Of a long dimension not every coordinate is known, and those between are not those of the points.
    const places = along.step === 1 && step === 1 ? along.places : (await file.along(path, 0, { first: 0, step, count, signal })).values;
    if (places?.length === count) return places;
  }
  return Float64Array.from({ length: count }, (_, i) => i * step);
}

export class Scatter extends View {
  name = "Scatter";

  constructor(host, context) {
    super(host, context);
    const { choices, of } = this;
    if (of.sort === "compound") {
      const names = of.fields.filter(({ sort, type }) => sort ? NUMBERS.has(sort) : !/text|string|category|time/.test(type)).map(({ name }) => name);
      const first = [...this.floats, ...names];
      choices.fieldX = names.includes(choices.fieldX) ? choices.fieldX : first[0];
      choices.fieldY = names.includes(choices.fieldY) ? choices.fieldY : first.find((name) => name !== choices.fieldX) ?? first[0];
      for (const [label, key] of [["Across", "fieldX"], ["Up", "fieldY"]]) {
        this.select(label, names, choices[key], (name) => {
          choices[key] = name;
          this.changed();
        });
      }
    } else {
      const input = h("input", { type: "text", placeholder: "coordinates, or /path", value: choices.across ?? "", "aria-label": "The array across", spellcheck: false, onchange: () => {
        choices.across = input.value.trim() || undefined;
        this.changed();
      } });
      this.tools.append(h("label", {}, "Across", input));
    }
    this.exports("PNG", "SVG");
    this.rank = 1;
    this.canvas();
    this.reload();
  }

  async load() {
    const signal = this.fresh();
    const { of, choices, file } = this;
    const length = of.shape[0];
    const step = Math.max(1, Math.ceil(length / POINTS));
    this.busy(true);
    const read = (of, field) => thinned(file, of, { view: "numbers", as: "float64", length, step, field, part: choices.part, signal });
    const compound = of.sort === "compound";
    const y = await read(of, compound ? choices.fieldY : undefined);
    let x;
    let title;
    if (compound) {
      x = await read(of, choices.fieldX);
      title = choices.fieldX;
    } else if (choices.across) {
      x = await read(subject(await file.describe(choices.across, { signal })) ?? { path: choices.across });
      title = choices.across;
    } else {
      const along = await this.along(0);
      x = await coordinates(file, of.path, along, { step, count: y.length, signal });
      title = along.title();
    }
    this.data = { x, y, title, step };
    this.busy(false);
    this.cost();
    this.draw();
  }

  picture(painter, width, height) {
    const { data, choices, colours, of } = this;
    const scale = (values) => {
      let [low, high] = [Infinity, -Infinity];
      for (const value of values) {
        if (!Number.isFinite(value)) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
      return scaleOf("linear", ...roomy(low, high, 0.04));
    };
    const [x, y] = [scale(data.x), scale(data.y)];
    const marks = (of) => (most) => ticksOf(of, most).map((value) => ({ at: of.to01(value), text: brief(value) }));
    const area = frame(painter, { width, height, colours, x: { title: [data.title, ...every(data.step)].join(" · "), ticks: marks(x) }, y: { title: choices.fieldY ?? of.title, ticks: marks(y) } });
    this.area = area;
    this.scales = { x, y };
    const points = [];
    for (let i = 0; i < data.x.length; i += 1) {
      const [a, b] = [x.to01(data.x[i]), y.to01(data.y[i])];
      if (Number.isFinite(a) && Number.isFinite(b)) points.push(area.x + a * area.width, area.y + (1 - b) * area.height);
    }
    const many = points.length / 2;
    painter.within(area.x, area.y, area.width, area.height, () => painter.dots(points, many > 20_000 ? 0.9 : many > 2000 ? 1.4 : 2.6, `${colours.lines[0]}${many > 5000 ? "66" : "aa"}`));
  }

  hover(px, py) {
    if (!this.scales || !(px >= 0 && px <= 1 && py >= 0 && py <= 1)) {
      this.tip.hidden = true;
      return;
    }
    const { x, y } = this.scales;
    this.show(px, py, [`${this.data.title} ${brief(x.from01(px))}\n${this.choices.fieldY ?? this.of.title} ${brief(y.from01(1 - py))}`]);
  }
}
