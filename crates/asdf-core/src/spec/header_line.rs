//! The first line of a file and the comment lines after it (ASDF standard, "Header" and "Comments").
//!
//! ```text
//! #ASDF 1.0.0              the format version, always this one so far
//! #ASDF_STANDARD 1.6.0     the version of the standard whose schemas the tree uses (a comment by form)
//! # anything               further comments
//! ```

use std::fmt;

use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::line;

/// The token that every file begins with.
pub(crate) const TOKEN: &[u8] = b"#ASDF";
/// The only version of the file format that has been in use.
pub(crate) const FORMAT_VERSION: Version = Version { major: 1, minor: 0, patch: 0 };

/// A version of three numbers.
///
/// ```
/// use asdf_core::{Document, Version};
///
/// assert!(Document::new().standard() > Version::new(1, 5, 0));
/// assert_eq!(Version::new(1, 6, 0).to_string(), "1.6.0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Incompatible changes.
    pub major: u32,
    /// Additions.
    pub minor: u32,
    /// Corrections.
    pub patch: u32,
}

impl Version {
    /// `major.minor.patch`.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Three numbers with dots between them, and nothing else.
    ///
    /// ```
    /// use asdf_core::Version;
    ///
    /// assert_eq!(Version::from_text("1.6.0"), Some(Version::new(1, 6, 0)));
    /// assert_eq!(Version::from_text("1.6"), None);
    /// ```
    pub fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| {
            let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| part.parse().ok()).flatten()
        });
        let version = Self { major: parts.next()??, minor: parts.next()??, patch: parts.next()?? };
        parts.next().is_none().then_some(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The first line and the comment lines.
///
/// ```
/// use asdf_core::{Asdf, Version};
///
/// let file = Asdf::from_bytes("#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n#of my own\n%YAML 1.1\n---\n{}\n...\n")?;
/// let header = &file.layout().header;
/// assert_eq!((header.format, header.standard), (Version::new(1, 0, 0), Some(Version::new(1, 5, 0))));
/// assert_eq!(header.comments, ["ASDF_STANDARD 1.5.0", "of my own"]);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the file format.
    pub format: Version,
    /// The version of the standard, from the first comment `ASDF_STANDARD` that can be read.
    pub standard: Option<Version>,
    /// The comment lines without their `#` and line break, the one with the standard's version included.
    pub comments: Vec<String>,
}

impl Header {
    /// The header of a new file.
    ///
    /// ```
    /// use asdf_core::Version;
    /// use asdf_core::structure::Header;
    ///
    /// let mut text = Vec::new();
    /// Header::new(Version::new(1, 6, 0)).encode(&mut text);
    /// assert_eq!(text, b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n");
    /// ```
    pub fn new(standard: Version) -> Self {
        Self {
            format: FORMAT_VERSION,
            standard: Some(standard),
            comments: vec![format!("ASDF_STANDARD {standard}")],
        }
    }

    /// Reads the first line and every line after it that begins with `#`.
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (mut rest, format) = field("version", first_line)(i)?;
        let mut comments = Vec::new();
        while let Some((text, after)) = rest.strip_prefix(b"#").and_then(line) {
            if rest.starts_with(super::block_index::TOKEN) {
                break;
            }
            let Ok(text) = std::str::from_utf8(text) else {
                return field("comment", |_| fail(rest, FaultKind::Encoding))(i);
            };
            comments.push(text.to_owned());
            rest = after;
        }
        let standard = comments.iter().find_map(|comment| {
            let mut words = comment.split_whitespace();
            (words.next() == Some("ASDF_STANDARD")).then(|| Version::from_text(words.next()?)).flatten()
        });
        Ok((rest, Self { format, standard, comments }))
    }

    /// Appends the lines.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(TOKEN);
        out.extend_from_slice(format!(" {}\n", self.format).as_bytes());
        for comment in &self.comments {
            out.push(b'#');
            out.extend_from_slice(comment.as_bytes());
            out.push(b'\n');
        }
    }
}

fn first_line(i: &[u8]) -> Parsed<'_, Version> {
    let Some((text, rest)) = line(i).filter(|(text, _)| text.starts_with(TOKEN)) else {
        return fail(i, FaultKind::Signature);
    };
    let Ok(text) = std::str::from_utf8(text) else { return fail(i, FaultKind::Encoding) };
    let mut words = text.split_whitespace();
    let version = match (words.next(), words.next(), words.next()) {
        (Some("#ASDF"), Some(version), None) => Version::from_text(version),
        _ => None,
    };
    match version {
        Some(FORMAT_VERSION) => Ok((rest, FORMAT_VERSION)),
        Some(_) => fail(i, FaultKind::Rule("is not 1.0.0, the only version of the file format")),
        None => fail(i, FaultKind::Rule("is not three numbers with dots between them")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate;

    use super::*;

    #[test]
    fn lines_with_either_newline() {
        let text = b"#ASDF 1.0.0\r\n#ASDF_STANDARD 1.6.0\r\n# note\r\n%YAML 1.1\r\n";
        let (rest, header) = Header::parse(text).unwrap();
        assert_eq!(rest, b"%YAML 1.1\r\n");
        assert_eq!(header.standard, Some(Version::new(1, 6, 0)));
        assert_eq!(header.comments, ["ASDF_STANDARD 1.6.0", " note"]);
        let (rest, bare) = Header::parse(b"#ASDF  1.0.0 ").unwrap();
        assert_eq!((rest, bare.standard, bare.comments.len()), (&b""[..], None, 0));
    }

    #[test]
    fn the_first_readable_standard_counts() {
        let (_, header) =
            Header::parse(b"#ASDF 1.0.0\n#ASDF_STANDARD x\n#ASDF_STANDARD 1.2.0\n#ASDF_STANDARD 1.3.0\n")
                .unwrap();
        assert_eq!(header.standard, Some(Version::new(1, 2, 0)));
    }

    #[test]
    fn other_versions_and_tokens_are_refused() {
        let shown = |text: &[u8]| locate("header", 0, text, Header::parse).unwrap_err().to_string();
        assert_eq!(shown(b""), "malformed header at offset 0x0: version is not the expected signature");
        assert_eq!(
            shown(b"#ASDF 1.0.1\n"),
            "malformed header at offset 0x0: version is not 1.0.0, the only version of the file format"
        );
        for text in
            [&b"#ASDF 1.0\n"[..], b"#ASDF\n", b"#ASDF 1.0.0 x\n", b"#ASDFX 1.0.0\n", b"#ASDF +1.0.0\n"]
        {
            assert!(shown(text).contains("three numbers"), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_parsed(comments in prop::collection::vec("[^\r\n]{0,12}", 0..4)) {
            prop_assume!(comments.iter().all(|c| !c.starts_with("ASDF BLOCK INDEX")));
            let mut header = Header::new(Version::new(1, 5, 0));
            header.comments.extend(comments);
            let mut bytes = Vec::new();
            header.encode(&mut bytes);
            prop_assert_eq!(Header::parse(&bytes).unwrap(), (&b""[..], header));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Header::parse(&bytes);
            let _ = Header::parse(&[b"#ASDF 1.0.0\n", &bytes[..]].concat());
        }
    }
}
