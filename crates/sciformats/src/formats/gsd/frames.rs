//! Finds what the frames of a file have in common, in one pass over its index.

use std::collections::BTreeMap;

use gsd_rs::{Chunk, ElementType, Reader};

use crate::Result;
use crate::model::Name;
use crate::source::Summary;
use sciformats_core::bound;

/// What a listing shows of a chunk, apart from its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    id: u16,
    element: ElementType,
    n: u64,
    m: u32,
    /// The frame, if the chunk is shown as an error; two such chunks are never alike.
    damaged: Option<u64>,
}

impl Item {
    fn of(chunk: &Chunk<'_>) -> Self {
        let Chunk { frame, id, element, n, m, .. } = *chunk;
        Self { id, element, n, m, damaged: chunk.size().is_none().then_some(frame) }
    }
}

/// Returns the frames, in order, whose chunks differ from those of the previous frame in their names, types
/// or shapes.
pub(super) fn changes(reader: &Reader) -> Result<Vec<u64>> {
    let mut changes = Changes::default();
    for chunk in reader.all_chunks() {
        let chunk = chunk?;
        if changes.frame != Some(chunk.frame) {
            changes.end_frame();
            changes.begin_frame(chunk.frame);
        }
        changes.now.push(Item::of(&chunk));
    }
    changes.end_frame();
    Ok(changes.found)
}

#[derive(Debug, Default)]
struct Changes {
    found: Vec<u64>,
    /// The frame of the current chunks.
    frame: Option<u64>,
    now: Vec<Item>,
    /// The chunks of the previous frame.
    before: Vec<Item>,
}

impl Changes {
    fn begin_frame(&mut self, frame: u64) {
        // The number of the last frame that has chunks, plus one. The frames from there up to this one are
        // empty.
        let next = self.frame.map_or(0, |last| bound::sum(last, 1));
        if next < frame {
            if next > 0 {
                self.found.push(next);
            }
            self.before.clear();
        }
        self.frame = Some(frame);
    }

    fn end_frame(&mut self) {
        // Before layer 2.0, chunks are in the order in which they were written, which no listing shows.
        sciformats_core::order::sort_by_key(&mut self.now, |item| item.id);
        if let Some(frame) = self.frame
            && self.now != self.before
            && frame > 0
        {
            self.found.push(frame);
        }
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.clear();
    }
}

/// Returns each name of a chunk with its types and shapes in all frames.
pub(super) fn summaries(reader: &Reader) -> Result<Vec<Summary>> {
    let mut names: BTreeMap<&str, Summary> = BTreeMap::new();
    for chunk in reader.all_chunks() {
        let chunk = chunk?;
        let summary = names.entry(chunk.name).or_insert_with(|| Summary {
            name: Name::from(chunk.name),
            types: Vec::new(),
            shape: Vec::new(),
            arrays: 0,
            stored: 0,
        });
        add(summary, &chunk);
    }
    let mut summaries: Vec<Summary> = names.into_values().collect();
    for summary in &mut summaries {
        // A single column is not a dimension.
        if summary.shape.get(1) == Some(&(1, 1)) {
            summary.shape.truncate(1);
        }
    }
    Ok(summaries)
}

fn add(summary: &mut Summary, chunk: &Chunk<'_>) {
    let element = match super::element(chunk.element) {
        _ if chunk.element == ElementType::Character => "text".into(),
        Some(element) => element.to_string(),
        None => format!("unknown type {}", chunk.element.code()),
    };
    if !summary.types.contains(&element) {
        summary.types.push(element);
    }
    let shape = [chunk.n, chunk.m.into()];
    if summary.shape.is_empty() {
        summary.shape = shape.map(|extent| (extent, extent)).to_vec();
    }
    for ((low, high), extent) in summary.shape.iter_mut().zip(shape) {
        (*low, *high) = ((*low).min(extent), (*high).max(extent));
    }
    summary.arrays = bound::sum(summary.arrays, 1);
    // The size of an unknown type is unknown.
    summary.stored = bound::sum(summary.stored, chunk.size().unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(frames: &[(u64, &[u64])]) -> Vec<u64> {
        let mut changes = Changes::default();
        for &(frame, chunks) in frames {
            changes.end_frame();
            changes.begin_frame(frame);
            for &n in chunks {
                let id = u16::try_from(n % 10).unwrap();
                changes.now.push(Item { id, element: ElementType::U8, n, m: 1, damaged: None });
            }
        }
        changes.end_frame();
        changes.found
    }

    #[test]
    fn frames_that_differ_from_the_one_before() {
        assert!(found(&[]).is_empty());
        assert!(found(&[(0, &[11, 12]), (1, &[11, 12]), (2, &[11, 12])]).is_empty());
        // In another order, with another shape, with another name.
        assert_eq!(found(&[(0, &[11, 12]), (1, &[12, 11]), (2, &[11, 22]), (3, &[11, 23])]), [2, 3]);
        // Frames without chunks: at the start, one, several.
        assert_eq!(found(&[(2, &[11]), (3, &[11])]), [2]);
        assert_eq!(found(&[(0, &[11]), (2, &[11]), (6, &[11]), (7, &[11])]), [1, 2, 3, 6]);
    }
}
