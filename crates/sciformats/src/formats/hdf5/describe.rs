//! Converts HDF5's descriptions of types, storage and files to the common view.

use std::ops::ControlFlow;

use hdf5_pure::structure::Class;
use hdf5_pure::structure::{
    Dataspace, FileSpaceInfo, Fill, FilterDescription, FloatOrder, IndexKind, Layout, MessageType, Rest,
    VariableLength,
};
use hdf5_pure::{Dataset, Datatype, File, Slab};
use sciformats_core::bound;
use sciformats_core::endian::ByteOrder;

use super::name;
use crate::Result;
use crate::model::{ArrayInfo, ElementType, TextForm, Value};
use crate::source::Fact;

/// The largest number of chunks that are added up to find the stored size. More of them would take longer
/// than examining an array should.
const COUNTED: u64 = 1 << 18;

/// Returns the element type.
pub fn element(of: &hdf5_pure::ElementType) -> ElementType {
    use hdf5_pure::ElementType as Stored;
    match of {
        Stored::Integer { signed, size } => match u16::try_from(*size) {
            Ok(size) if *signed => ElementType::Int(size),
            Ok(size) => ElementType::UInt(size),
            Err(_) => ElementType::Opaque((*size).into()),
        },
        Stored::Float(2) => ElementType::F16,
        Stored::Float(4) => ElementType::F32,
        Stored::Float(_) => ElementType::F64,
        Stored::BFloat16 => ElementType::BF16,
        Stored::OtherFloat => ElementType::FloatOther,
        Stored::Complex(size) => ElementType::Complex(u8::try_from(*size).unwrap_or(16)),
        Stored::String => ElementType::Text,
        Stored::Opaque(size) => ElementType::Opaque((*size).into()),
        Stored::Bits(size) => ElementType::Bits((*size).into()),
        Stored::Time(size) => ElementType::Time((*size).into()),
        Stored::Enumeration { base, members } => ElementType::Enum {
            base: Box::new(element(base)),
            members: members.iter().map(|(of, value)| (name(of), *value)).collect(),
        },
        Stored::Compound(members) => {
            ElementType::Compound(members.iter().map(|(of, member)| (name(of), element(member))).collect())
        }
        Stored::Array { base, shape } => ElementType::Array {
            element: Box::new(element(base)),
            shape: shape.iter().copied().map(u64::from).collect(),
        },
        Stored::Sequence(base) => ElementType::Vlen(Box::new(element(base))),
        Stored::Reference => ElementType::Reference,
        Stored::RegionReference => ElementType::Region,
        // The meaning was added to the format later, so only the bytes are known.
        _ => ElementType::Opaque(0),
    }
}

/// Appends how the texts and references in elements are stored.
fn texts(of: &Datatype, forms: &mut Vec<TextForm>) {
    match &of.class {
        Class::String { .. } => forms.push(TextForm::Bytes(of.size.into())),
        Class::VariableLength(VariableLength::String { .. }) | Class::Reference(_) => {
            forms.push(TextForm::Variable);
        }
        Class::Compound(members) => members.iter().for_each(|member| texts(&member.datatype, forms)),
        Class::Array { base, .. } => texts(base, forms),
        _ => {}
    }
}

/// Returns whether elements are stored as their canonical bytes.
pub fn is_canonical(datatype: &Datatype) -> bool {
    match &datatype.class {
        Class::FixedPoint(fixed) => {
            let full = u32::from(fixed.precision) == bound::product(datatype.size, 8);
            full && fixed.bit_offset == 0 && fixed.order == ByteOrder::Little
        }
        Class::FloatingPoint(float) => {
            use hdf5_pure::ElementType::{BFloat16, Float};
            float.order == FloatOrder::Little && matches!(datatype.element_type(), Ok(Float(_) | BFloat16))
        }
        Class::Opaque { .. } => true,
        _ => false,
    }
}

/// Returns whether elements lead to other places of the file.
pub fn leads_elsewhere(datatype: &Datatype) -> bool {
    match &datatype.class {
        Class::VariableLength(_) | Class::Reference(_) => true,
        Class::Compound(members) => members.iter().any(|member| leads_elsewhere(&member.datatype)),
        Class::Array { base, .. } => leads_elsewhere(base),
        _ => false,
    }
}

/// Returns the fill value of a dataset in canonical bytes, for numbers and opaque elements.
pub(super) fn fill(dataset: &Dataset) -> Option<Vec<u8>> {
    let Fill::Value(mut bytes) = dataset.fill_value().ok()?.value.clone() else { return None };
    let datatype = dataset.datatype();
    let is_number = matches!(
        datatype.element_type(),
        Ok(hdf5_pure::ElementType::Integer { .. }
            | hdf5_pure::ElementType::Float(_)
            | hdf5_pure::ElementType::BFloat16)
    );
    match &datatype.class {
        _ if is_canonical(datatype) => {}
        Class::FixedPoint(fixed) if is_number && fixed.order == ByteOrder::Big => bytes.reverse(),
        Class::FloatingPoint(float) if is_number && float.order == FloatOrder::Big => bytes.reverse(),
        _ => return None,
    }
    (bytes.len() as u64 == u64::from(datatype.size)).then_some(bytes)
}

/// Describes a dataset. Of its chunks, none is looked up.
pub(super) fn array(file: &File, dataset: &Dataset) -> Result<ArrayInfo> {
    let datatype = dataset.datatype();
    let mut info = ArrayInfo::new(element(&datatype.element_type()?), Vec::new());
    info.shape = dataset.dataspace().extent().map(<[u64]>::to_vec);
    let mut forms = Vec::new();
    texts(datatype, &mut forms);
    info = info.with_texts(forms);
    // Of what stands elsewhere it is not known how much it is.
    info.width = (!leads_elsewhere(datatype)).then(|| datatype.size.into());
    // What is wrong with the storage is told when elements are read.
    let Ok(layout) = dataset.layout() else { return Ok(info) };
    let external = is_external(file, dataset);
    info.facts.extend(byte_order(datatype).map(|order| ("byte order", order.into())));
    info.facts.push(("layout", layout_word(layout, external).into()));
    match layout {
        Layout::Compact(data) => info.stored = Some(data.len() as u64),
        Layout::Contiguous { .. } if external => {}
        Layout::Contiguous { address: None } => info.stored = Some(0),
        Layout::Contiguous { address: Some(address) } => {
            info.stored = info.elements().and_then(|count| count.checked_mul(datatype.size.into()));
            info.facts.push(("offset", bound::sum(file.base(), address.0).into()));
        }
        Layout::Chunked(chunked) => {
            info.chunks = Some(chunked.dimensions.clone());
            info.facts.push(("index", index_word(chunked.index).into()));
        }
        Layout::Virtual(_) => {
            let sources = dataset.mappings().map(|mappings| mappings.len());
            info.facts.extend(sources.ok().map(|count| ("sources", count.into())));
        }
    }
    info.filters.extend(dataset.filters().into_iter().flat_map(|pipeline| &pipeline.filters).map(filter));
    info.facts.extend(maximum(dataset.dataspace()).map(|sizes| ("maximum", sizes)));
    Ok(info)
}

/// Returns whether the elements are in other files and have no place in this one.
pub fn is_external(file: &File, dataset: &Dataset) -> bool {
    matches!(dataset.layout(), Ok(Layout::Contiguous { address: None }))
        && file
            .object_info(dataset.address())
            .is_ok_and(|header| header.messages.iter().any(|message| message.0 == MessageType::ExternalFiles))
}

/// Adds to a description how many chunks are stored, and in how many bytes, unless there may be too many of them.
pub(super) fn measure(dataset: &Dataset, info: &mut ArrayInfo) {
    let Ok(Layout::Chunked(chunked)) = dataset.layout() else { return };
    let shape = info.shape.as_deref().unwrap_or_default();
    let counts = shape.iter().zip(&chunked.dimensions).map(|(size, chunk)| size.div_ceil((*chunk).max(1)));
    let possible = counts.into_iter().try_fold(1u64, u64::checked_mul);
    if possible.is_none_or(|possible| possible > COUNTED) {
        return;
    }
    let (mut count, mut sum) = (0u64, Some(0u64));
    let visited = Slab::all(dataset.shape()).and_then(|all| {
        dataset.for_each_chunk(&all, &mut |chunk| {
            count = count.saturating_add(1); // a bound: memory or the file holds them
            sum = sum.and_then(|sum| sum.checked_add(chunk.size));
            Ok(ControlFlow::Continue(()))
        })
    });
    if visited.is_ok() {
        info.stored = sum;
        let after = info
            .facts
            .iter()
            .position(|(key, _)| *key == "index")
            .map_or(info.facts.len(), |index| index + 1);
        info.facts.insert(after, ("chunks stored", count.into()));
    }
}

pub(super) fn layout_word(layout: &Layout, external: bool) -> &'static str {
    match layout {
        _ if external => "external",
        Layout::Compact(_) => "compact",
        Layout::Contiguous { .. } => "contiguous",
        Layout::Chunked(_) => "chunked",
        Layout::Virtual(_) => "virtual",
    }
}

pub(super) fn index_word(index: IndexKind) -> &'static str {
    match index {
        IndexKind::BtreeV1 => "B-tree v1",
        IndexKind::Single(_) => "single chunk",
        IndexKind::Implicit => "implicit",
        IndexKind::FixedArray => "fixed array",
        IndexKind::ExtensibleArray => "extensible array",
        IndexKind::BtreeV2 => "B-tree v2",
    }
}

/// Returns the byte order of numbers with more than one byte.
fn byte_order(datatype: &Datatype) -> Option<&'static str> {
    let order = match &datatype.class {
        _ if datatype.size < 2 => return None,
        Class::FixedPoint(fixed) => fixed.order,
        Class::BitField(field) => field.order,
        Class::FloatingPoint(float) => match float.order {
            FloatOrder::Little => ByteOrder::Little,
            FloatOrder::Big => ByteOrder::Big,
            FloatOrder::Vax => return Some("VAX order"),
        },
        Class::Enumeration { base, .. } | Class::Array { base, .. } | Class::Complex { base } => {
            return byte_order(base);
        }
        _ => return None,
    };
    Some(match order {
        ByteOrder::Little => "little-endian",
        ByteOrder::Big => "big-endian",
    })
}

/// Returns the maximum extents of the dimensions, if they are larger than the present ones.
fn maximum(dataspace: &Dataspace) -> Option<Value> {
    let Dataspace::Simple { dimensions, maximum } = dataspace else { return None };
    let fixed = dimensions.iter().zip(maximum).all(|(size, most)| Some(size) == most.as_ref());
    let size = |most: &Option<u64>| most.map_or_else(|| Value::from("unlimited"), Value::from);
    (!fixed).then(|| Value::List(maximum.iter().map(size).collect()))
}

/// Describes a filter with its best-known parameter: `deflate 6`.
pub fn filter(of: &FilterDescription) -> String {
    let first =
        |name: &str| of.values.first().map_or_else(|| name.to_owned(), |value| format!("{name} {value}"));
    match of.id {
        1 => first("deflate"),
        307 => first("bzip2"),
        32015 => first("zstd"),
        id => match (hdf5_pure::filters::known(id), &of.name) {
            (Some(known), _) => known.to_owned(),
            (None, Some(name)) => format!("{name} (filter {id})"),
            (None, None) => format!("filter {id}"),
        },
    }
}

/// Returns how a file is marked as open for writing, if it is.
pub(super) fn writer(file: &File) -> Option<&'static str> {
    let superblock = file.superblock();
    let flags = superblock.consistency_flags;
    let is_marked = superblock.version >= 2 && flags & 5 != 0;
    is_marked.then_some(if flags & 4 != 0 { "for one writer and many readers" } else { "or not closed well" })
}

/// Describes a file as a whole.
pub(super) fn file(file: &File) -> Vec<Fact> {
    let superblock = file.superblock();
    let mut facts: Vec<Fact> = vec![("superblock", superblock.version.into())];
    facts.push(("library", written_for(superblock.version).into()));
    if file.base() > 0 {
        facts.push(("user block", file.base().into()));
    }
    let sizes = superblock.sizes;
    if (sizes.offsets, sizes.lengths) != (8, 8) {
        facts.push(("size of offsets", sizes.offsets.into()));
        facts.push(("size of lengths", sizes.lengths.into()));
    }
    if matches!(superblock.rest, Rest::Old { driver_info: Some(_), .. }) {
        facts.push(("driver information", "present".into()));
    }
    facts.extend(file.file_space().map(|info| ("file space", file_space(info).into())));
    facts.extend(file.file_space().and_then(|info| info.page_size).map(|size| ("page size", size.into())));
    let shared = file.shared_indexes().len();
    if shared > 0 {
        facts.push(("shared message indexes", shared.into()));
    }
    facts.extend(writer(file).map(|mode| ("open for writing", mode.into())));
    if file.is_truncated() {
        facts.push(("truncated", true.into()));
    }
    facts
}

/// Returns the first release of the library that can read a file with such a superblock.
fn written_for(version: u8) -> &'static str {
    match version {
        0 => "1.0 and later",
        1 => "1.6 and later",
        2 => "1.8 and later",
        _ => "1.10 and later",
    }
}

pub(super) fn file_space(info: &FileSpaceInfo) -> String {
    let strategy = match info.strategy {
        0 => "free-space managers",
        1 => "pages",
        2 => "aggregators",
        _ => "not managed",
    };
    if info.persist { format!("{strategy}, kept when closed") } else { strategy.into() }
}
