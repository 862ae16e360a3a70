// Elements, and numbers as people read them. Texts of files become text nodes only.

/** Makes an element. A property that is a function listens; `class`, `aria-…` and `data-…` are attributes. */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(key.replace(/^on/, ""), value);
    else if (key in element && !/^(class|list|form|role)$|-/.test(key)) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const ICONS = {
  group: "M1.5 3.5h4l1.5 2h6.5v7h-12z",
  array: "M2 2h11v11H2zM2 5.7h11M2 9.3h11M5.7 2v11M9.3 2v11",
  datatype: "M3 3h9M7.5 3v9.5",
  value: "M7.5 4.5a3 3 0 1 1 0 6 3 3 0 0 1 0-6z",
  unknown: "M7.5 2l6 11h-12zM7.5 6.5v3M7.5 11v.6",
  link: "M6 9l3-3M6.5 4.5l1-1a2.5 2.5 0 0 1 3.5 3.5l-1 1M8.5 10.5l-1 1a2.5 2.5 0 0 1-3.5-3.5l1-1",
  twist: "M3.5 1.5l5 4-5 4z",
  light: "M7.5 4.7a2.8 2.8 0 1 1 0 5.600 2.8 2.8 0 0 1 0-5.600zM7.5.8v1.7M7.5 12.5v1.7M.8 7.5h1.7M12.5 7.5h1.7M2.8 2.8l1.2 1.2M11 11l1.2 1.2M2.8 12.2L4 11M11 4l1.2-1.2",
  menu: "M2 4h11M2 7.5h11M2 11h11",
};

const SVG = "http://www.w3.org/2000/svg";

export function icon(name, className) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", name === "twist" ? "0 0 11 11" : "0 0 15 15");
  svg.setAttribute("aria-hidden", "true");
  if (className) svg.setAttribute("class", className);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  const filled = name === "twist";
  path.setAttribute("fill", filled ? "currentColor" : "none");
  if (!filled) {
    path.setAttribute("stroke", "currentColor");
    path.setAttribute("stroke-width", "1.2");
    path.setAttribute("stroke-linejoin", "round");
    path.setAttribute("stroke-linecap", "round");
  }
  svg.append(path);
  return svg;
}

export const KINDS = { g: "group", a: "array", d: "datatype", v: "value", u: "unknown", l: "link" };

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** `1,234,567` */
export const count = (number) => grouped.format(number);

/** `3.4 MB`, with powers of 1024 spelt as the program does. */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return "";
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  let number = bytes;
  while (number >= 1024 && at < units.length - 1) {
    number /= 1024;
    at += 1;
  }
  return at === 0 ? `${count(bytes)} ${bytes === 1 ? "byte" : "bytes"}` : `${number < 10 ? number.toFixed(2) : number < 100 ? number.toFixed(1) : Math.round(number)} ${units[at]}`;
}

/** A number with six digits or so. */
export function brief(number) {
  if (number === null || number === undefined || Number.isNaN(number)) return "missing";
  if (!Number.isFinite(number)) return number > 0 ? "∞" : "−∞";
  const large = Math.abs(number);
  if (large !== 0 && (large >= 1e7 || large < 1e-4)) return number.toExponential(4).replace(/\.?0+e/, "e").replace("e+", "e").replace("-", "−");
  return String(Number(number.toPrecision(7))).replace("-", "−");
}

/** `730 × 72 × 144` */
export const sides = (shape) => shape === null || shape === undefined ? "null" : shape.length === 0 ? "scalar" : shape.map(count).join(" × ");

export function debounce(work, wait) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), wait);
  };
}

export function download(name, type, ...parts) {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  const anchor = h("a", { href: address, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
