//! Reads shared messages, whose bytes are stored elsewhere.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Result, bound};

use crate::btree::Tree;
use crate::heap::fractal::Heap;
use crate::object::header::Object;
use crate::space::context::Context;
use crate::spec::Address;
use crate::spec::message::MessageType;
use crate::spec::message::shared::Shared;
use crate::spec::shared_table::{self, SharedIndex, SharedRecord};

/// Returns the absolute offset and the bytes of the message of type `kind` that the reference `stub` at `offset` leads
/// to.
pub(crate) fn resolve(
    context: &Context,
    kind: MessageType,
    offset: u64,
    stub: &[u8],
) -> Result<(u64, Vec<u8>)> {
    match locate("shared message", offset, stub, |i| Shared::parse(i, context.sizes))? {
        Shared::Committed(address) => {
            let object = Object::read(context, address)?;
            match object.find(kind) {
                Some(message) if !message.is_shared() => Ok((message.offset, object.body(message).to_vec())),
                Some(message) => {
                    Err(Fault::new("location", FaultKind::Loop).at("shared message", message.offset))
                }
                None => {
                    let kind = FaultKind::Rule("leads to an object that has no message of this type");
                    Err(Fault::new("location", kind).at("shared message", offset))
                }
            }
        }
        Shared::Heap(id) => from_table(context, kind, offset, &id),
    }
}

/// Returns the address of the committed datatype that the reference `stub` at `offset` leads to, if it leads to one.
pub(crate) fn committed(context: &Context, offset: u64, stub: &[u8]) -> Result<Option<Address>> {
    Ok(match locate("shared message", offset, stub, |i| Shared::parse(i, context.sizes))? {
        Shared::Committed(address) => Some(address),
        Shared::Heap(_) => None,
    })
}

/// Returns the number of the index that holds messages of type `kind`.
pub(crate) fn index_of(context: &Context, kind: MessageType) -> Option<usize> {
    // Old and new fill value messages share one index.
    let kind = if kind == MessageType::FillValueOld { MessageType::FillValue } else { kind };
    let bit = 1u16.unbounded_shl(kind.number().into());
    context.shared.iter().position(|index| index.message_types & bit != 0)
}

/// Returns the bytes of the message of type `kind` with the heap ID `id` in the table of shared messages.
pub(crate) fn from_table(
    context: &Context,
    kind: MessageType,
    offset: u64,
    id: &[u8],
) -> Result<(u64, Vec<u8>)> {
    let index = index_of(context, kind).and_then(|number| context.shared.get(number));
    match index.and_then(|index| index.heap) {
        Some(heap) => {
            let mut heap = Heap::open(context, heap)?;
            let (at, bytes) = heap.get(id)?;
            Ok((at, bytes.into_owned()))
        }
        None => {
            let kind = FaultKind::Rule("refers to a shared message heap that the file does not have");
            Err(Fault::new("location", kind).at("shared message", offset))
        }
    }
}

/// Returns all records of an index of the table.
pub(crate) fn records(context: &Context, index: &SharedIndex) -> Result<Vec<SharedRecord>> {
    let Some(at) = index.index else { return Ok(Vec::new()) };
    let sizes = context.sizes;
    if index.kind == 0 {
        let records = bound::product(SharedRecord::size(sizes), index.messages.into());
        let len = bound::sum(records, 8) as u64;
        return context
            .parse("shared message list", at, len, |i| shared_table::list(i, sizes, index.messages));
    }
    let mut found = Vec::new();
    Tree::open(context, at, &[7])?.search(
        |_| Ok(Ordering::Equal),
        |record| {
            let parse = |i| SharedRecord::parse(i, sizes);
            found.push(locate("shared message record", context.offset(at), record, parse)?);
            Ok(ControlFlow::Continue(()))
        },
    )?;
    Ok(found)
}
