// How often values occur.

import { roomy } from "../colour.js";
import { brief, count, h } from "../dom.js";
import { frame, ticks } from "../plot.js";
import { View } from "./view.js";

/** Elements of one request for statistics. */
const PART = 4 << 20;

export class Histogram extends View {
  name = "Histogram";

  constructor(host, context) {
    super(host, context);
    const { choices } = this;
    choices.bins ??= "auto";
    choices.scaleCount ??= "linear";
    this.aspects();
    this.select("Bars", ["auto", "20", "50", "100", "200"], choices.bins, (bins) => {
      choices.bins = bins;
      this.changed();
    });
    this.select("Counts", ["linear", "log"], choices.scaleCount, (scale) => {
      choices.scaleCount = scale;
      this.save();
      this.draw();
    });
    this.select("Of", ["everything", "what the sliders select"], choices.whole === false ? "what the sliders select" : "everything", (which) => {
      choices.whole = which === "everything";
      this.sliders(2);
      this.dims.hidden = choices.whole !== false;
      this.changed();
    });
    this.exports("PNG", "SVG");
    this.numbers = h("div", { class: "numbers" });
    this.sliders(2);
    this.dims.hidden = choices.whole !== false;
    this.host.append(this.numbers);
    this.canvas();
    this.reload();
  }

  /** The slices that are read one after another, each of a size that fits. */
  slices() {
    const { of, choices } = this;
    const shape = choices.whole === false ? this.parts().map((part, axis) => (typeof part === "number" ? 1 : of.shape[axis])) : of.shape;
    const base = choices.whole === false ? this.parts().map((part) => (typeof part === "number" ? String(part) : ":")) : shape.map(() => ":");
    const all = shape.reduce((product, length) => product * length, 1);
    const axis = shape.findIndex((length) => length > 1);
    if (all <= PART || axis < 0) return { slices: [base.join(",")], all, read: all };
    const row = all / shape[axis];
    const rows = Math.max(1, Math.floor(PART / row));
    const most = 64;
    const parts = Math.ceil(shape[axis] / rows);
    const skip = Math.max(1, Math.ceil(parts / most));
    const slices = [];
    for (let part = 0; part < parts; part += skip) {
      const text = [...base];
      text[axis] = `${part * rows}:${Math.min(shape[axis], (part + 1) * rows)}`;
      if (row > PART * 8) throw new Error("a row of this array is too large for statistics in the browser; use sciformats stats");
      slices.push(text.join(","));
    }
    return { slices, all, read: Math.min(all, slices.length * rows * row) };
  }

  async load() {
    const signal = this.fresh();
    const { of, choices, file } = this;
    this.busy(true);
    const { slices, all, read } = this.slices();
    const total = { count: 0, infinite: 0, all: 0, low: Infinity, high: -Infinity, mean: 0, squares: 0, sum: 0 };
    const ask = (slice, more) => file.statistics(of.path, { view: "numbers", slice, field: choices.field, part: choices.part, signal, ...more });
    for (const slice of slices) {
      const part = await ask(slice, {});
      total.all += part.all;
      total.infinite += part.infinite;
      if (part.count === 0) continue;
      // The means and squares of two parts are those of their union. What is too large for a number is null.
      const sum = total.count + part.count;
      const apart = part.mean - total.mean;
      total.squares += (part.squares ?? Infinity) + (total.count && apart * apart * ((total.count * part.count) / sum));
      total.mean += apart * (part.count / sum);
      total.count = sum;
      total.sum += part.sum ?? Infinity;
      total.low = Math.min(total.low, part.low);
      total.high = Math.max(total.high, part.high);
    }
    let { low, high } = total;
    if (total.count === 0) [low, high] = [0, 1];
    const whole = /^u?int|bool|enum/.test(of.type ?? "") && high - low < 200;
    let bins = choices.bins === "auto" ? Math.max(10, Math.min(80, Math.round(2 * Math.cbrt(total.count)))) : Number(choices.bins);
    if (whole && choices.bins === "auto") {
      bins = high - low + 1;
      [low, high] = [low - 0.5, high + 0.5];
    } else if (low === high) {
      [low, high] = [low - 0.5, high + 0.5];
    }
    // Of large numbers, the next ones are further away.
    if (low === high) [low, high] = roomy(low, high, 0.05);
    const counts = new Float64Array(bins);
    if (total.count > 0) {
      for (const slice of slices) (await ask(slice, { bins, low, high })).counts?.forEach((count, at) => (counts[at] += count));
    }
    this.data = { counts, low, high, total };
    const deviation = Math.sqrt(total.squares / total.count);
    const told = (number) => (Number.isFinite(number) ? brief(number) : "too large");
    const shown = [["Values", count(total.count)], ["Missing", count(total.all - total.count - total.infinite)], ["Lowest", brief(total.low)], ["Highest", brief(total.high)], ["Mean", told(total.mean)], ["Deviation", told(deviation)], ["Sum", told(total.sum)]];
    if (total.infinite) shown.splice(2, 0, ["Infinite", count(total.infinite)]);
    if (read < all) shown.push(["Read", `${Math.round((100 * read) / all)} %`]);
    this.numbers.replaceChildren(...shown.map(([key, text]) => h("div", {}, h("span", {}, key), h("b", {}, total.count ? text : /^(Values|Missing|Infinite)$/.test(key) ? text : "–"))));
    this.busy(false);
    this.cost();
    this.draw();
  }

  picture(painter, width, height) {
    const { data, choices, colours } = this;
    const { counts, low, high } = data;
    const most = Math.max(1, ...counts);
    const log = choices.scaleCount === "log";
    const to01 = (value) => (log ? Math.log10(1 + value) / Math.log10(1 + most) : value / most) * 0.97;
    const units = this.of.units && !/^1?$/.test(this.of.units) ? ` (${this.of.units})` : "";
    const marks = (many) => (log ? [0, ...Array.from({ length: 12 }, (_, power) => 10 ** power)].filter((value) => value <= most) : ticks(0, most, many));
    const area = frame(painter, {
      width, height, colours,
      x: { title: `${choices.field ?? this.of.title}${units}`, ticks: (many) => ticks(low, high, many).map((value) => ({ at: (value - low) / (high - low), text: brief(value) })) },
      y: { title: "count", ticks: (many) => marks(many).map((value) => ({ at: to01(value), text: count(value) })) },
    });
    this.area = area;
    const bar = area.width / counts.length;
    counts.forEach((value, at) => {
      const tall = area.height * to01(value);
      painter.rect(area.x + at * bar + (bar > 4 ? 0.5 : 0), area.y + area.height - tall, Math.max(0.5, bar - (bar > 4 ? 1 : 0)), tall, colours.lines[0]);
    });
  }

  hover(px, py) {
    if (!this.data || !(px >= 0 && px < 1 && py >= 0 && py <= 1)) {
      this.tip.hidden = true;
      return;
    }
    const { counts, low, high } = this.data;
    const at = Math.floor(px * counts.length);
    const edge = (i) => brief(low + ((high - low) * i) / counts.length);
    this.show(px, py, [h("b", {}, count(counts[at])), `\n${edge(at)} … ${edge(at + 1)}`]);
  }
}
