// Every array of every fixture and of the corpus, read by the package, is what the program prints.

import fs from "node:fs";
import path from "node:path";
import { cat, check, each, equal, files } from "./support.mjs";

/** Arrays of more elements are not compared as texts. */
const MOST = 1 << 20;

const arrays = async (file) => {
  const { found } = await file.search("", { count: 1_000_000 });
  return found.filter(([, kind]) => kind === "a" || kind === "v").map(([name]) => name);
};

/** In node: whole files, and by ranges through a source that lends parts only. */
export async function inNode({ sciformats, program, folders }) {
  const { open, PathSource } = sciformats;
  class Ranged extends PathSource {
    async open() {
      await super.open();
      this.whole = false;
      return null;
    }
  }
  const tally = { files: 0, arrays: 0, refused: 0 };
  for (const file of folders.flatMap(files)) {
    if (/\.(json|jsonl|md|toml|py|txt|yaml|ddl|chunk)$/.test(file)) continue;
    // The program calls a sparse frame by its folder.
    const whole = path.basename(file) === "chunks.b2frame" ? path.dirname(file) : file;
    let near;
    let far;
    try {
      near = await open(file);
    } catch (error) {
      // What the package refuses, the program must refuse too.
      const said = await cat(program, whole, "/");
      const needsMore = /external|other file|beside|missing/i.test(error.message);
      check(Boolean(said.error) || needsMore, `${file} is refused (${error.message}), but the program reads it`);
      tally.refused += 1;
      continue;
    }
    tally.files += 1;
    try {
      far = await open(new Ranged(file));
      const names = await arrays(near);
      equal(JSON.stringify(await arrays(far)), JSON.stringify(names), `${file}: the same objects by ranges`);
      await each(names, async (name) => {
        const [found, ranged] = await Promise.all([
          near.json(name, { view: "values" }).then((text) => ({ text }), (error) => ({ error: error.message })),
          far.json(name, { view: "values" }).then((text) => ({ text }), (error) => ({ error: error.message })),
        ]);
        tally.arrays += 1;
        equal(ranged.text ?? ranged.error, found.text ?? found.error, `${file} ${name} by ranges`);
        // Arrays that are too large for a page are not printed by the program either, because that would take long.
        if (/elements that one request reads|lists without elements/.test(found.error ?? "") || found.text?.length > 8 * MOST) return;
        const wanted = await cat(program, whole, name);
        if (wanted.error === undefined) {
          equal(found.text, wanted.text, `${file} ${name}`);
        } else {
          // Of a file that was cut short, the package reads what is left.
          check(found.error !== undefined || /cut short|reports every fault/.test(wanted.error), `${file} ${name} is read as ${found.text?.slice(0, 60)}, but the program says ${wanted.error}`);
        }
      });
    } catch (error) {
      check(false, `${file}: ${error.message}`);
    }
    near.close();
    far?.close();
  }
  console.log(`values: ${tally.arrays} arrays of ${tally.files} files, ${tally.refused} files refused by both`);
}

/** Files that name others, in node. */
export async function linked({ sciformats, program, data, folders }) {
  const { open } = sciformats;
  const folder = path.join(data, "linked");
  const year = path.join(folder, "year.h5");
  const wanted = await cat(program, year, "/tas");
  const file = await open(year);
  equal(await file.json("/tas", { view: "values" }), wanted.text, "an array over two files, by a path");
  check(file.cost.bytes > fs.statSync(path.join(folder, "parts", "a.nc")).size, "the bytes of other files are counted");
  file.close();
  const alone = await open(year, { beside: false });
  await alone.json("/tas", { view: "values" }).then(() => check(false, "another file is opened without permission"), (error) => check(/not allowed|not permitted|may not|forbidden|not opened/i.test(error.message), `without permission: ${error.message}`));
  alone.close();
  const beside = files(folder).map((name) => [path.relative(folder, name).split(path.sep).join("/"), fs.readFileSync(name)]);
  const memory = await open(fs.readFileSync(year), { name: "year.h5", beside });
  equal(await memory.json("/tas", { view: "values" }), wanted.text, "an array over two files, from memory");
  memory.close();
  const lone = await open(fs.readFileSync(year), { name: "year.h5", beside: [["year.h5", fs.readFileSync(year)]] });
  const filled = await lone.read("/tas", { view: "stored" });
  check(filled.absent?.some((text) => text.includes("parts/a.nc")) && lone.absent.get("/tas")?.size === 2, `missing sources are named: ${filled.absent}`);
  check(new Set(filled.values).size === 1, "elements of missing sources are fill values");
  lone.close();
  // The parts of one file, by a path, from memory, and with one of them missing.
  const family = path.join(data, "family");
  const parts = files(family).map((name) => [path.basename(name), fs.readFileSync(name)]);
  const whole = (await cat(program, path.join(data, "climate.nc"), "/tas")).text;
  for (const [what, source, options] of [["by a path", path.join(family, "run-000.h5"), {}], ["from memory", parts[0][1], { name: "run-000.h5", beside: parts }]]) {
    const one = await open(source, options);
    equal(await one.json("/tas", { view: "values" }), whole, `a file of ${parts.length} parts, ${what}`);
    one.close();
  }
  const links = await open(path.join(folder, "links.h5"));
  const { members } = await links.members("/");
  equal(members.map(({ n, k, e }) => `${n} ${k} ${e ? "fails" : "opens"}`).sort().join(", "), "first a opens, gone u fails, outside u fails", "links into other files");
  links.close();
  for (const [name, object] of [["asdf/main.asdf", null], ["blosc2/sparse.b2frame/chunks.b2frame", "/"]]) {
    const file = path.join(folders[0], name);
    const near = await open(file);
    for (const object of await arrays(near)) equal(await near.json(object, { view: "values" }), (await cat(program, name.endsWith("chunks.b2frame") ? path.dirname(file) : file, object)).text, `${name} ${object}`);
    near.close();
    check(object === null || near.cost.requests > 1, `${name} needs other files`);
  }
}

/** In the browser, through the worker and by ranges over HTTP. */
export async function inBrowser({ page, server, program, folders, prefixes }) {
  let compared = 0;
  for (const [folder, prefix] of folders.map((folder, at) => [folder, prefixes[at]])) {
    for (const file of files(folder)) {
      if (/\.(json|jsonl|md|toml|py|txt|yaml|ddl|chunk)$/.test(file)) continue;
      const whole = path.basename(file) === "chunks.b2frame" ? path.dirname(file) : file;
      const url = `${server.origin}${prefix}${path.relative(folder, file).split(path.sep).map(encodeURIComponent).join("/")}`;
      if (fs.statSync(file).size > 8 << 20) continue;
      const found = await page.evaluate(async (url) => {
        const { open } = await import("./sciformats/index.js");
        try {
          const file = await open(url);
          const { found } = await file.search("", { count: 40 });
          const out = [];
          for (const [name, kind] of found.filter(([, kind]) => kind === "a").slice(0, 12)) out.push([name, await file.json(name, { view: "values" }).catch(() => null)]);
          file.close();
          return out;
        } catch {
          return [];
        }
      }, url);
      for (const [name, text] of found) {
        if (text === null || text.length > MOST) continue;
        const wanted = await cat(program, whole, name);
        if (wanted.text !== undefined) equal(text, wanted.text, `in the browser: ${file} ${name}`);
        compared += 1;
      }
    }
  }
  check(compared > 200, `only ${compared} arrays were compared in the browser`);
  console.log(`values in the browser: ${compared} arrays by ranges through the worker`);
}
