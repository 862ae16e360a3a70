// Damaged files in the worker of the page: each ends in values or in a message, and the worker goes on.

import fs from "node:fs";
import { check, files } from "./support.mjs";

/** A generator of numbers that is the same in each run. */
function random(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export async function mutants({ page, folder, count }) {
  const all = files(folder).filter((file) => /\.(h5|nc|asdf|gsd|ra|b2nd|b2frame|npy|hdf5)$/.test(file) && fs.statSync(file).size < 300_000);
  const next = random(20261125);
  let [read, refused, stopped, slowest] = [0, 0, 0, 0];
  for (let done = 0; done < count;) {
    const batch = [];
    for (let i = 0; i < 20 && done < count; i += 1, done += 1) {
      const bytes = Buffer.from(fs.readFileSync(all[next(all.length)]));
      const kind = next(4);
      if (kind === 0) batch.push(bytes.subarray(0, next(bytes.length)));
      else {
        for (let hits = 1 + next(kind === 1 ? 3 : 30); hits > 0; hits -= 1) {
          const at = next(Math.min(bytes.length, next(2) ? 2048 : bytes.length));
          bytes[at] = kind === 3 ? [0, 0xff, 0x7f, 0x80][next(4)] : next(256);
        }
        batch.push(bytes);
      }
    }
    const outcomes = await page.evaluate(async (texts) => {
      const { open } = await import("./sciformats/index.js");
      const out = [];
      for (const text of texts) {
        const start = performance.now();
        const blob = new Blob([Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0))]);
        try {
          const file = await open(blob);
          const { found } = await file.search("", { count: 30 });
          for (const [name, kind] of found) {
            await file.attributes(name).catch((error) => out.push.length && (file.last = error));
            await file.describe(name).catch((error) => (file.last = error));
            if (kind === "a") await file.json(name, { view: "values" }).catch((error) => (file.last = error));
          }
          await file.structures({ count: 500 }).catch((error) => (file.last = error));
          file.close();
          out.push([file.last?.message ?? "", performance.now() - start]);
        } catch (error) {
          out.push([`refused: ${error.message}`, performance.now() - start]);
        }
      }
      return out;
    }, batch.map((bytes) => bytes.toString("base64")));
    for (const [text, time] of outcomes) {
      slowest = Math.max(slowest, time);
      if (/the reader stopped|worker stopped/.test(text)) {
        stopped += 1;
        check(false, `a damaged file stops the reader: ${text}`);
      } else if (text.startsWith("refused")) refused += 1;
      else read += 1;
    }
  }
  check(read + refused === count, `${stopped} of ${count} damaged files stopped the reader`);
  check(slowest < 10_000, `a damaged file takes ${Math.round(slowest)} ms`);
  console.log(`mutants: ${count}, of which ${read} were opened and ${refused} refused with a message; the slowest took ${Math.round(slowest)} ms`);
}
