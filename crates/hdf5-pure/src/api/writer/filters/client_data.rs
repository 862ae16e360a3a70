//! The client data values of the filters that depend on the datatype and the chunks of a dataset: szip, N-bit and
//! scale-offset.

use sciformats_core::arith::{fit, present};
use sciformats_core::endian::ByteOrder;
use sciformats_core::{Error, Result, bound};

use crate::api::writer::filters::SzipCoding;
use crate::filter::Registry;
use crate::spec::message::datatype::{Class, Datatype, FloatOrder};
use crate::spec::message::fill_value::Fill;
use crate::value::element_type::ElementType;

/// The properties of a dataset that filters depend on.
#[derive(Clone, Copy)]
pub(in crate::api::writer) struct Filtered<'a> {
    pub(in crate::api::writer) datatype: &'a Datatype,
    pub(in crate::api::writer) fill: &'a Fill,
    pub(in crate::api::writer) chunk: &'a [u64],
    /// The filters of the caller.
    pub(in crate::api::writer) registry: &'a Registry,
}

impl Filtered<'_> {
    pub(super) fn elements(&self) -> Result<u32> {
        let elements = sciformats_core::slab::elements(self.chunk).and_then(|n| u32::try_from(n).ok());
        elements.ok_or_else(|| Error::usage("chunks", "must have fewer than 2^32 elements for this filter"))
    }

    pub(super) fn bytes(&self) -> Result<u32> {
        let bytes = self.elements()?.checked_mul(self.datatype.size);
        bytes.ok_or_else(|| Error::usage("chunks", "must be smaller than 4 GiB for this filter"))
    }
}

/// Returns the values of szip: options mask, samples per block, bits per sample, samples per scan line.
pub(super) fn szip(of: Filtered<'_>, coding: SzipCoding, block: u32) -> Result<Vec<u32>> {
    const RAW: u32 = 128;
    let wrong = |problem: &'static str| Err(Error::usage("szip", problem));
    if !(2..=32).contains(&block) || block % 2 == 1 {
        return wrong("needs an even number of elements per block, from 2 to 32");
    }
    if !matches!(of.datatype.size, 1 | 2 | 4 | 8) {
        return wrong("can compress only elements of 1, 2, 4 or 8 bytes");
    }
    let (precision, offset, big) = match &of.datatype.class {
        Class::FixedPoint(fixed) => (fixed.precision, fixed.bit_offset, fixed.order == ByteOrder::Big),
        Class::FloatingPoint(float) => (float.precision, float.bit_offset, float.order == FloatOrder::Big),
        _ => return wrong("can compress only integers and floating-point numbers"),
    };
    let bits = match if offset == 0 { u32::from(precision) } else { of.datatype.size * 8 } {
        25..=32 => 32,
        33..=64 => 64,
        bits => bits,
    };
    let total = of.elements()?;
    let Some(&last) = of.chunk.last() else { return wrong("can compress only chunks with dimensions") };
    let longest = block * 128;
    let line = match u32::try_from(last).unwrap_or(u32::MAX) /* a bound */ {
        last if last < block && total < block => return wrong("can compress only chunks of at least one block"),
        last if last < block => longest.min(total),
        last if last <= 4096 => longest.min(last),
        _ => longest,
    };
    let coding = match coding {
        SzipCoding::Elements => 4,
        SzipCoding::Differences => 32,
    };
    let mask = RAW + 1 + if big { 16 } else { 8 } + coding;
    Ok(vec![mask, block, bits, line])
}

/// Returns the values of the N-bit filter: the number of values, whether nothing is packed, the number of elements,
/// then the datatype as a tree.
pub(super) fn n_bit(of: Filtered<'_>) -> Result<Vec<u32>> {
    let mut tree = Vec::new();
    let packs = n_bit_node(of.datatype, &mut tree)?;
    if matches!(tree.first(), Some(4)) {
        return Err(Error::usage(
            "n-bit filter",
            "can pack only integers, floating-point numbers, and arrays and compounds of them",
        ));
    }
    let mut values = vec![0, u32::from(!packs), of.elements()?];
    values.extend(tree);
    if values.len() > 4096 {
        return Err(Error::usage(
            "n-bit filter",
            "cannot describe a datatype of so many parts: it needs more than 4096 values",
        ));
    }
    let count = fit(values.len(), "client data values of a filter")?;
    *present(values.first_mut(), "client data of a filter")? = count;
    Ok(values)
}

/// Appends a node of the datatype's tree. Returns whether any of its numbers has bits that are not significant.
fn n_bit_node(datatype: &Datatype, tree: &mut Vec<u32>) -> Result<bool> {
    let size = datatype.size;
    let mut number = |big: bool, precision: u16, offset: u16| {
        tree.extend([1, size, u32::from(big), precision.into(), offset.into()]);
        Ok(u64::from(precision) != u64::from(size) * 8 || offset != 0)
    };
    match &datatype.class {
        Class::FixedPoint(fixed) => number(fixed.order == ByteOrder::Big, fixed.precision, fixed.bit_offset),
        Class::FloatingPoint(float) if float.order == FloatOrder::Vax => {
            Err(Error::usage("n-bit filter", "cannot pack floating-point numbers in VAX byte order"))
        }
        Class::FloatingPoint(float) => {
            number(float.order == FloatOrder::Big, float.precision, float.bit_offset)
        }
        Class::Array { base, .. } => {
            tree.extend([2, size]);
            n_bit_node(base, tree)
        }
        Class::Compound(members) => {
            tree.extend([3, size, fit(members.len(), "number of members")?]);
            let mut packs = false;
            for member in members {
                tree.push(member.offset);
                packs |= n_bit_node(&member.datatype, tree)?;
            }
            Ok(packs)
        }
        _ => {
            tree.extend([4, size]);
            Ok(false)
        }
    }
}

/// What the scale-offset filter keeps: a number of bits of integers, where 0 stands for as many as are needed, or a number of decimal
/// digits of floating-point numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factor {
    Bits(u32),
    Decimals(i32),
}

/// Returns the values of the scale-offset filter: kind, factor, number of elements, class, size, sign, byte order,
/// whether there is a fill value, and its bits.
pub(super) fn scale_offset(of: Filtered<'_>, factor: Factor) -> Result<Vec<u32>> {
    let wrong = |problem: &'static str| Err(Error::usage("scale-offset filter", problem));
    let size = of.datatype.size;
    let (kind, factor, class, signed, big) = match (&of.datatype.class, factor) {
        (Class::FixedPoint(_), Factor::Bits(bits)) if bits > bound::product(size, 8) => {
            return wrong("keeps more bits of an integer than it has");
        }
        (Class::FixedPoint(fixed), Factor::Bits(bits)) if matches!(size, 1 | 2 | 4 | 8) => {
            (2, bits, 0, u32::from(fixed.signed), fixed.order == ByteOrder::Big)
        }
        (Class::FloatingPoint(float), Factor::Decimals(decimals))
            if matches!(of.datatype.element_type()?, ElementType::Float(4 | 8)) =>
        {
            (0, decimals.cast_unsigned(), 1, 0, float.order == FloatOrder::Big)
        }
        (Class::FloatingPoint(_), Factor::Bits(_)) => {
            return wrong("needs a number of decimal digits for floating-point numbers");
        }
        _ => {
            return wrong(
                "can pack only integers of 1, 2, 4 or 8 bytes, and IEEE floating-point numbers of 4 or 8 bytes",
            );
        }
    };
    let mut values = vec![kind, factor, of.elements()?, class, size, signed, u32::from(big)];
    values.push(u32::from(*of.fill != Fill::Undefined));
    if let Fill::Value(bytes) = of.fill {
        let mut word = [0u8; 8];
        word.iter_mut().zip(bytes).for_each(|(to, &from)| *to = from);
        if big && let Some(word) = word.get_mut(..bytes.len().min(8)) {
            word.reverse();
        }
        let bits = u64::from_le_bytes(word);
        values.extend([bits as u32, (bits >> 32) as u32]);
    }
    values.resize(20, 0);
    Ok(values)
}
