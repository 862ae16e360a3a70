// Runs the tests: node run.mjs --site FOLDER --package FOLDER --program FILE --data FOLDER [--only NAMES] [--mutants N]

import path from "node:path";
import { parseArgs } from "node:util";
import { make } from "./data.mjs";
import { h5web } from "./h5web.mjs";
import { mutants } from "./mutants.mjs";
import * as pages from "./page.mjs";
import { bench, table } from "./peers.mjs";
import { serve } from "./server.mjs";
import { browser, check, counts, newPage } from "./support.mjs";
import * as values from "./values.mjs";

const { values: args } = parseArgs({ options: { site: { type: "string" }, package: { type: "string" }, program: { type: "string" }, data: { type: "string" }, folder: { type: "string", multiple: true }, only: { type: "string" }, mutants: { type: "string", default: "2000" } } });
const wanted = (name) => !args.only || args.only.split(",").includes(name);
const sciformats = await import(path.join(path.resolve(args.package), "index.js"));
const folders = args.folder.map((folder) => path.resolve(folder));
const shared = { sciformats, program: args.program, folders, data: path.resolve(args.data), site: path.resolve(args.site) };

async function part(name, work) {
  if (!wanted(name)) return;
  const before = counts.failed;
  const start = Date.now();
  try {
    await work();
  } catch (error) {
    check(false, `${name}: ${error.stack ?? error}`);
  }
  console.log(`${counts.failed === before ? "ok" : "FAILED"} ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
}

await part("data", () => make(shared.data));
await part("values", () => values.inNode(shared));
await part("bench", () => bench(shared));
await part("table", () => table(shared));

const prefixes = folders.map((_, at) => `/folder${at}/`);
const place = path.join(shared.data, "h5web");
const roots = { "/": shared.site, "/h5web/": place, "/data/": shared.data, ...Object.fromEntries(folders.map((folder, at) => [prefixes[at], folder])) };
const server = await serve(roots);
const chromium = await browser();
try {
  for (const name of ["paint", "flows", "links", "texts", "terabyte", "many", "faults", "served", "offline"]) {
    await part(name, async () => {
      const context = await chromium.newContext({ viewport: { width: 1400, height: 900 }, acceptDownloads: true, serviceWorkers: name === "offline" ? "allow" : "block" });
      try {
        await pages[name]({ ...shared, context, server });
      } finally {
        Object.assign(server.settings, { delay: 0, page: true, ranges: true, status: null });
        await context.close();
      }
    });
  }
  await part("h5web", async () => {
    const context = await chromium.newContext({ viewport: { width: 1400, height: 900 }, serviceWorkers: "block" });
    await h5web({ ...shared, context, server, place });
    await context.close();
  });
  await part("browser-values", async () => {
    const context = await chromium.newContext({ serviceWorkers: "block" });
    const page = await newPage(context, "values");
    await page.goto(`${server.origin}/`);
    await values.inBrowser({ ...shared, page, server, prefixes });
    await context.close();
  });
  await part("mutants", async () => {
    const context = await chromium.newContext({ serviceWorkers: "block" });
    const page = await newPage(context, "mutants");
    await page.goto(`${server.origin}/`);
    await mutants({ page, folder: folders[0], count: Number(args.mutants) });
    await context.close();
  });
} finally {
  await chromium.close();
  await server.close();
}
console.log(`${counts.passed} passed, ${counts.failed} failed, 0 skipped`);
process.exit(counts.failed ? 1 : 0);
