//! Finds where the contents of two files differ, whatever their formats.
//!
//! Both trees are walked side by side in byte order of the names, and arrays are read side by side, a few
//! megabytes at a time. If the [manifests](crate::manifest) of two files agree after the first line, the
//! files have no difference.
//!
//! | what is found | the result |
//! |---|---|
//! | an object, link or attribute on one side only | a difference |
//! | another kind of object, another type or shape, another target of a link | a difference |
//! | numbers that are further apart than the tolerance, other texts or bytes | a difference |
//! | elements whose types have nothing in common, or that cannot be read | incomparable |

mod elements;
mod pattern;
mod tree;

use std::fmt;
use std::ops::ControlFlow;

use sciformats_core::Error;

pub use elements::{Elements, Mismatch};
pub(crate) use pattern::is_selected;
pub use pattern::{Pattern, objects_match};

use sciformats::File;
use sciformats::model::ElementType;

/// What counts as equal, and what is compared.
///
/// ```
/// use sciformats_convert::compare::{Options, compare};
/// use std::ops::ControlFlow;
///
/// # use sciformats::memory::{Memory, array};
/// # use sciformats::{File, Format};
/// # let a = File::from(Memory::single(Format::RawArray, array::<f64>(&[3], &[1.0, 2.0, 3.0])));
/// # let b = File::from(Memory::single(Format::Blosc2, array::<f64>(&[3], &[1.0, 2.5, 3.0])));
/// let options = Options::exact().with_atol(0.5).with_ignore(["*/log/*"]);
/// let summary = compare(&a, &b, &options, &mut |_| ControlFlow::Continue(()));
/// assert!(summary.is_same());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Two numbers are equal if |a − b| ≤ atol + rtol · |b|. NaN equals NaN.
    pub rtol: f64,
    /// See [`rtol`](Self::rtol).
    pub atol: f64,
    /// Objects whose path matches are ignored, with everything in them. An attribute has the path
    /// `PATH@NAME`.
    pub ignore: Vec<Pattern>,
    /// If this is not empty, only objects and attributes whose path matches are compared.
    pub only: Vec<Pattern>,
    /// The number of differing elements that are listed per array; all of them are counted.
    pub show: usize,
    /// See [`with_stored`](Self::with_stored).
    pub stored: bool,
    /// See [`with_storage`](Self::with_storage).
    pub storage: bool,
    /// See [`with_versions`](Self::with_versions).
    pub versions: bool,
    /// See [`with_rounded`](Self::with_rounded).
    pub rounded: bool,
    /// See [`with_repaged`](Self::with_repaged).
    pub repaged: bool,
}

impl Options {
    /// Compares everything exactly, and lists the first differing elements of each array.
    ///
    /// ```
    /// use sciformats_convert::compare::{Options, compare};
    /// use std::ops::ControlFlow;
    ///
    /// # use sciformats::memory::{Memory, array};
    /// # use sciformats::{File, Format};
    /// # let a = File::from(Memory::single(Format::RawArray, array::<f64>(&[3], &[1.0, 2.0, 3.0])));
    /// # let b = File::from(Memory::single(Format::Blosc2, array::<f64>(&[3], &[1.0, 2.5, 3.0])));
    /// let differ = compare(&a, &b, &Options::exact(), &mut |_| ControlFlow::Continue(()));
    /// assert_eq!((differ.same, differ.different), (0, 1));
    /// ```
    pub fn exact() -> Self {
        Self { show: 3, ..Self::default() }
    }

    /// Sets the relative tolerance.
    #[must_use]
    pub fn with_rtol(self, rtol: f64) -> Self {
        Self { rtol, ..self }
    }

    /// Sets the absolute tolerance.
    #[must_use]
    pub fn with_atol(self, atol: f64) -> Self {
        Self { atol, ..self }
    }

    /// Sets the patterns of paths to ignore.
    #[must_use]
    pub fn with_ignore<P: Into<Pattern>>(self, ignore: impl IntoIterator<Item = P>) -> Self {
        Self { ignore: ignore.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets the patterns of paths to compare; without any, everything is compared.
    #[must_use]
    pub fn with_only<P: Into<Pattern>>(self, only: impl IntoIterator<Item = P>) -> Self {
        Self { only: only.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets whether arrays with equal stored bytes count as equal without being decoded, even if they are
    /// damaged.
    #[must_use]
    pub fn with_stored(self, stored: bool) -> Self {
        Self { stored, ..self }
    }

    /// Sets whether a difference in storage is reported: chunks, filters, layout, fill value, maximum shape,
    /// and everything else that the format records about an array apart from its position and size.
    ///
    /// ```
    /// # #[cfg(feature = "hdf5")] {
    /// use sciformats_convert::compare::{Options, compare};
    /// use std::ops::ControlFlow;
    ///
    /// # fn made(chunk: u64) -> sciformats::File {
    /// let mut file = sciformats::hdf5_pure::Writer::in_memory(&Default::default()).unwrap();
    /// file.dataset("u").chunks([chunk]).write(&[0.5, 1.0]).unwrap();
    /// # sciformats::File::from_bytes(file.into_bytes().unwrap()).unwrap()
    /// # }
    /// # let (a, b) = (made(1), made(2));
    /// let same = |options| compare(&a, &b, &options, &mut |_| ControlFlow::Continue(())).is_same();
    /// assert!(same(Options::exact()) && !same(Options::exact().with_storage(true)));
    /// # }
    /// ```
    #[must_use]
    pub fn with_storage(self, storage: bool) -> Self {
        Self { storage, ..self }
    }

    /// Sets whether a comparison of the [storage](Self::with_storage) includes the versions and widths of structures that belong to
    /// the file as a whole, and no fact about its objects depends on: the superblock, and what objects share of their headers.
    #[must_use]
    pub fn with_versions(self, versions: bool) -> Self {
        Self { versions, ..self }
    }

    /// Sets whether the numbers of an array may differ by a rounding of which an attribute of the second file tells, in place of
    /// [`rtol`](Self::rtol). See [`Rounding::attribute`](crate::sink::Rounding::attribute).
    #[must_use]
    pub fn with_rounded(self, rounded: bool) -> Self {
        Self { rounded, ..self }
    }

    /// Sets whether a comparison of the [storage](Self::with_storage) leaves out how the space of a file is allocated, because the second
    /// file has pages of another size that was asked for.
    #[must_use]
    pub fn with_repaged(self, repaged: bool) -> Self {
        Self { repaged, ..self }
    }

    /// Sets the number of differing elements that are listed per array.
    #[must_use]
    pub fn with_show(self, show: usize) -> Self {
        Self { show, ..self }
    }

    /// Fails if one of the patterns of paths to compare matches nothing in either file, because no difference would then be
    /// found in silence.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{File, Format};
    /// use sciformats_convert::compare::Options;
    ///
    /// let a = File::from(Memory::single(Format::RawArray, array::<f64>(&[1], &[1.0])));
    /// assert!(Options::exact().with_only(["/"]).check_only(&a, &a).is_ok());
    /// assert!(Options::exact().with_only(["/u"]).check_only(&a, &a).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] with the first such pattern, and the most similar path.
    pub fn check_only(&self, a: &File, b: &File) -> sciformats::Result<()> {
        pattern::all_match(&[a, b], &self.only, true)
    }

    fn ignores(&self, path: &str) -> bool {
        self.ignore.iter().any(|pattern| pattern.matches(path))
    }

    fn wants(&self, path: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|pattern| pattern.matches(path))
    }
}

/// One of the two files.
///
/// ```
/// use sciformats_convert::compare::{Options, Side, What, compare};
/// use sciformats::memory::{Memory, array};
/// use sciformats::{File, Format};
/// use std::ops::ControlFlow;
///
/// let a = File::from(Memory::new(Format::Hdf5));
/// let mut tree = Memory::new(Format::Hdf5);
/// tree.array(tree.root(), "u", array::<f32>(&[1], &[0.5]));
/// compare(&a, &File::from(tree), &Options::exact(), &mut |difference| {
///     assert!(matches!(difference.what, What::Only(Side::B, "array")));
///     ControlFlow::Continue(())
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first file.
    A,
    /// The second file.
    B,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// A place where the files differ.
///
/// ```
/// use sciformats_convert::compare::{Options, compare};
/// use std::ops::ControlFlow;
///
/// # use sciformats::memory::{Memory, array};
/// # use sciformats::{File, Format};
/// # let a = File::from(Memory::single(Format::RawArray, array::<f64>(&[3], &[1.0, 2.0, 3.0])));
/// # let b = File::from(Memory::single(Format::Blosc2, array::<f64>(&[3], &[1.0, 2.5, 3.0])));
/// let mut lines = Vec::new();
/// compare(&a, &b, &Options::exact(), &mut |difference| {
///     lines.push(format!("{} {}", difference.path, difference.what.word()));
///     ControlFlow::Continue(())
/// });
/// assert_eq!(lines, ["/ elements"]);
/// ```
#[derive(Debug)]
pub struct Difference {
    /// The path of the object; `PATH@NAME` for an attribute.
    pub path: String,
    /// What differs there.
    pub what: What,
}

/// What differs.
///
/// ```
/// use sciformats_convert::compare::What;
///
/// let what = What::Shape(Some(vec![3, 4]), Some(vec![3, 5]));
/// assert_eq!((what.word(), what.is_incomparable()), ("shape", false));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum What {
    /// Only one of the files has the object; the text is its kind.
    Only(Side, &'static str),
    /// The objects are of different kinds, such as `group` and `array`, or `softlink` and `group`.
    Kind(&'static str, &'static str),
    /// The links have different targets.
    Target(String, String),
    /// The types of the elements differ.
    Type(ElementType, ElementType),
    /// The elements are dates or time spans of NumPy on one side only, or have another unit; each side's type for people.
    Times(String, String),
    /// The shapes differ; `None` is a null dataspace.
    Shape(Option<Vec<u64>>, Option<Vec<u64>>),
    /// The storage differs: which property, and its two values.
    Storage(&'static str, String, String),
    /// Some elements differ.
    Elements(Elements),
    /// The scalars of a tree differ; they are given as text.
    Value(String, String),
    /// The types have nothing in common, so the elements cannot be compared.
    Incomparable(ElementType, ElementType),
    /// The object cannot be read in one of the files.
    Unreadable(Side, Error),
}

impl What {
    /// Returns whether the contents could not be compared, so that they are neither equal nor different.
    pub fn is_incomparable(&self) -> bool {
        matches!(self, Self::Incomparable(..) | Self::Unreadable(..))
    }

    fn verdict(&self) -> Verdict {
        if self.is_incomparable() { Verdict::Incomparable } else { Verdict::Different }
    }

    /// Returns the word for this difference in output for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Only(..) => "only",
            Self::Kind(..) => "kind",
            Self::Target(..) => "target",
            Self::Type(..) | Self::Times(..) => "type",
            Self::Shape(..) => "shape",
            Self::Storage(..) => "storage",
            Self::Elements(_) => "elements",
            Self::Value(..) => "value",
            Self::Incomparable(..) => "incomparable",
            Self::Unreadable(..) => "unreadable",
        }
    }
}

/// The number of objects, links and attributes that were compared, by result.
///
/// ```
/// use sciformats_convert::compare::{Options, compare};
/// use std::ops::ControlFlow;
///
/// # use sciformats::memory::{Memory, array};
/// # use sciformats::{File, Format};
/// # let a = File::from(Memory::single(Format::RawArray, array::<f64>(&[3], &[1.0, 2.0, 3.0])));
/// # let b = File::from(Memory::single(Format::Blosc2, array::<f64>(&[3], &[1.0, 2.5, 3.0])));
/// let summary = compare(&a, &b, &Options::exact(), &mut |_| ControlFlow::Continue(()));
/// assert!(!summary.is_same());
/// assert_eq!((summary.same, summary.different, summary.incomparable), (0, 1, 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Those that are equal in both files.
    pub same: u64,
    /// Those that differ, or are in one file only.
    pub different: u64,
    /// Those that could not be compared.
    pub incomparable: u64,
}

impl Summary {
    /// Returns whether the contents are equal.
    pub fn is_same(&self) -> bool {
        self.different == 0 && self.incomparable == 0
    }

    fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Same => self.same += 1,
            Verdict::Different => self.different += 1,
            Verdict::Incomparable => self.incomparable += 1,
        }
    }
}

/// The result for one object or attribute, which is the worst of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Same,
    Incomparable,
    Different,
}

/// Compares two files and passes each difference to `visit`, until `visit` breaks.
///
/// ```
/// use sciformats_convert::compare::{self, Options, What};
/// use sciformats::memory::{Memory, array};
/// use sciformats::{File, Format};
/// use std::ops::ControlFlow;
///
/// let a = File::from(Memory::single(Format::RawArray, array::<f32>(&[2], &[1.0, 2.0])));
/// let b = File::from(Memory::single(Format::Blosc2, array::<f32>(&[2], &[1.0, 2.5])));
/// let summary = compare::compare(&a, &b, &Options::exact(), &mut |difference| {
///     let What::Elements(elements) = difference.what else { panic!() };
///     assert_eq!((elements.different, elements.max_abs), (1, Some(0.5)));
///     ControlFlow::Continue(())
/// });
/// assert!(!summary.is_same());
/// ```
pub fn compare(
    a: &File,
    b: &File,
    options: &Options,
    visit: &mut dyn FnMut(Difference) -> ControlFlow<()>,
) -> Summary {
    tree::compare((a, b), options, visit)
}

/// As [`compare`], for an object of each file with everything below it. Differences, and the patterns of options, have the paths of
/// the first file.
///
/// ```
/// use sciformats::memory::{Memory, array};
/// use sciformats::{File, Format};
/// use sciformats_convert::compare::{Options, compare_objects};
/// use std::ops::ControlFlow;
///
/// let mut tree = Memory::new(Format::Hdf5);
/// for name in ["u", "v"] {
///     tree.array(tree.root(), name, array::<f64>(&[1], &[1.0]));
/// }
/// let file = File::from(tree);
/// let same = |b| compare_objects((&file, "/u"), (&file, b), &Options::exact(), &mut |_| ControlFlow::Continue(()));
/// assert!(same("/v")?.is_same() && !same("/")?.is_same());
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::NotFound`] if there is no such object; those of finding it.
pub fn compare_objects(
    a: (&File, &str),
    b: (&File, &str),
    options: &Options,
    visit: &mut dyn FnMut(Difference) -> ControlFlow<()>,
) -> sciformats::Result<Summary> {
    let ids = (a.0.resolve(a.1)?, b.0.resolve(b.1)?);
    let path = match a.1.trim_end_matches('/') {
        "" => "/",
        path => path,
    };
    Ok(tree::compare_objects((a.0, b.0), (path, ids), options, visit))
}
