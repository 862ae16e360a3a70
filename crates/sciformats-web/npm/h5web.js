// A provider of data for H5Web: `<DataProvider api={await provider(source)}><App /></DataProvider>`.
//
// H5Web's base class is passed by the caller, so that this package does not depend on it:
//
//   import { App, DataProvider, DataProviderApi } from "@h5web/app";
//   import { h5webProvider } from "sciformats/h5web";
//   const api = await h5webProvider(DataProviderApi, file);

import { open } from "./index.js";

const shapeOf = (shape) => shape === null || shape === undefined ? { class: "Null" } : shape.length === 0 ? { class: "Scalar", dims: [] } : { class: "Array", dims: shape };

const integer = (signed, bytes) => ({ class: "Integer", signed, size: bytes * 8, endianness: "little-endian" });
const float = (bytes) => ({ class: "Float", size: bytes * 8, endianness: "little-endian" });

/** A type of the manifest as H5Web describes it. */
export function typeOf(dtype) {
  if (typeof dtype === "string") {
    const number = /^([iufc])(\d+)$/.exec(dtype);
    if (number) {
      const bytes = Number(number[2]);
      if (number[1] === "c") return { class: "Complex", realType: float(bytes / 2), imagType: float(bytes / 2) };
      return number[1] === "f" ? float(bytes) : integer(number[1] === "i", bytes);
    }
    if (dtype === "bool") return { class: "Boolean", base: integer(false, 1) };
    if (/^(str|string|text|utf8)$/.test(dtype)) return { class: "String", charSet: "UTF-8", strPad: undefined };
    if (/ref|region/.test(dtype)) return { class: "Reference" };
    if (/^(bf2|bfloat16|float|f8\*)/.test(dtype)) return float(8);
    return { class: "Unknown" };
  }
  // An object would put fields first whose names are numbers.
  if (dtype?.compound) return { class: "Compound", fields: new Map(dtype.compound.map(([name, type]) => [name, typeOf(type)])) };
  if (dtype?.array) return { class: "Array", base: typeOf(dtype.array), dims: dtype.shape };
  if (dtype?.vlen) return { class: "Array (variable length)", base: typeOf(dtype.vlen) };
  if (dtype?.enum) {
    const names = dtype.members.map(([name]) => name.toUpperCase());
    if (names.length === 2 && names.includes("FALSE") && names.includes("TRUE")) return { class: "Boolean", base: typeOf(dtype.enum) };
    return { class: "Enumeration", base: typeOf(dtype.enum), mapping: Object.fromEntries(dtype.members.map(([name, value]) => [value, name])) };
  }
  if (dtype?.bits) return { class: "Bitfield", endianness: "little-endian" };
  if (dtype?.time) return { class: "Time" };
  if (dtype?.opaque !== undefined) return { class: "Opaque", tag: "" };
  return { class: "Unknown" };
}

const isBoolean = (dtype) => typeOf(dtype).class === "Boolean";

/** Parses JSON. Integers that are no safe numbers of JavaScript become texts, as other numbers that JSON lacks. */
function parsed(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const exact = (part) => (/^-?\d+$/.test(part) && !Number.isSafeInteger(Number(part)) ? `"${part}"` : part);
  return JSON.parse(text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, exact));
}

/** A number of a type, which JSON contains as a text if it has no such number. */
function number(value, dtype) {
  if (Array.isArray(value)) return value.map((part) => number(part, dtype));
  if (typeof value !== "string") return value;
  if (/^([fc]\d|bf2|bfloat16|float)/.test(dtype)) return Number(value);
  return /^-?\d+$/.test(value) ? BigInt(value) : value;
}

/** Whether elements of a type are numbers. */
const isNumber = (dtype) => (typeof dtype === "string" ? /^([iufc]\d|bf2|bfloat16|float)/.test(dtype) : Boolean(dtype?.time || dtype?.bits));

/** An element in the way in which H5Web passes it on. */
function element(value, dtype) {
  if (value === null || value === undefined) return value;
  if (isBoolean(dtype)) return value === true || value === 1 || value === "TRUE";
  if (dtype?.compound) {
    const fields = Array.isArray(value) ? value : dtype.compound.map(([name]) => value[name]);
    return fields.map((field, at) => element(field, dtype.compound[at][1]));
  }
  if (isNumber(dtype)) return number(value, dtype);
  if (dtype?.enum && typeof value === "string") return dtype.members.find(([name]) => name === value)?.[1] ?? value;
  if (dtype?.array || dtype?.vlen) return value.map((one) => element(one, dtype.array ?? dtype.vlen));
  return value;
}

const attributesOf = (attributes) => attributes.filter(({ error }) => !error).map(({ name, shape, dtype }) => ({ name, shape: shapeOf(shape), type: typeOf(dtype) }));

/** How many members are listed at once. */
const AT_ONCE = 100_000;

/** All members of a group. */
async function allMembers(file, path) {
  const all = [];
  for (;;) {
    const { members, total } = await file.members(path, { first: all.length, count: AT_ONCE });
    for (const member of members) all.push(member);
    if (members.length === 0 || all.length >= total) return all;
  }
}

/**
 * Returns a data provider for H5Web. `Base` is its class `DataProviderApi`, and `source` what `open` takes, or a file that
 * is open.
 */
export async function h5webProvider(Base, source, options = {}) {
  const file = typeof source?.describe === "function" ? source : await open(source, options);

  // H5Web begins with a group. A file that is a single array gets one with the array in it.
  const single = file.about.root !== "g";
  const inside = (path) => (single ? "/" : path);

  class SciformatsApi extends Base {
    file = file;

    async attributes(path) {
      return file.attributes(inside(path), { for: "programs" });
    }

    async getEntity(path) {
      if (single && path === "/") {
        const child = await this.getEntity("/array");
        return { name: file.name, path: "/", attributes: [], kind: "group", children: [child] };
      }
      const [info, attributes] = await Promise.all([file.describe(inside(path)), this.attributes(path)]);
      const name = path.split("/").pop() || file.name;
      const own = { name, path, attributes: attributesOf(attributes) };
      if (info.kind === "group") {
        const members = await allMembers(file, path);
        const children = await Promise.all(members.map((member) => this.child(member)));
        return { ...own, kind: "group", children };
      }
      return this.dataset(own, info);
    }

    dataset(own, info) {
      if (info.kind === "array") {
        const { array } = info;
        return {
          ...own, kind: "dataset", shape: shapeOf(array.shape), type: typeOf(array.dtype), rawType: array.dtype,
          ...(array.chunks ? { chunks: array.chunks } : {}), filters: array.filters.map((name, id) => ({ id, name })),
        };
      }
      if (info.kind === "value") {
        const value = info.value;
        const dtype = typeof value === "number" ? "f8" : typeof value === "boolean" ? "bool" : "str";
        return { ...own, kind: "dataset", shape: shapeOf([]), type: typeOf(dtype), rawType: dtype };
      }
      if (info.kind === "datatype") return { ...own, kind: "datatype", type: typeOf(info.dtype), rawType: info.dtype };
      return { ...own, kind: "unresolved" };
    }

    /** H5Web wants the attributes of children too, because they decide how a group is shown. */
    async child({ n, p, k, to, e }) {
      const link = to === undefined ? { class: "Hard" } : to.includes(": ") ? { class: "External", file: to.split(": ")[0], path: to.split(": ")[1] } : { class: "Soft", path: to };
      if (e && k === "u") return { name: n, path: p, kind: "unresolved", attributes: [], link };
      try {
        const attributes = attributesOf(await this.attributes(p));
        const own = { name: n, path: p, attributes, link };
        return k === "g" ? { ...own, kind: "group" } : this.dataset(own, await file.describe(p));
      } catch {
        return { name: n, path: p, kind: "unresolved", attributes: [], link };
      }
    }

    async getValue({ dataset, selection }, signal) {
      const { rawType, shape } = dataset;
      const path = inside(dataset.path);
      const scalar = shape.class === "Scalar";
      const kind = typeOf(rawType).class;
      if ((kind === "Integer" || kind === "Float") && !(await this.isValue(path))) {
        const { values } = await file.read(path, { view: "stored", slice: selection, signal });
        return scalar ? values[0] : values;
      }
      const text = await file.json(path, { view: "stored", slice: selection, signal });
      const found = parsed(text);
      // A selection may leave a single element, which is no list.
      const rank = scalar ? 0 : selectedRank(shape.dims, selection);
      const flat = rank === 0 ? [found] : found.flat(rank - 1);
      const elements = flat.map((one) => element(one, rawType));
      return scalar ? elements[0] : elements;
    }

    /** Whether an object is a single value of a tree. */
    async isValue(path) {
      return (await file.describe(path)).kind === "value";
    }

    async getAttrValues(entity) {
      if (single && entity.path === "/") return {};
      const attributes = await this.attributes(entity.path);
      return Object.fromEntries(attributes.filter(({ error }) => !error).map(({ name, shape, dtype, values }) => {
        const elements = (values ?? []).map((one) => element(one, dtype));
        return [name, shape?.length === 0 ? elements[0] : shape === null ? null : elements];
      }));
    }

    async getSearchablePaths(path) {
      if (single) return ["/array"];
      const { found } = await file.search("", { count: 1_000_000 });
      const prefix = path === "/" ? "/" : `${path}/`;
      return found.map(([name]) => name).filter((name) => name !== "/" && name.startsWith(prefix));
    }

    getExportURL(format, dataset, selection, builtIn) {
      if (format === "npy") return async () => new Blob([await file.npy(inside(dataset.path), { view: "stored", slice: selection })]);
      if (format === "csv") return async () => new Blob([await file.csv(inside(dataset.path), { view: "stored", slice: selection })], { type: "text/csv" });
      return builtIn ? async () => new Blob([builtIn()]) : undefined;
    }
  }
  return new SciformatsApi(file.name);
}

/** How many dimensions a selection leaves. */
function selectedRank(dims, selection) {
  if (!selection) return dims.length;
  return dims.length - selection.split(",").filter((part) => /^\s*-?\d+\s*$/.test(part)).length;
}
