//! Decides which versions of structures are written.

use sciformats_core::arith::{add, sub};
use sciformats_core::{Error, Result};

use crate::spec::Sizes;
use crate::spec::message::datatype::{
    BitField, Class, Datatype, FixedPoint, FloatOrder, Member, ReferenceKind, VariableLength,
};
use crate::spec::selection::MAX_RANK;

/// The oldest release of the C library that must be able to read the file. It decides which versions of structures are
/// written.
///
/// | bound | superblock | object headers | groups | chunk indexes | also |
/// |---|---|---|---|---|---|
/// | `Earliest` | 0 | 1 | symbol tables | version 1 B-tree | |
/// | `V18` | 2 | 2 | links, compact or dense | version 1 B-tree | |
/// | `V110` | 3 | 2 | links | single, implicit, arrays, version 2 B-tree | virtual datasets |
/// | `V112` | 3 | 2 | links | the same | the standard type of references |
/// | `V200` | 3 | 2 | links | the same | complex numbers, chunks from 4 GiB on |
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
/// use hdf5_pure::options::Bound;
///
/// for (bound, version) in [(Bound::Earliest, 0), (Bound::V18, 2), (Bound::LATEST, 3)] {
///     let file = Writer::in_memory(&CreateOptions::default().with_bound(bound))?;
///     assert_eq!(File::from_bytes(file.into_bytes()?)?.superblock().version, version);
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Bound {
    /// Any release since 1.6.3.
    Earliest,
    /// Release 1.8, of 2008.
    V18,
    /// Release 1.10, of 2016.
    #[default]
    V110,
    /// Release 1.12, of 2020.
    V112,
    /// Release 2.0, of 2025.
    V200,
}

impl Bound {
    /// The newest bound.
    pub const LATEST: Self = Self::V200;

    /// Returns whether structures of the first generation are written.
    pub(crate) fn is_old(self) -> bool {
        self == Self::Earliest
    }

    /// Returns `old` if structures of the first generation are written, and `new` otherwise.
    pub(crate) fn version(self, old: u8, new: u8) -> u8 {
        if self.is_old() { old } else { new }
    }

    /// Returns the same datatype in the encoding versions that this bound allows.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the datatype needs a newer bound.
    pub(crate) fn datatype(self, datatype: &Datatype, sizes: Sizes) -> Result<Datatype> {
        let composed = match (self.is_old(), holds_array(datatype)) {
            (true, false) => 1,
            (true, true) => 2,
            (false, _) => 3,
        };
        self.with_version(datatype, composed, sizes)
    }

    fn with_version(self, datatype: &Datatype, composed: u8, sizes: Sizes) -> Result<Datatype> {
        let inner = |datatype: &Datatype| self.with_version(datatype, composed, sizes);
        let boxed = |datatype: &Datatype| inner(datatype).map(Box::new);
        let (mut class, mut size) = (datatype.class.clone(), datatype.size);
        let address = u32::from(sizes.offsets);
        let version = match &mut class {
            Class::Compound(members) => {
                counted(members.len())?;
                let more = with_members(members, inner)?;
                size = size.checked_add_signed(more).ok_or_else(too_long)?;
                composed
            }
            Class::Enumeration { base, members } => {
                counted(members.len())?;
                *base = boxed(base)?;
                composed
            }
            Class::Array { base, dimensions } => {
                *base = boxed(base)?;
                size = array_size(base.size, dimensions)?;
                composed.max(2)
            }
            Class::VariableLength(length) => {
                if let VariableLength::Sequence(base) = length {
                    *base = boxed(base)?;
                }
                size = add(address, 8)?;
                1
            }
            Class::Complex { base } => {
                self.needs(Self::V200, "complex numbers")?;
                *base = boxed(base)?;
                5
            }
            Class::Reference(ReferenceKind::Standard) => {
                self.needs(Self::V112, "references of the standard type")?;
                if address != 8 {
                    return Err(Error::unsupported(
                        "storing references of the standard type in a file whose addresses do not have 8 bytes",
                    ));
                }
                4
            }
            Class::Reference(kind) => {
                size = add(address, if *kind == ReferenceKind::Region { 4 } else { 0 })?;
                1
            }
            Class::FloatingPoint(float) if float.order == FloatOrder::Vax => 3,
            Class::FixedPoint(FixedPoint { precision, bit_offset, .. })
            | Class::BitField(BitField { precision, bit_offset, .. }) => {
                // Newer releases of the library suspect such a datatype to be a damaged header, unless a checksum
                // proves that the header is right. Headers of version 1 have no checksum.
                let used = add(u32::from(*precision), u32::from(*bit_offset))?;
                if self.is_old() && u64::from(datatype.size) * 4 > used.into() {
                    return Err(Error::usage(
                        "datatype",
                        "leaves more than half of its bits unused, which is not safe in object headers of version 1",
                    ));
                }
                1
            }
            _ => 1,
        };
        Ok(Datatype { version, size, class })
    }

    /// Fails unless the bound is at least `wanted`.
    pub(crate) fn needs(self, wanted: Self, what: &'static str) -> Result<()> {
        if self >= wanted {
            return Ok(());
        }
        let problem =
            format!("{} does not allow {what}: set it to {} or later", self.release(), wanted.release());
        Err(Error::usage("bound", problem))
    }

    /// Returns the release for messages.
    fn release(self) -> &'static str {
        match self {
            Self::Earliest => "earliest",
            Self::V18 => "1.8",
            Self::V110 => "1.10",
            Self::V112 => "1.12",
            Self::V200 => "2.0",
        }
    }
}

/// Replaces the datatype of each member by what `inner` returns. Returns by how many bytes the compound becomes longer.
fn with_members(members: &mut [Member], inner: impl Fn(&Datatype) -> Result<Datatype>) -> Result<i32> {
    let mut grown = Vec::new();
    for member in members.iter_mut() {
        let new = inner(&member.datatype)?;
        let more = sub(i64::from(new.size), i64::from(member.datatype.size))?;
        grown.push((member.offset, i32::try_from(more).map_err(|_| too_long())?));
        member.datatype = new;
    }
    if grown.iter().all(|(_, more)| *more == 0) {
        return Ok(0);
    }
    let before = |end: Option<u32>| {
        let mut grown = grown.iter().filter(|(at, _)| end.is_none_or(|end| *at < end)).map(|(_, more)| *more);
        grown.try_fold(0i32, i32::checked_add).ok_or_else(too_long)
    };
    for member in members.iter_mut() {
        let more = before(Some(member.offset))?;
        member.offset = member.offset.checked_add_signed(more).ok_or_else(too_long)?;
    }
    before(None)
}

/// Returns the size of an array whose elements have `base` bytes.
fn array_size(base: u32, dimensions: &[u32]) -> Result<u32> {
    if dimensions.is_empty() || dimensions.len() > MAX_RANK as usize {
        return Err(Error::usage("datatype", "has an array type that does not have 1 to 32 dimensions"));
    }
    dimensions.iter().try_fold(base, |product, n| product.checked_mul(*n)).ok_or_else(too_long)
}

fn too_long() -> Error {
    Error::usage("datatype", "would be 4 GiB or larger")
}

/// Fails if there are more members than a datatype message can count.
fn counted(members: usize) -> Result<()> {
    if members <= usize::from(u16::MAX) {
        return Ok(());
    }
    Err(Error::usage("datatype", format!("has {members} members, but at most 65,535 can be stored")))
}

fn holds_array(datatype: &Datatype) -> bool {
    match &datatype.class {
        Class::Array { .. } => true,
        Class::Compound(members) => members.iter().any(|member| holds_array(&member.datatype)),
        Class::VariableLength(VariableLength::Sequence(base)) => holds_array(base),
        _ => false,
    }
}
