//! Presents elements as a storage that is read from its start to its end, for formats that take their bytes
//! from a storage.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use sciformats_core::arith::{add, fit, increase, sub};
use sciformats_core::{Error, ReadAt, Slab};

use super::Elements;
use sciformats::Result;
use sciformats::model::Object;
use sciformats::pieces::Pieces;

/// The bytes of elements in order. Very many streams may wait until they are read, so the description of an
/// array of a file is not kept with it: `elements` returns the array when it is read.
pub(super) struct Stream<F> {
    elements: F,
    size: u64,
    state: Mutex<Option<Box<Position>>>,
}

/// How far a stream has been read: the current piece, and those that follow.
struct Position {
    elements: Elements,
    start: u64,
    piece: Vec<u8>,
    rest: Pieces,
}

impl Position {
    fn end(&self) -> Result<u64> {
        add(self.start, self.piece.len() as u64)
    }
}

impl<F: Fn() -> Result<Elements>> Stream<F> {
    fn new(elements: F, size: u64) -> Self {
        Self { elements, size, state: Mutex::default() }
    }

    fn copy(&self, mut at: u64, len: usize) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(len);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Reading backwards starts again at the beginning, which is permitted but slow.
        let mut position = match state.take().filter(|position| position.start <= at) {
            Some(position) => position,
            None => {
                let elements = (self.elements)()?;
                let slab = Slab::all(elements.dimensions()?)?;
                let rest = Pieces::new(&elements.info, &slab, elements.limits.memory);
                Box::new(Position { elements, start: 0, piece: Vec::new(), rest })
            }
        };
        while out.len() < len {
            if at >= position.end()? {
                let slab = position.rest.next().ok_or_else(|| Error::usage("elements", "end too early"))?;
                position.start = position.end()?;
                position.piece.clear();
                position.elements.read(&slab, &mut position.piece)?;
                continue;
            }
            let from = fit(sub(at, position.start)?, "place in a piece")?;
            let held = position.piece.get(from..).unwrap_or_default();
            let part = held.get(..held.len().min(sub(len, out.len())?)).unwrap_or_default();
            out.extend_from_slice(part);
            increase(&mut at, part.len() as u64)?;
        }
        // After everything has been read, the last piece is probably not needed any more.
        *state = (at < self.size).then_some(position);
        Ok(out)
    }
}

impl<F: Fn() -> Result<Elements> + Send + Sync> ReadAt for Stream<F> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        sciformats_core::storage::check_range(self.size, offset, len as u64)?;
        self.copy(offset, len).map(Cow::Owned)
    }
}

impl Elements {
    /// Returns the canonical bytes of elements of a fixed size as a storage, which should be read from its
    /// start to its end.
    pub(super) fn into_storage(self) -> Result<Stream<impl Fn() -> Result<Self> + Send + Sync + 'static>> {
        let size = self.fixed_size()?;
        Ok(Stream::new(move || Ok(self.clone()), size))
    }

    /// As [`into_storage`](Self::into_storage), for an array of a file; `None` if the elements come from
    /// elsewhere.
    pub(super) fn storage_of_file(
        &self,
    ) -> Result<Option<Stream<impl Fn() -> Result<Self> + Send + Sync + 'static>>> {
        let Some((file, array)) = self.file() else { return Ok(None) };
        let (file, size) = (Arc::clone(file), self.fixed_size()?);
        let elements = move || match file.source().object(array)? {
            Object::Array(info) => Ok(Self::of(Arc::clone(&file), array, *info)),
            _ => Err(Error::internal("an array has become another object")),
        };
        Ok(Some(Stream::new(elements, size)))
    }

    fn fixed_size(&self) -> Result<u64> {
        self.info.logical().ok_or_else(|| Error::usage("elements", "have no size of their own"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sciformats::memory::{array, texts};

    #[test]
    fn a_stream_gives_the_bytes_of_all_elements() {
        let values: Vec<u32> = (0..3 << 20).collect();
        let stream = Elements::from(array(&[3, 1 << 20], &values)).into_storage().unwrap();
        assert_eq!(stream.size(), 12 << 20);
        for (offset, len) in
            [(0u64, 10usize), (6, 7), (8 << 20, 5 << 20), ((12 << 20) - 3, 3), (1, 9), (5, 0)]
        {
            if offset + len as u64 > stream.size() {
                assert!(stream.read_at(offset, len).is_err());
                continue;
            }
            let bytes = stream.read_at(offset, len).unwrap();
            let expected = (offset..offset + len as u64)
                .map(|i| values[(i / 4) as usize].to_le_bytes()[(i % 4) as usize]);
            assert!(bytes.iter().copied().eq(expected), "{offset} {len}");
        }
        assert!(Elements::from(texts(&[1], &["a"])).into_storage().is_err());
    }
}
