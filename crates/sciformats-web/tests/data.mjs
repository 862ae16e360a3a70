// Files for the tests, which h5wasm writes, and sparse ones of a terabyte.

import fs from "node:fs";
import path from "node:path";
import { execFileSync } from "node:child_process";
import * as h5wasm from "h5wasm/node";

const DAYS = 12;
const [LAT, LON] = [37, 72];

export async function make(folder, program) {
  await h5wasm.ready;
  fs.mkdirSync(folder, { recursive: true });
  climate(path.join(folder, "climate.nc"));
  hostile(path.join(folder, "hostile.h5"));
  many(path.join(folder, "many.h5"), 100_000);
  gzip(path.join(folder, "gzip.h5"));
  terabyte(path.join(folder, "tera.npy"));
  sparse(path.join(folder, "long.npy"), [2_000_000_000, 2]);
  sparse(path.join(folder, "wide.npy"), [100, 1_000_000]);
  linked(path.join(folder, "linked"), program);
  family(path.join(folder, "family"), path.join(folder, "climate.nc"));
}

/** A file in three parts, which are numbered. */
function family(folder, whole) {
  fs.mkdirSync(folder, { recursive: true });
  const bytes = fs.readFileSync(whole);
  const size = Math.ceil(bytes.length / 3);
  for (let i = 0; i < 3; i += 1) fs.writeFileSync(path.join(folder, `run-00${i}.h5`), bytes.subarray(i * size, (i + 1) * size));
}

/** A year in two files, a file that shows both as one array, and one that links to them. */
function linked(folder, program) {
  fs.mkdirSync(path.join(folder, "parts"), { recursive: true });
  for (const [name, from] of [["a", 0], ["b", 6]]) climate(path.join(folder, "parts", `${name}.nc`), from, 6);
  const parts = ["a", "b"].map((name) => path.join(folder, "parts", `${name}.nc`));
  execFileSync(program, ["combine", "--quiet", "--force", ...parts, "-o", path.join(folder, "year.h5")]);
  const file = new h5wasm.File(path.join(folder, "links.h5"), "w");
  for (const [name, to] of [["first", "parts/a.nc"], ["gone", "parts/c.nc"], ["outside", "../climate.nc"]]) file.create_external_link(to, "/tas", name);
  file.close();
}

function climate(name, first = 0, days = DAYS) {
  const file = new h5wasm.File(name, "w");
  file.create_attribute("Conventions", "CF-1.11");
  file.create_attribute("title", "Surface climate of an invented year");
  const axis = (name, values, attributes) => {
    const made = file.create_dataset({ name, data: Float64Array.from(values), shape: [values.length] });
    made.make_scale(name);
    for (const [key, value] of Object.entries(attributes)) made.create_attribute(key, value);
  };
  axis("time", Array.from({ length: days }, (_, day) => (first + day) * 30), { units: "days since 2001-01-01", standard_name: "time" });
  axis("lat", Array.from({ length: LAT }, (_, at) => -90 + at * 5), { units: "degrees_north", standard_name: "latitude" });
  axis("lon", Array.from({ length: LON }, (_, at) => at * 5), { units: "degrees_east", standard_name: "longitude" });
  const values = new Int16Array(days * LAT * LON);
  for (let i = 0; i < values.length; i += 1) {
    const [day, lat, lon] = [first + Math.floor(i / LAT / LON), Math.floor(i / LON) % LAT, i % LON];
    values[i] = Math.round(2000 * Math.cos(((lat - 18) * Math.PI) / 36) + 300 * Math.sin(lon / 6 + day));
  }
  values[0] = -32768;
  const tas = file.create_dataset({ name: "tas", data: values, shape: [days, LAT, LON], chunks: [1, LAT, LON], compression: 4 });
  for (const [key, value] of [["units", "K"], ["long_name", "Air temperature"]]) tas.create_attribute(key, value);
  tas.create_attribute("scale_factor", 0.01, [], "<d");
  tas.create_attribute("add_offset", 250, [], "<d");
  tas.create_attribute("_FillValue", -32768, [], "<h");
  ["time", "lat", "lon"].forEach((name, at) => tas.attach_scale(at, `/${name}`));
  file.close();
}

export const HOSTILE = "<img src=x onerror=\"window.broken=1\">";

function hostile(name) {
  const file = new h5wasm.File(name, "w");
  file.create_attribute(HOSTILE, `${HOSTILE}<script>window.broken=1</script>`);
  file.create_attribute("units", "javascript:window.broken=1");
  file.create_group(HOSTILE);
  const made = file.create_dataset({ name: "values", data: Float64Array.from([1, 2, 3, NaN]), shape: [4] });
  made.create_attribute("units", HOSTILE);
  made.create_attribute("long_name", HOSTILE);
  file.create_dataset({ name: "texts", data: [HOSTILE, "=cmd()", "‮right to left"] });
  file.close();
}

function many(name, number) {
  const file = new h5wasm.File(name, "w");
  const group = file.create_group("runs");
  for (let i = 0; i < number; i += 1) group.create_dataset({ name: `sample${String(i).padStart(6, "0")}`, data: Int32Array.of(i), shape: [] });
  file.close();
}

function gzip(name) {
  const file = new h5wasm.File(name, "w");
  const values = new Float32Array(2000 * 2000);
  let state = 1;
  let walk = 0;
  for (let i = 0; i < values.length; i += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    walk += (state / 2 ** 32 - 0.5) * 2;
    values[i] = Math.fround(Math.round(walk * 100) / 100);
  }
  file.create_dataset({ name: "a", data: values, shape: [2000, 2000], chunks: [250, 250], compression: 4 });
  file.close();
}

/** An array of 131072 × 1024 × 1024 doubles, of which one slab has values. */
/** Zeros, of one byte each. */
function sparse(name, shape) {
  const header = Buffer.alloc(128, " ");
  Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0]).copy(header);
  header.write(`{'descr': '|u1', 'fortran_order': False, 'shape': (${shape.join(", ")}), }`, 10);
  header[127] = 10;
  fs.writeFileSync(name, header);
  fs.truncateSync(name, 128 + shape.reduce((all, length) => all * length));
}

function terabyte(name) {
  const text = "{'descr': '<f8', 'fortran_order': False, 'shape': (131072, 1024, 1024), }";
  const header = Buffer.alloc(128, " ");
  Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0]).copy(header);
  header.write(text, 10);
  header[127] = 10;
  const slab = new Float64Array(1024 * 1024);
  for (let i = 0; i < slab.length; i += 1) slab[i] = Math.sin((i % 1024) / 50) * Math.cos(Math.floor(i / 1024) / 70);
  const file = fs.openSync(name, "w");
  fs.writeSync(file, header, 0, 128, 0);
  fs.writeSync(file, Buffer.from(slab.buffer), 0, slab.byteLength, 128 + 65_000 * slab.byteLength);
  fs.ftruncateSync(file, 128 + 131_072 * slab.byteLength);
  fs.closeSync(file);
}
