/** Reads scientific files in browsers and in node. */

export type Shape = number[] | null;
export type TypedArray =
  | Int8Array | Int16Array | Int32Array | BigInt64Array
  | Uint8Array | Uint16Array | Uint32Array | BigUint64Array
  | Float32Array | Float64Array;

/** Stored elements, decoded ones, decoded ones with words for flags, or decoded ones whose times are numbers. */
export type View = "stored" | "values" | "words" | "numbers";

export interface Options {
  /** Cancels the request. */
  signal?: AbortSignal;
}

export interface OpenOptions extends Options {
  /** Headers of requests, such as `Authorization`. In node, a redirect to another origin loses them; browsers ask that origin whether it permits them. */
  headers?: Record<string, string>;
  credentials?: RequestCredentials;
  /** The name of the file, if it has none. */
  name?: string;
  /**
   * Which other files may be opened if the file names them: targets of links, sources of virtual datasets, parts of
   * exploded ASDF files and of sparse Blosc2 frames, and the other parts of an HDF5 file that consists of several. For an address and a
   * path, whether those in the same folder and in folders inside it; the default is true. For a `File` or bytes, the files by their
   * paths; the default is none.
   */
  beside?: boolean | Iterable<File> | Iterable<[string, Blob | ArrayBuffer | ArrayBufferView]> | Record<string, Blob | ArrayBuffer | ArrayBufferView>;
  /** The path of the file among them. By default it is the one that the browser gives, or the name. */
  path?: string;
  /** Whether a worker reads the file; by default it does on pages. */
  worker?: boolean;
  /** The WebAssembly, if it is not beside the package. */
  wasm?: WebAssembly.Module | BufferSource | Response | Promise<Response>;
}

export interface ReadOptions extends Options {
  /** As NumPy writes it: `0, 10:20, ::2`. */
  slice?: string;
  view?: View;
  /** The field of a compound. */
  field?: string;
  /** The part of complex numbers. */
  part?: "abs" | "re" | "im" | "phase";
  as?: "float64";
}

export interface Member {
  /** The name and the path. */
  n: string;
  p: string;
  /** group, array, datatype, value, unknown */
  k: "g" | "a" | "d" | "v" | "u";
  t?: string;
  s?: Shape;
  v?: string;
  /** What a link leads to. */
  to?: string;
  /** Why the object cannot be read. */
  e?: string;
}

export interface Attribute {
  name: string;
  type?: string;
  shape?: Shape;
  text?: string;
  links?: string[];
  error?: string;
}

export interface About {
  format: string;
  word: string;
  headline: string;
  size: number;
  conventions: string[];
  writer: string | null;
  title: string | null;
  highlights: { path: string; what: string; signature: string | null }[];
  facts: [string, string][];
  cut: number | null;
  damage: string | null;
  doubt: string | null;
}

export interface Cost {
  requests: number;
  bytes: number;
}

/** An error of the reader; `blame` says who caused it, and `offset` where in the file. */
export class SciformatsError extends Error {
  blame: "machine" | "file" | "program" | "limit" | "caller" | "missing";
  offset: number | null;
}

/** Opens a URL, a `File` or `Blob`, bytes, or in node a path. */
export function open(source: string | URL | Blob | ArrayBuffer | ArrayBufferView | Source, options?: OpenOptions): Promise<SciFile>;

export interface Grid {
  rows: number;
  columns: number;
  /** The lowest and the highest finite element that was read. */
  low: number | null;
  high: number | null;
  missing: number;
  infinite: number;
  /** The lengths of all dimensions of the array. */
  shape: number[];
  values: Float64Array;
  whole: boolean;
}

export class SciFile {
  readonly name: string;
  readonly size: number;
  readonly about: About;
  readonly cost: Cost;
  /** By path, which sources of elements do not exist, of those that were read so far: these elements are fill values. */
  readonly absent: Map<string, Set<string>>;
  members(path?: string, options?: Options & { first?: number; count?: number }): Promise<{ total: number; members: Member[] }>;
  describe(path: string, options?: Options): Promise<Record<string, unknown>>;
  attributes(path: string, options?: Options): Promise<Attribute[]>;
  attribute(path: string, name: string, options?: Options): Promise<Attribute>;
  search(text: string, options?: Options & { count?: number }): Promise<{ objects: number; total: number; found: [string, string][] }>;
  read(path: string, options?: ReadOptions): Promise<{ shape: number[]; dtype: string; sort: string; decoded: boolean; values: TypedArray; absent?: string[] }>;
  cells(path: string, options?: ReadOptions & { most?: number }): Promise<{ shape: number[]; columns: string[] | null; cells: string[]; absent?: string[] }>;
  json(path: string, options?: ReadOptions): Promise<string>;
  csv(path: string, options?: ReadOptions): Promise<string>;
  npy(path: string, options?: ReadOptions): Promise<ArrayBuffer>;
  grid(path: string, options: ReadOptions & { y: number; x: number; fixed?: number[]; y0?: number; y1?: number; x0?: number; x1?: number; rows?: number; columns?: number }): Promise<Grid>;
  line(path: string, options: ReadOptions & { x: number; fixed?: number[]; from?: number; to?: number; columns?: number }): Promise<{ raw: boolean; low: number | null; high: number | null; values: Float64Array }>;
  along(path: string, axis: number, options?: Options & { first?: number; step?: number; count?: number }): Promise<{ kind: "none" | "numbers" | "times" | "texts"; label?: string; units?: string | null; texts?: (string | null)[]; values: Float64Array | null }>;
  /** Statistics of the finite elements. What is too large for a number is null. */
  statistics(path: string, options?: ReadOptions & { bins?: number; low?: number; high?: number }): Promise<{ count: number; infinite: number; all: number; low: number | null; high: number | null; sum: number | null; mean: number | null; squares: number | null; counts: Uint32Array | null }>;
  structures(options?: Options & { at?: number; count?: number }): Promise<{ size: number; structures: [string, number, number, number, [string, string][]][]; more: boolean }>;
  verify(options?: Options): Promise<{ faults: { path: string | null; error: string; offset: number | null; blame: string }[]; findings: number; objects: number; bytes: number }>;
  close(): void;
}

/** Where bytes come from; other stores implement this. */
export interface Source extends Cost {
  readonly name: string;
  readonly size: number;
  /** Whether the whole file is read at once. */
  readonly whole: boolean;
  /** Makes the size known, and may return the front of the file. */
  open(signal?: AbortSignal): Promise<Uint8Array | null>;
  get(ranges: [number, number][], signal?: AbortSignal): Promise<Uint8Array[]>;
  close?(): void;
  /** The source of a file of the same folder that this one names; null if there is none. */
  beside?(name: string, signal?: AbortSignal): Promise<Source | null>;
  /** The name of this file, if it may be one of several parts, and names near it that begin with `NAME.subfile_` and end with `.config`. */
  own?(): Promise<{ name: string; near: string[] }>;
}
