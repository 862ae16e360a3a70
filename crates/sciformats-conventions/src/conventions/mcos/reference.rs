//! An array of objects, as MATLAB stores it in a variable or in a property: numbers that lead to the objects.
//!
//! Source: the documentation of the package `mat-io`, and files that this package writes.
//!
//! | place | field |
//! |---|---|
//! | 0 | 0xDD000000 |
//! | 1 | number of dimensions |
//! | 2 | length of each dimension |
//! | – | number of each object, the first dimension varying fastest; 0 is a deleted object |
//! | last | number of the class |

use sciformats::{Error, Result};
use sciformats_core::{Fault, FaultKind};

/// The number that begins a reference.
pub(crate) const MAGIC: u32 = 0xDD00_0000;

/// The largest number of dimensions.
const DIMENSIONS: u32 = 64;

/// An array of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The lengths of its dimensions.
    pub(crate) shape: Vec<u64>,
    /// The numbers of its objects.
    pub(crate) objects: Vec<u32>,
    /// The number of its class.
    pub(crate) class: u32,
}

impl Reference {
    /// Parses the numbers of a reference.
    ///
    /// # Errors
    ///
    /// An error that names the field, and its offset if numbers have four bytes, if it contradicts the layout.
    pub(crate) fn parse(words: &[u32]) -> Result<Self> {
        let fault = |field, kind, at: usize| -> Error {
            Fault::new(field, kind).at("reference to objects of MATLAB", at as u64 * 4)
        };
        let word =
            |field, at: usize| words.get(at).copied().ok_or_else(|| fault(field, FaultKind::Truncated, at));
        if word("signature", 0)? != MAGIC {
            return Err(fault("signature", FaultKind::Signature, 0));
        }
        let dimensions = word("number of dimensions", 1)?;
        if !(2..=DIMENSIONS).contains(&dimensions) {
            return Err(fault("number of dimensions", FaultKind::Undefined { found: dimensions.into() }, 1));
        }
        let mut at = 2;
        let mut shape = Vec::new();
        for _ in 0..dimensions {
            shape.push(u64::from(word("length of a dimension", at)?));
            at += 1;
        }
        let count = sciformats_core::slab::elements(&shape);
        let count = count.ok_or_else(|| fault("length of a dimension", FaultKind::Overflow, 2))?;
        let left = words.len().saturating_sub(at + 1) as u64; // a bound
        let kind = FaultKind::Mismatch { expected: count, found: left };
        let objects = usize::try_from(count).ok().and_then(|count| words.get(at..at.checked_add(count)?));
        let objects =
            objects.filter(|_| left == count).ok_or_else(|| fault("number of objects", kind, at))?;
        let class = word("number of the class", at + objects.len())?;
        Ok(Self { shape, objects: objects.to_vec(), class })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[rustfmt::skip]
    const WORDS: &[u32] = &[
        MAGIC, // signature
        2,     // number of dimensions
        1, 2,  // their lengths
        5, 7,  // objects
        3,     // class
    ];

    #[test]
    fn shape_objects_and_class() {
        let read = Reference::parse(WORDS).unwrap();
        assert_eq!(read, Reference { shape: vec![1, 2], objects: vec![5, 7], class: 3 });
        let none = Reference::parse(&[MAGIC, 2, 0, 0, 3]).unwrap();
        assert_eq!(none, Reference { shape: vec![0, 0], objects: vec![], class: 3 });
    }

    #[test]
    fn errors_say_where() {
        let wrong = |words: &[u32]| Reference::parse(words).unwrap_err().to_string();
        let told = "malformed reference to objects of MATLAB at offset";
        assert_eq!(wrong(&[1]), format!("{told} 0x0: signature is not the expected signature"));
        assert_eq!(
            wrong(&[MAGIC, 70]),
            format!("{told} 0x4: number of dimensions is 70 (0x46), which is not defined")
        );
        assert_eq!(wrong(&WORDS[..3]), format!("{told} 0xc: length of a dimension is truncated"));
        assert_eq!(wrong(&WORDS[..6]), format!("{told} 0x10: number of objects is 1, expected 2"));
        let many = [MAGIC, 3, u32::MAX, u32::MAX, u32::MAX, 1];
        assert_eq!(wrong(&many), format!("{told} 0x8: length of a dimension overflows"));
    }

    proptest! {
        #[test]
        fn no_words_panic(mut words: Vec<u32>, start in 0usize..7) {
            words.splice(..start.min(words.len()), WORDS[..start].iter().copied());
            if let Ok(read) = Reference::parse(&words) {
                prop_assert_eq!(words.len(), read.shape.len() + read.objects.len() + 3);
            }
        }
    }
}
