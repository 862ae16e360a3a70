//! The canonical form of elements: bytes that depend only on the values. Numbers are little-endian, there is no
//! padding, and references are paths.
//!
//! | elements | bytes |
//! |---|---|
//! | integers, floating-point numbers, complex numbers, bit fields, times | little-endian; floating-point numbers of unusual formats as binary64 |
//! | strings | the length (u64), then the bytes without padding |
//! | opaque elements | the bytes as they are stored |
//! | compounds, arrays | the members or elements, one after another |
//! | sequences | the number of elements (u64), then the elements |
//! | references | a string with the path of the object and what is selected of it |

use sciformats_core::fault::locate;
use sciformats_core::{Error, Fault, FaultKind, Result, bound};

use crate::file::open::Opened;
use crate::group::walk::path_of;
use crate::heap::global::GlobalHeap;
use crate::object::header::Object;
use crate::spec::global_heap::GlobalId;
use crate::spec::message::MessageType;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::{
    BitField, Class, Datatype, FixedPoint, FloatOrder, FloatingPoint, Padding, ReferenceKind, VariableLength,
};
use crate::spec::reference::{self, Part};
use crate::spec::selection::{Regular, Selection};
use crate::spec::{Address, Sizes, trimmed};
use crate::value::element_type::{self, ElementType};
use crate::value::region;
use sciformats_core::endian::ByteOrder;

/// How elements of a datatype are converted to the canonical form.
enum Plan {
    Bytes,
    Reversed,
    Integer(FixedPoint),
    BitField(BitField),
    Float(FloatingPoint),
    String(Padding),
    VariableString,
    Sequence { base: Box<Plan>, size: usize },
    Compound(Vec<(usize, usize, Plan)>),
    Array { base: Box<Plan>, size: usize },
    Object,
    Region,
    Standard,
}

/// Converts elements of one datatype to the canonical form.
pub(crate) struct Canonical<'a> {
    opened: &'a Opened,
    plan: Plan,
    size: usize,
    heap: GlobalHeap<'a>,
    /// The number of bytes that may still be produced.
    left: u64,
}

impl<'a> Canonical<'a> {
    pub(crate) fn new(opened: &'a Opened, datatype: &Datatype) -> Result<Self> {
        let context = &opened.context;
        Ok(Self {
            opened,
            plan: plan(datatype, context.sizes)?,
            size: bound::addressable(datatype.size.into()),
            heap: GlobalHeap::new(context),
            left: context.limits.memory,
        })
    }

    /// Converts whole elements. Faults are reported at `offset`, which is as close to the elements as is known.
    pub(crate) fn convert(mut self, raw: Vec<u8>, offset: u64) -> Result<Vec<u8>> {
        if matches!(self.plan, Plan::Bytes) {
            return Ok(raw);
        }
        let mut out = Vec::with_capacity(raw.len());
        let plan = std::mem::replace(&mut self.plan, Plan::Bytes);
        if self.opened.context.storage.read_ahead() > 0 {
            let mut collections = Vec::new();
            raw.chunks_exact(self.size.max(1)).for_each(|raw| self.collections(&plan, raw, &mut collections));
            self.heap.gather(collections.into_iter())?;
        }
        for element in raw.chunks_exact(self.size.max(1)) {
            self.element(&plan, element, offset, &mut out)?;
        }
        Ok(out)
    }

    fn element(&mut self, plan: &Plan, raw: &[u8], offset: u64, out: &mut Vec<u8>) -> Result<()> {
        match plan {
            Plan::Bytes => out.extend_from_slice(raw),
            Plan::Reversed => out.extend(raw.iter().rev()),
            Plan::Integer(fixed) => {
                let value = element_type::integer(fixed, raw)?;
                out.extend(value.to_le_bytes().iter().take(raw.len()));
            }
            Plan::BitField(field) => {
                let value = element_type::bit_field(field, raw)?;
                out.extend(value.to_le_bytes().iter().take(raw.len()));
            }
            Plan::Float(float) => out.extend(element_type::float(float, raw)?.to_f64().to_le_bytes()),
            Plan::String(padding) => self.string(unpadded(raw, *padding), out)?,
            Plan::Compound(members) => {
                for (at, size, member) in members {
                    let part = raw.get(*at..bound::sum(*at, *size)).unwrap_or_default();
                    self.element(member, part, offset, out)?;
                }
            }
            Plan::Array { base, size } => {
                for element in raw.chunks_exact((*size).max(1)) {
                    self.element(base, element, offset, out)?;
                }
            }
            Plan::VariableString => {
                let bytes = self.sequence(raw, 1, offset)?;
                self.string(trimmed(&bytes), out)?;
            }
            Plan::Sequence { base, size } => {
                let bytes = self.sequence(raw, *size, offset)?;
                let elements = (bytes.len() / (*size).max(1)) as u64;
                self.spend(bytes.len() as u64 + 8)?;
                out.extend(elements.to_le_bytes());
                for element in bytes.chunks_exact((*size).max(1)) {
                    self.element(base, element, offset, out)?;
                }
            }
            Plan::Object | Plan::Region | Plan::Standard => {
                let text = self.reference(plan, raw, offset)?;
                self.string(&text, out)?;
            }
        }
        Ok(())
    }

    /// Collects the addresses of the global heap collections that elements refer to. References of elements inside
    /// those collections are not included.
    fn collections(&self, plan: &Plan, raw: &[u8], found: &mut Vec<Address>) {
        match plan {
            Plan::VariableString | Plan::Sequence { .. } => found.extend(collection(self.opened, raw, 4)),
            Plan::Region => found.extend(collection(self.opened, raw, 0)),
            Plan::Compound(members) => {
                for (at, size, member) in members {
                    let part = raw.get(*at..bound::sum(*at, *size)).unwrap_or_default();
                    self.collections(member, part, found);
                }
            }
            Plan::Array { base, size } => {
                raw.chunks_exact((*size).max(1)).for_each(|element| self.collections(base, element, found));
            }
            _ => {}
        }
    }

    fn spend(&mut self, bytes: u64) -> Result<()> {
        let limit = self.opened.context.limits.memory;
        let exceeded =
            || Error::limit_exceeded("bytes of strings and sequences", bound::sum(limit, 1), limit);
        self.left = self.left.checked_sub(bytes).ok_or_else(exceeded)?;
        Ok(())
    }

    fn string(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.spend(bytes.len() as u64)?;
        out.extend((bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the canonical form of an element of variable length.
    fn sequence(&mut self, raw: &[u8], size: usize, offset: u64) -> Result<Vec<u8>> {
        sequence(self.opened, &mut self.heap, raw, size, offset).map(<[u8]>::to_vec)
    }

    fn reference(&mut self, plan: &Plan, raw: &[u8], offset: u64) -> Result<Vec<u8>> {
        match target(self.opened, &mut self.heap, plan_kind(plan), raw, offset)? {
            None => Ok(Vec::new()),
            Some(target) => describe(self.opened, &target),
        }
    }
}

fn plan_kind(plan: &Plan) -> ReferenceKind {
    match plan {
        Plan::Region => ReferenceKind::Region,
        Plan::Standard => ReferenceKind::Standard,
        _ => ReferenceKind::Object,
    }
}

/// Returns the address of the global heap collection that an element refers to. The heap ID starts at byte `skip` of
/// the element.
pub(crate) fn collection(opened: &Opened, raw: &[u8], skip: usize) -> Option<Address> {
    let (_, id) = GlobalId::parse(raw.get(skip..)?, opened.context.sizes).ok()?;
    Some(id.collection).filter(|at| at.0 != 0)
}

/// Returns the distance in bytes between the items of a sequence, which may be less than the size of their datatype.
pub(crate) fn item_size(base: &Datatype, sizes: Sizes) -> usize {
    match base.class {
        Class::Reference(ReferenceKind::Standard) => reference::element_size(sizes),
        _ => bound::addressable(base.size.into()),
    }
}

const VARIABLE: &str = "element of variable length";

/// Returns the number of items of an element of variable length, and where they are. The address is 0 if the element is
/// null.
pub(crate) fn stored(opened: &Opened, raw: &[u8], offset: u64) -> Result<(u32, GlobalId)> {
    locate(VARIABLE, offset, raw, |i| {
        let (i, len) = nom::number::complete::le_u32(i)?;
        let (i, id) = GlobalId::parse(i, opened.context.sizes)?;
        Ok((i, (len, id)))
    })
}

/// Returns the bytes of an element of variable length, whose items have `size` bytes each.
pub(crate) fn sequence<'h>(
    opened: &Opened,
    heap: &'h mut GlobalHeap<'_>,
    raw: &[u8],
    size: usize,
    offset: u64,
) -> Result<&'h [u8]> {
    let (len, id) = stored(opened, raw, offset)?;
    if len == 0 || id.collection.0 == 0 {
        return Ok(&[]);
    }
    let wanted = usize::try_from(len).ok().and_then(|len| len.checked_mul(size));
    let bytes = heap.get(id)?;
    match wanted.and_then(|wanted| bytes.get(..wanted)) {
        Some(bytes) => Ok(bytes),
        None => {
            let kind = FaultKind::OutOfBounds { found: len.into(), end: bytes.len() as u64 };
            Err(Fault::new("length", kind).at(VARIABLE, offset))
        }
    }
}

/// Returns the target of a stored reference, or `None` if the reference is null.
pub(crate) fn target(
    opened: &Opened,
    heap: &mut GlobalHeap<'_>,
    kind: ReferenceKind,
    raw: &[u8],
    offset: u64,
) -> Result<Option<reference::Reference>> {
    const ELEMENT: &str = "reference";
    let context = &opened.context;
    let sizes = context.sizes;
    let here = |object, part| reference::Reference { file: None, object, part };
    match kind {
        ReferenceKind::Object => {
            let object = locate(ELEMENT, offset, raw, |i| reference::object(i, sizes))?;
            Ok(object.map(|object| here(object, Part::Object)))
        }
        ReferenceKind::Region => {
            let id = locate(ELEMENT, offset, raw, |i| GlobalId::parse(i, sizes))?;
            if id.collection.0 == 0 {
                return Ok(None);
            }
            let base = context.offset(id.collection);
            let region = locate("region reference", base, heap.get(id)?, |i| reference::region(i, sizes))?;
            Ok(region.map(|(object, selection)| here(object, Part::Region(selection))))
        }
        ReferenceKind::Standard => match locate(ELEMENT, offset, raw, |i| reference::element(i, sizes))? {
            reference::Element::Null => Ok(None),
            reference::Element::Object(object) => Ok(Some(here(object, Part::Object))),
            reference::Element::Blob { kind, external, id } => {
                let base = context.offset(id.collection);
                locate("reference", base, heap.get(id)?, |i| reference::blob(i, kind, external))
            }
        },
    }
}

pub(crate) fn unpadded(raw: &[u8], padding: Padding) -> &[u8] {
    let without = |pad: u8| {
        let end = raw.iter().rposition(|&byte| byte != pad).map_or(0, |last| last + 1);
        raw.get(..end).unwrap_or(raw)
    };
    match padding {
        Padding::NullTerminated => trimmed(raw),
        Padding::NullPadded => without(0),
        Padding::SpacePadded => without(b' '),
    }
}

fn plan(datatype: &Datatype, sizes: Sizes) -> Result<Plan> {
    let size = bound::addressable(datatype.size.into());
    let by_order = |order: ByteOrder| if order == ByteOrder::Little { Plan::Bytes } else { Plan::Reversed };
    Ok(match &datatype.class {
        Class::FixedPoint(fixed) => {
            let full = fixed.bit_offset == 0 && usize::from(fixed.precision) == size * 8;
            if full { by_order(fixed.order) } else { Plan::Integer(*fixed) }
        }
        Class::BitField(field) => {
            let full = field.bit_offset == 0 && usize::from(field.precision) == size * 8;
            if full { by_order(field.order) } else { Plan::BitField(*field) }
        }
        Class::FloatingPoint(float) => match (datatype.element_type()?, float.order) {
            (ElementType::OtherFloat, _) => Plan::Float(*float),
            (_, FloatOrder::Big) => Plan::Reversed,
            _ => Plan::Bytes,
        },
        Class::Time { order, .. } => by_order(*order),
        Class::String { padding, .. } => Plan::String(*padding),
        Class::Opaque { .. } => Plan::Bytes,
        Class::Compound(members) => {
            let mut plans = Vec::with_capacity(members.len());
            for member in members {
                let wide = |n: u32| bound::addressable(n.into());
                plans.push((wide(member.offset), wide(member.datatype.size), plan(&member.datatype, sizes)?));
            }
            compound(plans, size)
        }
        Class::Reference(ReferenceKind::Object) => Plan::Object,
        Class::Reference(ReferenceKind::Region) => Plan::Region,
        Class::Reference(ReferenceKind::Standard) => Plan::Standard,
        Class::Enumeration { base, .. } => plan(base, sizes)?,
        Class::VariableLength(VariableLength::String { .. }) => Plan::VariableString,
        Class::VariableLength(VariableLength::Sequence(base)) => {
            Plan::Sequence { base: Box::new(plan(base, sizes)?), size: item_size(base, sizes) }
        }
        Class::Array { base, .. } | Class::Complex { base } => match plan(base, sizes)? {
            Plan::Bytes => Plan::Bytes,
            plan => {
                let size = bound::addressable(base.size.into());
                Plan::Array { base: Box::new(plan), size }
            }
        },
    })
}

/// Joins members that are copied unchanged and follow each other into one step.
fn compound(members: Vec<(usize, usize, Plan)>, size: usize) -> Plan {
    let mut joined: Vec<(usize, usize, Plan)> = Vec::new();
    for (at, len, plan) in members {
        match joined.last_mut() {
            Some((start, before, Plan::Bytes)) if matches!(plan, Plan::Bytes) && *start + *before == at => {
                *before += len;
            }
            _ => joined.push((at, len, plan)),
        }
    }
    match joined.as_slice() {
        [(0, len, Plan::Bytes)] if *len == size => Plan::Bytes,
        _ => Plan::Compound(joined),
    }
}

/// Returns the path of the object, followed by what is selected of it. An object without a path is `?`, with its address if the caller
/// wants it.
fn describe(opened: &Opened, target: &reference::Reference) -> Result<Vec<u8>> {
    let mut text = match &target.file {
        Some(file) => [file.as_bytes(), b":?"].concat(),
        None => match path_of(opened, target.object) {
            Some(path) => path.to_vec(),
            None if opened.options.addresses => format!("?{}", target.object.0).into_bytes(),
            None => b"?".to_vec(),
        },
    };
    match &target.part {
        Part::Object => {}
        Part::Attribute(name) => {
            text.push(b' ');
            text.extend(name.as_bytes());
        }
        Part::Region(selection) => {
            text.push(b' ');
            text.extend(describe_selection(opened, target.object, selection)?.bytes());
        }
    }
    Ok(text)
}

fn describe_selection(opened: &Opened, object: Address, selection: &Selection) -> Result<String> {
    let point = |point: &[u64]| {
        let numbers: Vec<String> = point.iter().map(u64::to_string).collect();
        format!("({})", numbers.join(","))
    };
    let block = |(first, last): &(Vec<u64>, Vec<u64>)| format!("{}-{}", point(first), point(last));
    Ok(match selection {
        Selection::None => "none".to_owned(),
        Selection::All => "all".to_owned(),
        Selection::Points(points) => points.iter().map(|at| point(at)).collect(),
        Selection::Blocks(blocks) => blocks.iter().map(block).collect(),
        Selection::Regular(dimensions) => {
            let limited: Vec<Regular> =
                match dimensions.iter().any(|d| d.count.is_none() || d.block.is_none()) {
                    false => dimensions.clone(),
                    true => {
                        let context = &opened.context;
                        let header = Object::read(context, object)?;
                        let dataspace = header
                            .parse(context, MessageType::Dataspace, |i| Dataspace::parse(i, context.sizes))?;
                        let shape = dataspace.as_ref().map(Dataspace::shape).unwrap_or_default();
                        dimensions.iter().zip(shape).map(|(d, &size)| region::limit(d, size)).collect()
                    }
                };
            let items = limited.iter().try_fold(1u64, |n, d| n.checked_mul(d.count?));
            opened.context.limits.items("blocks of a region", items.unwrap_or(u64::MAX))?; // a bound
            regular_blocks(&limited).iter().map(block).collect()
        }
    })
}

/// Returns the blocks of a regular hyperslab, the last dimension varying fastest.
fn regular_blocks(dimensions: &[Regular]) -> Vec<(Vec<u64>, Vec<u64>)> {
    let mut blocks = vec![(Vec::new(), Vec::new())];
    for Regular { start, stride, count, block } in dimensions {
        let mut longer = Vec::new();
        for (first, last) in &blocks {
            let blocks = count.unwrap_or(0); // a bound: it is limited
            for i in 0..blocks {
                let at = bound::sum(*start, bound::product(i, *stride));
                let end = bound::left(bound::sum(at, block.unwrap_or(1)), 1);
                longer.push(([&first[..], &[at]].concat(), [&last[..], &[end]].concat()));
            }
        }
        blocks = longer;
    }
    blocks
}
