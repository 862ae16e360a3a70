//! Accesses that are replayed over a file as it is, and as it would be.

use std::ops::ControlFlow;
use std::sync::Arc;

use hdf5_pure::Dataset;
use hdf5_pure::structure::Layout;
use hdf5_pure::walk::Found;
use sciformats_core::{Range, ReadAt, Slab, bound};

use super::look::{Look, main_variable, movable, reading};
use crate::advise::replay::counting;
use crate::advise::shape::bytes;
use crate::advise::{Cost, Opener, Replayed};
use crate::repack;
use sciformats::{File, Result};

/// The largest number of bytes of elements that a replay goes through; of larger datasets `all` is left out.
const WHOLE: u64 = 512 << 20;

/// A planned file.
pub(super) trait Stores {
    fn storage(&self) -> Arc<dyn ReadAt>;
}

impl Stores for repack::Hollow {
    fn storage(&self) -> Arc<dyn ReadAt> {
        Arc::new(self.clone())
    }
}

/// Replays accesses over the file as it is, and as it would be.
pub(super) fn accesses(
    file: &File,
    open: Opener<'_>,
    planned: Option<&dyn Stores>,
    look: &Look,
) -> Result<Vec<Replayed>> {
    let both =
        |name: String, path: &str, work: &dyn Fn(&hdf5_pure::File) -> Result<Cost>| -> Result<Replayed> {
            let cost = |open: Opener<'_>| -> Result<Cost> {
                let storage = counting(open)?;
                let source = hdf5_pure::File::from_storage(storage.clone(), &reading(file))?;
                let counted = work(&source)?;
                let Cost { requests, rounds, bytes, .. } = Cost::of(storage.statistics());
                Ok(Cost { requests, rounds, bytes, ..counted })
            };
            let now = cost(open)?;
            let then = planned.map(|planned| cost(&|| Ok(planned.storage()))).transpose()?;
            Ok(Replayed { name, path: path.into(), now, then })
        };
    let mut found = vec![
        both("open".into(), "", &|source| {
            source.root()?;
            Ok(Cost::default())
        })?,
        both("list".into(), "", &|source| {
            for entry in source.walk() {
                if let Found::Object(address) = entry.what {
                    source.object_at(address)?;
                    source.attributes_at(address)?;
                }
            }
            Ok(Cost::default())
        })?,
    ];
    let Some(known) = main_variable(look).and_then(|at| look.datasets.get(at)).filter(|known| movable(known))
    else {
        return Ok(found);
    };
    let (path, shape) = (known.facts.path.clone(), known.facts.shape.clone());
    let mut boxes: Vec<(String, Vec<Range>)> = Vec::new();
    let middle = |n: u64| Range::new(n / 2, 1);
    boxes.push(("first".into(), shape.iter().map(|_| Range::new(0, 1)).collect()));
    for axis in 0..shape.len() {
        let along =
            shape.iter().enumerate().map(|(at, n)| if at == axis { Range::all(*n) } else { middle(*n) });
        boxes.push((format!("along {axis}"), along.collect()));
    }
    for axis in 0..if shape.len() > 2 { shape.len() } else { 0 } {
        let across =
            shape.iter().enumerate().map(|(at, n)| if at == axis { middle(*n) } else { Range::all(*n) });
        boxes.push((format!("across {axis}"), across.collect()));
    }
    boxes.push(("all".into(), shape.iter().map(|n| Range::all(*n)).collect()));
    for (name, ranges) in boxes {
        let slab = Slab::new(&shape, ranges)?;
        if bound::product(slab.len(), known.facts.element) > WHOLE {
            continue;
        }
        found.push(both(name, &path, &|source| touch(&source.dataset(&path)?, &slab))?);
    }
    Ok(found)
}

/// Fetches what a read of a box needs, without decoding it.
fn touch(dataset: &Dataset, slab: &Slab) -> Result<Cost> {
    let element = u64::from(dataset.datatype().size);
    let wanted = bound::product(slab.len(), element);
    let Layout::Chunked(chunked) = dataset.layout()? else {
        dataset.read_raw(slab)?;
        return Ok(Cost { wanted, decoded: wanted, ..Cost::default() });
    };
    let each = bytes(&chunked.dimensions, element);
    let mut chunks = Vec::new();
    dataset.for_each_chunk(slab, &mut |chunk| {
        chunks.push(chunk);
        Ok(ControlFlow::Continue(()))
    })?;
    let mut out = Vec::new();
    let mut rest = chunks.as_slice();
    while !rest.is_empty() {
        // As many as are fetched at once.
        let mut size = 0u64;
        let many = rest.iter().take_while(|chunk| {
            size = bound::sum(size, chunk.size);
            size <= 64 << 20
        });
        let (part, after) = rest.split_at(many.count().max(1));
        out.clear();
        dataset.chunks_raw(part, &mut out)?;
        rest = after;
    }
    let count = chunks.len() as u64;
    Ok(Cost { wanted, chunks: count, decoded: bound::product(count, each), ..Cost::default() })
}
