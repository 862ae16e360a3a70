// Pictures of the views, wide and narrow, light and dark, to be looked at: run.mjs … --only data,pictures --pictures FOLDER

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import * as h5wasm from "h5wasm/node";
import { check, newPage } from "./support.mjs";

/** Numbers between 0 and 1 that are the same in each run. */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const normal = (next) => Math.sqrt(-2 * Math.log(next() || 1e-9)) * Math.cos(2 * Math.PI * next());

/** An absorption edge with errors, as NeXus. */
function scan(name) {
  const file = new h5wasm.File(name, "w");
  const next = random(5);
  const group = (at, kind, more = {}) => {
    const made = file.create_group(at);
    for (const [key, value] of Object.entries({ NX_class: kind, ...more })) made.create_attribute(key, value);
    return made;
  };
  file.create_attribute("default", "entry");
  group("entry", "NXentry", { default: "data" });
  group("entry/data", "NXdata", { signal: "mu", axes: "energy" });
  const energy = Float64Array.from({ length: 420 }, (_, at) => 8900 + at * 1.2);
  const mu = energy.map((e) => 0.2 + (1 + 0.12 * Math.exp((8979 - e) / 300) * Math.sin((e - 8979) / 14)) / (1 + Math.exp((8979 - e) / 3)) + 0.01 * normal(next));
  const add = (name, data, attributes) => {
    const made = file.create_dataset({ name: `entry/data/${name}`, data, shape: [data.length] });
    for (const [key, value] of Object.entries(attributes)) made.create_attribute(key, value);
  };
  add("energy", energy, { units: "eV", long_name: "Photon energy" });
  add("mu", mu, { long_name: "Absorption" });
  add("mu_errors", mu.map((value) => 0.02 + 0.01 * value), {});
  file.close();
}

/** Particles as a table, from CSV. */
function particles(name, program) {
  const next = random(9);
  const kinds = ["muon", "electron", "pion"];
  const rows = Array.from({ length: 5000 }, (_, id) => {
    const mass = -80 * Math.log(next() || 1e-9);
    return [id, kinds[Math.floor(next() * 3)], mass.toFixed(3), (1.8 * mass + 40 * normal(next)).toFixed(3), Math.floor(next() * 3) - 1].join(",");
  });
  const csv = name.replace(/\.h5$/, ".csv");
  fs.writeFileSync(csv, `id,name,mass,energy,charge\n${rows.join("\n")}\n`);
  execFileSync(program, ["convert", "--quiet", "--force", csv, name]);
}

/** A set of Julia as a photo. */
function photo(name) {
  const [rows, columns] = [300, 420];
  const data = new Uint8Array(rows * columns * 3);
  for (let at = 0; at < rows * columns; at += 1) {
    let [x, y, turns] = [((at % columns) - columns / 2) / 130, (Math.floor(at / columns) - rows / 2) / 130, 0];
    for (; turns < 160 && x * x + y * y < 64; turns += 1) [x, y] = [x * x - y * y - 0.79, 2 * x * y + 0.15];
    const smooth = turns < 160 ? turns + 1 - Math.log2(Math.log2(x * x + y * y) / 2) : 0;
    [0, 0.7, 1.5].forEach((shift, channel) => (data[at * 3 + channel] = turns < 160 ? 127.5 - 127.5 * Math.cos(smooth / 9 + shift) : 12));
  }
  const file = new h5wasm.File(name, "w");
  file.create_dataset({ name: "photo", data, shape: [rows, columns, 3], dtype: "<B" });
  file.close();
}

/** A file in which some bytes were overwritten. */
function damaged(name, from) {
  const bytes = fs.readFileSync(from);
  for (let at = 3000; at < bytes.length; at += 4999) bytes.fill(0xa5, at, at + 60);
  fs.writeFileSync(name, bytes);
}

const VIEWS = [
  ["start", "", async (page) => page.locator("#choose").waitFor()],
  ["overview", "url=/data/climate.nc", async (page) => page.locator(".badge").first().waitFor()],
  ["heat-map", "url=/data/climate.nc&path=/tas&slice=3,:,:", "plot"],
  ["line", "url=/data/pictures/scan.nxs&path=/entry&view=Line", "plot"],
  ["scatter", "url=/data/pictures/particles.h5&path=/table&view=Scatter", async (page, drawn) => {
    await drawn();
    await page.getByRole("combobox", { name: "Across" }).selectOption("mass");
    await page.getByRole("combobox", { name: "Up" }).selectOption("energy");
    await page.waitForTimeout(500);
    await drawn();
  }],
  ["rgb", "url=/data/pictures/photo.h5&path=/photo&view=RGB", "plot"],
  ["histogram", "url=/data/climate.nc&path=/tas&view=Histogram", "plot"],
  ["table", "url=/data/climate.nc&path=/tas&slice=3,:,:&view=Table", "table"],
  ["compound", "url=/data/pictures/particles.h5&path=/table&view=Table", "table"],
  ["map", "url=/data/climate.nc&view=Map of the file", async (page) => page.locator(".legend b").first().waitFor()],
  ["check", "url=/data/pictures/damaged.nc&view=Check", async (page) => page.getByText(/faults?/).first().waitFor()],
  ["search", "url=/data/many.h5&path=/runs/sample012345", async (page) => {
    await page.locator("#file b").waitFor();
    if (!(await page.locator("#search").isVisible())) await page.locator("#drawer").click();
    await page.locator("#search").fill("sample0123");
    await page.waitForFunction(() => /of 100,002/.test(document.querySelector("#found").textContent), null, { timeout: 60_000 });
  }],
];

export async function pictures({ context, server, program, data, folder }) {
  const place = path.join(data, "pictures");
  fs.mkdirSync(place, { recursive: true });
  fs.mkdirSync(folder, { recursive: true });
  await h5wasm.ready;
  scan(path.join(place, "scan.nxs"));
  particles(path.join(place, "particles.h5"), program);
  photo(path.join(place, "photo.h5"));
  damaged(path.join(place, "damaged.nc"), path.join(data, "climate.nc"));
  for (const [form, viewport] of [["wide", { width: 1280, height: 800 }], ["phone", { width: 390, height: 844 }]]) {
    for (const colorScheme of ["light", "dark"]) {
      const own = await context({ viewport, colorScheme, deviceScaleFactor: form === "phone" ? 2 : 1 });
      const page = await newPage(own, "pictures");
      for (const [name, query, ready] of VIEWS) {
        await page.goto(`${server.origin}/${query ? `?${query}` : ""}`);
        const drawn = () => page.waitForFunction(() => document.querySelector(".plot")?.dataset.drawn && !document.querySelector(".busy"), null, { timeout: 60_000 });
        if (ready === "plot") await drawn();
        else if (ready === "table") await page.waitForFunction(() => document.querySelectorAll(".table td:not(.wait)").length > 20);
        else await ready(page, drawn);
        await page.waitForTimeout(250);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        check(wide <= viewport.width, `${name}, ${form}: the page is ${wide} pixels wide`);
        await page.screenshot({ path: path.join(folder, `${name}-${form}-${colorScheme}.png`) });
      }
      await own.close();
    }
  }
  console.log(`pictures: ${VIEWS.length} views, wide and on a phone, light and dark, in ${folder}`);
}
