//! The block index (ASDF standard, "Block index").
//!
//! ```text
//! #ASDF BLOCK INDEX
//! %YAML 1.1
//! ---
//! - 2043
//! - 16340
//! ...
//! ```
//!
//! A YAML document whose only content is a list of whole numbers, as a block or in brackets: `--- [2043, 16340]`.
//! Zero bytes may follow.

use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::line;

/// What the first line of the index is.
pub(crate) const TOKEN: &[u8] = b"#ASDF BLOCK INDEX";

/// The offsets of the blocks from the start of the file, as stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockIndex {
    /// One offset a block.
    pub(crate) offsets: Vec<u64>,
}

impl BlockIndex {
    /// Reads the index with its first line; zeros after it are left.
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let Some((_, rest)) = line(i).filter(|(text, _)| *text == TOKEN) else {
            return field("first line", |i| fail(i, FaultKind::Signature))(i);
        };
        let mut i = rest;
        let mut offsets = Vec::new();
        let mut started = false;
        while let Some((text, rest)) = line(i) {
            let text = text.trim_ascii();
            match text.strip_prefix(b"---").filter(|_| !started) {
                _ if text == b"..." => return Ok((rest, Self { offsets })),
                Some(inline) => {
                    started = true;
                    numbers(i, inline, &mut offsets)?;
                }
                None if !started && text.starts_with(b"%") || text.is_empty() || text.starts_with(b"#") => {}
                None if text.iter().all(|&b| b == 0) => return Ok((i, Self { offsets })),
                None => numbers(i, text, &mut offsets)?,
            }
            i = rest;
        }
        Ok((i, Self { offsets }))
    }

    /// Appends the index as a block list.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(TOKEN);
        out.extend_from_slice(b"\n%YAML 1.1\n---\n");
        for offset in &self.offsets {
            out.extend_from_slice(format!("- {offset}\n").as_bytes());
        }
        out.extend_from_slice(b"...\n");
    }
}

/// The numbers of one line: `- 5`, or `[5, 6]` and parts of it.
fn numbers<'a>(
    i: &'a [u8],
    text: &[u8],
    offsets: &mut Vec<u64>,
) -> Result<(), nom::Err<sciformats_core::fault::ParseError>> {
    let fault = || field("offset", |i: &'a [u8]| fail::<()>(i, FaultKind::Rule("is not a whole number")))(i);
    for word in text.split(|b| b" ,[]\t".contains(b)).filter(|word| !word.is_empty() && *word != b"-") {
        let number = std::str::from_utf8(word).ok().filter(|word| word.bytes().all(|b| b.is_ascii_digit()));
        match number.and_then(|number| number.parse().ok()) {
            Some(number) => offsets.push(number),
            None => return fault().map(drop),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_styles_of_list() {
        let block = b"#ASDF BLOCK INDEX\r\n%YAML 1.1\r\n---\r\n- 2043\r\n- 16340\r\n...\r\n\0\0";
        let flow = b"#ASDF BLOCK INDEX\n%YAML 1.1\n--- [2043,\n 16340]\n...\n";
        for (text, left) in [(&block[..], 2), (flow, 0)] {
            let (rest, index) = BlockIndex::parse(text).unwrap();
            assert_eq!(index.offsets, [2043, 16340]);
            assert_eq!(rest.len(), left);
        }
        assert_eq!(BlockIndex::parse(b"#ASDF BLOCK INDEX\n--- []").unwrap().1, BlockIndex::default());
    }

    #[test]
    fn anything_but_numbers_is_a_fault() {
        for text in ["- x", "- -1", "- 1.5", "- 99999999999999999999", "a: 1"] {
            let text = format!("#ASDF BLOCK INDEX\n---\n{text}\n...\n");
            assert!(BlockIndex::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(BlockIndex::parse(b"#ASDF BLOCK\n").is_err());
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_parsed(offsets in prop::collection::vec(any::<u64>(), 0..9)) {
            let index = BlockIndex { offsets };
            let mut bytes = Vec::new();
            index.encode(&mut bytes);
            prop_assert_eq!(BlockIndex::parse(&bytes).unwrap(), (&b""[..], index));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = BlockIndex::parse(&[TOKEN, b"\n---", &bytes].concat());
        }
    }
}
