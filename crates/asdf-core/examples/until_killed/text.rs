//! The text that belongs to a number, for the program and for the test that reads the remaining file.

/// Returns the text that belongs to a number.
pub(crate) fn text(n: u64) -> String {
    format!("state {n} ").repeat(usize::try_from(1 + n % 40).unwrap_or(1))
}
