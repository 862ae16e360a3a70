//! Bytes of names, most of which are short.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// The bytes of a name. Up to 22 of them need no allocation; a value is not larger than a `Vec`.
///
/// ```
/// use sciformats_core::name::NameBytes;
///
/// let short = NameBytes::from(&b"temperature"[..]);
/// assert_eq!(&*short, b"temperature");
/// assert!(short < NameBytes::from(&b"wind"[..]));
/// ```
#[derive(Clone)]
pub struct NameBytes(Held);

#[derive(Clone)]
enum Held {
    Here { len: u8, bytes: [u8; SHORT] },
    Elsewhere(Box<[u8]>),
}

/// The longest names that are held without an allocation.
const SHORT: usize = 22;

impl std::ops::Deref for NameBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Held::Here { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or(bytes),
            Held::Elsewhere(bytes) => bytes,
        }
    }
}

impl From<&[u8]> for NameBytes {
    fn from(bytes: &[u8]) -> Self {
        let mut here = [0; SHORT];
        match (here.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(front), Ok(len)) => {
                front.copy_from_slice(bytes);
                Self(Held::Here { len, bytes: here })
            }
            _ => Self(Held::Elsewhere(bytes.into())),
        }
    }
}

impl Default for NameBytes {
    fn default() -> Self {
        Self(Held::Here { len: 0, bytes: [0; SHORT] })
    }
}

impl PartialEq for NameBytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for NameBytes {}

impl PartialOrd for NameBytes {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NameBytes {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for NameBytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl std::fmt::Debug for NameBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_names_compare_as_their_bytes() {
        assert!(size_of::<NameBytes>() <= size_of::<Vec<u8>>());
        let all: Vec<Vec<u8>> = (0..=50).flat_map(|len| [vec![b'a'; len], vec![b'b'; len]]).collect();
        for a in &all {
            let held = NameBytes::from(&a[..]);
            assert_eq!(&*held, &a[..]);
            for b in &all {
                let other = NameBytes::from(&b[..]);
                assert_eq!(held.cmp(&other), a.cmp(b));
                assert_eq!(held == other, a == b);
            }
        }
        assert!(NameBytes::default().is_empty());
    }
}
