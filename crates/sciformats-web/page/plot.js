// Drawing: one description of a picture, painted on a canvas or as SVG.

import { brief, count } from "./dom.js";

/** Paints on a canvas. */
export class CanvasPainter {
  constructor(context, sans) {
    this.context = context;
    this.sans = sans;
  }

  rect(x, y, width, height, colour) {
    this.context.fillStyle = colour;
    this.context.fillRect(x, y, width, height);
  }

  line(points, colour, width = 1) {
    const { context } = this;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.lineJoin = "round";
    context.beginPath();
    let down = false;
    for (let i = 0; i < points.length; i += 2) {
      const [x, y] = [points[i], points[i + 1]];
      if (!Number.isFinite(y) || !Number.isFinite(x)) {
        down = false;
      } else if (down) {
        context.lineTo(x, y);
      } else {
        context.moveTo(x, y);
        down = true;
      }
    }
    context.stroke();
  }

  area(points, colour) {
    const { context } = this;
    context.fillStyle = colour;
    context.beginPath();
    for (let i = 0; i < points.length; i += 2) context.lineTo(points[i], points[i + 1]);
    context.closePath();
    context.fill();
  }

  dots(points, radius, colour) {
    const { context } = this;
    context.fillStyle = colour;
    context.beginPath();
    for (let i = 0; i < points.length; i += 2) {
      context.moveTo(points[i] + radius, points[i + 1]);
      context.arc(points[i], points[i + 1], radius, 0, 7);
    }
    context.fill();
  }

  text(text, x, y, { colour, align = "left", baseline = "middle", size = 12, weight = 400, turned = false } = {}) {
    const { context } = this;
    context.save();
    context.font = `${weight} ${size}px ${this.sans}`;
    context.fillStyle = colour;
    context.textAlign = align;
    context.textBaseline = baseline;
    context.translate(x, y);
    if (turned) context.rotate(-Math.PI / 2);
    context.fillText(text, 0, 0);
    context.restore();
  }

  width(text, size = 12) {
    this.context.font = `400 ${size}px ${this.sans}`;
    return this.context.measureText(text).width;
  }

  image(source, from, to, smooth = false) {
    this.context.imageSmoothingEnabled = smooth;
    this.context.drawImage(source, ...from, ...to);
  }

  within(x, y, width, height, work) {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    work();
    this.context.restore();
  }
}

const escaped = (text) => String(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, "\ufffd");
const round = (number) => Math.round(number * 100) / 100;

/** Paints SVG. */
export class SvgPainter {
  parts = [];
  clips = 0;

  constructor(width, height, sans, measure) {
    Object.assign(this, { w: width, h: height, sans, measure });
  }

  rect(x, y, width, height, colour) {
    this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${colour}"/>`);
  }

  line(points, colour, width = 1) {
    let path = "";
    let down = false;
    for (let i = 0; i < points.length; i += 2) {
      if (!Number.isFinite(points[i]) || !Number.isFinite(points[i + 1])) {
        down = false;
        continue;
      }
      path += `${down ? "L" : "M"}${round(points[i])} ${round(points[i + 1])}`;
      down = true;
    }
    this.parts.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="${width}" stroke-linejoin="round"/>`);
  }

  area(points, colour) {
    let path = "";
    for (let i = 0; i < points.length; i += 2) path += `${i ? "L" : "M"}${round(points[i])} ${round(points[i + 1])}`;
    this.parts.push(`<path d="${path}Z" fill="${colour}"/>`);
  }

  dots(points, radius, colour) {
    const dots = [];
    for (let i = 0; i < points.length; i += 2) dots.push(`<circle cx="${round(points[i])}" cy="${round(points[i + 1])}" r="${radius}"/>`);
    this.parts.push(`<g fill="${colour}">${dots.join("")}</g>`);
  }

  text(text, x, y, { colour, align = "left", baseline = "middle", size = 12, weight = 400, turned = false } = {}) {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const line = { middle: "central", top: "hanging", bottom: "auto", alphabetic: "auto" }[baseline];
    const turn = turned ? ` transform="rotate(-90 ${round(x)} ${round(y)})"` : "";
    this.parts.push(`<text x="${round(x)}" y="${round(y)}" font-size="${size}" font-weight="${weight}" fill="${colour}" text-anchor="${anchor}" dominant-baseline="${line}"${turn}>${escaped(text)}</text>`);
  }

  width(text, size) {
    return this.measure(text, size);
  }

  image(source, [sx, sy, sw, sh], [x, y, width, height]) {
    const part = document.createElement("canvas");
    part.width = Math.max(1, Math.round(sw));
    part.height = Math.max(1, Math.round(sh));
    part.getContext("2d").drawImage(source, sx, sy, sw, sh, 0, 0, part.width, part.height);
    this.parts.push(`<image x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${part.toDataURL()}"/>`);
  }

  within(x, y, width, height, work) {
    const id = `clip${this.clips++}`;
    this.parts.push(`<clipPath id="${id}"><rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"/></clipPath><g clip-path="url(#${id})">`);
    work();
    this.parts.push("</g>");
  }

  finish() {
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.w} ${this.h}" width="${this.w}" height="${this.h}" font-family="${escaped(this.sans)}">${this.parts.join("")}</svg>`;
  }
}

/** Says how far values are apart. Integers that are `rounded` to floats may differ by less than these tell. */
export function apart(one, other, rounded = false) {
  let [most, alone, large] = [0, 0, false];
  for (let i = 0; i < one.length; i += 1) {
    if (Number.isNaN(one[i]) !== Number.isNaN(other[i])) alone += 1;
    else most = Math.max(most, Math.abs(one[i] - other[i]) || 0);
    large ||= Math.abs(one[i]) > Number.MAX_SAFE_INTEGER;
  }
  const far = most > 0 ? `at most ${brief(most)} apart` : rounded && large ? "equal but for rounding" : "equal";
  return alone > 0 ? `${far}, but ${count(alone)} missing on one side only` : far;
}

/** Round numbers from `low` to `high`, about `most` of them. */
export function ticks(low, high, most) {
  if (!(high > low) || most < 1) return [low];
  const rough = high / most - low / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((times) => times * power >= rough * 0.999) * power;
  const out = [];
  const first = Math.ceil(low / step - 1e-9);
  for (let at = first; at * step - step * 1e-9 <= high && out.length < 50; at += 1) out.push(Number((at * step).toPrecision(12)));
  return out;
}

/** Powers of ten, and numbers between them if there are few. */
function powers(low, high, most) {
  const out = [];
  const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const skip = Math.max(1, Math.ceil((to - from) / most));
  for (let power = from; power <= to; power += skip) {
    for (const times of to - from <= 2 ? [1, 2, 5] : [1]) {
      const value = times * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) out.push(value);
    }
  }
  return out.length > 1 ? out : ticks(low, high, most);
}

export function ticksOf(scale, most) {
  if (scale.kind === "log") return powers(scale.low, scale.high, most);
  if (scale.kind === "linear") return ticks(scale.low, scale.high, most);
  const picked = [];
  for (let i = 0; i <= most; i += 1) picked.push(Number(scale.from01(i / most).toPrecision(2)));
  return [...new Set(picked)].filter((value) => value >= scale.low - 1e-12 && value <= scale.high + 1e-12);
}

const DAY = 86_400;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, DAY, 2 * DAY, 5 * DAY, 10 * DAY];

/** Dates from `low` to `high`, which are seconds since 1970. */
export function dateTicks(low, high, most) {
  const rough = (high - low) / Math.max(1, most);
  const step = STEPS.find((step) => step >= rough);
  const text = (seconds) => new Date(seconds * 1000).toISOString();
  const out = [];
  if (step) {
    for (let at = Math.ceil(low / step) * step; at <= high && out.length < 40; at += step) {
      const stamp = text(at);
      out.push({ at, text: step >= DAY ? stamp.slice(0, 10) : stamp.slice(11, step < 60 ? 19 : 16) === "00:00" ? stamp.slice(5, 10) : stamp.slice(11, step < 60 ? 19 : 16) });
    }
    return out;
  }
  const months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400].find((months) => months * 30.4 * DAY >= rough) ?? 6000;
  const first = new Date(low * 1000);
  if (!Number.isFinite(first.getTime())) return [];
  let number = first.getUTCFullYear() * 12 + first.getUTCMonth();
  number = Math.ceil(number / months) * months;
  for (; out.length < 40; number += months) {
    const date = new Date(0);
    date.setUTCFullYear(Math.floor(number / 12), number % 12, 1);
    const at = date.getTime() / 1000;
    if (!(at <= high)) break;
    if (at >= low) out.push({ at, text: months >= 12 ? String(date.getUTCFullYear()) : date.toISOString().slice(0, 7) });
  }
  return out;
}

/**
 * A dimension of a picture: places are indices, and its labels are coordinates if there are any.
 * `places` has the coordinate at `first + step · i`.
 */
export class Along {
  constructor({ length, kind = "none", label = "", units = null, north = false, gregorian = false, places = null, texts = null, step = 1 }) {
    Object.assign(this, { length, kind, label, units, north, gregorian, places, texts, step });
    this.numeric = (kind === "numbers" || (kind === "times" && gregorian)) && places && this.monotone();
  }

  monotone() {
    const { places } = this;
    if (places.length < 2 || !places.every(Number.isFinite)) return false;
    this.rising = places[places.length - 1] > places[0];
    for (let i = 1; i < places.length; i += 1) {
      if (this.rising ? places[i] <= places[i - 1] : places[i] >= places[i - 1]) return false;
    }
    return true;
  }

  /** The coordinate at an index, which may be between two. */
  at(index) {
    const place = index / this.step;
    const last = this.places.length - 1;
    const before = Math.max(0, Math.min(last - 1, Math.floor(place)));
    if (last === 0) return this.places[0];
    return this.places[before] + (this.places[before + 1] - this.places[before]) * (place - before);
  }

  /** The index of a coordinate. */
  index(value) {
    const { places } = this;
    let [low, high] = [0, places.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (places[middle] < value === this.rising) low = middle;
      else high = middle;
    }
    return (low + (value - places[low]) / (places[high] - places[low])) * this.step;
  }

  /** What people call the place of an index. Of a long dimension only every `step`th coordinate was read: between them, it is about that. */
  name(index) {
    const whole = Math.round(index);
    const about = whole % this.step === 0 ? "" : "≈ ";
    if (this.kind === "times") return `${about}${dated(this.texts?.[Math.min(Math.round(whole / this.step), this.texts.length - 1)])}`;
    if (this.kind === "texts") return (about ? null : this.texts?.[whole / this.step]) ?? String(whole);
    if (this.places) return `${about}${brief(this.at(whole))}${this.units && !/^(1|none|)$/.test(this.units) ? ` ${this.units}` : ""}`;
    return String(whole);
  }

  /** The same without units, for the headings of tables; the index itself if not every coordinate was read. */
  short(index) {
    if (this.step > 1) return String(index);
    return this.places && this.kind === "numbers" ? brief(this.at(index)) : String(this.name(index));
  }

  title() {
    const units = this.units && !/^(1|none|)$/.test(this.units) ? ` (${this.units})` : "";
    return `${this.label ?? ""}${units}`;
  }

  /** Ticks between two indices. */
  ticks(from, to, most) {
    if (this.numeric) {
      const ends = [this.at(from), this.at(to)].sort((a, b) => a - b);
      const found = this.kind === "times" ? dateTicks(...ends, most) : ticks(...ends, most).map((at) => ({ at, text: brief(at) }));
      return found.map(({ at, text }) => ({ at: this.index(at), text }));
    }
    const steps = ticks(from, to, most).filter((at) => Number.isInteger(at) && at >= 0 && at < this.length);
    return steps.map((at) => ({ at, text: this.kind === "none" ? String(at) : String(this.name(at) ?? at).slice(0, 14) }));
  }
}

/** A date without a time that is midnight. */
export const dated = (text) => (text ?? "missing").replace(/T00:00:00$/, "").replace("T", " ");

/**
 * Paints axes around an area and returns the area. `x` and `y` are functions that return ticks `{ at: 0…1, text }` for a
 * number of them, with the titles.
 */
export function frame(painter, { width, height, colours, x, y, right = 14, top = 12 }) {
  const most = Math.max(2, Math.floor(height / 60));
  const marks = y.ticks(most);
  const widest = Math.max(20, ...marks.map(({ text }) => painter.width(text, 11.5)));
  const left = Math.ceil(widest) + (y.title ? 38 : 18);
  const bottom = x.title ? 46 : 28;
  const area = { x: left, y: top, width: Math.max(10, width - left - right), height: Math.max(10, height - top - bottom) };
  const faint = { colour: colours.soft, size: 11.5 };
  for (const { at, text } of marks) {
    const place = area.y + area.height * (1 - at);
    if (at < -0.001 || at > 1.001) continue;
    if (y.grid !== false) painter.line([area.x, place, area.x + area.width, place], colours.line, 1);
    else painter.line([area.x - 4, place, area.x, place], colours.faint, 1);
    painter.text(text, area.x - 8, place, { ...faint, align: "right" });
  }
  let free = -Infinity;
  for (const { at, text } of x.ticks(Math.max(2, Math.floor(area.width / 95)))) {
    const place = area.x + area.width * at;
    const half = painter.width(text, 11.5) / 2;
    if (at < -0.001 || at > 1.001 || place - half < free + 8) continue;
    free = place + half;
    painter.line([place, area.y + area.height, place, area.y + area.height + 4], colours.faint, 1);
    painter.text(text, Math.min(place, width - half - 2), area.y + area.height + 15, { ...faint, align: "center" });
  }
  if (x.title) painter.text(x.title, area.x + area.width / 2, height - 10, { colour: colours.soft, size: 12, align: "center" });
  if (y.title) painter.text(y.title, 11, area.y + area.height / 2, { colour: colours.soft, size: 12, align: "center", turned: true });
  return area;
}
