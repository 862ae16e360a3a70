// Reads scientific files in browsers and in node.
//
//   import { open } from "sciformats";
//   const file = await open("https://data.example/run.h5");
//   const { shape, values } = await file.read("/fields/u", { slice: "0, 10:20" });

import { Engine, SciformatsError } from "./engine.js";
import { BlobSource, BytesSource, PathSource, SourceError, UrlSource, sourceOf } from "./sources.js";

export { BlobSource, BytesSource, Engine, PathSource, SciformatsError, SourceError, UrlSource };

const ARRAYS = {
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
  float32: Float32Array, float64: Float64Array, complex64: Float32Array, complex128: Float64Array,
};

/** Requests that run in this thread. */
class Here {
  static async create(wasm) {
    const here = new Here();
    here.engine = await Engine.create(wasm);
    return here;
  }

  async open(what, options, signal) {
    const source = sourceOf(what, options);
    const { key, about } = await this.engine.open(source, signal);
    return { key, about, name: source.name, size: source.size };
  }

  async request(key, request, signal) {
    const answer = await this.engine.request(key, request, signal);
    const { requests, bytes } = this.engine.files.get(key).source;
    return { ...answer, cost: { requests, bytes } };
  }

  close(key) {
    this.engine.close(key);
  }
}

/** Requests that run in a worker. */
class Elsewhere {
  constructor(worker) {
    this.worker = worker;
    this.waiting = new Map();
    this.next = 1;
    worker.onmessage = ({ data }) => {
      const waiting = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (!waiting) return;
      if (!data.error) return waiting.done(data);
      const { name, message, blame, offset } = data.error;
      waiting.fail(name === "AbortError" ? new DOMException(message, name) : new SciformatsError(message, blame, offset));
    };
    worker.onerror = (event) => {
      const error = new SciformatsError(`the worker stopped: ${event.message ?? "it cannot be loaded"}`);
      for (const { fail } of this.waiting.values()) fail(error);
      this.waiting.clear();
    };
  }

  ask(message, signal) {
    const id = this.next++;
    return new Promise((done, fail) => {
      if (signal?.aborted) return fail(signal.reason);
      this.waiting.set(id, { done, fail });
      signal?.addEventListener("abort", () => this.worker.postMessage({ what: "cancel", id }), { once: true });
      this.worker.postMessage({ ...message, id });
    });
  }

  open(source, options, signal) {
    return this.ask({ what: "open", source: source instanceof URL ? source.href : source, options }, signal);
  }

  request(key, request, signal) {
    return this.ask({ what: "request", key, request }, signal);
  }

  close(key) {
    this.ask({ what: "close", key }).catch(() => {});
  }
}

let here;
let elsewhere;

/** Opens a file: a URL, a `File` or `Blob`, bytes, or in node a path. */
export async function open(source, options = {}) {
  const { signal, worker = typeof Worker !== "undefined" && typeof window !== "undefined", wasm, ...rest } = options;
  let runner;
  if (worker) {
    elsewhere ??= new Elsewhere(new Worker(new URL("./worker.js", import.meta.url), { type: "module" }));
    runner = elsewhere;
  } else {
    here ??= Here.create(wasm);
    here.catch(() => (here = undefined));
    runner = await here;
  }
  const { key, about, name, size } = await runner.open(source, rest, signal);
  return new SciFile(runner, key, { about, name, size });
}

/** An open file. Every method returns a promise, and takes a `signal` that cancels it. */
export class SciFile {
  /** The requests and the bytes that were needed so far. */
  cost = { requests: 0, bytes: 0 };

  /** By path, which sources of elements do not exist: these elements are fill values. */
  absent = new Map();

  constructor(runner, key, { about, name, size }) {
    this.runner = runner;
    this.key = key;
    this.about = about;
    this.name = name;
    this.size = size;
  }

  async ask(op, request = {}, signal = request.signal) {
    const { signal: _, ...rest } = request;
    const { json, data, cost } = await this.runner.request(this.key, { op, ...rest }, signal);
    if (cost) this.cost = cost;
    for (const text of json.absent ?? []) {
      const path = rest.path ?? "/";
      if (!this.absent.has(path)) this.absent.set(path, new Set());
      this.absent.get(path).add(text);
    }
    return { json, data };
  }

  /** The members of a group, `count` of them from `first` on. */
  async members(path = "/", options = {}) {
    return (await this.ask("members", { path, ...options })).json;
  }

  /** What an object is and what it means. */
  async describe(path, options = {}) {
    return (await this.ask("describe", { path, ...options })).json;
  }

  /** The attributes of an object. */
  async attributes(path, options = {}) {
    return (await this.ask("attributes", { path, ...options })).json.attributes;
  }

  /** The whole value of one attribute. */
  async attribute(path, name, options = {}) {
    return (await this.ask("attribute", { path, name, ...options })).json;
  }

  /** The paths that contain all words of a text. */
  async search(text, options = {}) {
    return (await this.ask("search", { text, ...options })).json;
  }

  /** The elements of an array as a typed array. */
  async read(path, options = {}) {
    const { json, data } = await this.ask("read", { path, ...options });
    return { ...json, values: new ARRAYS[json.dtype](data ?? new ArrayBuffer(0)) };
  }

  /** The elements as texts, or the fields of compounds. */
  async cells(path, options = {}) {
    return (await this.ask("cells", { path, ...options })).json;
  }

  /** The elements as nested lists. Numbers that JSON lacks are texts. */
  async json(path, options = {}) {
    const { data } = await this.ask("json", { path, ...options });
    return new TextDecoder().decode(data ?? new ArrayBuffer(0));
  }

  /** The elements as CSV. */
  async csv(path, options = {}) {
    const { data } = await this.ask("csv", { path, ...options });
    return new TextDecoder().decode(data ?? new ArrayBuffer(0));
  }

  /** The elements as a file of NumPy. */
  async npy(path, options = {}) {
    return (await this.ask("npy", { path, ...options })).data;
  }

  /** A grid of means of two dimensions, for a picture. */
  async grid(path, options) {
    const { json, data } = await this.ask("grid", { path, ...options });
    return { ...json, values: new Float64Array(data ?? new ArrayBuffer(0)) };
  }

  /** The elements along a dimension, or their range in each column of a picture. */
  async line(path, options) {
    const { json, data } = await this.ask("line", { path, ...options });
    return { ...json, values: new Float64Array(data ?? new ArrayBuffer(0)) };
  }

  /** The coordinates along a dimension. */
  async along(path, axis, options = {}) {
    const { json, data } = await this.ask("along", { path, axis, ...options });
    return { ...json, values: data ? new Float64Array(data) : null };
  }

  /** The number of elements, their range, mean and deviation, and the counts of a histogram. */
  async statistics(path, options = {}) {
    const { json, data } = await this.ask("statistics", { path, ...options });
    return { ...json, counts: data ? new Uint32Array(data) : null };
  }

  /** The structures of the file. */
  async structures(options = {}) {
    return (await this.ask("structures", options)).json;
  }

  /** The faults of the file. */
  async verify(options = {}) {
    return (await this.ask("verify", options)).json;
  }

  close() {
    this.runner.close(this.key);
  }
}
