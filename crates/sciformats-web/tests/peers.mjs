// What h5wasm and jsfive open of the same files, and how long both take.

import fs from "node:fs";
import path from "node:path";
import * as h5wasm from "h5wasm/node";
import { check, files } from "./support.mjs";

const HDF5 = /\.(h5|hdf5|nc|h5ad|nxs|mat)$/;

/** Whether each array of a file can be read by a function that returns its values. */
async function readable(names, read) {
  let good = 0;
  for (const name of names) {
    try {
      const values = await read(name);
      good += values === undefined ? 0 : 1;
    } catch {
      // It counts as unreadable.
    }
  }
  return good;
}

export async function table({ sciformats, folders }) {
  await h5wasm.ready;
  const { default: jsfive } = await import("jsfive").then((found) => ({ default: found.File ? found : found.default }));
  // Both tell of what they cannot read on the console.
  const loud = { log: console.log, warn: console.warn, error: console.error };
  // Files and arrays of HDF5, and of the other formats.
  const rows = { sciformats: [0, 0, 0, 0], h5wasm: [0, 0, 0, 0], jsfive: [0, 0, 0, 0] };
  const all = [0, 0, 0, 0];
  for (const name of folders.flatMap(files)) {
    // Damaged files are left out, because the other readers do not return from some of them.
    if (!/\.(h5|hdf5|nc|asdf|gsd|ra|b2nd|b2frame|npy|cdata)$/.test(name) || /hostile|damaged|corrupt/.test(name)) continue;
    let near;
    try {
      near = await sciformats.open(name);
    } catch {
      continue;
    }
    const at = HDF5.test(name) ? 0 : 2;
    all[at] += 1;
    const names = (await near.search("", { count: 100_000 })).found.filter(([, kind]) => kind === "a").map(([path]) => path).slice(0, 200);
    all[at + 1] += names.length;
    rows.sciformats[at] += 1;
    rows.sciformats[at + 1] += await readable(names, (one) => near.json(one, { view: "stored" }));
    near.close();
    if (!HDF5.test(name)) continue;
    for (const name of Object.keys(loud)) console[name] = () => {};
    try {
      const file = new h5wasm.File(name, "r");
      if (file.keys) {
        file.keys();
        rows.h5wasm[0] += 1;
        rows.h5wasm[1] += await readable(names, (one) => file.get(one)?.value);
      }
      file.close();
    } catch {
      // It does not open the file.
    }
    try {
      const bytes = fs.readFileSync(name);
      const file = new jsfive.File(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), path.basename(name));
      void file.keys;
      rows.jsfive[0] += 1;
      rows.jsfive[1] += await readable(names, (one) => file.get(one)?.value);
    } catch {
      // It does not open the file.
    }
    Object.assign(console, loud);
  }
  console.log(`| reader | HDF5 files, of ${all[0]} | their arrays, of ${all[1]} | other files, of ${all[2]} | their arrays, of ${all[3]} |\n|---|---:|---:|---:|---:|`);
  for (const [reader, counts] of Object.entries(rows)) console.log(`| ${reader} | ${counts.join(" | ")} |`);
  check(rows.sciformats[1] >= rows.h5wasm[1], "the package reads at least as many arrays as h5wasm");
}
