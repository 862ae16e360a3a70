import type { OpenOptions, SciFile } from "./index.js";

type Constructor<T> = abstract new (filepath: string) => T;

/** Returns a provider for H5Web; `Base` is the class `DataProviderApi` of `@h5web/app`. */
export function h5webProvider<T>(Base: Constructor<T>, source: Parameters<typeof import("./index.js").open>[0] | SciFile, options?: OpenOptions): Promise<T & { file: SciFile }>;
