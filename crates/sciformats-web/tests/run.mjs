// Runs the tests: node run.mjs --site FOLDER --package FOLDER --program FILE --data FOLDER [--only NAMES] [--mutants N] [--pictures FOLDER]

import { spawnSync } from "node:child_process";
import path from "node:path";
import { parseArgs } from "node:util";
import { make } from "./data.mjs";
import { h5web } from "./h5web.mjs";
import { mutants } from "./mutants.mjs";
import * as pages from "./page.mjs";
import { table } from "./peers.mjs";
import { serve } from "./server.mjs";
import { pictures } from "./pictures.mjs";
import { browser, check, counts, newContext, newPage } from "./support.mjs";
import { small } from "./small.mjs";
import * as values from "./values.mjs";

const { values: args } = parseArgs({ options: { site: { type: "string" }, package: { type: "string" }, program: { type: "string" }, data: { type: "string" }, folder: { type: "string", multiple: true }, only: { type: "string" }, pictures: { type: "string" }, mutants: { type: "string", default: "2000" } } });
const wanted = (name) => !args.only || args.only.split(",").includes(name);
const sciformats = await import(path.join(path.resolve(args.package), "index.js"));
const folders = args.folder.map((folder) => path.resolve(folder));
const shared = { sciformats, program: args.program, folders, data: path.resolve(args.data), site: path.resolve(args.site) };

async function part(name, work, key = name) {
  if (!wanted(key)) return;
  const before = counts.failed;
  const start = Date.now();
  try {
    await work();
  } catch (error) {
    check(false, `${name}: ${error.stack ?? error}`);
  }
  console.log(`${counts.failed === before ? "ok" : "FAILED"} ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
}

await part("small", small);
await part("data", () => make(shared.data, shared.program));
await part("values", () => values.inNode(shared));
await part("linked", () => values.linked(shared));
await part("bench", () => {
  const program = path.join(import.meta.dirname, "bench.mjs");
  const { status } = spawnSync(process.execPath, [program, "--package", path.resolve(args.package), "--data", shared.data], { stdio: "inherit" });
  check(status === 0, "the package takes less time than twice that of h5wasm");
});
await part("table", () => table(shared));

const prefixes = folders.map((_, at) => `/folder${at}/`);
const place = path.join(shared.data, "h5web");
const roots = { "/": shared.site, "/h5web/": place, "/data/": shared.data, ...Object.fromEntries(folders.map((folder, at) => [prefixes[at], folder])) };
const server = await serve(roots);

/** Runs all that is done in a browser; `kind` is chromium or firefox. */
async function inBrowser(kind) {
  const running = await browser(kind);
  const title = (name) => (kind === "chromium" ? name : `${name}, ${kind}`);
  const context = (more = {}) => newContext(running, { viewport: { width: 1400, height: 900 }, serviceWorkers: "block", ...more });
  try {
    for (const name of ["paint", "flows", "links", "texts", "beside", "terabyte", "long", "many", "faults", "served", "offline"]) {
      await part(title(name), async () => {
        const own = await context({ acceptDownloads: true, serviceWorkers: name === "offline" ? "allow" : "block" });
        try {
          await pages[name]({ ...shared, context: own, server, kind });
        } finally {
          Object.assign(server.settings, { delay: 0, page: true, ranges: true, status: null });
          await own.close();
        }
      }, name);
    }
    await part(title("h5web"), async () => {
      const own = await context();
      await h5web({ ...shared, context: own, server, place, kind });
      await own.close();
    }, "h5web");
    await part(title("browser-values"), async () => {
      const own = await context();
      const page = await newPage(own, "values");
      await page.goto(`${server.origin}/`);
      await values.inBrowser({ ...shared, page, server, prefixes });
      await own.close();
    }, "browser-values");
    await part(title("mutants"), async () => {
      const own = await context();
      const page = await newPage(own, "mutants");
      await page.goto(`${server.origin}/`);
      // The engine of WebAssembly is what differs, so a tenth of them suffices for another browser.
      const count = Math.ceil(Number(args.mutants) / (kind === "chromium" ? 1 : 10));
      await mutants({ page, folder: folders[0], count });
      await own.close();
    }, "mutants");
    await part(title("pictures"), async () => {
      if (args.pictures && kind === "chromium") await pictures({ ...shared, context, server, folder: path.resolve(args.pictures) });
    }, "pictures");
  } finally {
    await running.close();
  }
}

let skipped = 0;
try {
  await inBrowser("chromium");
  if (process.env.FIREFOX) await inBrowser("firefox");
  else {
    skipped += 1;
    console.log("SKIPPED the tests in Firefox, which is not there; in Debian, install firefox-esr");
  }
} finally {
  await server.close();
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${skipped} skipped`);
process.exit(counts.failed ? 1 : 0);
