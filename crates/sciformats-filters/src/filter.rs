//! What a filter is, and what it knows about the elements that it is applied to.

use sciformats_core::{Fault, FaultKind, bound};

/// A filter, which turns the bytes of a chunk into other bytes and back. No bytes make it panic.
pub trait Filter: Send + Sync {
    /// Returns its registered number in HDF5.
    fn id(&self) -> u16;

    /// Returns its name in lower case.
    fn name(&self) -> &'static str;

    /// Undoes the filter. `values` are the client data values that are stored with the dataset. The result has at most `max`
    /// bytes; a stream that unfolds to more is a fault.
    ///
    /// # Errors
    /// Returns what is wrong with the bytes or the values.
    fn decode(&self, values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault>;

    /// Applies the filter. `None` means that the filter gains nothing.
    ///
    /// # Errors
    /// Returns the fault that the filter can only decode, or what is wrong with the values.
    fn encode(&self, values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let _ = (values, input);
        Err(Fault::from(FaultKind::Rule("can only decode, so it cannot write chunks")))
    }

    /// Returns whether [`encode`](Self::encode) is implemented.
    fn writes(&self) -> bool {
        true
    }

    /// Returns whether [`decode`](Self::decode) returns its input, because the filter changes elements only when they are written.
    fn is_identity(&self) -> bool {
        false
    }

    /// Returns the client data values that are stored with a dataset, for those that a caller gives: the values of the original
    /// plug-in's interface. Some filters add the type of the elements and the shape of chunks.
    ///
    /// # Errors
    /// Returns why the filter cannot be applied to these elements, or what is wrong with the values.
    fn configure(&self, asked: &[u32], chunk: &Chunk<'_>) -> Result<Vec<u32>, Fault> {
        let _ = chunk;
        Ok(asked.to_vec())
    }
}

/// How elements are to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Integers of two's complement.
    Signed,
    /// Integers without a sign.
    Unsigned,
    /// IEEE floating-point numbers.
    Float,
    /// Anything else.
    Other,
}

/// The type of the elements of a chunk.
///
/// ```
/// use sciformats_filters::Element;
///
/// assert_eq!(Element::float(8).size, 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    /// How the bytes are to be understood.
    pub kind: Kind,
    /// The size of an element in bytes.
    pub size: u32,
    /// Whether the first byte of a number is its most significant one.
    pub big_endian: bool,
}

impl Element {
    /// Returns little-endian integers with a sign.
    pub const fn signed(size: u32) -> Self {
        Self { kind: Kind::Signed, size, big_endian: false }
    }

    /// Returns little-endian integers without a sign.
    pub const fn unsigned(size: u32) -> Self {
        Self { kind: Kind::Unsigned, size, big_endian: false }
    }

    /// Returns little-endian floating-point numbers.
    pub const fn float(size: u32) -> Self {
        Self { kind: Kind::Float, size, big_endian: false }
    }
}

/// The type of the elements, and the shape of the chunks of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The type of an element.
    pub element: Element,
    /// The length of each dimension, the slowest first.
    pub shape: &'a [u64],
}

impl Chunk<'_> {
    /// Returns the dimensions that are longer than 1, the slowest first.
    pub(crate) fn long(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        self.shape.iter().copied().filter(|&length| length != 1)
    }
}

/// Returns the fault of a stream that ends early.
pub(crate) fn truncated(field: &'static str) -> Fault {
    Fault::new(field, FaultKind::Truncated)
}

/// Returns the fault of a broken rule.
pub(crate) fn rule(field: &'static str, predicate: &'static str) -> Fault {
    Fault::new(field, FaultKind::Rule(predicate))
}

/// Checks a declared length of the result, and returns it.
pub(crate) fn within(field: &'static str, found: u64, max: usize) -> Result<usize, Fault> {
    usize::try_from(found)
        .ok()
        .filter(|&len| len <= max)
        .ok_or_else(|| Fault::new(field, FaultKind::OutOfBounds { found, end: bound::sum(max as u64, 1) }))
}

/// Returns one of the client data values.
pub(crate) fn value(values: &[u32], at: usize) -> Result<u32, Fault> {
    values.get(at).copied().ok_or_else(|| truncated("client data values"))
}
