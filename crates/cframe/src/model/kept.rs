//! Memory that a thread keeps between chunks. Otherwise it would be requested from the system and cleared for each chunk.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::thread::LocalKey;

use sciformats_core::Result;

/// A kind of value that threads keep.
pub(crate) trait Keep: Default + 'static {
    /// Returns where the calling thread keeps it.
    fn place() -> &'static LocalKey<Cell<Self>>;

    /// Drops what is too large to keep, or useless for other chunks.
    fn shrink(&mut self);
}

/// A value that was kept, or a new one. It is kept again when this is dropped.
pub(crate) struct Kept<T: Keep> {
    value: T,
}

impl<T: Keep> Default for Kept<T> {
    fn default() -> Self {
        // A thread that is ending has no kept values any more.
        Self { value: T::place().try_with(Cell::take).unwrap_or_default() }
    }
}

impl<T: Keep> Drop for Kept<T> {
    fn drop(&mut self) {
        let mut value = std::mem::take(&mut self.value);
        value.shrink();
        // A thread that is ending does not keep the value.
        let _ = T::place().try_with(|place| place.set(value));
    }
}

impl<T: Keep> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Keep> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// The largest buffer that is kept, which is the size of the largest block whose size is chosen automatically.
const LARGEST: usize = 4 << 20;

/// Two buffers that are used in turn.
#[derive(Default)]
pub(crate) struct Pair {
    pub(crate) a: Vec<u8>,
    pub(crate) b: Vec<u8>,
}

impl Keep for Pair {
    fn place() -> &'static LocalKey<Cell<Self>> {
        thread_local!(static PLACE: Cell<Pair> = Cell::default());
        &PLACE
    }

    fn shrink(&mut self) {
        drop_large(&mut self.a);
        drop_large(&mut self.b);
    }
}

/// A buffer for decoded bytes that were not requested.
#[derive(Default)]
pub(crate) struct Scratch(pub(crate) Vec<u8>);

impl Keep for Scratch {
    fn place() -> &'static LocalKey<Cell<Self>> {
        thread_local!(static PLACE: Cell<Scratch> = Cell::default());
        &PLACE
    }

    fn shrink(&mut self) {
        drop_large(&mut self.0);
    }
}

fn drop_large(buffer: &mut Vec<u8>) {
    if buffer.capacity() > LARGEST {
        *buffer = Vec::new();
    }
}

/// Returns the first `len` bytes of a buffer, which grows if necessary. Their contents are undefined.
pub(crate) fn sized(buffer: &mut Vec<u8>, len: usize) -> Result<&mut [u8]> {
    if buffer.len() < len {
        // The old bytes are useless, so they are not copied.
        *buffer = sciformats_core::storage::zeroed(len)?;
    }
    Ok(buffer.get_mut(..len).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_there_again_unless_it_is_large() {
        let mut first = Kept::<Scratch>::default();
        sized(&mut first.0, 100).unwrap().fill(7);
        // While one value is in use, another one starts empty.
        assert!(Kept::<Scratch>::default().0.is_empty());
        drop(first);
        let mut again = Kept::<Scratch>::default();
        assert_eq!(again.0, [7; 100]);
        assert_eq!(sized(&mut again.0, LARGEST + 1).unwrap().len(), LARGEST + 1);
        drop(again);
        assert!(Kept::<Scratch>::default().0.is_empty());
    }
}
