//! Virtual arrays, and what became of each object of a file.

use std::fmt;

use sciformats::Result;
use serde_json::{Map, Value};

use crate::chunks::Chunks;

/// The largest array that is inlined by default, in bytes.
const INLINE: u64 = 4 << 20;

/// How references are made.
#[derive(Clone, Debug)]
pub struct Options {
    /// The URL of the file, as the reader will open it.
    pub url: String,
    /// The largest array that is inlined, in bytes of decoded elements.
    pub inline: u64,
    /// Whether readers have the codecs `sciformats.hdf5` and `sciformats.blosc2` of the Python package `sciformats`. With them,
    /// chunks are referenced that no other codec can decode.
    pub codecs: bool,
    /// The object whose arrays are referenced, with all below it and with the groups that it is in; everything if there is none.
    pub within: Option<String>,
}

impl Options {
    /// References to the file at `url`. Arrays of up to 4 MiB that cannot be referenced are inlined.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), inline: INLINE, codecs: false, within: None }
    }

    /// Sets whether readers have the codecs of the Python package.
    #[must_use]
    pub fn with_codecs(self, codecs: bool) -> Self {
        Self { codecs, ..self }
    }

    /// Sets the object to which the references are restricted, by its path. References keep the paths of the whole file.
    #[must_use]
    pub fn with_within(self, path: impl Into<String>) -> Self {
        Self { within: Some(path.into()), ..self }
    }

    /// Returns whether something is referenced: what is in a part of the file, and the groups on the way to it.
    pub(crate) fn includes(&self, path: &str, is_group: bool) -> bool {
        let Some(part) = self.within.as_deref().map(|part| part.trim_end_matches('/')) else { return true };
        let below = |path: &str, of: &str| {
            path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        below(path, part) || (is_group && below(part, path.trim_end_matches('/')))
    }
}

/// An array of Zarr version 2 whose chunks are in another file.
#[derive(Clone, Debug)]
pub struct VirtualArray {
    /// The path of the array, which begins with `/`.
    pub path: String,
    /// The number of elements along each dimension, slowest first.
    pub shape: Vec<u64>,
    /// The number of elements of a chunk along each dimension, each at least 1.
    pub chunk_shape: Vec<u64>,
    /// The type of the elements in the notation of NumPy.
    pub dtype: Value,
    /// The elements of chunks that are missing; null if no chunk is missing, or if the elements are zero bytes.
    pub fill: Value,
    /// Whether elements of that value are missing values, as the attribute `_FillValue` says, which is not among the attributes then.
    pub marked: bool,
    /// Whether the first dimension varies fastest in a chunk, instead of the last one.
    pub columns: bool,
    /// The filters in the order of encoding, with the names of numcodecs.
    pub filters: Vec<Value>,
    /// The attributes.
    pub attributes: Map<String, Value>,
    /// The names of the dimensions.
    pub dimensions: Vec<String>,
    /// Where the bytes of each stored chunk are. All other chunks are missing.
    pub chunks: Chunks,
}

impl VirtualArray {
    /// Returns whether missing chunks have zeros, `false` or empty texts, as readers have them without a fill value.
    pub(crate) fn fills_with_zeros(&self) -> bool {
        match &self.fill {
            Value::Bool(value) => !value,
            // A negative zero has other bytes.
            Value::Number(number) => number.as_f64().is_some_and(|number| number.to_bits() == 0),
            Value::String(text) => text.is_empty(),
            _ => false,
        }
    }

    /// Returns whether readers show missing values in place of elements that have the value of missing chunks, although nothing says
    /// that they are missing. NaN is shown as NaN.
    pub(crate) fn is_taken_for_a_mark(&self) -> bool {
        !self.marked && !self.fill.is_null() && !self.fills_with_zeros() && self.fill != "NaN"
    }
}

/// What became of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// The chunks are ranges of the file.
    Referenced {
        /// The number of chunks that are stored.
        chunks: u64,
    },
    /// The decoded elements are part of the references.
    Inlined {
        /// The number of decoded bytes.
        bytes: u64,
        /// Why they are not ranges of the file.
        reason: String,
    },
    /// The entry is a link whose target has no copy here: nothing is lost.
    Link {
        /// What it leads to.
        reason: String,
    },
    /// A scalar of a tree, which is no array: it is not part of the references.
    Scalar {
        /// Why it is not.
        reason: String,
    },
    /// The object is not part of the references.
    Refused {
        /// Why it is not.
        reason: String,
    },
}

impl Treatment {
    /// Returns one word: `referenced`, `inlined`, `link`, `scalar` or `refused`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Referenced { .. } => "referenced",
            Self::Inlined { .. } => "inlined",
            Self::Link { .. } => "link",
            Self::Scalar { .. } => "scalar",
            Self::Refused { .. } => "refused",
        }
    }
}

impl fmt::Display for Treatment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Referenced { chunks } => write!(f, "referenced, {chunks} chunks"),
            Self::Inlined { bytes, reason } => write!(f, "inlined, {bytes} bytes, because {reason}"),
            Self::Link { reason } => write!(f, "not followed, because {reason}"),
            Self::Scalar { reason } => write!(f, "left out, because {reason}"),
            Self::Refused { reason } => write!(f, "refused, because {reason}"),
        }
    }
}

/// An object of a file and its treatment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path of the object.
    pub path: String,
    /// What became of it.
    pub treatment: Treatment,
}

/// What became of each array, link, and other object that is not a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The objects in the order in which the file was walked.
    pub entries: Vec<Entry>,
    /// Attributes that references cannot hold: the path of the object, the name, and the reason.
    pub attributes: Vec<(String, String, String)>,
    /// What readers see in another way, or not as an array, although nothing is lost: the path of the object, and what.
    pub notes: Vec<(String, String)>,
}

impl Report {
    /// Returns whether no object was refused.
    pub fn is_complete(&self) -> bool {
        !self.entries.iter().any(|entry| matches!(entry.treatment, Treatment::Refused { .. }))
    }
}

/// Receives the groups and the arrays of a file, each group before its members.
pub trait Sink {
    /// Takes a group.
    ///
    /// # Errors
    /// An error if the output cannot be written, which ends the scan.
    fn group(&mut self, path: &str, attributes: &Map<String, Value>) -> Result<()>;

    /// Takes an array.
    ///
    /// # Errors
    /// As [`group`](Self::group).
    fn array(&mut self, array: &VirtualArray) -> Result<()>;
}
