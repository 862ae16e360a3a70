// Colour maps as tables of 256 colours, and how values become places in them.

const ANCHORS = {
  viridis: "440154 482475 414487 355f8d 2a788e 21918c 22a884 44bf70 7ad151 bddf26 fde725",
  magma: "000004 140e36 3b0f70 641a80 8c2981 b73779 de4968 f7705c fe9f6d fecf92 fcfdbf",
  inferno: "000004 160b39 420a68 6a176e 932667 bc3754 dd513a f37819 fca50a f6d746 fcffa4",
  cividis: "00224e 123570 3b496c 575d6d 707173 8a8678 a59c74 c3b369 e1cc55 fee838",
  turbo: "30123b 4145ab 4675ed 39a2fc 1bcfd4 24eca6 61fc6c a4fc3b d1e834 f3c63a fe9b2d f36315 d93806 b11901 7a0402",
  grey: "000000 ffffff",
  "red–blue": "053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f",
  "brown–green": "543005 8c510a bf812d dfc27d f6e8c3 f5f5f5 c7eae5 80cdc1 35978f 01665e 003c30",
  phase: "a8780d b5651d c04d36 c93359 c92b84 b63ab5 9354d7 6a69e2 427bdb 2b87c4 2590a8 1f978b 129d69 2f9f3f 679711 8f8806 a8780d",
};

export const MAPS = Object.keys(ANCHORS);
export const SCALES = ["linear", "log", "symlog", "sqrt"];

const tables = new Map();

/** The 256 colours of a map, four bytes each. */
export function table(name, inverted = false) {
  const key = `${name} ${inverted}`;
  if (tables.has(key)) return tables.get(key);
  const anchors = (ANCHORS[name] ?? ANCHORS.viridis).split(" ").map((text) => [0, 2, 4].map((at) => parseInt(text.slice(at, at + 2), 16)));
  if (inverted) anchors.reverse();
  const out = new Uint8ClampedArray(256 * 4);
  for (let i = 0; i < 256; i += 1) {
    const place = (i / 255) * (anchors.length - 1);
    const at = Math.min(Math.floor(place), anchors.length - 2);
    const part = place - at;
    for (let c = 0; c < 3; c += 1) out[4 * i + c] = anchors[at][c] + (anchors[at + 1][c] - anchors[at][c]) * part;
    out[4 * i + 3] = 255;
  }
  tables.set(key, out);
  return out;
}

/** A range with room for a share of it on both sides; its ends are finite numbers if those of the range are. */
export function roomy(low, high, share) {
  const room = high * share - low * share || Math.abs(high) * share || 0.5;
  return [Math.max(low - room, -Number.MAX_VALUE), Math.min(high + room, Number.MAX_VALUE)];
}

/** The lowest value above zero; NaN if there is none. */
export function lowestPositive(values) {
  let low = Infinity;
  for (const value of values) if (value > 0 && value < low) low = value;
  return low < Infinity ? low : NaN;
}

/** How a value becomes a number from 0 to 1, and back. */
export function scaleOf(kind, low, high) {
  if (!(high > low)) [low, high] = roomy(low, low, 0.05);
  const of = {
    linear: [(v) => v, (v) => v],
    sqrt: [(v) => Math.sign(v) * Math.sqrt(Math.abs(v)), (v) => Math.sign(v) * v * v],
    log: [(v) => (v > 0 ? Math.log10(v) : NaN), (v) => 10 ** v],
    symlog: (() => {
      const unit = Math.max(Math.abs(low), Math.abs(high)) / 1e4 || 1;
      return [(v) => Math.sign(v) * Math.log10(1 + Math.abs(v) / unit), (v) => Math.sign(v) * unit * (10 ** Math.abs(v) - 1)];
    })(),
  }[kind] ?? [(v) => v, (v) => v];
  const [forth, back] = of;
  if (kind === "log") {
    if (!(high > 0)) high = 1;
    if (!(low > 0)) low = high / 1e6;
  }
  // Two numbers may be further apart than the largest number is from zero.
  const part = Number.isFinite(forth(high) - forth(low)) ? 1 : 0.5;
  const [from, to] = [forth(low) * part, forth(high) * part];
  return { kind, low, high, to01: (v) => (forth(v) * part - from) / (to - from), from01: (t) => back((from + t * (to - from)) / part) };
}

/** Paints a grid of values; what is missing stays transparent. */
export function paint(values, rows, columns, scale, colours, flip) {
  const image = new ImageData(columns, rows);
  const out = image.data;
  for (let row = 0; row < rows; row += 1) {
    let at = 4 * columns * (flip ? rows - 1 - row : row);
    for (let from = row * columns, to = from + columns; from < to; from += 1, at += 4) {
      const place = scale.to01(values[from]);
      if (place !== place) continue;
      const colour = 4 * Math.max(0, Math.min(255, Math.floor(place * 256)));
      out[at] = colours[colour];
      out[at + 1] = colours[colour + 1];
      out[at + 2] = colours[colour + 2];
      out[at + 3] = 255;
    }
  }
  return image;
}

/** The values between which a share of all finite values lies. */
export function percentiles(values, share) {
  const known = Float64Array.from(values.filter(Number.isFinite)).sort();
  if (known.length === 0) return [NaN, NaN];
  const cut = (1 - share) / 2;
  const at = (part) => known[Math.round(part * (known.length - 1))];
  return [at(cut), at(1 - cut)];
}

/** Colours of lines, which differ for people who see few colours too. */
export const LINES = ["#0f6e84", "#d1651f", "#6a4fb3", "#2f8f4e", "#b5306b", "#8a6d00", "#4b6075"];
export const DARK_LINES = ["#5cc3d9", "#f0a05a", "#a995ef", "#74cf92", "#ef7fb0", "#dcc25a", "#a8b8c8"];
