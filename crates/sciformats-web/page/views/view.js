// The base of all views: controls, sliders for dimensions, the pointer, and what is needed to draw and to save.

import { DARK_LINES, LINES } from "../colour.js";
import { count, debounce, download, h } from "../dom.js";
import { Along, CanvasPainter, SvgPainter } from "../plot.js";
import { NUMBERS, subject } from "./subject.js";

/** The base of all views: controls, sliders for dimensions, and what is needed to draw. */
export class View {
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
export const every = (step) => (step > 1 ? [`every ${step}th element`] : []);

/** The range of a dimension that is shown. */
export const rangeOf = (choices, axis, length) => choices.range[axis] ?? { from: 0, to: length };
