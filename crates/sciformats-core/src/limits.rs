//! Limits for the resources that a file may use, which are checked before a declared size determines an
//! allocation.

use crate::error::{Error, Result};

/// The resources that a file may use. Raise a limit for a file that you trust, and lower it for one that you
/// do not trust.
///
/// Bytes that are stored in the file without encoding need no limit, because the length of the file limits
/// them. The limits apply to what a few stored bytes can *unfold* to.
///
/// ```
/// use sciformats_core::{Error, Limits};
///
/// let limits = Limits::default().with_memory(1 << 20);
/// assert_eq!(limits.memory("bytes of the decoded array", 4096)?, 4096);
/// assert!(matches!(limits.memory("bytes of the decoded array", 1 << 40), Err(Error::LimitExceeded { .. })));
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The number of bytes that decoding one object may take beyond the bytes that are stored for it. The
    /// default is 16 GiB on 64-bit machines, so that a large array can be opened, and 1 GiB on others, which
    /// is half of the address space.
    pub memory: u64,
    /// The deepest nesting of groups, types and trees that is followed. The default is 128, which is several
    /// times the nesting of real files, and far below what the stack of a thread can hold.
    pub depth: usize,
    /// The number of entries that one list of names, links, headers or aliases may unfold to. The default is
    /// 2^26, which is a hundred times the largest lists in use.
    pub items: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let memory = if cfg!(target_pointer_width = "64") { 16 << 30 } else { 1 << 30 };
        Self { memory, depth: 128, items: 1 << 26 }
    }
}

impl Limits {
    /// Sets the limit for memory, in bytes.
    #[must_use]
    pub fn with_memory(self, memory: u64) -> Self {
        Self { memory, ..self }
    }

    /// Sets the limit for nesting.
    #[must_use]
    pub fn with_depth(self, depth: usize) -> Self {
        Self { depth, ..self }
    }

    /// Sets the limit for the lengths of lists.
    #[must_use]
    pub fn with_items(self, items: u64) -> Self {
        Self { items, ..self }
    }

    /// Checks a declared number of bytes; `what` reads like `bytes of the decoded array`.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`].
    pub fn memory(&self, what: &'static str, declared: u64) -> Result<usize> {
        within(what, declared, self.memory)
    }

    /// Checks a declared number of entries; `what` reads like `names`.
    ///
    /// ```
    /// use sciformats_core::Limits;
    ///
    /// let limits = Limits::default().with_items(1000);
    /// assert_eq!(limits.items("names", 1000)?, 1000);
    /// assert_eq!(limits.items("names", 1001).unwrap_err().to_string(), "1001 names exceed the limit of 1000");
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::LimitExceeded`].
    pub fn items(&self, what: &'static str, declared: u64) -> Result<usize> {
        within(what, declared, self.items)
    }

    /// Checks a level of nesting; `what` reads like `levels of groups`.
    ///
    /// ```
    /// use sciformats_core::Limits;
    ///
    /// let limits = Limits::default().with_depth(8);
    /// limits.depth("levels of groups", 8)?;
    /// assert!(limits.depth("levels of groups", 9).is_err());
    /// # Ok::<(), sciformats_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::LimitExceeded`].
    pub fn depth(&self, what: &'static str, level: usize) -> Result<()> {
        within(what, level as u64, self.depth as u64).map(drop)
    }
}

/// Checks `declared` against `limit`, and that this machine can address it.
///
/// ```
/// use sciformats_core::limits::within;
///
/// assert_eq!(within("names", 7, 10)?, 7);
/// assert_eq!(within("names", 11, 10).unwrap_err().to_string(), "11 names exceed the limit of 10");
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::LimitExceeded`].
pub fn within(what: &'static str, declared: u64, limit: u64) -> Result<usize> {
    match usize::try_from(declared) {
        Ok(size) if declared <= limit && isize::try_from(size).is_ok() => Ok(size),
        _ => Err(Error::limit_exceeded(what, declared, limit.min(isize::MAX as u64))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_itself_passes_and_one_more_does_not() {
        let limits = Limits::default().with_memory(10).with_depth(2).with_items(3);
        assert_eq!(limits.memory("bytes", 10).unwrap(), 10);
        assert_eq!(limits.memory("bytes", 11).unwrap_err().to_string(), "11 bytes exceed the limit of 10");
        assert!(limits.depth("levels", 2).is_ok() && limits.depth("levels", 3).is_err());
        assert!(limits.items("names", 3).is_ok() && limits.items("names", 4).is_err());
    }

    #[test]
    fn no_size_passes_that_an_allocation_cannot_have() {
        assert!(within("bytes", u64::MAX, u64::MAX).is_err());
        assert!(within("bytes", isize::MAX as u64 + 1, u64::MAX).is_err());
    }
}
