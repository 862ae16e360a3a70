//! Stores objects as those are stored that they come from, as far as this can be read.
//!
//! A rescue takes elements from the common tree, which does not describe how an HDF5 file stores them: types, fill values, maximum
//! shapes, chunks, filters, creation orders and committed types come from the objects themselves.

use std::collections::HashMap;

use hdf5_pure::filters::Filters;
use hdf5_pure::structure::{
    ByteOrder, Chunked, Class, Dataspace, Fill, FloatOrder, Layout, Padding, Pipeline, VariableLength,
};
use hdf5_pure::values::Encoder;
use hdf5_pure::{Address, Attribute, Dataset, DatasetBuilder, Datatype, File, Node, ObjectId, Writer};
use sciformats_core::Error;
use sciformats_core::arith::{add, fit};
use sciformats_core::bound;

use super::encode::{References, datatype, encode_in, one as plain};
use crate::repack::{Kept, Stored, extents};
use crate::sink::{Elements, WriteOptions, hdf5_filters, moderate};
use sciformats::formats::hdf5::{element, filter, is_canonical, leads_elsewhere};
use sciformats::model::ElementType;
use sciformats::model::canonical::{length, skip, take, text};
use sciformats::{Name, Result};

/// Filters that store every element as it is, whatever the type.
const LOSSLESS: [u16; 13] = [1, 2, 3, 4, 305, 307, 32000, 32001, 32003, 32004, 32008, 32015, 32026];

/// Those of them that have no parameter that depends on the shape of the chunks.
const ANY_SHAPE: [u16; 6] = [1, 2, 3, 307, 32000, 32015];

/// The file that objects come from.
pub(super) struct Like {
    file: File,
    /// The new ids of its committed datatypes.
    committed: HashMap<Address, ObjectId>,
    /// The attributes of the last object.
    attributes: Option<(Address, Vec<Attribute>)>,
}

/// How a dataset is stored.
pub(super) struct Known {
    dataset: Dataset,
    /// The type as it is stored, if its elements can be made of canonical ones.
    pub(super) datatype: Option<Datatype>,
    committed: Option<ObjectId>,
    /// The filters, if chunks can be encoded with them.
    filters: Option<Filters>,
    /// What is not kept.
    pub(super) lost: Vec<String>,
}

impl Like {
    pub(super) fn new(file: File) -> Self {
        Self { file, committed: HashMap::new(), attributes: None }
    }

    /// Gives a new object the creation properties and the comment of the one at `address`.
    pub(super) fn properties(&self, writer: &mut Writer, id: ObjectId, address: Address) -> Result<()> {
        writer.creation_properties(id, &self.file.creation_properties(address)?)?;
        match self.file.object_info(address)?.comment {
            Some(comment) => writer.comment(id, &comment),
            None => Ok(()),
        }
    }

    /// Returns the new id of the committed datatype at `address`, which many objects may share.
    pub(super) fn committed(&mut self, writer: &mut Writer, address: Address) -> Result<ObjectId> {
        if let Some(id) = self.committed.get(&address) {
            return Ok(*id);
        }
        let Node::Datatype(committed) = self.file.object_at(address)? else {
            return Err(Error::unsupported("an object in place of a committed datatype"));
        };
        let id = writer.commit_unlinked(&committed.datatype()?)?;
        self.properties(writer, id, address)?;
        self.committed.insert(address, id);
        Ok(id)
    }

    /// Returns how the dataset at `address` is stored, if it is the one that the elements come from.
    pub(super) fn known(
        &mut self,
        writer: &mut Writer,
        address: Address,
        (elements, options): (&Elements, &WriteOptions),
    ) -> Result<Option<Known>> {
        let dataset = self.file.dataset_at(address)?;
        let info = elements.info();
        let is_same = dataset.dataspace().extent() == info.shape.as_deref()
            && element(&dataset.datatype().element_type()?) == info.element;
        if !is_same {
            return Ok(None);
        }
        let mut lost = Vec::new();
        let stored = dataset.datatype();
        let datatype = fits(stored, &info.element).then(|| stored.clone());
        if datatype.is_none() {
            lost.push("the type that it had".to_owned());
        }
        let committed = match dataset.committed()?.filter(|_| datatype.is_some()) {
            Some(address) => {
                self.committed(writer, address).map_err(|_| lost.push("its committed type".into()))
            }
            None => Err(()),
        };
        if let Layout::Chunked(chunked) = dataset.layout()?
            && options.chunks.is_none()
            && bytes(chunked) > MOST
        {
            lost.push("the shape of its chunks".into());
        }
        let filters = dataset.filters()?;
        let any_shape = filters.filters.iter().all(|filter| ANY_SHAPE.contains(&filter.id));
        let filters = if filters.filters.is_empty() || options.filter.is_some() {
            None
        } else if (any_shape || options.chunks.is_none()) && usable(&dataset, filters)? {
            Some(Filters::stored(filters))
        } else {
            let names: Vec<String> = filters.filters.iter().map(filter).collect();
            lost.push(format!("its filters ({})", names.join(", ")));
            None
        };
        Ok(Some(Known { dataset, datatype, committed: committed.ok(), filters, lost }))
    }

    /// Writes an attribute as it is stored in the object at `address`. Returns `false` if its bytes lead to other places of the file.
    pub(super) fn attribute(
        &mut self,
        writer: &mut Writer,
        (id, address): (ObjectId, Address),
        name: &Name,
    ) -> Result<bool> {
        if self.attributes.as_ref().is_none_or(|(of, _)| *of != address) {
            self.attributes = Some((address, self.file.attributes_at(address)?));
        }
        let all = self.attributes.as_ref().map(|(_, all)| all.as_slice()).unwrap_or_default();
        let has_name = |attribute: &&Attribute| {
            attribute.name().is_some_and(|found| found.as_bytes() == name.as_bytes())
        };
        let Some(attribute) = all.iter().find(has_name).cloned() else { return Ok(false) };
        let stored = Stored::new(&self.file, attribute.datatype()?)?;
        let Some(name) = attribute.name() else { return Ok(false) };
        if !stored.is_direct() {
            return Ok(false);
        }
        let committed = match attribute.committed()? {
            Some(address) => Some(self.committed(writer, address)?),
            None => None,
        };
        let (shape, maximum) = extents(attribute.dataspace()?);
        let references = &References::new();
        let (bytes, characters) = ((attribute.raw()?, &[][..]), attribute.character_set()?);
        let kept = Kept { stored: &stored, shape, maximum, bytes, references, committed, characters };
        writer.attribute(id, name, kept)?;
        Ok(true)
    }
}

/// Returns whether chunks of zeros can be encoded and decoded again, with filters that change no element.
fn usable(dataset: &Dataset, filters: &Pipeline) -> Result<bool> {
    let Layout::Chunked(chunked) = dataset.layout()? else { return Ok(false) };
    if filters.filters.iter().any(|filter| !LOSSLESS.contains(&filter.id)) {
        return Ok(false);
    }
    let size = bytes(chunked);
    let Some(zeros) = usize::try_from(size).ok().filter(|_| size <= MOST).map(|size| vec![0; size]) else {
        return Ok(false);
    };
    let registry = sciformats::filters::hdf5();
    let encoded = registry.apply(filters, zeros.clone());
    Ok(encoded
        .and_then(|(bytes, mask)| registry.undo(filters, mask, &bytes, zeros.len()))
        .is_ok_and(|all| all == zeros))
}

/// Returns the number of bytes of a chunk without filters.
fn bytes(chunked: &Chunked) -> u64 {
    chunked.dimensions.iter().fold(chunked.element_size, |all, side| bound::product(all, *side))
}

/// The largest chunk that keeps its shape, because a whole one is in memory.
const MOST: u64 = crate::sink::CHUNK;

impl Known {
    /// Sets everything up that is known of a dataset. What the options name goes first. The elements are passed in parts that match
    /// the chunks.
    pub(super) fn applied<'w>(
        &self,
        builder: DatasetBuilder<'w>,
        options: &WriteOptions,
        elements: &mut Elements,
    ) -> Result<DatasetBuilder<'w>> {
        let dataset = &self.dataset;
        let mut builder = match self.committed {
            Some(id) => builder.committed(id),
            None => builder,
        };
        builder = self.filled(builder, elements, options)?;
        let Dataspace::Simple { dimensions, maximum } = dataset.dataspace() else {
            let is_compact = matches!(dataset.layout()?, Layout::Compact(_));
            return Ok(if is_compact && *dataset.dataspace() == Dataspace::Scalar {
                builder.compact()
            } else {
                builder
            });
        };
        builder = builder.shape(dimensions.clone());
        let (empty, layout) = (dimensions.contains(&0), dataset.layout()?);
        let asked = options.chunks.as_ref().filter(|_| !empty).map(|chunks| {
            let sides = chunks.iter().chain(std::iter::repeat(&u64::MAX));
            sides.zip(dimensions).map(|(&side, &length)| side.clamp(1, length)).collect::<Vec<u64>>()
        });
        let chunks = asked.or_else(|| match layout {
            Layout::Chunked(chunked) => moderate(&sciformats::ArrayInfo {
                chunks: Some(chunked.dimensions.clone()),
                ..elements.info().clone()
            }),
            _ => None,
        });
        let filters = match options.filter {
            Some(_) if !empty => hdf5_filters(options)?,
            _ => self.filters.clone().filter(|_| chunks.is_some()),
        };
        if chunks.is_some() && dimensions.iter().zip(maximum).any(|(&n, most)| *most != Some(n)) {
            builder = builder.max_shape(maximum.clone());
        }
        match &chunks {
            Some(chunks) => {
                builder = builder.chunks(chunks.clone());
                *elements = elements.clone().in_chunks(chunks.clone());
            }
            None if filters.is_some() => builder = builder.automatic_chunks(),
            None if matches!(layout, Layout::Compact(_)) => builder = builder.compact(),
            None => {}
        }
        Ok(match filters {
            Some(filters) => builder.filters(filters),
            None => builder,
        })
    }

    /// Sets the fill value, and when space is allocated and filled.
    fn filled<'w>(
        &self,
        builder: DatasetBuilder<'w>,
        elements: &Elements,
        options: &WriteOptions,
    ) -> Result<DatasetBuilder<'w>> {
        let (fill, layout) = (self.dataset.fill_value()?, self.dataset.layout()?);
        let chunked = matches!(layout, Layout::Chunked(_));
        let builder = match fill.allocation_time {
            // If the file does not store the times, the defaults of the library for the layout apply.
            0 => builder,
            allocation if chunked || options.chunks.is_none() && options.filter.is_none() => {
                builder.storage_times(allocation, fill.write_time)
            }
            _ => builder.fill_time(fill.write_time),
        };
        Ok(match &fill.value {
            Fill::Default if fill.allocation_time == 0 => builder.fill_undefined(),
            Fill::Default => builder,
            Fill::Undefined => builder.fill_undefined(),
            Fill::Value(raw) => match &self.datatype {
                Some(stored) if !leads_elsewhere(stored) => builder.fill_raw(raw),
                _ => {
                    let canonical = self.dataset.fill_canonical()?.unwrap_or_default();
                    let info = elements.info();
                    let forms = info.texts.as_deref().unwrap_or_default();
                    let none = References::new();
                    builder.fill_encoded(|to| match &self.datatype {
                        Some(stored) => put((stored, &info.element), &canonical, &none, to),
                        None => encode_in((&info.element, forms), &canonical, &none, to),
                    })
                }
            },
        })
    }
}

/// How the bytes of a number are related to its canonical ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Same,
    Reversed,
}

/// Returns how the bytes of a number are stored; `None` for everything else.
fn order(of: &Datatype) -> Option<Order> {
    if is_canonical(of) {
        return Some(Order::Same);
    }
    let told = |order: ByteOrder| match order {
        ByteOrder::Little => Order::Same,
        ByteOrder::Big => Order::Reversed,
    };
    let is_full =
        |precision: u16, offset: u16| offset == 0 && u32::from(precision) == bound::product(of.size, 8);
    match &of.class {
        Class::FixedPoint(fixed) if is_full(fixed.precision, fixed.bit_offset) => Some(told(fixed.order)),
        Class::BitField(bits) if is_full(bits.precision, bits.bit_offset) => Some(told(bits.order)),
        Class::FloatingPoint(float) if float.order == FloatOrder::Big => {
            use hdf5_pure::ElementType::{BFloat16, Float};
            matches!(of.element_type(), Ok(Float(_) | BFloat16)).then_some(Order::Reversed)
        }
        Class::Enumeration { base, .. } if base.size == of.size => order(base),
        _ => None,
    }
}

/// Returns the members of a compound in the order of their offsets, each with its place among the fields; `None` if some share bytes.
fn placed(of: &Datatype) -> Option<Vec<(usize, &hdf5_pure::structure::Member)>> {
    let Class::Compound(members) = &of.class else { return None };
    let mut placed: Vec<_> = members.iter().enumerate().collect();
    placed.sort_by_key(|(_, member)| member.offset);
    let mut end = 0u32;
    for (_, member) in &placed {
        if member.offset < end {
            return None;
        }
        end = member.offset.checked_add(member.datatype.size)?;
    }
    (end <= of.size).then_some(placed)
}

/// Returns whether [`put`] can store elements of this type.
fn fits(stored: &Datatype, element: &ElementType) -> bool {
    if order(stored).is_some() {
        return element.size() == Some(stored.size.into());
    }
    match (&stored.class, element) {
        (Class::Compound(members), ElementType::Compound(fields)) => {
            members.len() == fields.len()
                && placed(stored).is_some()
                && members.iter().zip(fields).all(|(member, (_, field))| fits(&member.datatype, field))
        }
        (Class::Array { dimensions, base }, ElementType::Array { element, shape }) => {
            dimensions.iter().map(|side| u64::from(*side)).eq(shape.iter().copied()) && fits(base, element)
        }
        (Class::String { .. }, ElementType::Text) => true,
        // Addresses of other widths take another number of bytes.
        (Class::VariableLength(VariableLength::String { .. }), ElementType::Text) => {
            stored.size == Datatype::string().size
        }
        (Class::VariableLength(VariableLength::Sequence(base)), ElementType::Vlen(element)) => {
            stored.size == Datatype::string().size && !leads_elsewhere(base) && fits(base, element)
        }
        _ => datatype(element).is_ok_and(|own| own == *stored),
    }
}

/// Appends elements of a stored type, which [`fits`], from their canonical bytes.
pub(super) fn put(
    (stored, element): (&Datatype, &ElementType),
    bytes: &[u8],
    references: &References,
    to: &mut Encoder<'_>,
) -> Result<()> {
    if order(stored) == Some(Order::Same) {
        to.bytes(bytes);
        return Ok(());
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        let before = rest.len();
        one((stored, element), &mut rest, references, to)?;
        if rest.len() == before {
            return Err(Error::usage("elements", "have a size of 0 bytes, so they cannot be counted"));
        }
    }
    Ok(())
}

fn one(
    (stored, element): (&Datatype, &ElementType),
    rest: &mut &[u8],
    references: &References,
    to: &mut Encoder<'_>,
) -> Result<()> {
    if let Some(order) = order(stored) {
        let bytes = take(rest, stored.size.into())?;
        match order {
            Order::Same => to.bytes(bytes),
            Order::Reversed => to.bytes(&bytes.iter().rev().copied().collect::<Vec<u8>>()),
        }
        return Ok(());
    }
    match (&stored.class, element) {
        (Class::Compound(_), ElementType::Compound(fields)) => {
            let mut starts = Vec::with_capacity(fields.len());
            for (_, field) in fields {
                starts.push(*rest);
                skip(field, rest)?;
            }
            let overlap = || Error::internal("members of a compound share bytes");
            let mut at = 0u32;
            for (number, member) in placed(stored).ok_or_else(overlap)? {
                let both = fields.get(number).zip(starts.get(number));
                let ((_, field), start) = both.ok_or_else(|| Error::internal("a compound lacks a field"))?;
                gap(at, member.offset, to)?;
                one((&member.datatype, field), &mut &**start, references, to)?;
                at = add(member.offset, member.datatype.size)?;
            }
            gap(at, stored.size, to)
        }
        (Class::Array { base, .. }, ElementType::Array { element, shape }) => {
            let count: u64 = shape.iter().fold(1, |all, side| bound::product(all, *side));
            (0..count).try_for_each(|_| one((base, element), rest, references, to))
        }
        (Class::String { padding, .. }, ElementType::Text) => {
            let text = text(rest)?;
            let size: usize = fit(stored.size, "size of a text")?;
            let room = size.checked_sub(text.len()).ok_or_else(|| {
                Error::usage(
                    "elements",
                    format!("include a text of {} bytes, but its type has room for {size}", text.len()),
                )
            })?;
            to.bytes(text);
            to.bytes(&vec![if *padding == Padding::SpacePadded { b' ' } else { 0 }; room]);
            Ok(())
        }
        (Class::VariableLength(VariableLength::Sequence(base)), ElementType::Vlen(element))
            if !leads_elsewhere(base) =>
        {
            let count = length(rest)?;
            let items = fit(count, "items of a sequence")?;
            to.sequence_of(items, |to| {
                (0..count).try_for_each(|_| one((base, element), rest, references, to))
            })
        }
        _ => plain(element, rest, references, to),
    }
}

/// Appends the bytes between members.
fn gap(from: u32, end: u32, to: &mut Encoder<'_>) -> Result<()> {
    to.bytes(&vec![0; fit(bound::left(end, from), "gap between members")?]);
    Ok(())
}
