//! Checks which layers and crates may use which others, as `docs/architecture.md` describes.

use super::rust::{Kind, Source, Token, closing};
use super::tree::Tree;
use super::{Finding, words};
use crate::formats::packages;

/// A format crate may use another one only behind an optional dependency, for data that the format itself
/// embeds.
const EMBEDDED: &[(&str, &str)] = &[("hdf5-pure", "cframe"), ("asdf-core", "cframe")];

/// The crates above the format crates.
const ABOVE: [&str; 2] = ["sciformats", "sciformats-convert"];

/// What the facade must not use.
const NOT_IN_FACADE: [&str; 3] = ["serde_json", "sha2", "sciformats-convert"];

/// What `spec/` may use of its own crate.
const BELOW_SPEC: &[&str] = &["spec", "error", "limits", "Error", "Result", "Limits"];

/// Names that mean I/O, which `spec/` must not do.
const INPUT_OUTPUT: &[&str] = &["ReadAt", "WriteAt", "storage", "fs", "File"];

/// The files that may contain unsafe code.
const UNSAFE: &[&str] = &[
    "crates/cframe/src/codec/simd/mod.rs",
    // Copies of the decoders of LZ4 and its relatives: with a check for each piece, they take 1.1 to 1.2 times as long.
    "crates/sciformats-core/src/lz/wide.rs",
    "crates/sciformats-core/src/number/vectors.rs",
    "crates/sciformats-core/src/storage/access.rs",
    "crates/sciformats-core/src/storage/mmap.rs",
    "crates/sciformats-filters/src/vbz/vectors.rs",
    "crates/sciformats-web/src/abi.rs",
];

/// Functions whose result depends on the machine's byte order.
const MACHINE_ORDER: &[&str] = &["from_ne_bytes", "to_ne_bytes"];

/// Files in which the byte order does not matter: they swap bytes, or use words of eight equal bytes.
const ANY_ORDER: &[&str] = &[
    "crates/cframe/src/codec/bytedelta.rs",
    "crates/cframe/src/codec/simd/plain.rs",
    "crates/sciformats-core/src/endian.rs",
];

/// A crate whose model is divided into rooms, one per subject. Each room may only use those before it.
pub(crate) struct Rooms {
    pub(crate) package: &'static str,
    /// The rooms from the bottom to the top.
    pub(crate) order: &'static [&'static str],
    /// The rooms that turn elements into values of the user. They parse bytes because the user's types
    /// require it.
    pub(crate) values: &'static [&'static str],
}

/// The crates with rooms; `docs/architecture.md` shows the same order.
pub(crate) const ROOMS: &[Rooms] = &[Rooms {
    package: "hdf5-pure",
    order: &[
        "spec", "codec", "filter", "space", "btree", "heap", "object", "chunk", "file", "group", "value",
        "dataset", "audit", "change", "api",
    ],
    values: &["value", "api"],
}];

impl Rooms {
    /// Returns the rooms that correspond to `model/` in other crates.
    pub(crate) fn model(&self) -> impl Iterator<Item = &'static str> {
        let outside = |room: &&&str| !["spec", "codec"].contains(*room) && !self.values.contains(room);
        self.order.iter().filter(outside).copied()
    }

    fn rank(&self, room: &str) -> Option<usize> {
        self.order.iter().position(|&other| other == room)
    }
}

/// Ways to parse bytes, which only `spec/` may use.
const BYTE_PARSING: &[&str] = &["nom", "from_le_bytes", "from_be_bytes", "from_ne_bytes"];

/// Checks `spec/`, `codec/` and `model/` of each format crate.
pub(crate) fn inside(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.sources() {
        let Some((layer, module)) = packages().find_map(|package| place(package, path)) else {
            continue;
        };
        match layer {
            "spec" => {
                for (line, name) in own_paths(&source, &module) {
                    if !BELOW_SPEC.contains(&name) {
                        findings.push(Finding::new(
                            path,
                            line,
                            format!("spec/ must not use `{name}` of its crate"),
                        ));
                    }
                }
                for token in words_of(&source, |word| INPUT_OUTPUT.contains(&word)) {
                    let message = format!("spec/ must not do I/O: `{}`; pass it bytes", token.text);
                    findings.push(Finding::new(path, token.line, message));
                }
            }
            "codec" => {
                for (line, name) in own_paths(&source, &module) {
                    if name == "spec" || name == "model" {
                        findings.push(Finding::new(path, line, format!("codec/ must not use {name}/")));
                    }
                }
                for token in words_of(&source, |word| INPUT_OUTPUT.contains(&word)) {
                    let message = format!("codec/ must not know files: `{}`; pass it bytes", token.text);
                    findings.push(Finding::new(path, token.line, message));
                }
            }
            "model" => findings.extend(parsed(path, &source, layer)),
            _ => {}
        }
    }
    findings
}

/// Checks that rooms only use those before them, and parse no bytes.
pub(crate) fn rooms(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.sources() {
        let inside = ROOMS.iter().find_map(|rooms| Some((rooms, place(rooms.package, path)?)));
        let Some((rooms, (room, module))) = inside else { continue };
        let Some(rank) = rooms.rank(room) else {
            if !["lib", "main"].contains(&room) {
                findings.push(Finding::new(
                    path,
                    1,
                    format!("`{room}` is not in the list of rooms of its crate"),
                ));
            }
            continue;
        };
        for (line, name) in own_paths(&source, &module) {
            if rooms.rank(name).is_some_and(|other| other > rank) {
                let message = format!("`{room}` must not use `{name}`, which is above it");
                findings.push(Finding::new(path, line, message));
            }
        }
        if rooms.model().any(|model| model == room) {
            findings.extend(parsed(path, &source, room));
        }
    }
    findings
}

/// Finds the places where a room other than `spec/` parses bytes.
fn parsed(path: &str, source: &Source<'_>, room: &str) -> Vec<Finding> {
    let found = words_of(source, |word| BYTE_PARSING.contains(&word) || is_nom_number(word));
    let message = |word: &str| format!("{room}/ must not parse bytes: `{word}`; move the structure to spec/");
    found.into_iter().map(|token| Finding::new(path, token.line, message(token.text))).collect()
}

/// Checks the dependencies between format crates.
pub(crate) fn between(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages() {
        let path = format!("crates/{package}/Cargo.toml");
        let Some((_, manifest)) = tree.packages().find(|(folder, _)| *folder == format!("crates/{package}"))
        else {
            continue;
        };
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(table) = manifest.get(table).and_then(toml::Value::as_table) else { continue };
            for other in packages().chain(ABOVE).filter(|other| table.contains_key(*other)) {
                let optional = table[other].get("optional").and_then(toml::Value::as_bool) == Some(true);
                if !(optional && EMBEDDED.contains(&(package, other))) {
                    let message = format!(
                        "a format crate must be independent; remove {other}, or make it a permitted optional dependency"
                    );
                    findings.push(Finding::new(&path, 0, message));
                }
            }
        }
    }
    findings.extend(thin(tree));
    findings
}

/// Checks that the facade only detects, opens and reads; hashing, JSON and writing belong to the crates above
/// it.
fn thin(tree: &Tree) -> Vec<Finding> {
    let Some((folder, manifest)) = tree.packages().find(|(folder, _)| *folder == "crates/sciformats") else {
        return Vec::new();
    };
    let used = manifest.get("dependencies").and_then(toml::Value::as_table);
    let heavy =
        used.into_iter().flat_map(toml::Table::keys).filter(|name| NOT_IN_FACADE.contains(&name.as_str()));
    let path = format!("{folder}/Cargo.toml");
    heavy
        .map(|name| Finding::new(&path, 0, format!("the facade must stay thin; do not use {name}")))
        .collect()
}

/// The file of the core that names what other files are, for errors. It reads none of them.
const FOREIGN: &str = "crates/sciformats-core/src/foreign.rs";

/// Checks that the core contains no name of a format.
pub(crate) fn core(tree: &Tree) -> Vec<Finding> {
    let names = ["hdf5", "asdf", "blosc", "blosc2", "gsd", "rawarray", "netcdf", "hoomd", "b2nd"];
    let mut findings = Vec::new();
    let of_core = |path: &str| path.starts_with("crates/sciformats-core/src/") && path != FOREIGN;
    for (path, text) in tree.texts().filter(|(path, _)| of_core(path)) {
        for (line, text) in text.lines().enumerate() {
            for name in names.iter().filter(|name| words::has_word(&text.to_lowercase(), name)) {
                findings.push(Finding::new(
                    path,
                    line + 1,
                    format!("the core must not know a format: `{name}`"),
                ));
            }
        }
    }
    findings
}

/// Checks that unsafe code is only in the files for memory maps and SIMD kernels, and that numbers are never
/// read in the machine's byte order.
pub(crate) fn machine(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.sources().filter(|(path, _)| path.starts_with("crates/")) {
        for token in words_of(&source, |word| word == "unsafe" || MACHINE_ORDER.contains(&word)) {
            let message = match token.text {
                "unsafe" if UNSAFE.contains(&path) => continue,
                "from_ne_bytes" | "to_ne_bytes" if ANY_ORDER.contains(&path) => continue,
                "unsafe" => {
                    "unsafe code is only permitted in a few files; avoid it, or add this file to the rule"
                        .to_owned()
                }
                word => format!("`{word}` has another result on a machine with another byte order"),
            };
            findings.push(Finding::new(path, token.line, message));
        }
    }
    findings
}

/// Checks that libraries do not print; only programs do.
pub(crate) fn printing(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let library = |path: &str| {
        let inside = path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
        inside.is_some_and(|(package, path)| package != "sciformats-cli" && path.starts_with("src/"))
    };
    for (path, source) in tree.sources().filter(|(path, _)| library(path)) {
        for name in ["println", "print", "eprintln", "eprint", "dbg"] {
            for line in source.lines_with(&[name, "!"]) {
                findings.push(Finding::new(path, line, format!("a library must not print: `{name}!`")));
            }
        }
    }
    findings
}

/// Returns the layer (the first folder below `src`) and the module path of a source of the package.
fn place<'p>(package: &str, path: &'p str) -> Option<(&'p str, Vec<&'p str>)> {
    let inside =
        path.strip_prefix("crates/")?.strip_prefix(package)?.strip_prefix("/src/")?.strip_suffix(".rs")?;
    let mut module: Vec<&str> = inside.split('/').collect();
    if module.last() == Some(&"mod") {
        module.pop();
    }
    Some((*module.first()?, module))
}

fn words_of<'s>(source: &'s Source<'_>, choose: impl Fn(&str) -> bool) -> Vec<&'s Token<'s>> {
    source.code().filter(|token| token.kind == Kind::Word && choose(token.text)).collect()
}

/// Returns whether a word is a number parser of nom: `le_u32`, `be_f64`, …
fn is_nom_number(word: &str) -> bool {
    let rest = word.strip_prefix("le_").or_else(|| word.strip_prefix("be_"));
    rest.and_then(|rest| rest.strip_prefix(['u', 'i', 'f'])).is_some_and(|bits| bits.parse::<u8>().is_ok())
}

/// Returns what a source uses of its own crate: the first name of each path that begins with `crate`, or that
/// leads up to the top with `super`, with its line.
fn own_paths<'a>(source: &Source<'a>, module: &[&'a str]) -> Vec<(usize, &'a str)> {
    let tokens: Vec<Token<'a>> = source.code().copied().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let begins =
            !at.checked_sub(1).and_then(|before| tokens.get(before)).is_some_and(|before| before.is(":"));
        let mut depth = match token.text {
            "crate" if begins && token.kind == Kind::Word => Some(0),
            "super" if begins && token.kind == Kind::Word => Some(module.len().saturating_sub(1)),
            _ => None,
        };
        at += 1;
        while let Some(next) = after_colons(&tokens, at) {
            if !next.is("super") {
                break;
            }
            depth = depth.map(|depth| depth.saturating_sub(1));
            at += 3;
        }
        match depth {
            Some(0) if after_colons(&tokens, at).is_some() => found.extend(heads(&tokens, at + 2)),
            // A path that stays inside leads to the same layer.
            _ => {}
        }
    }
    found
}

/// Returns the token after `::` at `at`.
fn after_colons<'t, 'a>(tokens: &'t [Token<'a>], at: usize) -> Option<&'t Token<'a>> {
    let colons = tokens.get(at)?.is(":") && tokens.get(at + 1)?.is(":");
    tokens.get(at + 2).filter(|_| colons)
}

/// Returns the name at `at`, or the first name of each part of a group `{a::b, c}`.
fn heads<'a>(tokens: &[Token<'a>], at: usize) -> Vec<(usize, &'a str)> {
    let Some(first) = tokens.get(at) else { return Vec::new() };
    if !first.is("{") {
        return vec![(first.line, first.text)];
    }
    let end = closing(tokens, at);
    let (mut names, mut depth, mut fresh) = (Vec::new(), 0usize, true);
    for token in tokens.get(at + 1..end).unwrap_or_default() {
        match token.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "," if depth == 0 => fresh = true,
            name if fresh && token.kind == Kind::Word => {
                names.push((token.line, name));
                fresh = false;
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn spec_uses_only_itself_and_the_core() {
        let good = "use crate::spec::header::Header;\nuse super::header;\nuse sciformats_core::fault::{field, Parsed};\n\
                    use crate::{Error, spec::{a, b}};\n#[cfg(test)]\nmod tests { use crate::model::x; }";
        assert!(inside(&Tree::of(&[("crates/gsd-rs/src/spec/index.rs", good)])).is_empty());
        let bad = "use crate::model::commit;\nuse super::super::codec;\nuse crate::{spec::a, reader::Reader};\n\
                   use sciformats_core::storage::ReadAt;\nfn f() { crate::writer::g() }";
        let findings = inside(&Tree::of(&[("crates/gsd-rs/src/spec/index.rs", bad)]));
        let lines: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 2, 3, 5, 4, 4], "{:#?}", messages(&findings));
        assert!(findings[0].message.contains("`model`"));
        assert!(findings[1].message.contains("`codec`"));
        assert!(findings[2].message.contains("`reader`"));
    }

    #[test]
    fn codecs_know_neither_spec_nor_model() {
        let text = "use crate::spec::flags;\nuse crate::element::Element;\nuse super::super::model::x;";
        let findings = inside(&Tree::of(&[("crates/rawarray/src/codec/lz4.rs", text)]));
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn codecs_know_no_file() {
        let findings = inside(&Tree::of(&[("crates/rawarray/src/codec/lz4.rs", "fn f(s: &dyn ReadAt) {}")]));
        assert_eq!(findings.len(), 1);
    }

    #[test]
    fn unsafe_code_and_the_machines_order_are_found() {
        let text = "fn f() { unsafe { g() } }\nfn h() { u32::from_ne_bytes(x) }\n// unsafe\n";
        let lines = |path: &str| {
            machine(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("crates/gsd-rs/src/a.rs"), [1, 2]);
        assert_eq!(lines("crates/sciformats-core/src/storage/mmap.rs"), [2]);
    }

    #[test]
    fn the_model_parses_no_bytes() {
        let text = "use nom::bytes;\nfn f(i: &[u8]) { le_u32(i); u64::from_le_bytes(x); le_usual() }";
        let findings = inside(&Tree::of(&[("crates/gsd-rs/src/model/index.rs", text)]));
        assert_eq!(findings.len(), 3);
        assert_eq!(rooms(&Tree::of(&[("crates/hdf5-pure/src/chunk/grid.rs", text)])).len(), 3);
        assert!(rooms(&Tree::of(&[("crates/hdf5-pure/src/value/element.rs", text)])).is_empty());
        assert!(inside(&Tree::of(&[("crates/hdf5-pure/src/spec/x.rs", text)])).is_empty());
    }

    #[test]
    fn rooms_use_only_those_below() {
        let text = "use crate::spec::Address;\nuse crate::heap::fractal::Heap;\nuse crate::group::links;\n\
                    use super::super::api::File;";
        let found = |path: &str| -> Vec<usize> {
            rooms(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
        };
        assert_eq!(found("crates/hdf5-pure/src/object/x.rs"), [3, 4]);
        assert_eq!(found("crates/hdf5-pure/src/spec/x.rs"), [2, 3, 4]);
        assert!(found("crates/hdf5-pure/src/api/x.rs").is_empty());
        assert_eq!(found("crates/hdf5-pure/src/elsewhere/x.rs"), [1]);
    }

    #[test]
    fn format_crates_depend_on_each_other_only_by_an_allowed_option() {
        let manifest = |dependency: &str| format!("[package]\nname = \"x\"\n[dependencies]\n{dependency}\n");
        let tree = |package: &str, dependency: &str| {
            let path = format!("crates/{package}/Cargo.toml");
            between(&Tree::of(&[(&path, &manifest(dependency))]))
        };
        assert!(tree("asdf-core", "cframe = { workspace = true, optional = true }").is_empty());
        assert_eq!(tree("asdf-core", "cframe.workspace = true").len(), 1);
        assert_eq!(tree("gsd-rs", "cframe = { workspace = true, optional = true }").len(), 1);
        assert!(tree("gsd-rs", "sciformats-core.workspace = true").is_empty());
        assert_eq!(tree("npy", "rawarray.workspace = true").len(), 1);
        assert_eq!(tree("npy", "sciformats.workspace = true").len(), 1);
    }

    #[test]
    fn the_facade_is_thin() {
        let tree = |dependency: &str| {
            let manifest = format!("[package]\nname = \"x\"\n[dependencies]\n{dependency}\n");
            messages(&between(&Tree::of(&[("crates/sciformats/Cargo.toml", &manifest)])))
        };
        assert!(tree("npy.workspace = true").is_empty());
        let heavy = "crates/sciformats/Cargo.toml: the facade must stay thin; do not use sha2";
        assert_eq!(tree("sha2.workspace = true"), [heavy]);
    }

    #[test]
    fn the_core_names_no_format() {
        let tree = Tree::of(&[
            ("crates/sciformats-core/src/a.rs", "//! As in HDF5.\nlet gsdx = 1;\n"),
            ("crates/gsd-rs/src/lib.rs", "//! GSD.\n"),
        ]);
        assert_eq!(
            messages(&core(&tree)),
            ["crates/sciformats-core/src/a.rs:1: the core must not know a format: `hdf5`"]
        );
    }

    #[test]
    fn libraries_do_not_print_but_the_program_and_tests_do() {
        let text = "//! Never println!.\nfn f() {\n    eprintln!();\n}\n#[cfg(test)]\nmod tests { fn g() { println!(); } }";
        let tree = Tree::of(&[("crates/gsd-rs/src/a.rs", text), ("crates/sciformats-cli/src/main.rs", text)]);
        assert_eq!(
            messages(&printing(&tree)),
            ["crates/gsd-rs/src/a.rs:3: a library must not print: `eprintln!`"]
        );
    }
}
