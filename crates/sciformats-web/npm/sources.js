// Where the bytes of files come from: blobs, URLs, buffers, and in node paths.
//
// A source has a `name`, a `size`, `open()`, which may return the front of the file, and `get(ranges, signal)`, which
// returns the bytes of each range. `requests` and `bytes` count what was asked for. If it has `beside(name)`, that returns
// the source of another file in the same folder, or in one inside it, and the file may name others. A file of several parts is
// opened as one if `own()` returns its name, and those names `near` it that say how its parts are put together.

/** A file of at most this many bytes is read as a whole if it is near. */
const NEAR = 64 << 20;

/** The bytes that the first request for a URL asks for. */
const FRONT = 1 << 20;

/** The same for a file that another one names, because there may be many. */
const SMALL_FRONT = 1 << 17;

/** A server without ranges sends the whole file, which may have this many bytes. */
const WITHOUT_RANGES = 256 << 20;

/** Browsers open six connections to a host. */
const AT_ONCE = 6;

const TRIES = 5;

/** The number of redirects that are followed. */
const REDIRECTS = 20;

export class SourceError extends Error {
  constructor(message) {
    super(message);
    this.name = "SourceError";
    this.blame = "machine";
  }
}

/** The files of a folder by their paths: pairs, an object, or files that the browser gives. */
export function folderOf(files) {
  if (!files || files === true) return null;
  if (files instanceof Map) return files;
  const pairs = typeof files[Symbol.iterator] === "function" ? [...files].map((one) => (Array.isArray(one) ? one : [one.webkitRelativePath || one.name, one])) : Object.entries(files);
  return new Map(pairs);
}

/** The files that describe the parts of the file `name`, among those of its folder. */
const describing = (name, all) => [...all].filter((one) => one.startsWith(`${name}.subfile_`) && one.endsWith(".config")).slice(0, 16);

/** Lets a source find files in the folder of `path`; their sources are made by `of`. */
function amid(source, folder, path, of) {
  const base = path.includes("/") ? path.slice(0, path.lastIndexOf("/") + 1) : "";
  source.beside = async (name) => {
    const found = folder.get(base + name);
    return found ? counted(of(found, name), source) : null;
  };
  source.own = async () => {
    const name = path.slice(base.length);
    return { name, near: describing(path, folder.keys()).map((one) => one.slice(base.length)) };
  };
}

/** Counts what one source reads for another one. */
function counted(source, counts) {
  const { get } = source;
  source.open = ((open) => async (...given) => {
    const before = [source.requests, source.bytes];
    try {
      return await open.apply(source, given);
    } finally {
      counts.requests += source.requests - before[0];
      counts.bytes += source.bytes - before[1];
    }
  })(source.open);
  source.get = async (ranges, signal) => {
    const out = await get.call(source, ranges, signal);
    counts.requests += ranges.length;
    counts.bytes += ranges.reduce((all, [from, to]) => all + to - from, 0);
    return out;
  };
  return source;
}

/** Bytes in memory. */
export class BytesSource {
  requests = 0;
  bytes = 0;
  whole = true;

  constructor(bytes, name = "memory", { beside, path = name } = {}) {
    const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = view;
    this.size = view.length;
    this.name = name;
    const folder = folderOf(beside);
    if (folder) amid(this, folder, path, (found, name) => (found instanceof Blob ? new BlobSource(found, name) : new BytesSource(found, name)));
  }

  async open() {
    return null;
  }

  async get(ranges) {
    this.requests += ranges.length;
    return ranges.map(([from, to]) => {
      this.bytes += to - from;
      return this.view.subarray(from, to);
    });
  }
}

/** A `File` or a `Blob`, of which parts are read. */
export class BlobSource {
  requests = 0;
  bytes = 0;

  constructor(blob, name, { beside, path = blob.webkitRelativePath || blob.name || "" } = {}) {
    this.blob = blob;
    this.size = blob.size;
    this.name = name ?? blob.name ?? "blob";
    this.whole = blob.size <= NEAR;
    const folder = folderOf(beside);
    if (folder) amid(this, folder, path, (found, name) => new BlobSource(found, name));
  }

  async open() {
    return null;
  }

  async get(ranges) {
    return Promise.all(ranges.map(async ([from, to]) => {
      this.requests += 1;
      this.bytes += to - from;
      try {
        return new Uint8Array(await this.blob.slice(from, to).arrayBuffer());
      } catch (error) {
        throw new SourceError(`${this.name} cannot be read any more (${error.message}); it may have been changed or moved`);
      }
    }));
  }
}

/** A path in node. */
export class PathSource {
  requests = 0;
  bytes = 0;

  constructor(path, { beside = true } = {}) {
    this.path = path;
    this.name = String(path).split(/[\\/]/).pop();
    if (beside) {
      this.beside = (name) => this.other(name);
      this.own = () => this.called();
    }
  }

  async called() {
    const [{ readdir }, { default: path }] = await Promise.all([import("node:fs/promises"), import("node:path")]);
    const name = path.basename(String(this.path));
    return { name, near: describing(name, await readdir(path.dirname(path.resolve(String(this.path))))) };
  }

  /** A file of the same folder; links that lead out of it are refused. */
  async other(name) {
    const [{ realpath, stat }, { default: path }] = await Promise.all([import("node:fs/promises"), import("node:path")]);
    const folder = await realpath(path.dirname(path.resolve(String(this.path))));
    let found;
    try {
      found = await realpath(path.join(folder, ...name.split("/")));
    } catch (error) {
      if (["ENOENT", "ENOTDIR"].includes(error.code)) return null;
      throw error;
    }
    if (!found.startsWith(folder + path.sep)) throw new SourceError(`${name} leads out of the folder of ${this.name}`);
    return (await stat(found)).isFile() ? counted(new PathSource(found, { beside: false }), this) : null;
  }

  async open() {
    const { open } = await import("node:fs/promises");
    this.handle = await open(this.path, "r");
    const { size } = await this.handle.stat();
    this.size = size;
    this.whole = size <= NEAR;
    return null;
  }

  async get(ranges) {
    return Promise.all(ranges.map(async ([from, to]) => {
      this.requests += 1;
      this.bytes += to - from;
      const out = new Uint8Array(to - from);
      let done = 0;
      while (done < out.length) {
        const { bytesRead } = await this.handle.read(out, done, out.length - done, from + done);
        if (bytesRead === 0) throw new SourceError(`${this.name} ends at byte ${from + done}, before its size when it was opened`);
        done += bytesRead;
      }
      return out;
    }));
  }

  async close() {
    await this.handle?.close();
  }
}

/** A URL, of which ranges are requested. */
export class UrlSource {
  requests = 0;
  bytes = 0;
  whole = false;

  constructor(url, options = {}) {
    this.url = String(url);
    this.headers = options.headers ?? {};
    this.credentials = options.credentials ?? "same-origin";
    this.front = options.front ?? FRONT;
    if (options.beside ?? true) {
      this.beside = async (name) => this.other(name);
      // Servers do not tell which files they have.
      this.own = async () => ({ name: this.name, near: [] });
    }
    let name = this.url;
    try {
      name = decodeURIComponent(new URL(this.url, globalThis.location?.href).pathname.split("/").pop()) || this.url;
    } catch {
      // A name that is no URL is shown as it is; fetching it will say what is wrong.
    }
    this.name = name;
  }

  /** A file of the same folder. The query of an address belongs to one file, so it is left out. */
  other(name) {
    const url = new URL(name.split("/").map(encodeURIComponent).join("/"), new URL(this.url, globalThis.location?.href));
    const { headers, credentials } = this;
    return counted(new UrlSource(url, { headers, credentials, beside: false, front: SMALL_FRONT }), this);
  }

  async open(signal) {
    const response = await this.ask(`bytes=0-${this.front - 1}`, signal);
    this.tag = response.headers.get("etag");
    this.modified = response.headers.get("last-modified");
    if (response.status === 416) {
      this.size = 0;
      return new Uint8Array();
    }
    const body = async () => {
      const front = new Uint8Array(await response.arrayBuffer());
      this.bytes += front.length;
      return front;
    };
    if (response.status === 206) {
      const told = rangeOf(response);
      if (told && told.first !== 0) {
        await response.body?.cancel();
        throw new SourceError(`${this.host()} answers with another range than the front of the file`);
      }
      const front = await body();
      // Servers of other origins hide the header unless they list it.
      this.size = told?.size != null ? told.size : front.length < this.front ? front.length : await this.measure(signal);
      this.whole = this.size <= front.length;
      return front;
    }
    const length = Number(response.headers.get("content-length") ?? NaN);
    if (length > WITHOUT_RANGES) {
      await response.body?.cancel();
      throw new SourceError(`${this.host()} does not serve ranges, and the file is too large (${length} bytes) to fetch it as a whole`);
    }
    const all = await body();
    this.size = all.length;
    this.whole = true;
    this.all = all;
    return all;
  }

  async measure(signal) {
    this.requests += 1;
    const response = await this.request({}, { method: "HEAD", signal });
    const length = response.headers.get("content-length");
    if (!response.ok || length === null) {
      throw new SourceError(`${this.host()} does not say how large the file is; it must list Content-Range in Access-Control-Expose-Headers`);
    }
    return Number(length);
  }

  host() {
    try {
      return new URL(this.url, globalThis.location?.href).host;
    } catch {
      return this.url;
    }
  }

  /** Makes a request. The headers of the caller are for the origin of the file, also if a redirect leads to another one. */
  async request(headers, options) {
    const all = { credentials: this.credentials, cache: "no-store", ...options };
    const own = { ...this.headers, ...headers };
    // Browsers do not show where a redirect leads, and ask servers of other origins whether they permit the headers.
    if (globalThis.location || !Object.keys(this.headers).length) return fetch(this.url, { ...all, headers: own });
    const { origin } = new URL(this.url);
    for (let url = new URL(this.url), steps = 0; ; steps += 1) {
      const response = await fetch(url, { ...all, headers: url.origin === origin ? own : headers, redirect: "manual" });
      const to = response.headers.get("location");
      if (![301, 302, 303, 307, 308].includes(response.status) || to === null || steps === REDIRECTS) return response;
      await response.body?.cancel();
      url = new URL(to, url);
    }
  }

  async ask(range, signal) {
    for (let tries = 1; ; tries += 1) {
      this.requests += 1;
      let problem;
      let wait = 150 * 2 ** tries;
      try {
        const response = await this.request({ Range: range }, { signal });
        if (response.ok || response.status === 416) return response;
        await response.body?.cancel();
        problem = `${this.host()} answers ${response.status} ${response.statusText}`.trim();
        if (![408, 425, 429, 500, 502, 503, 504].includes(response.status)) {
          throw Object.assign(new SourceError(problem), { absent: [404, 410].includes(response.status) });
        }
        const after = Number(response.headers.get("retry-after"));
        if (after > 0) wait = Math.min(after, 30) * 1000;
      } catch (error) {
        if (error instanceof SourceError || error.name === "AbortError") throw error;
        problem = `${this.host()} cannot be reached (${error.message}); it may be down, or may not permit pages of other origins (CORS)`;
      }
      if (tries >= TRIES) throw new SourceError(problem);
      await new Promise((done) => setTimeout(done, wait));
    }
  }

  async get(ranges, signal) {
    // Once as much was read as the file has, all of it is fetched, if it is not too large: no part is asked for again.
    this.asked = (this.asked ?? 0) + ranges.reduce((all, [from, to]) => all + to - from, 0);
    if (!this.all && this.size <= NEAR && this.asked > this.size) this.all = await this.one([0, this.size], signal);
    const out = new Array(ranges.length);
    let next = 0;
    const worker = async () => {
      while (next < ranges.length) {
        const at = next++;
        out[at] = await this.one(ranges[at], signal);
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, ranges.length) }, worker));
    return out;
  }

  async one([from, to], signal) {
    if (this.all) return this.all.subarray(from, to);
    for (let tries = 1; ; tries += 1) {
      const response = await this.ask(`bytes=${from}-${to - 1}`, signal);
      const tag = response.headers.get("etag");
      const modified = response.headers.get("last-modified");
      if ((this.tag && tag && tag !== this.tag) || (this.modified && modified && modified !== this.modified)) {
        await response.body?.cancel();
        throw new SourceError(`${this.name} was replaced while it was read; open it again`);
      }
      const told = rangeOf(response);
      if (response.status === 206 && told?.size != null && told.size !== this.size) {
        await response.body?.cancel();
        throw new SourceError(`${this.name} was replaced while it was read; open it again`);
      }
      if (response.status !== 206 || (told && told.first !== from)) {
        await response.body?.cancel();
        throw new SourceError(`${this.host()} answers with another range than bytes ${from} to ${to}`);
      }
      let body;
      try {
        body = new Uint8Array(await response.arrayBuffer());
      } catch (error) {
        if (error.name === "AbortError" || tries >= TRIES) throw error;
        continue;
      }
      this.bytes += body.length;
      if (body.length === to - from) return body;
      if (tries >= TRIES || body.length > to - from) {
        throw new SourceError(`${this.host()} sends ${body.length} bytes instead of ${to - from}`);
      }
    }
  }
}

/** Returns the first byte of an answer and the size of the file, if the server shows them. */
function rangeOf(response) {
  const told = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers.get("content-range") ?? "");
  return told && { first: Number(told[1]), size: told[2] === "*" ? null : Number(told[2]) };
}

/** Returns the source of what `open` was given. */
export function sourceOf(what, options = {}) {
  if (what && typeof what.get === "function" && typeof what.open === "function") return what;
  if (typeof Blob !== "undefined" && what instanceof Blob) return new BlobSource(what, options.name, options);
  if (what instanceof ArrayBuffer || ArrayBuffer.isView(what)) return new BytesSource(what, options.name, options);
  if (what instanceof URL || /^https?:\/\//i.test(what) || globalThis.location) return new UrlSource(what, options);
  return new PathSource(what, options);
}
