// Times the package beside h5wasm: node bench.mjs --package FOLDER --data FOLDER. It is a program of its own, because what other
// tests leave in a process (memory that the collector walks, code to be compiled again) would slow only the reader that they used.

import path from "node:path";
import { parseArgs } from "node:util";
import * as h5wasm from "h5wasm/node";

const { values: args } = parseArgs({ options: { package: { type: "string" }, data: { type: "string" } } });
const sciformats = await import(path.join(path.resolve(args.package), "index.js"));

/**
 * The least time of the processor for each of several kinds of work, in milliseconds. They take turns, so that other work on
 * the machine slows all of them.
 */
async function timed(works, rounds) {
  const least = works.map(() => Infinity);
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, work] of works.entries()) {
      const start = process.cpuUsage();
      await work();
      const { user, system } = process.cpuUsage(start);
      least[at] = Math.min(least[at], (user + system) / 1000);
    }
  }
  return least;
}

await h5wasm.ready;
const gzip = path.join(args.data, "gzip.h5");
const many = path.join(args.data, "many.h5");
const [ours, theirs] = [{}, {}];
[ours.gzip, theirs.gzip] = await timed([
  async () => {
    const file = await sciformats.open(gzip);
    const { values } = await file.read("/a");
    if (values.length !== 4_000_000) throw new Error("too few elements");
    file.close();
  },
  () => {
    const file = new h5wasm.File(gzip, "r");
    if (file.get("a").value.length !== 4_000_000) throw new Error("too few elements");
    file.close();
  },
], 15);
[ours.many, theirs.many] = await timed([
  async () => {
    const file = await sciformats.open(many);
    const { total, members } = await file.members("/runs");
    if (total !== 100_000 || members[99_999].k !== "a") throw new Error("too few objects");
    file.close();
  },
  () => {
    const file = new h5wasm.File(many, "r");
    const group = file.get("runs");
    let shapes = 0;
    for (const name of group.keys()) shapes += group.get(name).shape.length === 0 ? 1 : 0;
    if (shapes !== 100_000) throw new Error("too few objects");
    file.close();
  },
], 2);
// A goal that is missed is printed; what is far from it fails.
for (const [what, text, goal, most] of [["gzip", "4,000,000 floats in gzip", 0.8, 2], ["many", "100,000 objects with shapes", 0.2, 0.5]]) {
  const part = ours[what] / theirs[what];
  console.log(`${text}: ${ours[what].toFixed(0)} ms of the processor, h5wasm ${theirs[what].toFixed(0)} ms, ${part.toFixed(2)} of it (goal ${goal}: ${part <= goal ? "met" : "missed"})`);
  if (!(part <= most)) {
    console.log(`FAILED ${text}: ${part.toFixed(2)} of the time of h5wasm, which is more than ${most}`);
    process.exitCode = 1;
  }
}
