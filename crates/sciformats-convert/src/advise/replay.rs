//! Accesses to a file over a store that counts: how many requests they make, how many of them wait for others, and how many bytes
//! come.

use std::sync::Arc;

use sciformats_core::storage::{Planned, Statistics, Stored};
use sciformats_core::{ReadAt, bound};

use super::Replayed;
use sciformats::{Object, OpenOptions, Result, Slab};

/// Returns the storage of a file, as if nothing of it had been read.
pub type Opener<'a> = &'a dyn Fn() -> Result<Arc<dyn ReadAt>>;

/// What an access costs, with the requests of this library, which joins neighbours and fetches what it can at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number of requests.
    pub requests: u64,
    /// The number of batches of requests, each of which waits for the one before.
    pub rounds: u64,
    /// The number of bytes that are transferred.
    pub bytes: u64,
    /// The number of chunks that are decoded.
    pub chunks: u64,
    /// The number of bytes of elements that are decoded.
    pub decoded: u64,
    /// The number of bytes of elements that are asked for.
    pub wanted: u64,
}

impl Cost {
    /// Returns about how many seconds the access takes if a round trip takes `latency` seconds and `rate` bytes come in a second.
    pub fn seconds(&self, latency: f64, rate: f64) -> f64 {
        self.rounds as f64 * latency + self.bytes as f64 / rate
    }

    pub(super) fn of(statistics: Statistics) -> Self {
        Self {
            requests: statistics.requests,
            rounds: statistics.batches,
            bytes: statistics.bytes,
            ..Self::default()
        }
    }
}

/// A fresh reader of a storage, which counts.
pub(super) fn counting(open: Opener<'_>) -> Result<Planned<Stored<Arc<dyn ReadAt>>>> {
    Ok(Planned::new(Stored(open()?)))
}

/// The largest array that is read to the end.
const WHOLE: u64 = 1 << 30;

/// Accesses to a file of any format: opening it, listing it, the first element and all elements of its largest array.
pub(super) fn of_any(open: Opener<'_>) -> Result<Vec<Replayed>> {
    let replay =
        |work: &dyn Fn(&sciformats::File) -> Result<(u64, String)>, name: &str| -> Result<Replayed> {
            let storage = counting(open)?;
            let file = sciformats::File::from_storage(storage.clone(), &OpenOptions::default())?;
            let (wanted, path) = work(&file)?;
            let now = Cost { wanted, decoded: wanted, ..Cost::of(storage.statistics()) };
            Ok(Replayed { name: name.into(), path, now, then: None })
        };
    let largest = |file: &sciformats::File| {
        let mut best = None;
        for array in file.arrays().flatten() {
            let size =
                array.info().elements().map(|n| bound::product(n, array.info().element.size().unwrap_or(16)));
            if best.as_ref().is_none_or(|(most, _)| size > *most) {
                best = Some((size, array.path().to_owned()));
            }
        }
        best.map(|(_, path)| path)
    };
    let mut found = vec![
        replay(&|_| Ok((0, String::new())), "open")?,
        replay(
            &|file| {
                // Entries that cannot be read are no part of the cost.
                file.walk().for_each(drop);
                Ok((0, String::new()))
            },
            "list",
        )?,
    ];
    let storage = counting(open)?;
    let whole = sciformats::File::from_storage(storage, &OpenOptions::default())?;
    let Some(path) = largest(&whole) else { return Ok(found) };
    let part = |first: bool| {
        let path = path.clone();
        move |file: &sciformats::File| {
            let id = file.resolve(&path)?;
            let Object::Array(info) = file.source().object(id)? else { return Ok((0, path.clone())) };
            let shape = info.shape.clone().unwrap_or_default();
            let element = info.element.size().unwrap_or(16);
            let too_large = info.elements().is_none_or(|n| bound::product(n, element) > WHOLE);
            if shape.contains(&0) || (!first && too_large) {
                return Ok((0, path.clone()));
            }
            let ranges: Vec<_> =
                shape.iter().map(|n| sciformats::Range::new(0, if first { 1 } else { *n })).collect();
            let mut out = Vec::new();
            file.read(id, &Slab::new(&shape, ranges)?, &mut out)?;
            Ok((out.len() as u64, path.clone()))
        }
    };
    found.push(replay(&part(true), "first")?);
    found.push(replay(&part(false), "all")?);
    Ok(found)
}
