//! Puts the page of the viewer into the program, if its WebAssembly was built: `cargo xtask web`.

#![allow(clippy::print_stdout, reason = "cargo reads what build scripts print")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The parts of the page: the folder, the place in the page, and the ends of the names.
const PARTS: [(&str, &str, &[&str]); 2] =
    [("page", "", &["html", "css", "js", "svg", "webmanifest"]), ("npm", "sciformats/", &["js", "wasm"])];

fn main() -> std::io::Result<()> {
    let web = Path::new("..").join("sciformats-web");
    let mut list = String::new();
    for (folder, place, ends) in PARTS {
        let folder = web.join(folder);
        if !folder.is_dir() {
            // A package of the program alone has no page.
            continue;
        }
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
        paths.sort();
        for path in paths {
            let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if ends.contains(&end) {
                let whole = path.canonicalize()?;
                let _ = writeln!(list, "    ({:?}, include_bytes!({:?})),", format!("{place}{name}"), whole);
            }
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    if !web.join("npm").join("sciformats.wasm").exists() {
        list.clear();
    }
    let text = format!("pub(super) const BUILT_IN: &[(&str, &[u8])] = &[\n{list}];\n");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    std::fs::write(out.join("page.rs"), text)
}
