//! The first line of a file and the comment lines after it (ASDF standard, "Header" and "Comments").
//!
//! | line | field |
//! |---|---|
//! | `#ASDF 1.0.0` | the version of the file format, which has been the same so far |
//! | `#ASDF_STANDARD 1.6.0` | the version of the standard whose schemas the tree uses; it has the form of a comment |
//! | `# anything` | further comments |
//!
//! Lines end with `\n` or `\r\n`. The line `#ASDF BLOCK INDEX` is not a comment.

use std::fmt;

use nom::Parser;
use nom::bytes::complete::tag;
use nom::character::complete::{digit1, none_of, space0, space1};
use nom::combinator::{all_consuming, cut, eof, map_opt, not};
use nom::multi::many0;
use nom::sequence::{delimited, preceded, terminated};
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::{block_index, line};

/// The token at the start of every file.
pub(crate) const TOKEN: &[u8] = b"#ASDF";
/// The only version of the file format that has been in use.
pub(crate) const FORMAT_VERSION: Version = Version { major: 1, minor: 0, patch: 0 };

/// A version, which consists of three numbers.
///
/// ```
/// use asdf_core::{Document, Version};
///
/// assert!(Document::new().standard() > Version::new(1, 5, 0));
/// assert_eq!(Version::new(1, 6, 0).to_string(), "1.6.0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The number that changes with incompatible changes.
    pub major: u32,
    /// The number that changes with additions.
    pub minor: u32,
    /// The number that changes with corrections.
    pub patch: u32,
}

impl Version {
    /// Creates the version `major.minor.patch`.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Parses three numbers with dots between them, and nothing else.
    ///
    /// ```
    /// use asdf_core::Version;
    ///
    /// assert_eq!(Version::from_text("1.6.0"), Some(Version::new(1, 6, 0)));
    /// assert_eq!(Version::from_text("1.6"), None);
    /// ```
    pub fn from_text(text: &str) -> Option<Self> {
        let (_, version) = all_consuming(Self::parse).parse(text.as_bytes()).ok()?;
        Some(version)
    }

    fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let decimal = |digits| std::str::from_utf8(digits).ok()?.parse().ok();
        let number = || map_opt(digit1, decimal);
        let (i, major) = number().parse(i)?;
        let (i, minor) = preceded(tag("."), number()).parse(i)?;
        let (i, patch) = preceded(tag("."), number()).parse(i)?;
        Ok((i, Self { major, minor, patch }))
    }

    /// Parses a version with white space before and after it, up to the end of a line.
    fn alone(i: &[u8]) -> Parsed<'_, Self> {
        delimited(space1, Self::parse, (space0, eof)).parse(i)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The first line, and the comment lines after it.
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
    /// The version of the standard, from the first valid comment `ASDF_STANDARD`.
    pub standard: Option<Version>,
    /// The comment lines without their `#` and line break, including the one with the version of the standard.
    pub comments: Vec<String>,
}

impl Header {
    /// Returns the header of a new file.
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

    /// Parses the first line, and all lines after it that begin with `#`.
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, format) = field("version", first_line)(i)?;
        let (i, comments) = many0(comment).parse(i)?;
        let standard = comments.iter().find_map(|comment| {
            // Other words may follow the version.
            let version = terminated(Version::parse, not(none_of(" \t")));
            let mut version = preceded((space0, tag("ASDF_STANDARD"), space1), version);
            version.parse(comment.as_bytes()).ok().map(|(_, version)| version)
        });
        Ok((i, Self { format, standard, comments }))
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
    let (version, _) = tag(TOKEN)(i)?;
    let (rest, text) = line(version).unwrap_or_default();
    match Version::alone(text) {
        Ok((_, FORMAT_VERSION)) => Ok((rest, FORMAT_VERSION)),
        Ok(_) => fail(i, FaultKind::Rule("is not 1.0.0, the only version of the file format")),
        Err(_) => fail(i, FaultKind::Rule("is not three numbers with dots between them")),
    }
}

/// Parses a comment without its mark. Text that is not a comment is an error, which ends the comments; bytes that are not text
/// are a failure.
fn comment(i: &[u8]) -> Parsed<'_, String> {
    let mark = preceded(not(tag(block_index::TOKEN)), tag("#"));
    let (rest, text) = preceded(mark, line).parse(i)?;
    match std::str::from_utf8(text) {
        Ok(text) => Ok((rest, text.to_owned())),
        Err(_) => cut(field("comment", |_| fail(i, FaultKind::Encoding))).parse(i),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate;

    use super::*;

    #[test]
    fn line_by_line() {
        let bytes = [
            &b"#ASDF 1.0.0\n"[..],     // version of the format
            b"#ASDF_STANDARD 1.6.0\n", // version of the standard
            b"# note\n",               // comment
        ]
        .concat();
        let (rest, header) = Header::parse(&bytes).unwrap();
        let standard = Version::new(1, 6, 0);
        let comments = vec!["ASDF_STANDARD 1.6.0".to_owned(), " note".to_owned()];
        assert_eq!(header, Header { format: FORMAT_VERSION, standard: Some(standard), comments });
        assert!(rest.is_empty());
        let mut out = Vec::new();
        header.encode(&mut out);
        assert_eq!(out, bytes);
    }

    #[test]
    fn comments_are_text_up_to_the_block_index() {
        let text = b"#ASDF 1.0.0\n# a\n#ASDF BLOCK INDEX\n";
        let (rest, header) = Header::parse(text).unwrap();
        assert_eq!((rest, header.comments.len()), (&b"#ASDF BLOCK INDEX\n"[..], 1));
        let error = locate("header", 0, b"#ASDF 1.0.0\n# \xff\n", Header::parse).unwrap_err();
        assert_eq!(error.to_string(), "malformed header at offset 0xc: comment is not valid text");
        let (_, header) = Header::parse(b"#ASDF 1.0.0\n# ASDF_STANDARD\t1.5.0 x\n").unwrap();
        assert_eq!(header.standard, Some(Version::new(1, 5, 0)));
    }

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
