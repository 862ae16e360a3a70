//! Advice on how a file is laid out, from measurements: what reading it costs now, what it would cost after `repack`, and which
//! options of `repack` lead there.
//!
//! | step | what is measured |
//! |---|---|
//! | structures | which bytes of the file a reader needs to list everything and to find every chunk |
//! | samples | some chunks of each dataset, encoded with each candidate among the filters |
//! | plan | the structures of the repacked file, written without its elements, so that every place in it is known |
//! | replay | named accesses over a store that counts requests and bytes, for the file as it is and as it would be |
//!
//! ```
//! use std::sync::Arc;
//!
//! use sciformats_convert::advise::{Options, Profile, advise};
//! use sciformats_core::storage::FileStorage;
//!
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("run.h5");
//! # let mut made = hdf5_pure::Writer::create(&path)?;
//! # made.dataset("u").shape([4000, 50]).chunks([1, 50]).write(&vec![0.5f32; 200_000])?;
//! # made.finish()?;
//! let file = Arc::new(sciformats::open(&path)?);
//! let advice = advise(&file, &|| Ok(Arc::new(FileStorage::open(&path)?)), &Options::of(Profile::Cloud))?;
//! assert!(advice.findings.iter().any(|finding| finding.rule == "tiny-chunks"));
//! let plan = advice.plan.unwrap();
//! assert!(plan.size < file.size());
//! # Ok::<(), sciformats::Error>(())
//! ```

#[cfg(feature = "hdf5")]
mod hdf5;
mod replay;
#[cfg(feature = "hdf5")]
mod rules;
#[cfg(feature = "hdf5")]
mod sample;
#[cfg(feature = "hdf5")]
mod shape;

use std::sync::Arc;

use crate::sink::WriteOptions;
use sciformats::{File, Result};

pub use replay::{Cost, Opener};

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// It is read from an object store, each request of which costs a round trip.
    Cloud,
    /// It goes to the archive of CMIP7, which checks four rules.
    Cmip7,
    /// It is read from a disk, by a library that keeps small chunks.
    Local,
    /// It is kept for decades: anybody can read it, and damage is noticed.
    Archive,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 4] = [Self::Cloud, Self::Cmip7, Self::Local, Self::Archive];

    /// Returns the word for the profile.
    pub fn word(self) -> &'static str {
        match self {
            Self::Cloud => "cloud",
            Self::Cmip7 => "cmip7",
            Self::Local => "local",
            Self::Archive => "archive",
        }
    }
}

/// How advice is given.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// What the file is for.
    pub profile: Profile,
    /// The number of chunks of each dataset that are encoded with each candidate.
    pub samples: usize,
    /// Whether the plan may name filters that the HDF5 library only has as plug-ins.
    pub plugins: bool,
}

impl Options {
    /// The usual options of a profile: 16 samples, and plug-ins for files that are read in the cloud or on a disk.
    pub fn of(profile: Profile) -> Self {
        Self { profile, samples: 16, plugins: matches!(profile, Profile::Cloud | Profile::Local) }
    }

    /// Sets the number of samples.
    #[must_use]
    pub fn with_samples(self, samples: usize) -> Self {
        Self { samples: samples.max(1), ..self }
    }

    /// Sets whether filters may be plug-ins.
    #[must_use]
    pub fn with_plugins(self, plugins: bool) -> Self {
        Self { plugins, ..self }
    }
}

/// The weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    /// It is worth knowing.
    Note,
    /// Reading or space would gain from a change.
    Warning,
    /// The file does not suit the profile.
    Failure,
}

impl Weight {
    /// Returns the word for the weight.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the rule, which stays the same in later releases.
    pub rule: &'static str,
    /// The weight in this profile.
    pub weight: Weight,
    /// The path of the object, or `/` for the file as a whole.
    pub path: String,
    /// What was found, with numbers.
    pub what: String,
    /// What helps.
    pub advice: String,
}

/// Where the structures of a file are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Structures {
    /// The number of bytes that a reader needs to list everything and to find every chunk.
    pub bytes: u64,
    /// The number of blocks of 1 MiB that have such bytes.
    pub blocks: u64,
    /// The end of the last structure.
    pub end: u64,
    /// The offset of the first element; `None` if no elements are stored.
    pub first_element: Option<u64>,
    /// The size of pages, if the file is allocated in pages.
    pub page_size: Option<u64>,
}

impl Structures {
    /// Returns whether all structures are before all elements.
    pub fn is_first(&self) -> bool {
        // The first read of an object header takes more than a short one has; a bound.
        const FIRST_READ: u64 = 512;
        self.first_element.is_none_or(|first| self.end < first.saturating_add(FIRST_READ)) // a bound
    }
}

/// A filter that was tried on the samples of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The filter in the terms of `repack`; `as stored` for what the dataset has.
    pub filter: String,
    /// The level.
    pub level: Option<u32>,
    /// The stored size divided by the size of the elements.
    pub ratio: f64,
    /// How many bytes of elements are encoded in a second, on one thread.
    pub encode: f64,
    /// How many bytes of elements are decoded in a second, on one thread.
    pub decode: f64,
}

/// What is known about a dataset.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DatasetFacts {
    /// The path.
    pub path: String,
    /// The shape.
    pub shape: Vec<u64>,
    /// The size of an element in bytes.
    pub element: u64,
    /// The shape of the chunks; `None` if it has none.
    pub chunks: Option<Vec<u64>>,
    /// The number of stored chunks, and of their bytes.
    pub stored: (u64, u64),
    /// The filters.
    pub filters: Vec<String>,
    /// The candidates, the best one for the profile first. Empty if the dataset was not sampled.
    pub candidates: Vec<Candidate>,
    /// The planned shape of the chunks, if it differs.
    pub planned_chunks: Option<Vec<u64>>,
    /// The planned filter, if it differs.
    pub planned_filter: Option<(String, Option<u32>)>,
}

/// An access that was replayed.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The name: `open`, `list`, `first`, `along N` for the elements along dimension N, `across N` for those that
    /// share an index of dimension N, `all`.
    pub name: String,
    /// The dataset; empty for accesses to the whole file.
    pub path: String,
    /// The cost now.
    pub now: Cost,
    /// The cost after repacking, if there is a plan.
    pub then: Option<Cost>,
}

/// How to repack a file.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The options of `repack`.
    pub options: WriteOptions,
    /// The same options on the command line of the program.
    pub arguments: Vec<String>,
    /// The predicted size of the file in bytes.
    pub size: u64,
    /// The predicted room for structures before the elements.
    pub structures: u64,
    /// The bytes of elements that have to be decoded and encoded again.
    pub recoded: u64,
    /// About how many seconds coding them takes on one thread.
    pub seconds: f64,
}

/// The advice on a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Advice {
    /// The profile.
    pub profile: Profile,
    /// The size of the file in bytes.
    pub size: u64,
    /// The structures, if the format has them apart from elements.
    pub structures: Option<Structures>,
    /// The datasets, in the order in which they were found.
    pub datasets: Vec<DatasetFacts>,
    /// What was found, the gravest first.
    pub findings: Vec<Finding>,
    /// The accesses that were replayed.
    pub accesses: Vec<Replayed>,
    /// How to repack the file; `None` if that would change nothing, or if its format has nothing to plan.
    pub plan: Option<Plan>,
}

impl Advice {
    /// Returns whether the file suits the profile.
    pub fn suits(&self) -> bool {
        !self.findings.iter().any(|finding| finding.weight == Weight::Failure)
    }
}

/// Measures a file, and returns advice for a profile. `open` returns the storage of the file, without anything that was read of it
/// before.
///
/// # Errors
/// Those of reading the file.
pub fn advise(file: &Arc<File>, open: Opener<'_>, options: &Options) -> Result<Advice> {
    match file.format() {
        #[cfg(feature = "hdf5")]
        sciformats::Format::Hdf5 => hdf5::advise(file, open, options),
        _ => other(file, open, options),
    }
}

/// Advice on a file whose format has no layout to plan.
fn other(file: &Arc<File>, open: Opener<'_>, options: &Options) -> Result<Advice> {
    let mut findings = Vec::new();
    let text = match file.format() {
        sciformats::Format::Asdf => {
            "each block is one array with one compression; `repack --filter` changes the compression"
        }
        sciformats::Format::Blosc2 => {
            "`repack --chunks` and `--filter` change its chunks; a chunk suits the third cache, a block the second"
        }
        sciformats::Format::Gsd => {
            "each frame has a chunk for each quantity, without filters; `repack` removes what nothing refers to"
        }
        _ => "its elements stand one after another, and there is nothing to choose",
    };
    findings.push(Finding {
        rule: "format",
        weight: Weight::Note,
        path: "/".into(),
        what: format!("the file has the format {}", file.format()),
        advice: text.into(),
    });
    if options.profile == Profile::Cmip7 {
        findings.push(Finding {
            rule: "cmip7-format",
            weight: Weight::Failure,
            path: "/".into(),
            what: format!("the file has the format {}", file.format()),
            advice: "the archive takes netCDF-4 files, which `sciformats convert` cannot make of every file"
                .into(),
        });
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    Ok(Advice {
        profile: options.profile,
        size: file.size(),
        structures: None,
        datasets: Vec::new(),
        findings,
        accesses: replay::of_any(open)?,
        plan: None,
    })
}
