//! The formats, their crates, and the parts of the protocols that each has.

use std::path::PathBuf;

use crate::sh::{Failure, Result, root};

/// One format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// The name of its folder of fixtures, its Python scripts and its bench.
    pub(crate) name: &'static str,
    /// Its name in documents.
    pub(crate) title: &'static str,
    /// The crate that reads and writes it.
    pub(crate) package: &'static str,
    /// Whether the crate writes files, so that other programs can check them.
    pub(crate) writes: bool,
}

/// All formats of the project.
pub(crate) const FORMATS: &[Format] = &[
    Format { name: "hdf5", title: "HDF5", package: "hdf5-pure", writes: true },
    Format { name: "asdf", title: "ASDF", package: "asdf-core", writes: true },
    Format { name: "blosc2", title: "Blosc2", package: "cframe", writes: true },
    Format { name: "gsd", title: "GSD", package: "gsd-rs", writes: true },
    Format { name: "rawarray", title: "RawArray", package: "rawarray", writes: true },
];

/// Returns the independent crates, one per format. The crate of NumPy's files has no conformance run and no
/// bench of its own.
pub(crate) fn packages() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.package).chain(["npy"])
}

impl Format {
    /// Returns the example that is our side of the conformance run.
    pub(crate) fn example(self) -> String {
        format!("{}_conformance", self.name)
    }

    /// `xtask/python/NAME_PART.py`
    pub(crate) fn script(self, part: &str) -> PathBuf {
        root().join("xtask").join("python").join(format!("{}_{part}.py", self.name))
    }
}

/// Returns the format's name if the word is the name of its crate, and otherwise the word itself.
pub(crate) fn name_of(word: &str) -> &str {
    FORMATS.iter().find(|format| format.package == word).map_or(word, |format| format.name)
}

/// Returns the formats that have the Python script `NAME_PART.py`, or only the requested one.
pub(crate) fn with_script(part: &str, asked: Option<&str>) -> Result<Vec<Format>> {
    let known: Vec<Format> = FORMATS.iter().copied().filter(|format| format.script(part).exists()).collect();
    let Some(asked) = asked.map(name_of) else { return Ok(known) };
    match known.iter().find(|format| format.name == asked) {
        Some(format) => Ok(vec![*format]),
        None => {
            let names: Vec<&str> = known.iter().map(|format| format.name).collect();
            Err(Failure::setup(format!(
                "there is no xtask/python/{asked}_{part}.py; the formats that have such a script are {}",
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_goes_by_the_name_of_its_crate_too() {
        assert_eq!(name_of("cframe"), "blosc2");
        assert_eq!(name_of("gsd"), "gsd");
        assert_eq!(name_of("png"), "png");
    }

    #[test]
    fn an_unknown_format_is_named() {
        let failure = with_script("peer", Some("png")).unwrap_err();
        assert!(failure.message.contains("png_peer.py"));
        assert_eq!(failure.status, 2);
    }
}
