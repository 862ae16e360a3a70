//! Applies filters when chunks are written.

use std::borrow::Cow;
use std::sync::OnceLock;

use sciformats_core::arith::present;
use sciformats_core::{Error, Fault, Result, bound};

use crate::codec;
use crate::filter::{Registry, known};
use crate::spec::message::filter_pipeline::{FilterDescription, Pipeline};

/// Runs `encode` on each item and `store` on the results in order. `encode` runs on so many threads (0 means as many as
/// the machine has) if the feature `parallel` is enabled.
pub(crate) fn each<T: Send, U: Send>(
    threads: usize,
    items: Vec<T>,
    encode: impl Fn(T) -> Result<U> + Sync + Send,
    mut store: impl FnMut(U) -> Result<()>,
) -> Result<()> {
    let threads = available(threads).min(items.len());
    #[cfg(feature = "parallel")]
    if threads > 1 {
        // Each thread takes the next item as soon as it has finished one, so that uneven items do not leave threads
        // idle.
        let queue = std::sync::Mutex::new(items.into_iter().enumerate());
        let next = || queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
        let work = || {
            let encoded = std::iter::from_fn(|| next().map(|(number, item)| (number, encode(item))));
            Ok(encoded.collect::<Vec<(usize, Result<U>)>>())
        };
        let mut encoded: Vec<_> = super::threads::shared(threads, work)?.into_iter().flatten().collect();
        encoded.sort_by_key(|&(number, _)| number);
        return encoded.into_iter().try_for_each(|(_, encoded)| store(encoded?));
    }
    let _ = threads;
    items.into_iter().try_for_each(|item| store(encode(item)?))
}

/// Returns the number of threads to use if `asked` are allowed.
fn available(asked: usize) -> usize {
    static AVAILABLE: OnceLock<usize> = OnceLock::new();
    match asked {
        0 => *AVAILABLE.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from)),
        asked => asked,
    }
}

/// Applies the filters in order. Returns the bytes and the mask of the filters that were skipped.
pub(crate) fn encode<'a>(
    pipeline: &Pipeline,
    registry: &Registry,
    bytes: Cow<'a, [u8]>,
) -> Result<(Cow<'a, [u8]>, u32)> {
    let mut bytes = bytes;
    let (mut mask, mut any) = (0u32, false);
    for (i, filter) in (0u32..).zip(&pipeline.filters) {
        let left_out = any
            && registry.added(filter.id).is_none()
            && (loses_bits(filter) || filter.optional && changes_nothing(filter));
        match if left_out { None } else { apply(filter, registry, &bytes)? } {
            Some(encoded) => (bytes, any) = (Cow::Owned(encoded), true),
            None if filter.optional => mask |= present(1u32.checked_shl(i), "bit of a filter")?,
            None => {
                return Err(Error::usage(
                    "filter",
                    format!(
                        "{} cannot be applied to these elements, and the dataset does not allow skipping it",
                        name(filter)
                    ),
                ));
            }
        }
    }
    Ok((bytes, mask))
}

/// Checks that there is an implementation of each filter. Many chunks pass through them only when the file is completed, which would
/// be too late to refuse a write.
pub(crate) fn check(pipeline: &Pipeline, registry: &Registry) -> Result<()> {
    let lacks = |filter: &&FilterDescription| registry.added(filter.id).is_none() && !is_built_in(filter.id);
    pipeline.filters.iter().find(lacks).map_or(Ok(()), |filter| Err(unsupported(filter)))
}

fn is_built_in(id: u16) -> bool {
    let optional = [
        (1, cfg!(feature = "deflate")),
        (307, cfg!(feature = "bzip2")),
        (32001, cfg!(feature = "blosc2")),
        (32004, cfg!(feature = "lz4")),
        (32015, cfg!(feature = "zstd")),
        (32026, cfg!(feature = "blosc2")),
    ];
    matches!(id, 2..=6 | 32000 | 32008) || optional.contains(&(id, true))
}

/// Returns whether n-bit or scale-offset has nothing to pack.
///
/// The C library returns the room of its buffer as the number of bytes then, so that it reads wrong elements if a filter before changed
/// them, as with shuffle, n-bit and deflate. It reads chunks for which the filter was skipped, and may damage none of them later, because
/// to apply the filter is the same as to skip it.
fn changes_nothing(filter: &FilterDescription) -> bool {
    match (filter.id, &filter.values[..]) {
        (5, [_, unchanged, ..]) => *unchanged == 1,
        (6, [2, bits, _, _, size, ..]) => size.checked_mul(8) == Some(*bits),
        _ => false,
    }
}

/// Returns whether n-bit or scale-offset drops bits that elements do not have. It would drop other bits of what a filter before made of the
/// elements, and nothing could restore them.
fn loses_bits(filter: &FilterDescription) -> bool {
    match (filter.id, &filter.values[..]) {
        (5, [_, unchanged, ..]) => *unchanged != 1,
        // Integers in as few bits as possible are exact, whatever they are.
        (6, [kind, bits, ..]) => (*kind, *bits) != (2, 0) && !changes_nothing(filter),
        _ => false,
    }
}

fn name(filter: &FilterDescription) -> String {
    known(filter.id).map_or_else(|| filter.id.to_string(), str::to_owned)
}

/// Returns the filtered bytes, or `None` if the filter gains nothing and may be skipped, or cannot be applied.
fn apply(filter: &FilterDescription, registry: &Registry, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let values = &filter.values[..];
    let first = values.first().copied();
    // A chunk without gain may be stored unfiltered only if the C library's own filter does so too. Otherwise the
    // library can damage the chunk later: when it changes a chunk for which a filter was skipped, and the new bytes
    // have the old length, it does not record that the filter was applied this time, and reads wrong elements from then
    // on.
    let smaller = |encoded: Vec<u8>| (!filter.optional || encoded.len() < bytes.len()).then_some(encoded);
    let wrong = |fault: Fault| Error::usage("filter", format!("{}: {fault}", name(filter)));
    if let Some(added) = registry.added(filter.id) {
        return added.encode(values, bytes).map_err(wrong);
    }
    if !complete(filter.id, values) {
        return Ok(None);
    }
    Ok(match filter.id {
        #[cfg(feature = "deflate")]
        1 => Some(codec::deflate::encode(first.unwrap_or(6), bytes)?),
        2 => {
            let size = present(first, "element size of shuffle")?;
            Some(codec::shuffle::encode(bound::addressable(size.into()), bytes))
        }
        3 => Some(codec::fletcher32::encode(bytes)),
        4 => codec::szip::encode(values, bytes).map_err(wrong)?,
        5 => codec::nbit::encode(values, bytes).map_err(wrong)?,
        6 => codec::scale_offset::encode(values, bytes).map_err(wrong)?,
        #[cfg(feature = "bzip2")]
        307 => Some(codec::bzip2::encode(first.unwrap_or(9), bytes).map_err(wrong)?),
        32000 => smaller(present(codec::lzf::encode(bytes), "the literals of an LZF stream")?),
        #[cfg(feature = "lz4")]
        32004 => {
            let block = first.map_or(0, |block| bound::addressable(block.into()));
            Some(codec::lz4::encode(block, bytes).map_err(wrong)?)
        }
        #[cfg(feature = "blosc2")]
        32001 => smaller(codec::blosc::encode_chunk(values, bytes, registry.blosc())?),
        #[cfg(feature = "blosc2")]
        32026 => smaller(codec::blosc::encode_frame(values, bytes, registry.blosc())?),
        32008 => codec::bitshuffle::encode(values, bytes).map_err(wrong)?.and_then(smaller),
        #[cfg(feature = "zstd")]
        32015 => Some(codec::zstd::encode(first.map_or(3, u32::cast_signed), bytes).map_err(wrong)?),
        _ => return Err(unsupported(filter)),
    })
}

/// Returns whether a filter has the client data values without which the C library does not run it in either direction.
///
/// The library adds those that depend on the datatype when it makes a dataset, but not for elements of variable length.
/// There it stores the filter as it is, and skips it in each chunk. Chunks for which it was not skipped would be
/// unreadable for it.
pub(super) fn complete(id: u16, values: &[u32]) -> bool {
    match id {
        1 => matches!(values, [0..=9]),
        2 => matches!(values, [size] if *size > 0),
        4 => values.len() >= 4,
        5 => values.len() >= 5,
        6 => values.len() == 20,
        32008 => values.get(2).is_some_and(|&size| size > 0),
        _ => true,
    }
}

/// Returns the error of a filter that cannot be applied here.
pub(crate) fn unsupported(filter: &FilterDescription) -> Error {
    let what = format!("writing with filter {} ({})", filter.id, name(filter));
    match super::feature(filter.id) {
        Some(feature) => Error::missing_feature(what, feature),
        None => Error::unsupported(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(id: u16, optional: bool, values: &[u32]) -> Pipeline {
        Pipeline { filters: vec![FilterDescription { id, name: None, optional, values: values.to_vec() }] }
    }

    #[test]
    fn filters_without_their_client_data_are_skipped() {
        // The C library stores these filters like this for elements of variable length, and skips them in each chunk.
        for (id, values) in
            [(2, &[][..]), (2, &[0]), (4, &[161, 8]), (5, &[]), (6, &[2, 0]), (32008, &[0, 2])]
        {
            let (pipeline, registry) = (alone(id, true, values), Registry::default());
            assert_eq!(
                encode(&pipeline, &registry, vec![7; 64].into()).unwrap(),
                (vec![7; 64].into(), 1),
                "{id}"
            );
            assert_eq!(registry.undo(&pipeline, 1, &[7; 64], 64).unwrap(), [7; 64], "{id}");
            assert!(registry.undo(&pipeline, 0, &[7; 64], 64).is_err(), "{id}");
            assert!(encode(&alone(id, false, values), &registry, vec![7; 64].into()).is_err(), "{id}");
        }
        let (pipeline, registry) = (alone(2, true, &[2]), Registry::default());
        let encoded = encode(&pipeline, &registry, vec![1, 0, 2, 0].into()).unwrap();
        assert_eq!(encoded, (vec![1, 2, 0, 0].into(), 0));
    }

    #[test]
    fn filters_that_are_refused_at_once_are_those_that_cannot_be_applied() {
        let registry = Registry::default();
        for id in 0..=u16::MAX {
            // Without its level, deflate is skipped before anything else is asked.
            let level: &[u32] = if id == 1 { &[6] } else { &[] };
            let filter = &alone(id, false, level).filters[0];
            let applied = apply(filter, &registry, &[7; 64]);
            let is_there = !matches!(applied, Err(Error::Unsupported { .. }));
            assert_eq!(is_built_in(id), is_there, "{id}: {applied:?}");
        }
    }

    #[test]
    fn what_follows_a_checksum_restores_it() {
        let mut offset = [0; 20];
        (offset[0], offset[2], offset[4]) = (2, 64, 8);
        for (id, values) in [
            (4, &[32, 8, 64, 64][..]),
            (5, &[8, 0, 64, 1, 8, 0, 20, 0]),
            (6, &offset),
            (32008, &[0, 4, 8, 0]),
        ] {
            let mut pipeline = alone(3, false, &[]);
            pipeline.filters.extend(alone(id, true, values).filters);
            let elements: Vec<u8> = (1..=64u64).flat_map(u64::to_le_bytes).collect();
            let registry = Registry::default();
            let (stored, mask) = encode(&pipeline, &registry, elements.clone().into()).unwrap();
            // There are four bytes that do not belong to the elements.
            assert_eq!((stored.len(), mask), (516, 2), "{id}");
            assert_eq!(registry.undo(&pipeline, mask, &stored, 512).unwrap(), elements, "{id}");
        }
    }

    #[test]
    fn what_drops_bits_is_applied_only_first() {
        let (mut few, mut exact) = ([0; 20], [0; 20]);
        (few[0], few[1], few[2], few[4]) = (2, 7, 64, 2);
        (exact[0], exact[2], exact[4]) = (2, 64, 2);
        // Of 16 bits, seven have a meaning.
        let n_bit = &[8, 0, 64, 1, 2, 0, 7, 0][..];
        let registry = Registry::default();
        let elements: Vec<u8> = (0..64u16).flat_map(u16::to_le_bytes).collect();
        for first in [alone(2, true, &[2]), alone(32008, false, &[0, 4, 2, 0])] {
            for (id, values, mask) in [(5, n_bit, 2), (6, &few, 2), (6, &exact, 0)] {
                let of = |optional| {
                    let filters = [first.filters.clone(), alone(id, optional, values).filters].concat();
                    Pipeline { filters }
                };
                let (stored, found) = encode(&of(true), &registry, elements.clone().into()).unwrap();
                assert_eq!(registry.undo(&of(true), found, &stored, 128).unwrap(), elements, "{id}");
                assert_eq!(found & mask, mask, "{id}");
                if mask != 0 {
                    encode(&of(false), &registry, elements.clone().into()).unwrap_err();
                }
            }
        }
    }

    #[test]
    fn what_changes_nothing_is_applied_only_first() {
        let mut offset = [0; 20];
        (offset[0], offset[1], offset[2], offset[4]) = (2, 16, 64, 2);
        let (shuffle, registry) = (alone(2, true, &[2]), Registry::default());
        for (id, values) in [(5, &[8, 1, 64, 1, 2, 0, 16, 0][..]), (6, &offset)] {
            let elements: Vec<u8> = (0..64u16).flat_map(u16::to_le_bytes).collect();
            let masked = |pipeline: &Pipeline| {
                let (stored, mask) = encode(pipeline, &registry, elements.clone().into()).unwrap();
                assert_eq!(registry.undo(pipeline, mask, &stored, 128).unwrap(), elements, "{id}");
                mask
            };
            let join = |first: &Pipeline, second: Pipeline| Pipeline {
                filters: [first.filters.clone(), second.filters].concat(),
            };
            assert_eq!(masked(&alone(id, true, values)), 0);
            assert_eq!(masked(&join(&shuffle, alone(id, true, values))), 2);
            assert_eq!(masked(&join(&shuffle, alone(id, false, values))), 0);
            // Shuffle was skipped.
            assert_eq!(masked(&join(&alone(2, true, &[]), alone(id, true, values))), 1);
        }
    }
}
