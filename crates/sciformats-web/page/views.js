// The views of an object: table, line, heat map, and the others. Each view has controls, reads what it shows, and draws it.

import { DARK_LINES, LINES, MAPS, SCALES, lowestPositive, paint, percentiles, roomy, scaleOf, table as colourTable } from "./colour.js";
import { brief, count, debounce, download, h, sides, size } from "./dom.js";
import { Along, CanvasPainter, SvgPainter, apart, frame, ticks, ticksOf } from "./plot.js";
import { Table } from "./table.js";

/** Elements of one request for statistics. */
const PART = 4 << 20;

/** Points of a scatter plot. */
const POINTS = 200_000;

const NUMBERS = new Set(["number", "bool", "enum", "complex"]);

/** The array that is shown, and how: its shape, dimensions, sort and fields. */
export function subject(info) {
  const { array, meaning } = info;
  const shown = meaning ?? array;
  if (!shown) return null;
  const shape = shown.shape ?? [];
  return {
    path: info.path, shape, null: shown.shape === null, sort: shown.sort ?? "compound", fields: shown.fields ?? null, type: shown.type ?? array?.type,
    dimensions: meaning?.dimensions ?? shape.map((length) => ({ name: null, length })), units: meaning?.units ?? null,
    title: meaning?.long_name ?? meaning?.standard_name ?? info.path.split("/").pop(), meaning, array, decoded: meaning?.decoded,
  };
}

/** The names of the views that an object has, the best one first. */
export function viewsOf(info) {
  const of = subject(info);
  if (info.kind === "value") return ["Value"];
  if (!of || of.null) return [];
  const rank = of.shape.length;
  const some = of.shape.every((length) => length > 0);
  const fields = of.fields?.some(({ sort, type }) => sort ? NUMBERS.has(sort) : !/text|string|category|time/.test(type));
  if (rank === 0) return of.sort === "compound" ? ["Table"] : ["Value"];
  if (!some) return ["Table"];
  if (of.sort === "compound") return rank === 1 && fields ? ["Table", "Line", "Scatter", "Histogram"] : ["Table"];
  if (!NUMBERS.has(of.sort)) return ["Table"];
  const colour = rank >= 3 && of.shape.some((length, axis) => (length === 3 || length === 4) && (axis === rank - 1 || axis === rank - 3 || axis === 0));
  const line = of.meaning?.kind === "sparse" ? [] : ["Line"];
  if (rank === 1) return ["Line", "Table", "Scatter", "Histogram"];
  const flat = of.shape.slice(-2).some((length) => length === 1);
  return [...(colour ? ["RGB"] : []), ...(flat ? ["Line", "Heat map"] : ["Heat map", ...line]), "Table", "Histogram"];
}

/** The choices of a view, as the link keeps them. */
export function defaults(of) {
  const rank = of.shape.length;
  return { axes: rank === 0 ? [] : rank === 1 ? [0] : [rank - 2, rank - 1], fixed: of.shape.map(() => 0), range: {} };
}

/** The base of all views: controls, sliders for dimensions, and what is needed to draw. */
class View {
  constructor(host, context) {
    Object.assign(this, context, { host });
    this.stop = new AbortController();
    this.of = subject(context.info);
    this.choices = context.choices;
    this.alongs = new Map();
    this.tools = h("div", { class: "tools" });
    this.dims = h("div", { class: "dims" });
    host.replaceChildren(this.tools, this.dims);
    this.reload = debounce(() => this.load().catch((error) => this.fail(error)), 30);
  }

  close() {
    this.stop.abort();
    this.loading?.abort();
    this.observer?.disconnect();
  }

  fail(error) {
    if (error.name === "AbortError") return;
    this.busy(false);
    this.message?.remove();
    this.message = h("p", { class: "message wrong", role: "alert" }, error.message);
    this.host.append(this.message);
  }

  busy(on) {
    this.host.classList.toggle("busy", on);
    if (on) {
      this.message?.remove();
      this.message = null;
    }
  }

  /** A signal that ends when the next reading begins. */
  fresh() {
    this.loading?.abort();
    this.loading = new AbortController();
    this.stop.signal.addEventListener("abort", () => this.loading.abort(), { once: true });
    return this.loading.signal;
  }

  get request() {
    const { choices } = this;
    return { view: "numbers", fixed: choices.fixed, field: choices.field, part: choices.part };
  }

  select(label, options, value, change, names = {}) {
    const element = h("select", { onchange: () => change(element.value) }, options.map((option) => h("option", { value: option, selected: option === value }, names[option] ?? option)));
    this.tools.append(h("label", {}, label, element));
    return element;
  }

  check(label, value, change) {
    const element = h("input", { type: "checkbox", checked: value, onchange: () => change(element.checked) });
    this.tools.append(h("label", {}, element, label));
    return element;
  }

  /** The fields that measure something, rather than count or name it. */
  get floats() {
    return (this.of.fields ?? []).filter(({ type }) => /^float\d+$/.test(type ?? "")).map(({ name }) => name);
  }

  /** Choices of a field of compounds, and of a part of complex numbers. */
  aspects() {
    const { of, choices } = this;
    if (of.sort === "compound") {
      const names = of.fields.filter(({ sort, type }) => sort ? NUMBERS.has(sort) : !/text|string|category|time/.test(type)).map(({ name }) => name);
      choices.field = names.includes(choices.field) ? choices.field : this.floats[0] ?? names[0];
      this.select("Field", names, choices.field, (name) => {
        choices.field = name;
        this.changed();
      });
    }
    if (of.sort === "complex") {
      choices.part ??= "abs";
      this.select("Part", ["abs", "phase", "re", "im"], choices.part, (part) => {
        choices.part = part;
        this.changed();
      }, { abs: "magnitude", re: "real", im: "imaginary" });
    }
  }

  changed() {
    this.save();
    this.reload();
  }

  exports(...names) {
    const set = h("span", { class: "set" });
    for (const name of names) set.append(h("button", { type: "button", onclick: () => this.export(name).catch((error) => this.fail(error)) }, name));
    this.tools.append(set);
  }

  get fileName() {
    return `${this.of.path.split("/").filter(Boolean).join("-") || this.file.name.replace(/\.\w+$/, "")}`;
  }

  async export(kind) {
    const { file, of } = this;
    if (kind === "CSV") return download(`${this.fileName}.csv`, "text/csv", await file.csv(of.path, { view: "words", slice: this.slice() }));
    if (kind === "npy") return download(`${this.fileName}.npy`, "application/octet-stream", await file.npy(of.path, { view: "values", slice: this.slice() }));
    if (kind === "SVG") return download(`${this.fileName}.svg`, "image/svg+xml", this.svg());
    const canvas = this.png();
    const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
    return download(`${this.fileName}.png`, "image/png", blob);
  }

  /** What is selected, as the program spells it. */
  slice() {
    return this.parts().map((part) => (typeof part === "number" ? String(part) : part.from === undefined ? ":" : `${part.from}:${part.to}`)).join(",");
  }

  parts() {
    const { of, choices } = this;
    return of.shape.map((_, axis) => {
      const shown = choices.axes.slice(-this.rank).includes(axis);
      return shown ? choices.range[axis] ?? {} : choices.fixed[axis];
    });
  }

  /** Which dimensions are shown, and sliders for the others. */
  sliders(rank) {
    this.rank = Math.min(rank, this.of.shape.length);
    const { of, choices } = this;
    const shown = choices.axes.slice(-this.rank);
    const names = this.rank === 2 ? ["down", "across"] : ["along"];
    this.dims.replaceChildren();
    if (of.shape.length <= 1) return;
    of.shape.forEach((length, axis) => {
      const dimension = of.dimensions[axis] ?? {};
      const place = shown.indexOf(axis);
      const box = h("div", { class: "dim" }, h("b", {}, dimension.name ?? `dim ${axis}`), h("i", {}, count(length)));
      if (place >= 0) {
        const others = of.shape.map((_, other) => other);
        const element = h("select", { "aria-label": `What is ${names[place]}`, onchange: () => this.role(axis, Number(element.value)) },
          others.map((other) => h("option", { value: other, selected: other === axis }, other === axis ? names[place] : `swap with ${of.dimensions[other]?.name ?? `dim ${other}`}`)));
        box.append(element);
      } else {
        const label = dimension.name ?? `dimension ${axis}`;
        const slider = h("input", { type: "range", min: 0, max: length - 1, value: choices.fixed[axis], "aria-label": label });
        const number = h("input", { type: "number", min: 0, max: length - 1, value: choices.fixed[axis], "aria-label": `Index of ${label}` });
        const text = h("output", {}, "");
        const set = (value) => {
          const index = Math.max(0, Math.min(length - 1, Math.round(Number(value) || 0)));
          choices.fixed[axis] = index;
          slider.value = index;
          number.value = index;
          this.along(axis).then((along) => (text.textContent = along.kind === "none" ? "" : along.name(index)), () => {});
          slider.setAttribute("aria-valuetext", text.textContent || String(index));
        };
        slider.addEventListener("input", () => {
          set(slider.value);
          this.changed();
        });
        number.addEventListener("change", () => {
          set(number.value);
          this.changed();
        });
        set(choices.fixed[axis]);
        box.append(slider, number, text);
      }
      this.dims.append(box);
    });
  }

  role(axis, other) {
    const { choices } = this;
    const axes = [...choices.axes];
    const [a, b] = [axes.indexOf(axis), axes.indexOf(other)];
    if (b >= 0) [axes[a], axes[b]] = [axes[b], axes[a]];
    else axes[a] = other;
    choices.axes = axes;
    choices.range = {};
    this.sliders(this.rank);
    this.changed();
  }

  /** The coordinates along a dimension, at most some thousands of them. */
  along(axis) {
    if (!this.alongs.has(axis)) {
      const { length, name, coordinates } = this.of.dimensions[axis] ?? { length: this.of.shape[axis] };
      const none = { length, label: name ?? (this.of.shape.length > 1 ? `dim ${axis}` : "index") };
      const read = async () => {
        if (!coordinates && this.of.meaning?.kind !== "variable") return new Along(none);
        const step = Math.max(1, Math.ceil(length / 8192));
        const found = await this.file.along(this.of.path, axis, { first: 0, step, count: 8192 });
        if (found.kind === "none") return new Along(none);
        return new Along({ ...found, length, step, places: found.values, label: found.label ?? name ?? "" });
      };
      this.alongs.set(axis, read().catch(() => new Along(none)));
    }
    return this.alongs.get(axis);
  }

  /** A canvas that fills the rest, and its listeners. */
  canvas() {
    this.tip = h("div", { class: "tip", hidden: true });
    this.sheet = h("canvas", {});
    this.plot = h("div", { class: "plot", tabindex: 0, role: "img", "aria-label": `${this.name} of ${this.of.title}` }, this.sheet, this.tip);
    this.host.append(this.plot);
    this.observer = new ResizeObserver(debounce(() => {
      this.draw();
      if (this.data) this.reload();
    }, 60));
    this.observer.observe(this.plot);
    this.pointer();
  }

  get colours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    const dark = document.documentElement.dataset.theme === "dark";
    return { ink: of("ink"), soft: of("soft"), faint: of("faint"), line: of("line"), paper: of("paper"), sheet: of("sheet"), accent: of("accent"), sans: of("sans"), lines: dark ? DARK_LINES : LINES };
  }

  measure(text, size = 12) {
    const context = this.sheet.getContext("2d");
    context.font = `400 ${size}px ${this.colours.sans}`;
    return context.measureText(text).width;
  }

  draw() {
    if (!this.data) return;
    const { width, height } = this.plot.getBoundingClientRect();
    if (width < 20 || height < 20) return;
    const dense = Math.min(3, globalThis.devicePixelRatio || 1);
    this.sheet.width = Math.round(width * dense);
    this.sheet.height = Math.round(height * dense);
    const context = this.sheet.getContext("2d");
    context.setTransform(dense, 0, 0, dense, 0, 0);
    context.clearRect(0, 0, width, height);
    this.picture(new CanvasPainter(context, this.colours.sans), width, height);
    // Tests wait for this.
    this.plot.dataset.drawn = String(Number(this.plot.dataset.drawn ?? 0) + 1);
  }

  png() {
    const { width, height } = this.plot.getBoundingClientRect();
    const canvas = h("canvas", { width: Math.round(width * 2), height: Math.round(height * 2) });
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    const painter = new CanvasPainter(context, this.colours.sans);
    painter.rect(0, 0, width, height, this.colours.sheet);
    this.picture(painter, width, height);
    return canvas;
  }

  svg() {
    const { width, height } = this.plot.getBoundingClientRect();
    const painter = new SvgPainter(Math.round(width), Math.round(height), this.colours.sans, (text, size) => this.measure(text, size));
    painter.rect(0, 0, width, height, this.colours.sheet);
    this.picture(painter, width, height);
    return painter.finish();
  }

  /** Zoom by wheel and pinch, pan by drag, a box with shift, back with a double click, and keys for all of them. */
  pointer() {
    const { plot } = this;
    const places = new Map();
    let from = null;
    plot.addEventListener("wheel", (event) => {
      if (!this.area || !this.zoomable) return;
      event.preventDefault();
      this.zoom(1.0015 ** event.deltaY, ...this.part(event), event.shiftKey ? "x" : event.altKey ? "y" : "");
    }, { passive: false });
    plot.addEventListener("pointerdown", (event) => {
      if (event.button > 0 || !this.zoomable) return;
      plot.setPointerCapture(event.pointerId);
      places.set(event.pointerId, this.part(event));
      from = { part: this.part(event), box: event.shiftKey, window: this.window() };
      plot.focus({ preventScroll: true });
    });
    plot.addEventListener("pointermove", (event) => {
      const part = this.part(event);
      if (!places.has(event.pointerId)) return this.hover(...part);
      if (places.size === 2) {
        const before = [...places.values()];
        places.set(event.pointerId, part);
        const after = [...places.values()];
        const apart = ([a, b]) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1e-3;
        this.zoom(apart(before) / apart(after), (after[0][0] + after[1][0]) / 2, (after[0][1] + after[1][1]) / 2, "");
        return undefined;
      }
      places.set(event.pointerId, part);
      if (from?.box) {
        this.box = [...from.part, ...part];
        this.draw();
      } else if (from) {
        this.pan(from.window, from.part[0] - part[0], from.part[1] - part[1]);
      }
      return undefined;
    });
    const up = (event) => {
      places.delete(event.pointerId);
      if (from?.box && this.box) {
        const [x0, y0, x1, y1] = this.box;
        this.box = null;
        if (Math.abs(x1 - x0) > 0.01 || Math.abs(y1 - y0) > 0.01) this.frame(Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1));
        else this.draw();
      }
      from = null;
    };
    plot.addEventListener("pointerup", up);
    plot.addEventListener("pointercancel", up);
    plot.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
      this.say("");
    });
    plot.addEventListener("dblclick", () => this.reset());
    plot.addEventListener("keydown", (event) => {
      const pans = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
      if (!this.zoomable || event.ctrlKey || event.metaKey) return;
      if (pans[event.key]) this.pan(this.window(), ...pans[event.key]);
      else if (event.key === "+" || event.key === "=") this.zoom(0.7, 0.5, 0.5, "");
      else if (event.key === "-") this.zoom(1 / 0.7, 0.5, 0.5, "");
      else if (event.key === "0") this.reset();
      else return;
      event.preventDefault();
    });
  }

  /** Where a pointer is in the area, from 0 to 1. */
  part(event) {
    const { left, top } = this.plot.getBoundingClientRect();
    const area = this.area ?? { x: 0, y: 0, width: 1, height: 1 };
    return [(event.clientX - left - area.x) / area.width, (event.clientY - top - area.y) / area.height];
  }

  show(x, y, text) {
    const { area, plot, tip } = this;
    tip.hidden = false;
    tip.replaceChildren(...text);
    const place = { x: area.x + x * area.width, y: area.y + y * area.height };
    const right = place.x > plot.clientWidth * 0.6;
    tip.style.left = right ? "auto" : `${place.x + 14}px`;
    tip.style.right = right ? `${plot.clientWidth - place.x + 14}px` : "auto";
    tip.style.top = `${Math.min(place.y + 14, plot.clientHeight - tip.offsetHeight - 6)}px`;
    this.say(tip.textContent.replaceAll("\n", "  "));
  }

  /** A range of indices that stays inside a dimension. */
  kept(from, to, length) {
    const span = Math.max(Math.min(to - from, length), Math.min(4, length));
    const start = Math.max(0, Math.min(length - span, from));
    return { from: Math.floor(start), to: Math.min(length, Math.ceil(start + span)) };
  }

  reset() {
    this.choices.range = {};
    this.changed();
  }
}

/** Says that only some elements were read. */
const every = (step) => (step > 1 ? [`every ${step}th element`] : []);

/** The range of a dimension that is shown. */
const rangeOf = (choices, axis, length) => choices.range[axis] ?? { from: 0, to: length };

class HeatMap extends View {
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

class Line extends View {
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

class Scatter extends View {
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

class Rgb extends View {
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

class Histogram extends View {
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

class Cells extends View {
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

class Value extends View {
  name = "Value";

  constructor(host, context) {
    super(host, context);
    this.load().catch((error) => this.fail(error));
  }

  parts() {
    return [];
  }

  async load() {
    const { file, info } = this;
    const text = info.text ?? (await file.cells(info.path, { view: "words", most: 1 << 20 })).cells[0] ?? "";
    const long = text.length > 80 || text.includes("\n");
    const units = info.meaning?.units;
    this.host.replaceChildren(long ? h("pre", { class: "text" }, text) : h("p", { class: "value" }, text, units ? h("small", {}, units) : null));
    this.cost();
  }
}

export const VIEWS = { Table: Cells, Line, "Heat map": HeatMap, Scatter, RGB: Rgb, Histogram, Value };

export { sides, size };
