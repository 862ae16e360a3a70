// The lines of Python and Rust that read what is shown.

const python = (text) => JSON.stringify(text);

/** The selection as Python spells it. */
function indices(parts) {
  return parts.map((part) => (typeof part === "number" ? part : part.from === undefined ? ":" : `${part.from}:${part.to}`)).join(", ");
}

/** Lines for a file, an object, and what is selected of it. */
export function lines({ name, url, path, parts, array, decoded, about }) {
  // An address relative to this page is an address for other programs too.
  if (url) url = new URL(url, location.href).href;
  const source = url ?? name;
  const slice = parts?.some((part) => typeof part === "number" || part.from !== undefined) ? indices(parts) : "";
  const python_open = `import sciformats\n\nfile = sciformats.open(${python(source)})`;
  const rust_open = url ? `let file = sciformats::open_url(${JSON.stringify(url)})?;` : `let file = sciformats::open(${JSON.stringify(name)})?;`;
  if (!array) {
    return {
      Python: `${python_open}\nfor name in file[${python(path)}]:\n    print(name)`,
      Rust: `${rust_open}\nfor entry in file.walk() {\n    println!("{}", entry.path);\n}`,
    };
  }
  const python_read = `u = file[${python(path)}][${slice || "..."}]`;
  const element = { int8: "i8", int16: "i16", int32: "i32", int64: "i64", uint8: "u8", uint16: "u16", uint32: "u32", uint64: "u64", float32: "f32", text: "String", string: "String", bool: "bool" }[array.type] ?? "f64";
  const rust_slice = slice ? `.read_slice(${JSON.stringify(slice)})?` : ".read()?";
  const shell = `sciformats cat ${shellWord(source)} ${shellWord(path)}${slice ? ` --slice ${shellWord(slice)}` : ""}`;
  const out = { Python: `${python_open}\n${python_read}`, Rust: `${rust_open}\nlet u: Vec<${element}> = file.array(${JSON.stringify(path)})?${rust_slice};`, Shell: shell };
  if (!decoded && about.word === "hdf5") out.h5py = `import h5py\n\nwith h5py.File(${python(name)}) as file:\n    u = file[${python(path)}][${slice || "..."}]`;
  return out;
}

function shellWord(text) {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
