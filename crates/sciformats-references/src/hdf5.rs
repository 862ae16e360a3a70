//! The chunks of HDF5 datasets as ranges of the file.

use std::ops::ControlFlow;

use sciformats::hdf5_pure::structure::{
    BitField, ByteOrder, Chunked, Class, Fill, FilterDescription, FloatOrder, Layout, Padding, StoredChunk,
};
use sciformats::hdf5_pure::{self, Dataset, Datatype, Slab};
use sciformats::{ArrayInfo, Decoder, ElementType, File};
use serde_json::{Value, json};

use crate::attributes;
use crate::bare;
use crate::chunks::{Chunks, Place};
use crate::element;
use crate::extent;
use crate::model::VirtualArray;

/// Returns the references to a dataset. The path, the attributes and the dimensions remain empty.
///
/// # Errors
/// The reason why its elements are not ranges of the file that readers of Zarr can decode.
pub(crate) fn array(
    dataset: &Dataset,
    info: &ArrayInfo,
    (file, codecs): (&File, bool),
) -> Result<VirtualArray, String> {
    let said = |error: hdf5_pure::Error| error.to_string();
    if dataset.is_null() {
        return Err("a null dataspace has no elements".into());
    }
    let (dtype, more) = stored(dataset.datatype(), &info.element)?;
    if !dataset.external_files().map_err(said)?.is_empty() {
        return Err("its elements are in other files".into());
    }
    let size = u64::from(dataset.datatype().size);
    let shape = dataset.shape();
    let (mut sides, filters, chunks) = match dataset.layout().map_err(said)? {
        Layout::Compact(_) => return Err("its elements are in the header of the dataset".into()),
        Layout::Virtual(_) => return Err("its elements are in other datasets".into()),
        Layout::Contiguous { address } => contiguous(dataset, address.map(|at| at.0), size, file.size())?,
        Layout::Chunked(chunked) => chunked_places(dataset, (chunked, codecs), shape)?,
    };
    // Every reference lies within the file.
    for (_, place) in chunks.iter() {
        if let Place::Range { offset, length, .. } = place {
            let end = offset.checked_add(length).filter(|end| *end <= file.size());
            end.ok_or("a chunk extends beyond the end of the file")?;
        }
    }
    let fill = if extent::count(chunks.grid())? == chunks.len() { Value::Null } else { fill(dataset, info)? };
    let shape: Vec<u64> = shape.iter().copied().chain(more.iter().copied()).collect();
    sides.extend(more.iter().map(|side| (*side).max(1)));
    let chunks = chunks.with_dimensions(shape.len());
    Ok(VirtualArray {
        path: String::new(),
        shape,
        chunk_shape: sides,
        dtype,
        fill,
        marked: false,
        columns: false,
        filters,
        attributes: serde_json::Map::new(),
        dimensions: Vec::new(),
        chunks,
    })
}

type Parts = (Vec<u64>, Vec<Value>, Chunks);

/// Divides contiguous elements into chunks.
fn contiguous(dataset: &Dataset, address: Option<u64>, size: u64, file_size: u64) -> Result<Parts, String> {
    let shape = dataset.shape();
    let Some(address) = address.filter(|_| !shape.contains(&0)) else {
        let sides: Vec<u64> = shape.iter().map(|n| (*n).max(1)).collect();
        let grid = extent::grid(shape, &sides);
        return Ok((sides, Vec::new(), Chunks::new(grid)));
    };
    let start = dataset.file().base().checked_add(address).ok_or_else(extent::too_large)?;
    let (sides, chunks) = extent::divided(shape, size, start, file_size)?;
    Ok((sides, Vec::new(), chunks))
}

fn chunked_places(
    dataset: &Dataset,
    (layout, codecs): (&Chunked, bool),
    shape: &[u64],
) -> Result<Parts, String> {
    let said = |error: hdf5_pure::Error| error.to_string();
    let sides = layout.dimensions.clone();
    if sides.len() != shape.len() || sides.contains(&0) {
        return Err("its chunks have another number of dimensions".into());
    }
    let bytes = sides.iter().try_fold(layout.element_size, |all, n| all.checked_mul(*n));
    let bytes = bytes.ok_or("a chunk takes more than 64 bits can count")?;
    let pipeline = &dataset.filters().map_err(said)?.filters;
    let edge = |chunk: &StoredChunk| {
        let ends = chunk.scaled.iter().zip(&sides).map(|(n, side)| n.saturating_add(1).saturating_mul(*side)); // a bound
        ends.zip(shape).any(|(end, length)| end > *length)
    };
    let edges_differ = layout.unfiltered_edges && !pipeline.is_empty();
    let every = skipping_all(pipeline.len());
    let base = dataset.file().base();
    let mut places = Chunks::new(extent::grid(shape, &sides));
    // Their numbers fit into 64 bits.
    extent::count(places.grid())?;
    let mut masks = Masks::default();
    let all = Slab::all(shape).map_err(said)?;
    let mut wrong = None;
    let visited = dataset.for_each_chunk(&all, &mut |chunk| {
        let mask = if edges_differ && edge(&chunk) { every } else { chunk.filter_mask & every };
        masks.add(mask, chunk.size == bytes);
        let place = base.checked_add(chunk.address.0).ok_or("a chunk lies beyond 64 bits");
        let number = places.number(&chunk.scaled).ok_or("its index has a chunk outside of its shape");
        match (place, number) {
            (Ok(offset), Ok(number)) => places.push(number, offset, chunk.size),
            (Err(reason), _) | (_, Err(reason)) => {
                wrong = Some(reason);
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    });
    visited.map_err(said)?;
    if let Some(reason) = wrong {
        return Err(reason.into());
    }
    let filters = match general(pipeline, &masks, (bytes, edges_differ)) {
        Ok(filters) => filters,
        Err(reason) if codecs && !pipeline.is_empty() => vec![own(pipeline, &masks, bytes).ok_or(reason)?],
        Err(reason) => return Err(reason),
    };
    if !places.sort() {
        return Err("its index has two chunks at one place".into());
    }
    Ok((sides, filters, places))
}

/// The mask of a chunk that skips that many filters.
fn skipping_all(filters: usize) -> u32 {
    u32::try_from(filters).ok().and_then(|n| 1u32.checked_shl(n)).map_or(u32::MAX, |bit| bit.wrapping_sub(1))
}

/// Which filters chunks skip.
#[derive(Default)]
struct Masks {
    /// The masks of the chunks that have the size of their elements, and of the others: one of each, and whether there are more.
    plain: Option<(u32, bool)>,
    coded: Option<(u32, bool)>,
}

impl Masks {
    fn add(&mut self, mask: u32, plain: bool) {
        let known = if plain { &mut self.plain } else { &mut self.coded };
        match known {
            None => *known = Some((mask, false)),
            Some((one, several)) => *several |= *one != mask,
        }
    }

    /// The mask of all chunks, if it is one.
    fn common(&self) -> Option<u32> {
        match (self.plain, self.coded) {
            (None, None) => Some(0),
            (Some((mask, false)), None) | (None, Some((mask, false))) => Some(mask),
            (Some((a, false)), Some((b, false))) if a == b => Some(a),
            _ => None,
        }
    }
}

/// Returns the codecs of numcodecs that undo the filters of all chunks.
///
/// # Errors
/// The reason why they cannot.
fn general(
    pipeline: &[FilterDescription],
    masks: &Masks,
    (bytes, edges_differ): (u64, bool),
) -> Result<Vec<Value>, String> {
    let Some(mask) = masks.common() else {
        return Err(match edges_differ {
            true => "the chunks at its edges are stored without filters".into(),
            false => "some of its chunks skip filters".into(),
        });
    };
    let mut filters = Vec::new();
    for (position, filter) in pipeline.iter().enumerate() {
        let bit = u32::try_from(position).ok().and_then(|bit| mask.checked_shr(bit));
        if bit.unwrap_or(0) & 1 == 0 {
            filters.extend(codec(filter, bytes)?);
        }
    }
    if filters.is_empty() && masks.coded.is_some() {
        return Err("a chunk without filters has another size than its elements".into());
    }
    Ok(filters)
}

/// Returns the codec of the Python package that decodes the whole pipeline, if the size of each chunk shows which filters
/// it skips.
fn own(pipeline: &[FilterDescription], masks: &Masks, bytes: u64) -> Option<Value> {
    let one = |mask: Option<(u32, bool)>| match mask {
        None => Some(0),
        Some((mask, false)) => Some(mask),
        Some((_, true)) => None,
    };
    let (plain, coded) = (one(masks.plain)?, one(masks.coded)?);
    let filters: Vec<Value> = pipeline.iter().map(|filter| json!([filter.id, filter.values])).collect();
    Some(
        json!({"id": "sciformats.hdf5", "filters": filters, "size": bytes, "mask": coded, "mask_plain": plain}),
    )
}

/// Returns the codec of numcodecs that undoes a filter; `None` if reading has nothing to undo.
fn codec(filter: &FilterDescription, chunk: u64) -> Result<Option<Value>, String> {
    let value = |n: usize| filter.values.get(n).copied();
    Ok(Some(match filter.id {
        1 => json!({"id": "zlib", "level": value(0).unwrap_or(6).min(9)}),
        2 => match value(0).filter(|size| *size > 0 && chunk.is_multiple_of((*size).into())) {
            Some(size) => json!({"id": "shuffle", "elementsize": size}),
            None => return Err("its filter shuffle has elements that do not fill a chunk".into()),
        },
        3 => json!({"id": "fletcher32"}),
        307 => json!({"id": "bz2", "level": value(0).unwrap_or(9).clamp(1, 9)}),
        32001 => {
            let names = ["blosclz", "lz4", "lz4hc", "", "zlib", "zstd"];
            let name =
                value(6).map_or(Some(0), |n| usize::try_from(n).ok()).and_then(|n| names.get(n).copied());
            let name = name.filter(|name| !name.is_empty()).ok_or("readers of Blosc lack its codec")?;
            let (level, shuffle) = (value(4).unwrap_or(5).min(9), value(5).unwrap_or(1).min(2));
            json!({"id": "blosc", "cname": name, "clevel": level, "shuffle": shuffle, "blocksize": 0})
        }
        32015 => json!({"id": "zstd", "level": value(0).unwrap_or(3).min(22)}),
        32022 | 32023 | 32032 => return Ok(None),
        id => return Err(format!("readers of Zarr have no codec for its filter {id}")),
    }))
}

/// Returns the value of missing chunks.
pub(crate) fn fill(dataset: &Dataset, info: &ArrayInfo) -> Result<Value, String> {
    let raw = match &dataset.fill_value().map_err(|error| error.to_string())?.value {
        Fill::Value(raw) => raw.as_slice(),
        Fill::Default | Fill::Undefined => &[],
    };
    let boolean = element::is_boolean(&info.element);
    let numbers = info.element.is_real() && !boolean;
    if raw.iter().all(|byte| *byte == 0) {
        return Ok(match (numbers, boolean) {
            (true, _) => json!(0),
            (false, true) => json!(false),
            (false, false) => Value::Null,
        });
    }
    if !numbers {
        return Err("it has missing chunks and a fill value that is not a number".into());
    }
    let fill = dataset.fill_canonical().map_err(|error| error.to_string())?.unwrap_or_default();
    let datum = Decoder::new(&info.element, &fill).next().ok_or("its fill value has no element")?;
    attributes::one(&datum.map_err(|error| error.to_string())?).map(|fill| bare::strict(&fill))
}

/// Returns the type of stored elements in the notation of NumPy, and the dimensions that it adds.
///
/// # Errors
/// The reason why NumPy would not see the same values in the stored bytes.
fn stored(datatype: &Datatype, element: &ElementType) -> Result<(Value, Vec<u64>), String> {
    if let Class::Array { dimensions, base } = &datatype.class {
        let ElementType::Array { element, .. } = element else { return Err("its type is an array".into()) };
        let (dtype, inner) = stored(base, element)?;
        return Ok((dtype, dimensions.iter().map(|n| u64::from(*n)).chain(inner).collect()));
    }
    if let Class::Compound(members) = &datatype.class {
        return compound(datatype, members, element).map(|dtype| (dtype, Vec::new()));
    }
    scalar(datatype, element).map(|text| (Value::String(text), Vec::new()))
}

fn compound(
    datatype: &Datatype,
    members: &[hdf5_pure::structure::Member],
    element: &ElementType,
) -> Result<Value, String> {
    let ElementType::Compound(fields) = element else {
        return Err("its compound is read as a number".into());
    };
    element::fields(fields)?;
    let (mut all, mut end) = (Vec::new(), 0u64);
    for (member, (name, field)) in members.iter().zip(fields) {
        if u64::from(member.offset) != end {
            return Err("the fields of its compound are not adjacent".into());
        }
        end = end.checked_add(member.datatype.size.into()).ok_or("its compound is too large")?;
        let dtype = match &member.datatype.class {
            Class::Compound(inner) => compound(&member.datatype, inner, field)?,
            _ => Value::String(scalar(&member.datatype, field)?),
        };
        all.push(json!([name.shown(), dtype]));
    }
    if end != u64::from(datatype.size) || all.len() != members.len() || all.len() != fields.len() {
        return Err("its compound is padded".into());
    }
    Ok(Value::Array(all))
}

fn scalar(datatype: &Datatype, element: &ElementType) -> Result<String, String> {
    let size = datatype.size;
    let whole = |precision: u16, offset: u16| offset == 0 && u32::from(precision) == size.saturating_mul(8); // a bound
    let order = |order: ByteOrder| match order {
        _ if size == 1 => Some('|'),
        ByteOrder::Little => Some('<'),
        ByteOrder::Big => Some('>'),
        #[allow(unreachable_patterns)]
        _ => None,
    };
    let found = match &datatype.class {
        Class::Enumeration { .. } if size == 1 && element::is_boolean(element) => Some("|b1".into()),
        Class::Enumeration { base, .. } if base.size == size => {
            return scalar(base, &ElementType::Int(1));
        }
        Class::FixedPoint(fixed)
            if whole(fixed.precision, fixed.bit_offset) && matches!(size, 1 | 2 | 4 | 8) =>
        {
            let kind = if fixed.signed { 'i' } else { 'u' };
            order(fixed.order).map(|order| format!("{order}{kind}{size}"))
        }
        Class::BitField(BitField { order: bytes, precision, bit_offset, .. })
            if whole(*precision, *bit_offset) && matches!(size, 1 | 2 | 4 | 8) =>
        {
            order(*bytes).map(|order| format!("{order}u{size}"))
        }
        Class::FloatingPoint(float) if matches!(size, 2 | 4 | 8) => {
            let ieee = matches!(datatype.element_type(), Ok(hdf5_pure::ElementType::Float(_)));
            match float.order {
                FloatOrder::Little if ieee => Some(format!("<f{size}")),
                FloatOrder::Big if ieee => Some(format!(">f{size}")),
                _ => None,
            }
        }
        // Bytes after the zero byte that ends a text are no part of it, for which one byte leaves no room.
        Class::String { padding: Padding::NullTerminated, .. } if size == 1 => Some("|S1".into()),
        Class::String { padding: Padding::NullPadded, .. } if size > 0 => Some(format!("|S{size}")),
        Class::Opaque { .. } if size > 0 => Some(format!("|V{size}")),
        _ => None,
    };
    found.ok_or_else(|| format!("NumPy would not see the stored bytes of {element} as the same values"))
}
