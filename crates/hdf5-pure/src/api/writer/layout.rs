//! Shapes and chunk indexes of new datasets.

use sciformats_core::{Error, Result};

use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::layout::IndexKind;
use crate::spec::selection::MAX_RANK;

/// The kinds of chunk index, which finds the chunks of a dataset. By default the kind is chosen from the shape.
///
/// ```
/// use hdf5_pure::{ChunkIndex, CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// // Both dimensions grow: only a tree fits, and is chosen.
/// let map = file.dataset("map").shape([10, 10]).max_shape([None, None]).chunks([5, 5]);
/// map.index(ChunkIndex::BtreeV2).write(&[1u8; 100])?;
/// assert!(file.dataset("row").chunks([5]).max_shape([None]).index(ChunkIndex::Single).write(&[1u8; 5]).is_err());
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.dataset("map")?.chunks()?.len(), 4);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChunkIndex {
    /// The dataset is a single chunk.
    Single,
    /// All chunks lie one after another, whether they were written or not. It allows no filters and no dimension
    /// without a maximum.
    Implicit,
    /// An array of fixed size. It allows no dimension without a maximum.
    FixedArray,
    /// An array that grows. It needs exactly one dimension without a maximum.
    ExtensibleArray,
    /// A version 2 B-tree. It allows any shape.
    BtreeV2,
}

impl ChunkIndex {
    pub(super) fn kind(self) -> IndexKind {
        match self {
            Self::Single => IndexKind::Single(None),
            Self::Implicit => IndexKind::Implicit,
            Self::FixedArray => IndexKind::FixedArray,
            Self::ExtensibleArray => IndexKind::ExtensibleArray,
            Self::BtreeV2 => IndexKind::BtreeV2,
        }
    }

    /// Fails unless a dataset of this shape can have the index.
    pub(super) fn check(
        self,
        shape: &[u64],
        maximum: &[Option<u64>],
        chunks: &[u64],
        filtered: bool,
    ) -> Result<()> {
        let unlimited = maximum.iter().filter(|max| max.is_none()).count();
        let fixed = maximum.iter().zip(shape).all(|(max, &n)| *max == Some(n));
        let fits = match self {
            Self::Single => fixed && chunks == shape,
            Self::Implicit => unlimited == 0 && !filtered,
            Self::FixedArray => unlimited == 0,
            Self::ExtensibleArray => unlimited == 1,
            Self::BtreeV2 => true,
        };
        if fits {
            Ok(())
        } else {
            Err(Error::usage(
                "index",
                format!("{self:?} cannot be used with this combination of shapes and filters"),
            ))
        }
    }
}

/// How far the dimensions of a new dataset can grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Growth {
    /// Not at all.
    #[default]
    Fixed,
    /// Each of them up to its maximum; `None` is without limit.
    UpTo(Vec<Option<u64>>),
    /// The first dimension without limit, and the others not at all.
    Rows,
}

/// Returns a dataspace with dimensions.
pub(super) fn simple(shape: &[u64], growth: &Growth) -> Result<Dataspace> {
    let wrong = |problem: &'static str| Err(Error::usage("shape", problem));
    if shape.len() > MAX_RANK as usize {
        return wrong("has more than 32 dimensions");
    }
    if sciformats_core::slab::elements(shape).is_none() {
        return wrong("has more than 2^64 elements");
    }
    let mut maximum: Vec<Option<u64>> = shape.iter().copied().map(Some).collect();
    match growth {
        Growth::Fixed => {}
        Growth::UpTo(given) => maximum.clone_from(given),
        Growth::Rows => match maximum.first_mut() {
            Some(first) => *first = None,
            None => return wrong("has no dimension that could be unlimited"),
        },
    }
    if maximum.len() != shape.len() {
        return wrong("does not have as many dimensions as the maximum shape");
    }
    if maximum.iter().zip(shape).any(|(max, &n)| max.is_some_and(|max| max < n)) {
        return wrong("is larger than the maximum shape");
    }
    Ok(Dataspace::Simple { dimensions: shape.to_vec(), maximum })
}
