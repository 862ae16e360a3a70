// A picture of three or four channels.

import { percentiles } from "../colour.js";
import { brief, h } from "../dom.js";
import { View } from "./view.js";

export class Rgb extends View {
  name = "RGB";

  constructor(host, context) {
    super(host, context);
    const { of, choices } = this;
    const rank = of.shape.length;
    const candidates = of.shape.map((length, axis) => axis).filter((axis) => of.shape[axis] === 3 || of.shape[axis] === 4);
    choices.channel = candidates.includes(choices.channel) ? choices.channel : candidates.at(-1);
    choices.domain ??= of.type === "uint8" ? "0 … 255" : "100";
    const rest = () => {
      const others = of.shape.map((_, axis) => axis).filter((axis) => axis !== choices.channel);
      choices.axes = others.slice(-2);
    };
    rest();
    if (candidates.length > 1) {
      this.select("Channels", candidates.map(String), String(choices.channel), (axis) => {
        choices.channel = Number(axis);
        rest();
        this.changed();
      }, Object.fromEntries(candidates.map((axis) => [axis, `dim ${axis}`])));
    }
    this.select("Domain", ["0 … 255", "100", "99", "95"], choices.domain, (domain) => {
      choices.domain = domain;
      this.changed();
    }, { 100: "all values", 99: "99 %", 95: "95 %" });
    this.exports("PNG", "npy");
    this.rank = 2;
    if (rank > 3) this.sliders(2);
    this.canvas();
    this.reload();
  }

  parts() {
    return super.parts().map((part, axis) => (axis === this.choices.channel ? {} : part));
  }

  async load() {
    const signal = this.fresh();
    const { of, choices, file } = this;
    const [y, x] = choices.axes.slice(-2);
    this.busy(true);
    const { width, height } = this.plot.getBoundingClientRect();
    const times = Math.min(2, globalThis.devicePixelRatio || 1);
    const grids = [];
    for (let channel = 0; channel < 3; channel += 1) {
      const fixed = choices.fixed.map((index, axis) => (axis === choices.channel ? channel : index));
      grids.push(await file.grid(of.path, { view: "numbers", y, x, fixed, rows: Math.round(height * times), columns: Math.round(width * times), signal }));
    }
    const all = grids.map(({ values }) => values);
    let ends = [0, 255];
    if (choices.domain !== "0 … 255") {
      const spans = all.map((values) => percentiles(values, Number(choices.domain) / 100));
      ends = [Math.min(...spans.map(([low]) => low)), Math.max(...spans.map(([, high]) => high))];
    }
    const [{ rows, columns }] = grids;
    const image = new ImageData(columns, rows);
    const scale = 255 / (ends[1] - ends[0] || 1);
    for (let i = 0; i < rows * columns; i += 1) {
      for (let c = 0; c < 3; c += 1) image.data[4 * i + c] = (all[c][i] - ends[0]) * scale;
      image.data[4 * i + 3] = Number.isFinite(all[0][i]) ? 255 : 0;
    }
    const canvas = h("canvas", { width: columns, height: rows });
    canvas.getContext("2d").putImageData(image, 0, 0);
    this.data = { canvas, rows, columns, all, y, x };
    this.busy(false);
    this.cost();
    this.draw();
  }

  picture(painter, width, height) {
    const { canvas, rows, columns, y, x } = this.data;
    const [high, wide] = [this.of.shape[y], this.of.shape[x]];
    const times = Math.min((width - 16) / wide, (height - 16) / high);
    const area = { x: (width - wide * times) / 2, y: (height - high * times) / 2, width: wide * times, height: high * times };
    this.area = area;
    painter.image(canvas, [0, 0, columns, rows], [area.x, area.y, area.width, area.height], times < 1);
  }

  hover(px, py) {
    if (!this.data || !(px >= 0 && px < 1 && py >= 0 && py < 1)) {
      this.tip.hidden = true;
      return;
    }
    const { rows, columns, all, y, x } = this.data;
    const at = Math.floor(py * rows) * columns + Math.floor(px * columns);
    this.show(px, py, [h("b", {}, all.map((values) => brief(values[at])).join(", ")), `\nrow ${Math.floor(py * this.of.shape[y])}, column ${Math.floor(px * this.of.shape[x])}`]);
  }
}
