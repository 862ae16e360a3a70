//! The formats, the crates that hold them, and which parts of the protocols each has.

use std::path::PathBuf;

use crate::sh::{Failure, Result, root};

/// One format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// The name of its folder of fixtures, its Python scripts and its bench.
    pub(crate) name: &'static str,
    /// What documents call it.
    pub(crate) title: &'static str,
    /// The crate that reads and writes it.
    pub(crate) package: &'static str,
    /// Whether that crate writes files, so that others can be asked to read them.
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

/// The crates that stand alone, each for one format. That of NumPy's files has no part in conformance runs and benches of its own.
pub(crate) fn packages() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.package).chain(["npy"])
}

impl Format {
    /// The example of its crate that is our side of the conformance run.
    pub(crate) fn example(self) -> String {
        format!("{}_conformance", self.name)
    }

    /// `xtask/python/NAME_PART.py`
    pub(crate) fn script(self, part: &str) -> PathBuf {
        root().join("xtask").join("python").join(format!("{}_{part}.py", self.name))
    }
}

/// The format's name for the name of its crate, and any other word as it is.
pub(crate) fn name_of(word: &str) -> &str {
    FORMATS.iter().find(|format| format.package == word).map_or(word, |format| format.name)
}

/// The formats that have the Python script `NAME_PART.py`; of these the one that is asked for, if one is.
pub(crate) fn with_script(part: &str, asked: Option<&str>) -> Result<Vec<Format>> {
    let known: Vec<Format> = FORMATS.iter().copied().filter(|format| format.script(part).exists()).collect();
    let Some(asked) = asked.map(name_of) else { return Ok(known) };
    match known.iter().find(|format| format.name == asked) {
        Some(format) => Ok(vec![*format]),
        None => {
            let names: Vec<&str> = known.iter().map(|format| format.name).collect();
            Err(Failure::setup(format!(
                "no xtask/python/{asked}_{part}.py; formats that have one: {}",
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
