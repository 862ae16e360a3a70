//! Finds what a misspelt path may have meant.

use std::ops::ControlFlow;

use sciformats_core::bound;
use sciformats_core::spelling::distance;

use crate::File;
use crate::walk::{Found, breadth_first};

/// The number of objects that are examined, starting from the root.
const LOOKED_AT: usize = 20_000;

impl File {
    /// Returns the path of an object or link that `path` may have meant: one with the same name elsewhere, or
    /// with a similar spelling; `None` if there is no similar one.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{File, Format};
    ///
    /// let mut memory = Memory::new(Format::Hdf5);
    /// let fields = memory.group(memory.root(), "fields");
    /// memory.array(fields, "temperature", array::<f32>(&[1], &[273.5]));
    /// let file = File::from(memory);
    /// assert_eq!(file.nearest("/feilds/temperature").as_deref(), Some("/fields/temperature"));
    /// assert_eq!(file.nearest("/fieldz/temperature").as_deref(), Some("/fields/temperature"));
    /// assert_eq!(file.nearest("Temperature").as_deref(), Some("/fields/temperature"));
    /// assert_eq!(file.nearest("/pressure"), None);
    /// ```
    pub fn nearest(&self, path: &str) -> Option<String> {
        let wanted = format!("/{}", path.trim_matches('/'));
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_lowercase();
        let (letters, name) = (wanted.to_lowercase().chars().collect::<Vec<char>>(), last(&wanted));
        // At most a third of the letters may be wrong; otherwise it is another word.
        // Of two that are as near, the one whose spelling is nearer is meant.
        let mut best = ((letters.len() / 3 + 1, 0), None);
        let mut left = LOOKED_AT;
        let source = self.source();
        let _ = breadth_first(source, ("/", source.root()), self.limits(), &mut |entry| {
            let there = !matches!(entry.what, Found::Unreadable(_) | Found::Unlisted(_));
            if there && entry.path != "/" {
                let moved = if last(&entry.path) == name { 1 } else { usize::MAX };
                let spelt = distance(&letters, &entry.path.to_lowercase());
                let near = (moved.min(spelt), spelt);
                if near < best.0 {
                    best = (near, Some(entry.path));
                }
            }
            left = bound::left(left, 1);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        best.1
    }
}
