// What the tests share: checks that are counted, files, the program, and the browser.

import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { chromium, firefox } from "playwright-core";

const run = promisify(execFile);
export const counts = { passed: 0, failed: 0 };

export function check(holds, text) {
  if (holds) counts.passed += 1;
  else {
    counts.failed += 1;
    console.log(`FAILED ${text}`);
  }
  return holds;
}

export function equal(found, wanted, text) {
  const same = Object.is(found, wanted) || found === wanted;
  const short = (value) => {
    const all = String(value);
    return all.length > 160 ? `${all.slice(0, 160)}…` : all;
  };
  return check(same, same ? text : `${text}: found ${short(found)}, expected ${short(wanted)}`);
}

/** All files of a folder. */
export function files(folder) {
  return fs.readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/** What the program prints for an array as JSON; null if it fails. */
export async function cat(program, file, object, more = []) {
  try {
    const { stdout } = await run(program, ["cat", "--json", "--quiet", file, object, ...more], { maxBuffer: 96 << 20, encoding: "utf8" });
    return { text: stdout.replace(/\n$/, "") };
  } catch (error) {
    return { error: (error.stderr ?? String(error)).trim() };
  }
}

/** Starts Chromium, or Firefox as the system has it, which is driven by WebDriver BiDi. */
export function browser(kind = "chromium") {
  if (kind === "firefox") return firefox.launch({ channel: "moz-firefox", executablePath: process.env.FIREFOX, headless: true });
  const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: flags });
}

/** A session of its own. */
export function newContext(running, options) {
  return running.newContext(options);
}

/** A page whose errors count as failures. */
export async function newPage(context, title, expected = null) {
  const page = await context.newPage();
  page.on("pageerror", (error) => check(false, `${title}: an error on the page: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text()) && !expected?.test(message.text())) check(false, `${title}: the console says ${message.text()}`);
  });
  return page;
}

/** Runs `work` on each item, a few at a time. */
export async function each(items, work, many = 3) {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await work(items[next++]);
  };
  await Promise.all(Array.from({ length: many }, worker));
}
