//! The answers of a server to requests for ranges, and their checks.

use std::ops::Range;
use std::time::Duration;

use sciformats_core::storage::length;
use ureq::http::{HeaderMap, header};

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// These bytes, at least one.
    Bytes(Range<u64>),
    /// This many bytes at the end of the file.
    Last(u64),
}

impl Wanted {
    /// Returns the value of the header `Range`, if the first `have` bytes have been received already.
    pub(super) fn header(&self, have: u64) -> String {
        match self {
            Self::Bytes(range) => {
                format!("bytes={}-{}", range.start + have, range.end - 1)
            }
            Self::Last(count) => format!("bytes=-{count}"),
        }
    }

    /// Returns the largest number of bytes in an answer.
    pub(super) fn most(&self) -> u64 {
        match self {
            Self::Bytes(range) => length(range),
            Self::Last(count) => *count,
        }
    }

    /// Returns the offset of the first byte, if it is known.
    pub(super) fn offset(&self) -> Option<u64> {
        match self {
            Self::Bytes(range) => Some(range.start),
            Self::Last(_) => None,
        }
    }
}

/// What distinguishes one version of a file from another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// The entity tag, including its quotes.
    pub etag: Option<String>,
    /// The date of the last modification, as the server writes it.
    pub modified: Option<String>,
}

impl Version {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self { etag: text(headers, header::ETAG), modified: text(headers, header::LAST_MODIFIED) }
    }

    /// Returns the entity tag if it can be used to request exactly this version, which a weak tag cannot.
    pub(crate) fn strong(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| !etag.starts_with("W/"))
    }

    /// Returns whether another answer has the same version, as far as both contain one.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        match (&self.etag, &other.etag) {
            (Some(a), Some(b)) => a == b,
            _ => match (&self.modified, &other.modified) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            },
        }
    }
}

/// The header `Content-Range`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContentRange {
    /// The range; `None` if it contains no byte.
    pub(super) range: Option<Range<u64>>,
    /// The size of the file, if it is given.
    pub(super) size: Option<u64>,
}

impl ContentRange {
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(&text(headers, header::CONTENT_RANGE)?)
    }

    fn parse(value: &str) -> Option<Self> {
        let (range, size) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
        let size = match size.trim() {
            "*" => None,
            digits => Some(digits.parse().ok()?),
        };
        let range = match range.trim() {
            "*" => None,
            range => {
                let (first, last) = range.split_once('-')?;
                let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
                Some(first..last.checked_add(1)?).filter(|range| range.start < range.end)?.into()
            }
        };
        if let (Some(range), Some(size)) = (&range, size)
            && range.end > size
        {
            return None;
        }
        Some(Self { range, size })
    }
}

/// Returns how long the server asks to wait, if it says so in seconds.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    text(headers, header::RETRY_AFTER)?.trim().parse().ok().map(Duration::from_secs)
}

/// Returns whether the body is not compressed. Ranges of compressed bytes have another meaning.
pub(crate) fn is_identity(headers: &HeaderMap) -> bool {
    text(headers, header::CONTENT_ENCODING).is_none_or(|encoding| encoding.eq_ignore_ascii_case("identity"))
}

pub(super) fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges() {
        let found = |value: &str| ContentRange::parse(value).map(|found| (found.range, found.size));
        assert_eq!(found("bytes 0-99/1000"), Some((Some(0..100), Some(1000))));
        assert_eq!(found("bytes 5-5/*"), Some((Some(5..6), None)));
        assert_eq!(found("bytes */0"), Some((None, Some(0))));
        for wrong in
            ["", "bytes", "bytes 9-3/10", "bytes 0-10/10", "items 0-1/2", "bytes 0-18446744073709551615/*"]
        {
            assert_eq!(found(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn versions_agree_as_far_as_they_tell() {
        let version = |etag: Option<&str>, modified: Option<&str>| Version {
            etag: etag.map(str::to_owned),
            modified: modified.map(str::to_owned),
        };
        let known = version(Some("\"a\""), Some("Monday"));
        assert!(known.agrees(&version(Some("\"a\""), Some("Tuesday"))));
        assert!(!known.agrees(&version(Some("\"b\""), Some("Monday"))));
        assert!(!known.agrees(&version(None, Some("Tuesday"))));
        assert!(known.agrees(&version(None, None)));
        assert_eq!(known.strong(), Some("\"a\""));
        assert_eq!(version(Some("W/\"a\""), None).strong(), None);
    }

    #[test]
    fn what_is_asked_for() {
        assert_eq!(Wanted::Bytes(10..20).header(3), "bytes=13-19");
        assert_eq!(Wanted::Last(512).header(0), "bytes=-512");
    }
}
