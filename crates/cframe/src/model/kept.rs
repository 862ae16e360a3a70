//! What a thread keeps from one chunk to the next: memory that would else be taken from the system and cleared again for
//! each of them.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::thread::LocalKey;

use sciformats_core::Result;

/// A kind of value that threads keep.
pub(crate) trait Keep: Default + 'static {
    /// Returns where the calling thread keeps it.
    fn place() -> &'static LocalKey<Cell<Self>>;

    /// Lets go of what is too much to keep, or of no use for others.
    fn shrink(&mut self);
}

/// A value that was kept, or a new one. It is kept again when this is dropped.
pub(crate) struct Kept<T: Keep> {
    value: T,
}

impl<T: Keep> Default for Kept<T> {
    fn default() -> Self {
        // A thread that ends has kept nothing.
        Self { value: T::place().try_with(Cell::take).unwrap_or_default() }
    }
}

impl<T: Keep> Drop for Kept<T> {
    fn drop(&mut self) {
        let mut value = std::mem::take(&mut self.value);
        value.shrink();
        // A thread that ends keeps nothing.
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

/// The largest buffer that is kept: the largest block whose size is chosen and not given.
const LARGEST: usize = 4 << 20;

/// Two buffers that take turns.
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

/// A buffer for what is decoded and not asked for.
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

/// Returns the first `len` bytes of a buffer that grows as needed. What they are is not said.
pub(crate) fn sized(buffer: &mut Vec<u8>, len: usize) -> Result<&mut [u8]> {
    if buffer.len() < len {
        // Nothing of the old bytes is of use, so none is moved.
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
        // While one is in use another begins anew.
        assert!(Kept::<Scratch>::default().0.is_empty());
        drop(first);
        let mut again = Kept::<Scratch>::default();
        assert_eq!(again.0, [7; 100]);
        assert_eq!(sized(&mut again.0, LARGEST + 1).unwrap().len(), LARGEST + 1);
        drop(again);
        assert!(Kept::<Scratch>::default().0.is_empty());
    }
}
