//! A large block of which many parts are read is decoded once, and not for each part.

use std::sync::{Arc, Mutex, PoisonError};

/// A block of a frame: the number of its chunk, and the number of the block in the chunk.
type Place = (u64, usize);

/// The block of a frame that is kept, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Held(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The last block of which a part was read.
    asked: Option<Place>,
    block: Option<(Place, Arc<Vec<u8>>)>,
    /// The first block of a chunk, if the other blocks are differences from it.
    reference: Option<(u64, Arc<Vec<u8>>)>,
}

/// What is known about a block of which a part is read.
pub(crate) enum Known {
    /// Nothing, because this is the first part.
    Nothing,
    /// Another part was read before.
    Asked,
    /// The whole block.
    Block(Arc<Vec<u8>>),
}

impl Held {
    /// The smallest size of a block that is kept. Smaller blocks are decoded for each part that is read, because parts are as
    /// large.
    pub(super) const LARGE: usize = 4 << 20;

    /// Returns what is known about a block before a part of it is read, and records that it is read. A block of which only one
    /// part is read is not decoded as a whole.
    pub(super) fn look(&self, place: Place) -> Known {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, block)) = state.block.as_ref().filter(|(held, _)| *held == place) {
            return Known::Block(Arc::clone(block));
        }
        // The kept block will not be needed again, and its memory is.
        state.block = None;
        if state.asked.replace(place) == Some(place) { Known::Asked } else { Known::Nothing }
    }

    pub(super) fn keep(&self, place: Place, block: &Arc<Vec<u8>>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.block = Some((place, Arc::clone(block)));
    }

    /// Returns the first block of a chunk, if it was kept.
    pub(super) fn reference(&self, chunk: u64) -> Option<Arc<Vec<u8>>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.reference.take_if(|(held, _)| *held != chunk);
        state.reference.as_ref().map(|(_, block)| Arc::clone(block))
    }

    pub(super) fn keep_reference(&self, chunk: u64, block: &Arc<Vec<u8>>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.reference = Some((chunk, Arc::clone(block)));
    }
}
