//! Where the tree begins and ends in a file (ASDF standard, "Tree").
//!
//! | line | field |
//! |---|---|
//! | `%YAML 1.1` | the start of the tree |
//! | | directives, `---`, the YAML document |
//! | `...` | the end of the tree, which is the first line with exactly this text |
//!
//! The size of the tree is not stored. Lines end with `\n` or `\r\n`.

use super::line;
use sciformats_core::bound;

/// The first bytes of the tree.
pub(crate) const TOKEN: &[u8] = b"%YAML";

/// Returns the size of the tree at the start of `text`, including the end line and its break; `None` if there is no end line.
///
/// The first `done` bytes are known not to contain a complete end line. A caller that reads in pieces passes the number of bytes
/// that it passed in the previous call, and no byte is examined more than twice.
pub(crate) fn size(text: &[u8], done: usize) -> Option<usize> {
    // Go back to the start of the line, because the last call may have seen only a part of it.
    let seen = text.get(..done).unwrap_or(text);
    let mut at = seen.iter().rposition(|&b| b == b'\n').map_or(0, |newline| bound::sum(newline, 1));
    loop {
        let left = text.get(at..)?;
        // The lines before the next one that begins with a point are passed over at once.
        if !left.starts_with(b".") {
            at = bound::sum(at, bound::sum(next_point(left)?, 1));
            continue;
        }
        let (rest, content) = line(left).ok()?;
        let next = bound::left(text.len(), rest.len());
        if content == b"..." {
            return Some(next);
        }
        at = next;
    }
}

/// Returns the position of a line break that a point follows.
fn next_point(text: &[u8]) -> Option<usize> {
    const MANY: usize = 64;
    let mut at = 0;
    loop {
        let some = text.get(at..)?;
        let (breaks, points) = (some.get(..MANY), some.get(1..bound::sum(MANY, 1)));
        let Some((breaks, points)) = breaks.zip(points) else {
            return some.windows(2).position(|two| two == b"\n.").map(|place| bound::sum(at, place));
        };
        // Many at a time: a loop that may end at each byte is several times slower.
        let found =
            breaks.iter().zip(points).fold(false, |found, (a, b)| found | (*a == b'\n') & (*b == b'.'));
        if found {
            let place = breaks.iter().zip(points).position(|(a, b)| (*a, *b) == (b'\n', b'.'))?;
            return Some(bound::sum(at, place));
        }
        at = bound::sum(at, MANY);
    }
}

/// Returns whether a caller that reads in pieces may stop at an end line at the end of its bytes. Without a line break, `...`
/// only ends the tree at the end of the file.
pub(crate) fn is_complete(text: &[u8], size: usize) -> bool {
    text.get(..size).is_some_and(|tree| tree.ends_with(b"\n"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn line_by_line() {
        let bytes = [
            &b"%YAML 1.1\n"[..], // begin
            b"---\n",            // the document
            b"a: 1\n",           // its only entry
            b"...\n",            // end
            b"rest",             // what follows the tree
        ]
        .concat();
        let size = size(&bytes, 0).unwrap();
        assert_eq!(bytes[size..], *b"rest");
        assert!(bytes.starts_with(TOKEN) && is_complete(&bytes, size));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(text in r"[.\r\na]{0,30}", bytes: Vec<u8>, done in 0usize..40) {
            for text in [text.as_bytes(), &bytes] {
                if let Some(size) = size(text, done) {
                    prop_assert!(size <= text.len());
                    let _ = is_complete(text, size);
                }
            }
        }
    }

    #[test]
    fn only_a_line_of_its_own_ends_the_tree() {
        assert_eq!(size(b"%YAML 1.1\n---\na: 1\n...\nrest", 0), Some(23));
        assert_eq!(size(b"%YAML 1.1\r\n...\r\nrest", 0), Some(16));
        assert_eq!(size(b"%YAML 1.1\n...", 0), Some(13));
        assert_eq!(size(b"%YAML 1.1\n... \n ...\n", 0), None);
        assert_eq!(size(b"", 0), None);
    }

    #[test]
    fn pieces_find_the_same_end() {
        let text = b"%YAML 1.1\n--- |\n ...\n...x\n..\n...\nrest";
        let whole = size(text, 0);
        assert_eq!(whole, Some(33));
        for done in 0..32 {
            assert_eq!(size(text, done), whole, "{done}");
        }
        assert!(is_complete(text, 33) && !is_complete(b"...", 3));
    }
}
