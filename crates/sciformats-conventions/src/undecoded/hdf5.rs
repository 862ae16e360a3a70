//! The layout of records in HDF5 files, whose fields need not be canonical.

use sciformats::formats::hdf5::{dataset, element, is_canonical};
use sciformats::hdf5_pure::Datatype;
use sciformats::hdf5_pure::structure::{ByteOrder, Class, FloatOrder, Layout as Stored, Padding};

use sciformats::ElementType;

use super::TextPadding;
use super::layout::{Form, Layout, Origin, Place, place};
use crate::table::Records;

pub(super) fn layout(records: &Records) -> Option<Layout> {
    let node = records.node();
    let dataset = dataset(node.file().source(), node.id())?.ok()?;
    let row = place(dataset.datatype().size.into()).filter(|&row| row > 0)?;
    let Class::Compound(members) = &dataset.datatype().class else { return None };
    if members.len() != records.fields().len() {
        return None;
    }
    let fields = members.iter().map(|member| {
        let form = form(&member.datatype)?;
        Some(Place { offset: place(member.offset.into())?, size: place(member.datatype.size.into())?, form })
    });
    let fields: Vec<Option<Place>> = fields.collect();
    let chunk = match dataset.layout().ok()? {
        Stored::Chunked(chunked) => chunked.dimensions.first().copied(),
        _ => None,
    };
    Some(Layout { row, chunk, fields, origin: Origin::Hdf5(Box::new(dataset)) })
}

/// Returns how the bytes of a type differ from the canonical ones; `None` if they have to be converted.
fn form(datatype: &Datatype) -> Option<Form> {
    let typed = || -> Option<ElementType> { Some(element(&datatype.element_type().ok()?)) };
    let padded = |padding: &Padding| match padding {
        Padding::NullTerminated => TextPadding::Terminated,
        Padding::NullPadded => TextPadding::Zeros,
        Padding::SpacePadded => TextPadding::Spaces,
    };
    match &datatype.class {
        Class::String { padding, .. } => return Some(Form::Text(padded(padding))),
        Class::Array { base, .. } => {
            if let Class::String { padding, .. } = &base.class {
                return Some(Form::Texts(padded(padding), place(base.size.into())?));
            }
        }
        _ => {}
    }
    if is_plain(datatype) {
        return Some(Form::Canonical(typed()?));
    }
    let base = match &datatype.class {
        Class::Array { base, .. } => base,
        _ => datatype,
    };
    let mut turned = base.clone();
    match &mut turned.class {
        Class::FixedPoint(fixed) if fixed.order == ByteOrder::Big => fixed.order = ByteOrder::Little,
        Class::FloatingPoint(float) if float.order == FloatOrder::Big => float.order = FloatOrder::Little,
        _ => return None,
    }
    if is_canonical(&turned) { Some(Form::Reversed(typed()?, place(base.size.into())?)) } else { None }
}

/// Returns whether the bytes of elements are canonical ones.
fn is_plain(datatype: &Datatype) -> bool {
    match &datatype.class {
        Class::Enumeration { base, .. } | Class::Array { base, .. } => is_plain(base),
        // The only bits of one byte; more bytes have an order.
        Class::BitField(field) => datatype.size == 1 && field.precision == 8 && field.bit_offset == 0,
        Class::Compound(members) => {
            let mut end = 0;
            let dense = members.iter().all(|member| {
                let adjacent = member.offset == end && is_plain(&member.datatype);
                end = member.offset.saturating_add(member.datatype.size); // a bound
                adjacent
            });
            dense && end == datatype.size
        }
        _ => is_canonical(datatype),
    }
}
