// What concerns the whole file: the overview, the map of its bytes, and the report on damage.

import { DARK_LINES, LINES } from "./colour.js";
import { count, h, size } from "./dom.js";

/** What the file or a group is, and what to look at first. */
export function overview(host, { file, info, go, attributes, cost }) {
  const { about } = file;
  const root = info.path === "/";
  const box = h("div", { class: "overview" });
  host.append(box);
  const part = (title, ...children) => box.append(h("section", {}, h("h2", {}, title), children));
  if (root && about.title) box.append(h("p", { class: "verdict" }, about.title));
  if (root && about.highlights.length) {
    part("Look first at", h("div", { class: "cards" }, about.highlights.map(({ path, what, signature }) => h("button", { class: "card", type: "button", onclick: () => go(path) }, h("b", {}, path), h("span", {}, signature ?? what), signature && what ? h("span", {}, what) : null))));
  }
  if (root) {
    const rows = [["Format", [about.format, about.headline].filter(Boolean).join(" ")], ["Conventions", about.conventions.join(", ")], ["Written by", about.writer], ["Size", `${size(file.size)}${file.size > 1024 ? ` (${count(file.size)} bytes)` : ""}`], ["Doubt", about.doubt],
      ...about.facts.filter(([key]) => key !== "version").map(([key, text]) => [key, text])].filter(([, text]) => text);
    part("The file", h("dl", { class: "pairs" }, rows.flatMap(([key, text]) => [h("dt", {}, key), h("dd", {}, text)])));
  }
  if (info.kind === "group") {
    const cards = h("div", { class: "cards" });
    part(root ? "In it" : "In this group", cards);
    file.members(info.path, { first: 0, count: 60 }).then(({ total, members }) => {
      cards.replaceChildren(...members.map(({ p, n, k, t, s, v, e, to }) => h("button", { class: "card", type: "button", onclick: () => go(p) }, h("b", {}, n), h("span", {}, e ?? v ?? (k === "g" ? "group" : k === "a" ? `${t} ${s === null ? "null" : s.length ? s.map(count).join(" × ") : ""}` : t ?? (to ? `→ ${to}` : ""))))));
      if (total === 0) cards.replaceWith(h("p", {}, "It is empty."));
      if (total > members.length) cards.after(h("p", {}, `… and ${count(total - members.length)} more, which the tree lists.`));
      cost();
    }, (error) => cards.replaceWith(h("p", { class: "message wrong" }, error.message)));
  }
  if (!root && attributes?.length === 0 && info.kind !== "group") box.append(h("p", {}, "It has no attributes."));
  return {};
}

const ROWS = 40;

/** Where what is in the file. */
export function fileMap(host, { file, say, cost }) {
  const box = h("div", { class: "map" }, h("p", {}, "…"));
  host.append(box);
  const stop = new AbortController();
  let redraw = () => {};
  file.structures({ count: 20_000, signal: stop.signal }).then(({ structures, more, size: all }) => {
    cost();
    const canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": "Map of the bytes of the file" });
    const totals = new Map();
    const family = (name) => name.replace(/\s*[\d#/"“(].*$/u, "").trim() || name;
    for (const [name, , bytes] of structures) {
      const known = totals.get(family(name)) ?? { number: 0, bytes: 0 };
      totals.set(family(name), { number: known.number + 1, bytes: known.bytes + bytes });
    }
    const order = [...totals].sort((a, b) => b[1].bytes - a[1].bytes);
    const colour = (name) => {
      const dark = document.documentElement.dataset.theme === "dark";
      const lines = dark ? DARK_LINES : LINES;
      const at = order.findIndex(([other]) => other === name);
      return lines[at % lines.length] + (at < lines.length ? "" : "88");
    };
    const legend = h("div", { class: "legend" });
    const list = h("div", { class: "list" });
    const shown = structures.slice(0, 1500);
    list.append(...shown.map(([name, offset, bytes, depth]) => h("div", {}, h("span", {}, `0x${offset.toString(16).padStart(8, "0")}`), h("span", {}, `${"  ".repeat(depth)}${name}`), h("span", {}, size(bytes)))));
    if (structures.length > shown.length) list.append(h("div", {}, `… and ${count(structures.length - shown.length)}${more ? " or more" : ""}`));
    box.replaceChildren(canvas, legend, h("p", {}, `${count(structures.length)}${more ? " or more" : ""} structures in ${size(all)}`), list);
    const place = (offset, width) => (offset / Math.max(1, all)) * ROWS * width;
    redraw = () => {
      const width = Math.max(200, canvas.clientWidth);
      const dense = Math.min(3, devicePixelRatio || 1);
      const row = 9;
      canvas.width = width * dense;
      canvas.height = ROWS * row * dense;
      canvas.style.height = `${ROWS * row}px`;
      const context = canvas.getContext("2d");
      context.scale(dense, dense);
      const style = getComputedStyle(document.documentElement);
      context.fillStyle = style.getPropertyValue("--hover");
      context.fillRect(0, 0, width, ROWS * row);
      for (const [name, offset, bytes] of structures) {
        let [from, to] = [place(offset, width), place(offset + bytes, width)];
        to = Math.max(to, from + 0.7);
        context.fillStyle = colour(family(name));
        while (from < to) {
          const line = Math.floor(from / width + 1e-9);
          const end = Math.min(to, (line + 1) * width);
          context.fillRect(from - line * width, line * row + 0.5, Math.max(0.7, end - from), row - 1);
          if (end <= from) break;
          from = end;
        }
      }
      legend.replaceChildren(...order.slice(0, 24).map(([name, { number, bytes }]) => {
        const swatch = h("i", {});
        swatch.style.setProperty("--swatch", colour(name));
        return h("span", {}, swatch, h("b", {}, name), `${count(number)}, ${size(bytes)}`);
      }));
    };
    canvas.addEventListener("pointermove", (event) => {
      const { left, top, width, height } = canvas.getBoundingClientRect();
      const line = Math.floor(((event.clientY - top) / height) * ROWS);
      const offset = Math.floor(((line + (event.clientX - left) / width) / ROWS) * all);
      let found = null;
      for (const one of structures) if (offset >= one[1] && offset < one[1] + one[2] && (!found || one[3] >= found[3])) found = one;
      say(found ? `${found[0]} at 0x${found[1].toString(16)}, ${size(found[2])}  ${found[4].slice(0, 5).map(([key, text]) => `${key} ${text}`).join(", ")}` : `0x${offset.toString(16)}: no known structure`);
    });
    redraw();
  }, (error) => error.name !== "AbortError" && box.replaceChildren(h("p", { class: "message wrong" }, error.message)));
  return { close: () => stop.abort(), draw: () => redraw() };
}

/** Whether the file is sound. */
export function report(host, { file, go, cost }) {
  const stop = new AbortController();
  const box = h("div", { class: "overview" });
  host.append(box);
  const run = async () => {
    host.classList.add("busy");
    box.replaceChildren(h("p", {}, "Everything in the file is read and checked…"));
    try {
      const { faults, findings, missing, objects, attributes, bytes } = await file.verify({ signal: stop.signal });
      const sound = findings === 0;
      box.replaceChildren(
        h("p", { class: `verdict ${sound ? "good" : "bad"}` }, sound ? `The file is sound${missing ? `, but ${count(missing)} sources in other files were not read` : ""}.` : `The file has ${count(findings)} ${findings === 1 ? "fault" : "faults"}.`),
        h("p", {}, `${count(objects)} objects, ${count(attributes)} attributes and ${size(bytes)} of elements were read.`),
        h("ul", { class: "faults" }, faults.map(({ path, error, offset }) => h("li", {}, path ? [h("button", { class: "link", type: "button", onclick: () => go(path) }, path), ": "] : null, error, offset !== null && !error.includes("0x") ? ` (at 0x${offset.toString(16)})` : ""))),
      );
      cost();
    } catch (error) {
      if (error.name !== "AbortError") box.replaceChildren(h("p", { class: "message wrong" }, error.message));
    }
    host.classList.remove("busy");
  };
  if (file.size <= 64 << 20) run();
  else box.append(h("p", {}, `Checking reads the whole file, ${size(file.size)}.`), h("p", {}, h("button", { class: "primary", type: "button", onclick: run }, "Check the file")));
  return { close: () => stop.abort() };
}
