//! Lists the structures of an HDF5 file: the superblock, and each object with its messages and data.

use std::borrow::Cow;
use std::ops::ControlFlow;

use hdf5_pure::structure::{Layout, Rest};
use hdf5_pure::walk::Found;
use hdf5_pure::{Address, Dataset, File, Node};

use crate::Result;
use crate::model::{Name, Value};
use crate::source::Structure;
use sciformats_core::arith::mul;
use sciformats_core::bound;

type Visit<'v> = dyn FnMut(Structure) -> ControlFlow<()> + 'v;
type Fields = Vec<(Cow<'static, str>, Value)>;

/// Visits the structures; objects are in the order of a walk from the root. Unreadable structures are left
/// out, and the first error is returned after everything else was visited.
pub(super) fn all(file: &File, visit: &mut Visit<'_>) -> Result<()> {
    if visit(superblock(file)).is_break() {
        return Ok(());
    }
    let mut failure = None;
    for visited in file.walk() {
        let shown = match visited.what {
            Found::Object(address) => {
                let path = Name::from(visited.path).shown().into_owned();
                object(file, address, path, visit)
            }
            Found::Broken(error) => Err(error),
            _ => continue,
        };
        match shown {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => return Ok(()),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(()), Err)
}

fn superblock(file: &File) -> Structure {
    let superblock = file.superblock();
    let optional = |at: Option<Address>| at.map_or(Value::Null, |at| at.0.into());
    let width = u64::from(superblock.sizes.offsets);
    let mut fields: Fields = vec![
        ("version".into(), superblock.version.into()),
        ("size of offsets".into(), superblock.sizes.offsets.into()),
        ("size of lengths".into(), superblock.sizes.lengths.into()),
        ("consistency flags".into(), superblock.consistency_flags.into()),
        ("base address".into(), superblock.base.into()),
        ("end of file address".into(), superblock.end_of_file.into()),
    ];
    let size = match &superblock.rest {
        Rest::Old { group_leaf_k, group_internal_k, chunk_k, driver_info, root, .. } => {
            fields.push(("group leaf node K".into(), (*group_leaf_k).into()));
            fields.push(("group internal node K".into(), (*group_internal_k).into()));
            fields.push(("indexed storage internal node K".into(), (*chunk_k).into()));
            fields.push(("driver information block address".into(), optional(*driver_info)));
            fields.push(("root group object header address".into(), optional(root.header)));
            // The fixed fields, four addresses, and the entry of the root group with two more addresses.
            let fixed = if superblock.version == 0 { 24 + 24 } else { 28 + 24 };
            bound::sum(bound::product(width, 6), fixed)
        }
        Rest::New { extension, root } => {
            fields.push(("superblock extension address".into(), optional(*extension)));
            fields.push(("root group object header address".into(), root.0.into()));
            bound::sum(bound::product(width, 4), 16)
        }
    };
    Structure { name: "superblock".into(), offset: file.base(), size, depth: 0, fields }
}

fn object(file: &File, address: Address, path: String, visit: &mut Visit<'_>) -> Result<ControlFlow<()>> {
    let info = file.object_info(address)?;
    let mut blocks = info.blocks.iter();
    let (offset, size) = blocks.next().copied().unwrap_or((bound::sum(file.base(), address.0), 0));
    let mut fields: Fields = vec![
        ("path".into(), path.into()),
        ("version".into(), info.header_version.into()),
        ("references".into(), info.references.into()),
        ("messages".into(), info.messages.len().into()),
    ];
    fields.extend(info.modified.map(|time| ("modified".into(), time.into())));
    fields.extend(info.comment.map(|comment| ("comment".into(), comment.to_text().into_owned().into())));
    let header = Structure { name: "object header".into(), offset, size, depth: 0, fields };
    let continued = blocks.map(|&(offset, size)| Structure {
        name: "object header continuation".into(),
        offset,
        size,
        depth: 1,
        fields: Vec::new(),
    });
    let messages = info.messages.iter().map(|(kind, offset, size)| Structure {
        name: kind.name().into(),
        offset: *offset,
        size: *size,
        depth: 1,
        fields: vec![("type".into(), kind.number().into())],
    });
    if std::iter::once(header).chain(messages).chain(continued).try_for_each(&mut *visit).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    let mut failure = None;
    for place in file.structures_of(address)? {
        match place {
            Ok(place) => {
                if visit(structure_at(place)).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    let flow = match file.object_at(address)? {
        Node::Dataset(dataset) => data(file, &dataset, visit)?,
        _ => ControlFlow::Continue(()),
    };
    match failure {
        Some(error) if flow.is_continue() => Err(error),
        _ => Ok(flow),
    }
}

fn structure_at(place: hdf5_pure::structure::StructureInfo) -> Structure {
    let fields = place.fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    Structure { name: place.structure.into(), offset: place.offset, size: place.size, depth: 1, fields }
}

/// Visits the elements of a dataset, as far as they are in pieces of their own.
fn data(file: &File, dataset: &Dataset, visit: &mut Visit<'_>) -> Result<ControlFlow<()>> {
    let at = |address: Address| bound::sum(file.base(), address.0);
    match dataset.layout()? {
        Layout::Contiguous { address: Some(address) } => {
            // A null dataspace has no elements.
            let count =
                dataset.dataspace().extent().and_then(sciformats_core::slab::elements).unwrap_or_default();
            let size = mul(count, dataset.datatype().size.into())?;
            let (name, offset) = ("contiguous data".into(), at(*address));
            Ok(visit(Structure { name, offset, size, depth: 1, fields: Vec::new() }))
        }
        Layout::Chunked(chunked) => {
            for chunk in dataset.chunks()? {
                let chunk = chunk?;
                let first =
                    chunk.scaled.iter().zip(&chunked.dimensions).map(|(n, size)| bound::product(*n, *size));
                let fields = vec![
                    ("first element".into(), Value::List(first.map(Value::from).collect())),
                    ("filters skipped".into(), chunk.filter_mask.into()),
                ];
                let (offset, size) = (at(chunk.address), chunk.size);
                if visit(Structure { name: "chunk".into(), offset, size, depth: 1, fields }).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        }
        _ => Ok(ControlFlow::Continue(())),
    }
}
