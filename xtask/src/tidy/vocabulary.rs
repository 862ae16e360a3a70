//! Checks that the public functions of all libraries use the words of the table in the house style, with the
//! same types.

use super::Finding;
use super::tree::Tree;

/// The document with the table.
const STYLE: &str = "docs/style.md";

/// The heading of the table.
const HEADING: &str = "**One word for one thing**";

/// Words, and what the signature of a public function with this name must contain.
const SIGNATURES: &[(&str, &str)] = &[
    ("shape(&self)", "-> &[u64]"),
    ("is_null(&self)", "-> bool"),
    ("with_threads(", "threads: usize"),
    ("with_limits(", "limits: Limits"),
    ("with_access(", "access: Access"),
];

/// Files whose shapes belong to a selection, or to dimensions that the caller may change.
const COMPUTED: &[&str] = &[
    "crates/sciformats-core/src/select/mod.rs",
    "crates/sciformats-core/src/slab.rs",
    "crates/sciformats/src/selection.rs",
    "crates/sciformats-conventions/src/variable/mod.rs",
    // The Python package says `None` for an array without a shape, as h5py does.
    "crates/sciformats-python/src/file.rs",
];

/// Other names for the same things, and the word to use.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("as_ndarray", "ndarray"),
    ("create_new", "create"),
    ("create_or_open", "open_or_create"),
    ("ndim", "shape"),
    ("num_threads", "with_threads"),
    ("read_all", "read"),
    ("read_array", "to_ndarray"),
    ("read_ndarray", "to_ndarray"),
    ("replace_file", "overwrite"),
    ("set_limits", "with_limits"),
    ("set_threads", "with_threads"),
    ("to_array", "to_ndarray"),
    ("truncate_file", "overwrite"),
    ("with_compression_level", "with_level"),
    ("with_mmap", "with_access"),
    ("write_array", "write_ndarray"),
];

/// Streams that are created in place, because they are continued after the process was killed.
const CONTINUED: &[&str] = &["crates/rawarray/src/stream.rs"];

/// The same things have the same names and types.
pub(crate) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut public = String::new();
    for (path, text) in tree.texts().filter(|(path, _)| is_library(path)) {
        let mut names = Vec::new();
        for (number, signature) in functions(text) {
            let name = signature.split(['(', '<']).next().unwrap_or_default();
            // A dataset is created in a file that is being written.
            if name != "create" || signature.contains("path:") {
                names.push(name.to_owned());
            }
            if let Some(message) = wrong(path, name, &signature) {
                findings.push(Finding::new(path, number, message));
            }
        }
        let has = |word: &str| names.iter().any(|name| name == word);
        if has("create") && !has("overwrite") && !CONTINUED.contains(&path) && path.starts_with("crates/") {
            let message = "`create` refuses a file that exists, so there must be an `overwrite` beside it";
            findings.push(Finding::new(path, 0, message));
        }
        public.push_str(text);
    }
    if let Some(style) = tree.text(STYLE) {
        let missing = words(style).filter(|(_, word)| !defines(&public, word));
        findings.extend(missing.map(|(number, word)| {
            Finding::new(STYLE, number, format!("`{word}` is not public in any library; correct the table"))
        }));
    }
    findings
}

/// Libraries whose public functions people call. The lowest crate has storages and sessions, which only
/// libraries use.
fn is_library(path: &str) -> bool {
    let crates = ["asdf-core", "cframe", "gsd-rs", "hdf5-pure", "npy", "rawarray", "sciformats"];
    let more = ["sciformats-conventions", "sciformats-convert"];
    path.ends_with(".rs")
        && crates.iter().chain(&more).any(|name| path.starts_with(&format!("crates/{name}/src/")))
}

/// Returns the line and the signature of each public function, from its name on, in one line.
fn functions(text: &str) -> impl Iterator<Item = (usize, String)> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].starts_with("pub fn ")).collect();
    starts.into_iter().map(move |at| {
        let mut signature = lines[at].trim_start_matches("pub fn ").to_owned();
        for line in lines.iter().skip(at + 1).take_while(|_| !lines[at].ends_with('{')) {
            signature.push(' ');
            signature.push_str(line);
            if line.ends_with('{') {
                break;
            }
        }
        (at + 1, signature)
    })
}

/// Returns what is wrong with a public function.
fn wrong(path: &str, name: &str, signature: &str) -> Option<String> {
    if let Some((other, word)) = OTHER_WORDS.iter().find(|(other, _)| *other == name) {
        return Some(format!("`{other}` is another name for `{word}`; see {STYLE}"));
    }
    let (word, part) = SIGNATURES.iter().find(|(word, _)| signature.starts_with(word))?;
    let fits = signature.contains(part) || *word == "shape(&self)" && COMPUTED.contains(&path);
    (!fits).then(|| format!("the signature of `{name}` must contain `{part}`; see {STYLE}"))
}

/// Returns the line and each word in the first column of the table.
fn words(style: &str) -> impl Iterator<Item = (usize, &str)> {
    let table = (1..).zip(style.lines()).skip_while(|(_, line)| *line != HEADING).skip(1);
    let rows =
        table.take_while(|(_, line)| !line.starts_with("**")).filter(|(_, line)| line.starts_with("| `"));
    rows.flat_map(|(number, line)| {
        let cell = line.split('|').nth(1).unwrap_or_default();
        let parts = cell.split('`').skip(1).step_by(2);
        parts.map(move |word| (number, word.split(['(', ':', '<']).next().unwrap_or_default()))
    })
}

fn defines(public: &str, word: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    let functions = public.match_indices("pub fn ").map(|(at, start)| &public[at + start.len()..]);
    let kinds = public.match_indices("Error::").map(|(at, start)| &public[at + start.len()..]);
    functions.chain(kinds).any(|rest| rest.strip_prefix(word).is_some_and(ends))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        rule(&Tree::of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_same_words_have_the_same_types() {
        let good = "
pub fn shape(&self) -> &[u64] {
pub fn with_threads(
    self,
    threads: usize,
) -> Self {
pub fn create(path: &Path) -> Result<Self> {
pub fn overwrite(path: &Path) -> Result<Self> {
";
        assert_eq!(messages(&[("crates/npy/src/a.rs", good)]), [""; 0]);
        let bad = "
pub fn shape(&self) -> Option<&[u64]> {
pub fn with_threads(
    self,
    count: u32,
) -> Self {
pub fn create(path: &Path) -> Result<Self> {
pub fn read_array(&self) -> Result<ArrayD<f64>> {
";
        let found = messages(&[("crates/npy/src/a.rs", bad), ("crates/sciformats-core/src/b.rs", bad)]);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].starts_with("crates/npy/src/a.rs:2: the signature of `shape` must contain"));
        assert!(found[1].starts_with("crates/npy/src/a.rs:3: the signature of `with_threads`"));
        assert!(found[2].starts_with("crates/npy/src/a.rs:8: `read_array` is another name for `to_ndarray`"));
        assert!(found[3].starts_with("crates/npy/src/a.rs: `create` refuses"));
    }

    #[test]
    fn the_words_of_the_table_exist() {
        let style = "**One word for one thing**\n\n| word | what |\n|---|---|\n| `open`, `open_with(…)` | x |\n\n**Next**\n| `no` |\n";
        let code = "pub fn open(path: &Path) -> Result<Self> {\n";
        let found = messages(&[("docs/style.md", style), ("crates/npy/src/a.rs", code)]);
        assert_eq!(found, ["docs/style.md:5: `open_with` is not public in any library; correct the table"]);
    }
}
