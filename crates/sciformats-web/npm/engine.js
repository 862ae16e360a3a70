// Runs requests in WebAssembly, and fetches what they lack.
//
// The module answers a request, or says which ranges of bytes are missing, and which other files. These are fetched and
// supplied, and the request runs again, until nothing is missing.

/** More rounds than this mean that a request makes no progress. */
const ROUNDS = 400;

/** As many other files are opened at the same time. */
const AT_ONCE = 6;

/** Of the chunks of a sparse frame, as many are asked for before their turn. */
const AHEAD = 64;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** An error of the reader: `blame` says who caused it, and `offset` where in the file. */
export class SciformatsError extends Error {
  constructor(message, blame = "program", offset = null) {
    super(message);
    this.name = "SciformatsError";
    this.blame = blame;
    this.offset = offset;
  }
}

/** The bytes of the module, in browsers and in node. */
async function moduleBytes() {
  const url = new URL("./sciformats.wasm", import.meta.url);
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(url);
  }
  return fetch(url);
}

async function compile(from) {
  if (from instanceof WebAssembly.Module) return from;
  const bytes = await (from ?? moduleBytes());
  if (typeof Response !== "undefined" && bytes instanceof Response) {
    if (!bytes.ok) throw new SciformatsError(`the module cannot be fetched: ${bytes.status} ${bytes.statusText}`);
    // Only this type can be compiled while it arrives.
    const streamed = /^application\/wasm\b/i.test(bytes.headers.get("content-type") ?? "");
    return streamed ? WebAssembly.compileStreaming(bytes) : WebAssembly.compile(await bytes.arrayBuffer());
  }
  return WebAssembly.compile(bytes);
}

export class Engine {
  /** Compiles the module; `from` may be its bytes, a response, or a compiled module. */
  static async create(from) {
    const engine = new Engine();
    engine.module = await compile(from);
    engine.files = new Map();
    engine.next = 1;
    await engine.start();
    return engine;
  }

  async start() {
    const instance = await WebAssembly.instantiate(this.module, {});
    this.wasm = instance.exports;
    this.generation = (this.generation ?? 0) + 1;
  }

  /** Opens a source, and returns its key and what the file is. If its `front` is on its way already, it is not asked for again. */
  async open(source, signal, front = source.open(signal)) {
    const file = { source, opening: front, queue: Promise.resolve(), generation: 0, others: new Map(), chunks: 0 };
    let about;
    try {
      about = await this.connect(file, signal);
    } catch (error) {
      if (file.number !== undefined && file.generation === this.generation) this.wasm.close(file.number);
      this.shut(file);
      throw error;
    }
    const key = this.next++;
    this.files.set(key, file);
    return { key, about };
  }

  async connect(file, signal) {
    const { source } = file;
    if (!file.opened) {
      file.front = await file.opening;
      file.opened = true;
    }
    for (const other of file.others.values()) other.close?.();
    file.others.clear();
    file.generation = this.generation;
    const bytes = await this.fetched(source, file.front, signal);
    file.number = this.registered(source, file.front, bytes);
    const own = await source.own?.();
    return (await this.run(file, { op: "open", beside: Boolean(source.beside), ...own }, signal)).json;
  }

  /** The bytes of a source that is read as a whole. */
  async fetched(source, front, signal) {
    if (!source.whole) return null;
    return front && front.length >= source.size ? front : (await source.get([[0, source.size]], signal))[0];
  }

  /** The number of a file in the module. */
  registered(source, front, bytes) {
    if (bytes) {
      this.put(bytes);
      return this.wasm.whole();
    }
    const number = this.wasm.create(source.size);
    if (front?.length) {
      this.put(front);
      this.wasm.front(number, 0);
    }
    return number;
  }

  shut({ source, others }) {
    source.close?.();
    for (const other of others.values()) other.close?.();
  }

  close(key) {
    const file = this.files.get(key);
    if (!file) return;
    this.files.delete(key);
    if (file.generation === this.generation) this.wasm.close(file.number);
    this.shut(file);
  }

  /** Answers a request about a file. Requests about one file wait for each other. */
  request(key, request, signal) {
    const file = this.files.get(key);
    if (!file) return Promise.reject(new SciformatsError("the file is closed", "caller"));
    const answer = file.queue.then(async () => {
      signal?.throwIfAborted();
      if (file.generation !== this.generation) await this.connect(file, signal);
      if (request.op === "verify" && !file.source.whole) return this.verified(file, signal);
      return this.run(file, request, signal);
    });
    file.queue = answer.catch(() => {});
    return answer;
  }

  /** Verifies a file that is read by ranges: it is fetched as a whole, if it is not too large. */
  async verified(file, signal) {
    const most = 512 << 20;
    const { source } = file;
    if (source.size > most) {
      throw new SciformatsError(`a file of more than ${most >> 20} MiB is verified by the program: sciformats verify FILE`, "limit");
    }
    const [bytes] = await source.get([[0, source.size]], signal);
    this.put(bytes);
    const number = this.wasm.whole();
    try {
      await this.run({ ...file, number }, { op: "open" }, signal);
      return await this.run({ ...file, number }, { op: "verify" }, signal);
    } finally {
      this.wasm.close(number);
    }
  }

  put(bytes) {
    const at = this.wasm.room(bytes.length) >>> 0;
    new Uint8Array(this.wasm.memory.buffer, at, bytes.length).set(bytes);
  }

  async run(file, request, signal) {
    for (let round = 0; round < ROUNDS; round += 1) {
      signal?.throwIfAborted();
      const { status, json, data } = this.call({ ...request, file: file.number });
      if (status === 0) return { json, data };
      if (status === 2) throw new SciformatsError(json.error, json.blame, json.offset);
      const wanted = [[file.number, json.ranges], ...json.others].filter(([, ranges]) => ranges.length);
      const sourceOf = (number) => (number === file.number ? file.source : file.others.get(number));
      const names = this.withMore(file, json.names);
      const [pieces, found] = await Promise.all([
        Promise.all(wanted.map(([number, ranges]) => sourceOf(number).get(ranges, signal))),
        this.found(file, names, signal),
      ]);
      // Another request may have stopped the module meanwhile.
      if (file.generation !== this.generation) throw new SciformatsError("the reader was started anew; try again");
      wanted.forEach(([number, ranges], which) => ranges.forEach(([from], at) => {
        this.put(pieces[which][at]);
        this.wasm.supply(number, from);
      }));
      for (const [name, { source, front, bytes, error }] of found) {
        const lend = { op: "lend", file: file.number, name };
        if (error !== undefined) lend.error = error;
        else if (source) {
          lend.other = this.registered(source, front, bytes);
          file.others.set(lend.other, source);
        }
        this.call(lend);
      }
      if (names.length) round = Math.min(round, ROUNDS / 2);
    }
    throw new SciformatsError("the request needs more rounds of bytes than any file should");
  }

  /** Adds the names of the chunks that a read of a sparse frame is going to ask for. */
  withMore(file, names) {
    const [, folder, number] = (names.length === 1 && /^(.*?)([0-9A-F]{8})\.chunk$/.exec(names[0])) || [];
    if (number === undefined) return names;
    file.chunks = Math.min(AHEAD, 2 * file.chunks || 1);
    file.seen ??= new Set();
    const all = Array.from({ length: file.chunks }, (_, at) => (Number.parseInt(number, 16) + at).toString(16).toUpperCase().padStart(8, "0"));
    return all.map((one) => `${folder}${one}.chunk`).filter((one, at) => at === 0 || !file.seen.has(one)).map((one) => (file.seen.add(one), one));
  }

  /** Opens other files, a few at a time. */
  async found(file, names, signal) {
    const out = [];
    let next = 0;
    const worker = async () => {
      while (next < names.length) {
        const name = names[next++];
        try {
          const source = await file.source.beside(name, signal);
          const front = source ? await source.open(signal) : null;
          out.push([name, { source, front, bytes: source ? await this.fetched(source, front, signal) : null }]);
        } catch (error) {
          if (error.name === "AbortError") throw error;
          // A file that does not exist may be left out; one that cannot be read is a problem of what needs it.
          out.push([name, error.absent ? {} : { error: error.message }]);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, names.length) }, worker));
    return out;
  }

  call(request) {
    try {
      this.put(encoder.encode(JSON.stringify(request)));
      const status = this.wasm.call();
      const { buffer } = this.wasm.memory;
      const text = new Uint8Array(buffer, this.wasm.answer() >>> 0, this.wasm.answer_length() >>> 0);
      const json = JSON.parse(decoder.decode(text));
      const at = this.wasm.data() >>> 0;
      const length = this.wasm.data_length() >>> 0;
      return { status, json, data: length ? buffer.slice(at, at + length) : null };
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError) && !(error instanceof RangeError)) throw error;
      // The memory of a module that stopped is not used again.
      this.generation += 1;
      const reason = error.message;
      const started = new WebAssembly.Instance(this.module, {});
      this.wasm = started.exports;
      throw new SciformatsError(`the reader stopped (${reason}); there may be too little memory for this part`);
    }
  }
}
