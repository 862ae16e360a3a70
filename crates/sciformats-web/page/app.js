// The page: opens files, keeps what is shown in the address, and puts the parts together.

import { KINDS, count, debounce, h, icon, sides, size } from "./dom.js";
import { facts } from "./facts.js";
import { open } from "./sciformats/index.js";
import { Tree } from "./tree.js";
import { VIEWS } from "./views.js";
import { defaults, subject, viewsOf } from "./views/subject.js";
import { fileMap, overview, report } from "./whole.js";

const $ = (id) => document.getElementById(id);
const state = { file: null, url: null, path: "/", info: null, view: null, choices: null, shown: null, kept: new Map() };

/* Light and dark. */

function theme(name) {
  document.documentElement.dataset.theme = name;
  state.shown?.draw?.();
}
const preferred = matchMedia("(prefers-color-scheme: dark)");
const remembered = () => {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
};
theme(remembered() ?? (preferred.matches ? "dark" : "light"));
preferred.addEventListener("change", () => remembered() ?? theme(preferred.matches ? "dark" : "light"));
$("theme").append(icon("light"));
$("theme").addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  theme(next);
  try {
    localStorage.setItem("theme", next);
  } catch {
    // The choice holds until the page is closed.
  }
});
$("drawer").append(icon("menu"));

const tree = new Tree($("tree"), { choose: (path) => go(path), problem: (error) => say(error.message) });

function say(text) {
  $("cursor").textContent = text;
}

function cost() {
  const { file } = state;
  if (!file) return;
  const { requests, bytes } = file.cost;
  $("cost").textContent = requests ? `${count(requests)} ${requests === 1 ? "request" : "requests"}, ${size(bytes)} read` : "";
  absent();
}

/** Which other files the array that is shown lacks. */
function absent() {
  const all = [...(state.file.absent.get(state.path) ?? [])];
  const text = all.length ? `Some elements are shown as fill values: ${all.slice(0, 3).join("; ")}${all.length > 3 ? `; and ${count(all.length - 3)} more` : ""}.${state.url ? "" : " Choose or drop the missing files together with this one."}` : "";
  $("absent").textContent = text;
  $("absent").hidden = !text;
}

/* The first page. */

function problem(text) {
  $("problem").textContent = text ?? "";
  $("problem").hidden = !text;
}

function start() {
  state.file?.close();
  state.file = null;
  document.title = "sciformats";
  $("start").hidden = false;
  for (const id of ["work", "status", "file", "open", "share", "drawer"]) $(id).hidden = true;
}

async function load(source, { url = null, path = "/", view = null, slice = null, keep = false, beside, alone = false } = {}) {
  problem(null);
  document.body.classList.add("loading");
  $("drop").classList.add("busy");
  try {
    const file = await open(source, beside);
    state.file?.close();
    Object.assign(state, { file, url, kept: new Map(), info: null, alone });
    $("start").hidden = true;
    for (const id of ["work", "status", "file", "open", "drawer"]) $(id).hidden = false;
    $("share").hidden = !url;
    $("file").replaceChildren(h("b", { title: url ?? file.name }, file.name), h("span", {}, `${[file.about.format, file.about.headline].filter(Boolean).join(" ")}, ${size(file.size)}`));
    document.title = `${file.name} – sciformats`;
    $("search").value = "";
    $("found").textContent = "";
    await tree.show(file);
    const first = path !== "/" || view ? path : "/";
    await go(first, { view, slice, replace: !keep });
  } catch (error) {
    if (error.name === "AbortError") return;
    start();
    problem(error.message);
  } finally {
    document.body.classList.remove("loading");
    $("drop").classList.remove("busy");
    cost();
  }
}

$("choose").addEventListener("click", () => $("picker").click());
$("open").addEventListener("click", () => {
  history.pushState(null, "", location.pathname);
  start();
});
$("choose-folder").addEventListener("click", () => $("folder-picker").click());
for (const id of ["picker", "folder-picker"]) {
  $(id).addEventListener("change", () => {
    together([...$(id).files].map((file) => [file.webkitRelativePath || file.name, file]));
    $(id).value = "";
  });
}

/** The endings of files that are opened by themselves; others are parts of them. */
const FILES = /\.(h5|hdf5?|he5|nc4?|cdf|h5ad|h5mu|h5part|nxs|cxi|mat|vds|asdf|b2nd|b2frame|bl2|gsd|ra|npy|edf5|hdf)$/i;
const LISTED = 1000;
const GIVEN = 50_000;

/** Opens files that may name each other: the only one that can be opened, or the one that is chosen from a list. */
async function together(files) {
  if (files.length === 0) return;
  problem(null);
  const beside = (path) => ({ beside: new Map(files), path });
  if (files.length === 1) {
    $("given").hidden = true;
    load(files[0][1], { beside: beside(files[0][0]), alone: true });
    return;
  }
  const known = files.filter(([path]) => FILES.test(path) && !/(^|\/)\./.test(path));
  const own = await firsts((known.length ? known : files.filter(([path]) => !path.endsWith(".chunk"))).sort(([a], [b]) => (a < b ? -1 : 1)));
  if (own.length === 1) load(own[0][1], { beside: beside(own[0][0]) });
  else start();
  const list = own.slice(0, LISTED).map(([path, file]) => h("li", {}, h("button", { type: "button", onclick: () => load(file, { beside: beside(path) }) }, path, h("span", {}, size(file.size)))));
  $("given").replaceChildren(h("h2", {}, `Of the ${count(files.length)} files that were chosen, ${own.length > LISTED ? `the first ${count(LISTED)} of ${count(own.length)}` : count(own.length)} can be opened`), h("ul", {}, list));
  $("given").hidden = false;
}

/** Leaves out the later parts of HDF5 files whose parts are numbered: they do not begin as HDF5 files do. */
async function firsts(files) {
  const sets = new Map();
  for (const [path, file] of files) {
    const [, before, digits, after] = /^(.*?)(\d+)(\D*?(?:\.[^./]*)?)$/.exec(path) ?? [];
    if (digits === undefined) continue;
    const key = JSON.stringify([before, digits.length, after]);
    sets.set(key, [...(sets.get(key) ?? []), [Number(digits), path, file]]);
  }
  const later = new Set();
  const isFirst = async (file) => /^\x89HDF\r\n\x1a\n$/.test(String.fromCharCode(...new Uint8Array(await file.slice(0, 8).arrayBuffer().catch(() => new ArrayBuffer(0)))));
  for (const set of sets.values()) {
    set.sort(([a], [b]) => a - b);
    if (set.length < 2 || set.length > LISTED || set[1][0] !== set[0][0] + 1 || !(await isFirst(set[0][2]))) continue;
    for (const [, path, file] of set.slice(1)) if (!(await isFirst(file))) later.add(path);
  }
  return files.filter(([path]) => !later.has(path));
}

/** The files of folders that were dropped, with their paths. */
async function walked(entries) {
  const out = [];
  const waiting = [...entries];
  while (waiting.length && out.length < GIVEN) {
    const entry = waiting.pop();
    if (entry.isFile) out.push([entry.fullPath.slice(1), await new Promise((done, fail) => entry.file(done, fail))]);
    else {
      const reader = entry.createReader();
      for (;;) {
        const some = await new Promise((done, fail) => reader.readEntries(done, fail));
        if (!some.length) break;
        waiting.push(...some);
      }
    }
  }
  return out;
}
$("remote").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("url").value.trim();
  if (!text) return;
  if (!/^https?:\/\//i.test(text)) return problem("An address begins with https:// or http://.");
  load(text, { url: text });
});
addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dragging");
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("dragging");
});
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dragging");
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const files = [...event.dataTransfer.files];
  const text = event.dataTransfer.getData("text/uri-list") || event.dataTransfer.getData("text/plain");
  if (entries.some((entry) => entry.isDirectory)) walked(entries).then(together, (error) => problem(error.message));
  else if (files.length) together(files.map((file) => [file.name, file]));
  else if (/^https?:\/\//i.test(text)) load(text.split("\n")[0].trim(), { url: text.split("\n")[0].trim() });
});

/* The address. */

function address() {
  const query = new URLSearchParams();
  if (state.url) query.set("url", state.url);
  if (state.path !== "/") query.set("path", state.path);
  if (state.view) query.set("view", state.view);
  const slice = state.shown?.slice?.();
  if (slice && /[^:,]/.test(slice)) query.set("slice", slice);
  // Slashes, commas and colons are readable as they are.
  const text = query.toString().replaceAll("%2F", "/").replaceAll("%2C", ",").replaceAll("%3A", ":");
  return `${location.pathname}${text ? `?${text}` : ""}`;
}

const save = debounce(() => {
  if (!state.file) return;
  history.replaceState({ path: state.path, view: state.view }, "", address());
  aside();
}, 150);

/** Sets choices from a slice such as `3,:,10:20`. */
function sliced(choices, slice, shape) {
  const parts = slice.split(",").map((part) => part.trim());
  if (parts.length !== shape.length) return;
  const shown = [];
  parts.forEach((part, axis) => {
    if (/^\d+$/.test(part)) {
      choices.fixed[axis] = Math.min(Number(part), shape[axis] - 1);
      return;
    }
    shown.push(axis);
    const range = /^(\d+):(\d+)$/.exec(part);
    if (range) choices.range[axis] = { from: Math.min(Number(range[1]), shape[axis]), to: Math.min(Number(range[2]), shape[axis]) };
  });
  if (shown.length) choices.axes = [...choices.axes.filter((axis) => !shown.includes(axis)), ...shown].slice(-Math.max(shown.length, choices.axes.length));
}

/* An object. */

let turn = 0;

async function go(path, { view = null, slice = null, replace = false } = {}) {
  const { file } = state;
  const mine = (turn += 1);
  drawer(false);
  state.path = path;
  tree.reveal(path).catch(() => {});
  const [described, attributes] = await Promise.allSettled([file.describe(path), file.attributes(path)]);
  if (mine !== turn || file !== state.file) return;
  cost();
  const failed = described.status === "rejected" ? described.reason.message : null;
  const info = described.value ?? { path, kind: "unknown", error: failed };
  state.info = info;
  state.attributes = attributes.status === "fulfilled" ? attributes.value : [];
  state.problem = attributes.status === "rejected" && !failed ? attributes.reason.message : null;
  const of = subject(info);
  const key = path;
  state.choices = state.kept.get(key) ?? (of ? defaults(of) : {});
  state.kept.set(key, state.choices);
  if (slice && of) sliced(state.choices, slice, of.shape);
  head(info, of);
  absent();
  const names = failed ? [] : viewsOf(info);
  const whole = path === "/" ? ["Overview", "Map of the file", "Check"] : info.kind === "group" && !names.length ? ["Overview"] : [];
  const all = path === "/" && names.length ? [...names, ...whole] : [...whole, ...names];
  show(all, all.includes(view) ? view : all[0]);
  const entry = [{ path, view: state.view }, "", address()];
  if (replace) history.replaceState(...entry);
  else history.pushState(...entry);
}

function head(info, of) {
  const parts = info.path.split("/").filter(Boolean);
  const crumbs = h("nav", { class: "crumbs", "aria-label": "Path" });
  parts.slice(0, -1).forEach((part, at) => crumbs.append("/", h("button", { type: "button", onclick: () => go(`/${parts.slice(0, at + 1).join("/")}`) }, part)));
  if (parts.length > 1) crumbs.append("/");
  const what = [];
  const { meaning, array } = info;
  if (meaning?.kind === "variable") what.push(h("b", {}, meaning.values ?? meaning.type), ` ${dimensions(meaning)}`);
  else if (meaning?.kind === "table") what.push(h("b", {}, "table"), `, ${count(meaning.rows)} rows, ${count(meaning.fields.length)} columns`);
  else if (meaning?.kind === "sparse") what.push(h("b", {}, "sparse matrix"), ` ${sides(meaning.shape)}`);
  else if (array) what.push(h("b", {}, array.type), ` ${sides(array.shape)}`);
  else what.push(info.kind === "group" ? "group" : info.type ?? info.kind);
  const text = meaning?.long_name ?? meaning?.standard_name;
  if (text) what.push(`, ${text}`);
  const elsewhere = (info.storage ?? []).some(([key, value]) => (key === "layout" && /virtual|external/.test(value)) || key === "storage");
  const title = h("h1", {}, parts.at(-1) ?? state.file.name);
  if (parts.length === 0) title.append(...state.file.about.conventions.map((name) => h("span", { class: "badge" }, name)));
  $("head").replaceChildren(crumbs, title, h("p", { class: "what" }, what), ...[info.error, info.path === "/" && state.file.about.damage, info.path === "/" && state.file.about.cut && `The file was cut short: it has ${size(state.file.size)} of ${size(state.file.about.cut)}.`]
    .filter(Boolean).map((text) => h("p", { class: "note", role: "alert" }, text)), ...(elsewhere && state.alone ? [h("p", { class: "note calm" }, "This array takes its elements from other places. If these are other files, choose or drop them together with this one, or the folder that they are in.")] : []));
}

function dimensions(meaning) {
  const named = meaning.dimensions.some(({ name }) => name);
  if (!meaning.dimensions.length) return "";
  return named ? `(${meaning.dimensions.map(({ name, length }) => `${name ?? "–"} ${count(length)}`).join(" × ")})` : sides(meaning.shape);
}

function show(names, name) {
  state.view = name ?? null;
  $("tabs").hidden = names.length === 0;
  const select = (wanted) => {
    show(names, wanted);
    history.replaceState({ path: state.path, view: wanted }, "", address());
    $("tabs").querySelector('[aria-selected="true"]')?.focus();
  };
  $("tabs").replaceChildren(...names.map((one) => h("button", { role: "tab", type: "button", "aria-selected": String(one === name), tabindex: one === name ? 0 : -1, "aria-controls": "panel", onclick: () => select(one), onkeydown: (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move) return;
    event.preventDefault();
    select(names[(names.indexOf(name) + move + names.length) % names.length]);
  } }, one)));
  state.shown?.close?.();
  state.shown = null;
  const panel = $("panel");
  panel.className = "panel";
  panel.replaceChildren();
  panel.scrollTop = 0;
  say("");
  const context = { file: state.file, info: state.info, choices: state.choices, save, say, cost, go, attributes: state.attributes };
  try {
    if (name === "Overview") state.shown = overview(panel, context);
    else if (name === "Map of the file") state.shown = fileMap(panel, context);
    else if (name === "Check") state.shown = report(panel, context);
    else if (VIEWS[name]) state.shown = new VIEWS[name](panel, context);
    else panel.append(h("p", { class: "message" }, state.info.array?.shape === null ? "The array is null: it has no elements." : `This ${KINDS[state.info.kind?.[0]] ?? "object"} has nothing to draw; its attributes stand beside it.`));
  } catch (error) {
    panel.append(h("p", { class: "message wrong", role: "alert" }, error.message));
  }
  aside();
}

function aside() {
  if (!state.info) return;
  facts($("facts"), { file: state.file, info: state.info, attributes: state.attributes, problem: state.problem, go, parts: state.shown?.parts?.() ?? [], url: state.url });
}

/* Search. */

let searching;
const search = debounce(async () => {
  const { file } = state;
  const text = $("search").value.trim();
  searching?.abort();
  if (!file) return;
  if (!text) {
    $("found").textContent = "";
    tree.results(null);
    return;
  }
  searching = new AbortController();
  $("found").textContent = "searching…";
  try {
    const { found, total, objects } = await file.search(text, { count: 2000, signal: searching.signal });
    $("found").textContent = `${count(total)} of ${count(objects)}${total > found.length ? `, the first ${count(found.length)} are listed` : ""}`;
    tree.results(found, text.toLowerCase().split(/\s+/));
  } catch (error) {
    if (error.name !== "AbortError") $("found").textContent = error.message;
  }
  cost();
}, 160);
$("search").addEventListener("input", search);
$("search").addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "Enter") {
    event.preventDefault();
    $("tree").focus();
  }
});

/* The drawer of narrow pages, links, keys, and the way back. */

function drawer(on) {
  $("side").classList.toggle("shown", on);
  $("drawer").setAttribute("aria-expanded", String(on));
}
$("drawer").addEventListener("click", () => drawer(!$("side").classList.contains("shown")));
$("main").addEventListener("pointerdown", () => drawer(false));
$("share").addEventListener("click", async () => {
  await navigator.clipboard?.writeText(new URL(address(), location.href).href).catch(() => {});
  $("share").textContent = "Copied";
  setTimeout(() => ($("share").textContent = "Copy link"), 1200);
});

const KEYS = [["/", "search"], ["t", "the tree"], ["1 … 9", "a view"], ["↑ ↓ ← →", "move in the tree or the table, pan a picture"], ["+ − 0", "zoom in, out, and back"], ["d", "light or dark"], ["Esc", "leave the search"], ["?", "these keys"]];
const MOUSE = [["Wheel", "zoom; with Shift only across, with Alt only up"], ["Drag", "pan; with Shift a box to zoom to"], ["Double click", "the whole again"]];
function help() {
  const list = (rows) => h("dl", { class: "pairs" }, rows.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)]));
  $("help").replaceChildren(h("h2", {}, "Keys"), list(KEYS), h("h2", {}, "Pointer, on pictures"), list(MOUSE), h("button", { type: "button", autofocus: true, onclick: () => $("help").close() }, "Close"));
  $("help").showModal();
}
$("keys").addEventListener("click", help);
addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
  if (event.key === "Escape" && document.activeElement === $("search")) {
    $("search").value = "";
    search();
    $("tree").focus();
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  if (event.key === "?") help();
  else if (event.key === "d") $("theme").click();
  else if (event.key === "/" && state.file) {
    drawer(true);
    $("search").focus();
  } else if (event.key === "t" && state.file) {
    drawer(true);
    $("tree").focus();
  } else if (/^[1-9]$/.test(event.key) && state.file) $("tabs").children[Number(event.key) - 1]?.click();
  else return;
  event.preventDefault();
});

addEventListener("popstate", () => {
  const query = new URLSearchParams(location.search);
  const url = query.get("url");
  if (state.file && url === state.url && (url || history.state)) go(query.get("path") ?? "/", { view: query.get("view"), slice: query.get("slice"), replace: true });
  else route();
});

/** Opens what the address names. */
function route() {
  const query = new URLSearchParams(location.search);
  const url = query.get("url");
  if (!url) return start();
  const source = new URL(url, location.href);
  if (!/^https?:$/.test(source.protocol)) return problem("An address begins with https:// or http://.");
  return load(source.href, { url, path: query.get("path") ?? "/", view: query.get("view"), slice: query.get("slice") });
}

/** What `sciformats serve` serves beside the page. */
async function served() {
  const folder = document.querySelector('meta[name="served"]')?.content;
  if (!folder) return false;
  try {
    const files = await (await fetch(`${folder}?list`)).json();
    const list = files.map(({ name, size: bytes }) => {
      const url = folder + name.split("/").map(encodeURIComponent).join("/");
      return h("li", {}, h("button", { type: "button", onclick: () => load(new URL(url, location.href).href, { url }) }, name, h("span", {}, size(bytes))));
    });
    $("served").replaceChildren(h("h2", {}, `In the folder that is served, ${count(files.length)} ${files.length === 1 ? "file" : "files"}`), h("ul", {}, list));
    $("served").hidden = false;
  } catch {
    // The list is a convenience: files can be opened without it.
  }
  return true;
}

route();
served().then((by) => {
  if (!by && "serviceWorker" in navigator && isSecureContext) navigator.serviceWorker.register("sw.js").catch(() => {});
});
