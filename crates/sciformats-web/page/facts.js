// What stands beside an object: what it means, its dimensions, attributes, storage, and the lines that read it.

import { lines } from "./code.js";
import { count, h, sides, size } from "./dom.js";

const pairs = (rows) => {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return shown.length ? h("dl", { class: "pairs" }, shown.flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, value)])) : null;
};

const section = (title, ...children) => {
  const inside = children.flat().filter(Boolean);
  return inside.length ? h("section", {}, h("h2", {}, title), inside) : null;
};

/** Renders the facts; `go` opens a path. */
export function facts(host, { file, info, attributes, problem, go, parts, url }) {
  const { array, meaning } = info;
  host.replaceChildren(...[
    section("Meaning", pairs([
      ["Name", meaning?.long_name], ["Standard name", meaning?.standard_name], ["Units", meaning?.units], ["Cell methods", meaning?.cell_methods],
      ["Values", meaning?.decoded ? meaning.values ?? meaning.type : null], ["Flags", meaning?.flags?.join(", ")],
      ["Rows", meaning?.kind === "table" ? count(meaning.rows) : null], ["Shown as", info.doubt ? `stored, because ${info.doubt}` : null],
    ])),
    section("Dimensions", meaning?.dimensions?.some(({ name }) => name) ? h("dl", { class: "pairs" }, meaning.dimensions.flatMap(({ name, length, unlimited, path }) => [
      h("dt", {}, path ? h("button", { class: "link", type: "button", onclick: () => go(path) }, name ?? path) : name ?? "–"),
      h("dd", {}, `${count(length)}${unlimited ? ", unlimited" : ""}`),
    ])) : null),
    section("Described by", meaning?.coordinates?.length ? h("dl", { class: "pairs" }, meaning.coordinates.flatMap(({ path, role }) => [
      h("dt", {}, role), h("dd", {}, h("button", { class: "link", type: "button", onclick: () => go(path) }, path)),
    ])) : null),
    attributes === null
      ? section("Attributes", h("p", {}, "…"))
      : section(attributes?.length ? `Attributes, ${count(attributes.length)}` : "Attributes", problem ? h("p", { class: "wrong" }, problem) : (attributes ?? []).map((one) => attribute(file, info.path, one, go))),
    section("Storage", pairs([
      ["Type", array?.type ?? info.type], ["Shape", array ? sides(array.shape) : null],
      ["Chunks", array?.chunks ? sides(array.chunks) : null], ["Filters", array?.filters?.join(", ")],
      ["Elements", array?.logical ? size(array.logical) : null],
      ["Stored", array?.stored !== null && array?.stored !== undefined ? `${size(array.stored)}${array.logical && array.stored ? `, ${ratio(array.logical / array.stored)}` : ""}` : null],
    ]), details(info.storage)),
    section("Lines that read it", Object.entries(lines({ name: file.name, url, path: meaning?.path ?? info.path, parts, array: array ?? (meaning?.kind ? meaning : null), decoded: meaning?.decoded, about: file.about })).map(([title, text]) => code(title, text))),
  ].filter(Boolean));
}

/** What the format knows beyond that. */
function details(storage) {
  const rows = (storage ?? []).filter(([key, text]) => text && !/^(none|\[\]|by default|unknown)$/.test(text) && !/^(stored|chunks|filters)$/.test(key));
  return rows.length ? h("details", {}, h("summary", {}, "More"), pairs(rows.map(([key, text]) => [key[0].toUpperCase() + key.slice(1), text]))) : null;
}

const ratio = (times) => (times >= 1.05 ? `${times < 10 ? times.toFixed(1) : Math.round(times)} times smaller` : times < 0.95 ? `${(1 / times).toFixed(1)} times larger` : "as large");

function attribute(file, path, { name, type, shape, text, error, links }, go) {
  const kind = shape === undefined ? "" : shape === null ? `${type}, null` : shape.length ? `${type} ${sides(shape)}` : type === "text" ? "" : type;
  const value = error ? h("p", { class: "wrong" }, error) : links?.length
    ? h("p", {}, links.flatMap((to, at) => [at ? ", " : "", h("button", { class: "link", type: "button", onclick: () => go(to) }, to)]))
    : h("p", {}, text === "" ? "“”" : text);
  const element = h("div", { class: "attribute" }, h("b", {}, name), kind ? h("small", {}, kind) : null, value);
  if (text?.length > 260) {
    const more = h("button", { class: "link", type: "button", "aria-expanded": "false" }, "more");
    more.addEventListener("click", async () => {
      const open = value.classList.toggle("open");
      more.setAttribute("aria-expanded", String(open));
      more.textContent = open ? "less" : "more";
      if (open && text.endsWith("…")) value.textContent = (await file.attribute(path, name)).text;
    });
    element.append(more);
  }
  return element;
}

function code(title, text) {
  const copy = h("button", { class: "quiet", type: "button", onclick: async () => {
    await navigator.clipboard?.writeText(text).catch(() => {});
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1200);
  } }, "Copy");
  return h("div", { class: "code" }, h("h3", {}, title), copy, h("pre", {}, text));
}
