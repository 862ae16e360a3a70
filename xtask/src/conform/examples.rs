//! The examples take part in the run like a format: each of them and the usual program for its task exchange files.

use std::fs;
use std::path::{Path, PathBuf};

use super::Programs;
use crate::formats::Format;
use crate::sh::{About, Result};

/// The entry that stands in the list of formats.
pub(crate) const EXAMPLES: Format =
    Format { name: "examples", title: "Examples", package: "examples", writes: true };

/// The packages, and those of their examples that have an independent side in `examples_conform.py`.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("asdf-core", &["roman"]),
    ("cframe", &["heights"]),
    ("gsd-rs", &["hoomd"]),
    ("hdf5-pure", &["climate", "errors", "particles", "simulation"]),
    ("npy", &["doubled"]),
    ("rawarray", &["usage"]),
    ("sciformats", &["contents", "maximum", "server", "tokio_sums"]),
    ("sciformats-conventions", &["anndata"]),
];

fn names() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().flat_map(|(_, names)| names.iter().copied())
}

/// Copies them to a folder in `place`, which is returned.
pub(super) fn copies(programs: &Programs, place: &Path) -> Result<PathBuf> {
    let folder = place.join("programs");
    fs::create_dir_all(&folder).about(&folder)?;
    names().try_for_each(|name| programs.copy(name, &folder).map(drop))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sh::root;

    #[test]
    fn each_example_exists_and_has_an_independent_side() {
        let script = fs::read_to_string(EXAMPLES.script("conform")).unwrap();
        for (package, names) in PROGRAMS {
            for name in *names {
                let source = root().join(format!("crates/{package}/examples/{name}.rs"));
                assert!(source.exists(), "{}", source.display());
                assert!(script.contains(&format!("    \"{name}\": ")), "{name}");
            }
        }
    }
}
