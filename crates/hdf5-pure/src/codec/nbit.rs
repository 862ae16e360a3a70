//! N-bit (filter 5): only the significant bits of numbers, one after another.
//!
//! The client data values describe the datatype. Each node starts with its kind: 1 is a number (size, order, precision,
//! offset), 2 an array (size, base), 3 a compound (size, then offset and node of each member), 4 bytes that are not
//! packed (size).

use sciformats_core::{Fault, FaultKind, bound};

use super::bits::{BitWriter, Bits, low_byte};

/// What an element consists of.
enum Node {
    Atomic(Atomic),
    Array { size: usize, base: Box<Node> },
    Compound { size: usize, members: Vec<(usize, Node)> },
    Bytes { size: usize },
}

impl Node {
    fn size(&self) -> usize {
        match *self {
            Self::Atomic(Atomic { size, .. })
            | Self::Array { size, .. }
            | Self::Compound { size, .. }
            | Self::Bytes { size } => size,
        }
    }
}

/// A number: its size, its byte order, its significant bits, and the number of bits below them.
#[derive(Clone, Copy)]
struct Atomic {
    size: usize,
    big: bool,
    precision: u32,
    offset: u32,
}

/// The largest depth to which datatypes may be nested.
const MAX_DEPTH: u32 = 64;

/// Decodes at most `max` bytes.
pub(crate) fn decode(values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    if values.get(1) == Some(&1) {
        return Ok(input.to_vec());
    }
    let elements = value(values.get(2).copied())?;
    let mut rest = values.get(3..).unwrap_or_default();
    let node = parse(&mut rest, 0)?;
    let total = elements
        .checked_mul(node.size())
        .filter(|&total| total <= max)
        .ok_or_else(|| super::too_long(max))?;
    let mut out = vec![0; total];
    let mut bits = Bits::new(input);
    match node {
        Node::Atomic(atomic @ Atomic { size: 1, .. }) => numbers::<1>(&mut bits, &mut out, atomic),
        Node::Atomic(atomic @ Atomic { size: 2, .. }) => numbers::<2>(&mut bits, &mut out, atomic),
        Node::Atomic(atomic @ Atomic { size: 4, .. }) => numbers::<4>(&mut bits, &mut out, atomic),
        Node::Atomic(atomic @ Atomic { size: 8, .. }) => numbers::<8>(&mut bits, &mut out, atomic),
        node => out.chunks_exact_mut(node.size()).try_for_each(|element| unpack(&node, &mut bits, element)),
    }?;
    Ok(out)
}

fn value(value: Option<u32>) -> Result<usize, Fault> {
    let value = value.ok_or_else(|| super::truncated("client data"))?;
    usize::try_from(value).map_err(|_| Fault::new("client data", FaultKind::Overflow))
}

fn next(rest: &mut &[u32]) -> Result<usize, Fault> {
    let (first, after) = rest.split_first().map_or((None, *rest), |(&first, after)| (Some(first), after));
    *rest = after;
    value(first)
}

fn parse(rest: &mut &[u32], depth: u32) -> Result<Node, Fault> {
    let wrong = |found: usize| Fault::new("client data", FaultKind::Undefined { found: found as u64 });
    if depth > MAX_DEPTH {
        return Err(Fault::new("client data", FaultKind::Rule("is nested too deep")));
    }
    let kind = next(rest)?;
    let size = next(rest)?;
    if size == 0 {
        return Err(wrong(0));
    }
    match kind {
        1 => {
            let big = next(rest)? == 1;
            let (precision, offset) = (next(rest)?, next(rest)?);
            if size > 64 || precision == 0 || bound::sum(precision, offset) > size * 8 {
                return Err(wrong(precision));
            }
            let bits = |n: usize| u32::try_from(n).unwrap_or(u32::MAX); // a bound: the check above limits it to 512
            Ok(Node::Atomic(Atomic { size, big, precision: bits(precision), offset: bits(offset) }))
        }
        2 => {
            let base = Box::new(parse(rest, depth + 1)?);
            if size % base.size() != 0 { Err(wrong(size)) } else { Ok(Node::Array { size, base }) }
        }
        3 => {
            let mut members = Vec::new();
            for _ in 0..next(rest)? {
                let offset = next(rest)?;
                let node = parse(rest, depth + 1)?;
                if bound::sum(offset, node.size()) > size {
                    return Err(wrong(offset));
                }
                members.push((offset, node));
            }
            Ok(Node::Compound { size, members })
        }
        4 => Ok(Node::Bytes { size }),
        found => Err(wrong(found)),
    }
}

fn unpack(node: &Node, bits: &mut Bits<'_>, out: &mut [u8]) -> Result<(), Fault> {
    match node {
        Node::Atomic(atomic) => number(bits, out, *atomic),
        Node::Array { base, .. } => {
            out.chunks_exact_mut(base.size()).try_for_each(|element| unpack(base, bits, element))
        }
        Node::Compound { members, .. } => members.iter().try_for_each(|(offset, member)| {
            out.get_mut(*offset..offset + member.size()).map_or(Ok(()), |part| unpack(member, bits, part))
        }),
        Node::Bytes { .. } => out.iter_mut().try_for_each(|byte| {
            *byte = low_byte(bits.take(8)?);
            Ok(())
        }),
    }
}

/// Decodes numbers of `N` bytes, at most 8.
fn numbers<const N: usize>(bits: &mut Bits<'_>, out: &mut [u8], atomic: Atomic) -> Result<(), Fault> {
    for number in out.as_chunks_mut::<N>().0 {
        let little = (bits.take_wide(atomic.precision)? << atomic.offset).to_le_bytes();
        number.iter_mut().zip(little).for_each(|(to, from)| *to = from);
        if atomic.big {
            number.reverse();
        }
    }
    Ok(())
}

/// Decodes a number, whose bits come from its highest byte down.
fn number(bits: &mut Bits<'_>, out: &mut [u8], atomic: Atomic) -> Result<(), Fault> {
    let Atomic { size, big, precision, offset } = atomic;
    let top = offset + precision; // the position after the highest significant bit
    for byte in (0..size).rev() {
        let low = u32::try_from(byte * 8).unwrap_or(u32::MAX); // a bound: an element has at most 64 bytes
        let (from, to) = (low.max(offset), (low + 8).min(top));
        if from >= to {
            continue;
        }
        let value = bits.take(to - from)? << (from - low);
        let at = if big { size - 1 - byte } else { byte };
        if let Some(slot) = out.get_mut(at) {
            *slot = low_byte(value);
        }
    }
    Ok(())
}

/// Encodes elements as the client data values require. `None` if the input has more or fewer elements than these say, as after a filter
/// that changed its length, because nothing else could be restored, and if the C library cannot read elements of this type, not even its
/// own.
pub(crate) fn encode(values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    if values.get(1) == Some(&1) {
        return Ok(Some(input.to_vec()));
    }
    let mut rest = values.get(3..).unwrap_or_default();
    let node = parse(&mut rest, 0)?;
    let elements = values.get(2).map_or(0, |&elements| bound::addressable(elements.into()));
    if elements.checked_mul(node.size()) != Some(input.len()) || loses_place(&node, false) {
        return Ok(None);
    }
    let mut bits = BitWriter::with_capacity(input.len());
    match node {
        Node::Atomic(atomic @ Atomic { size: 1, .. }) => put_numbers::<1>(&mut bits, input, atomic),
        Node::Atomic(atomic @ Atomic { size: 2, .. }) => put_numbers::<2>(&mut bits, input, atomic),
        Node::Atomic(atomic @ Atomic { size: 4, .. }) => put_numbers::<4>(&mut bits, input, atomic),
        Node::Atomic(atomic @ Atomic { size: 8, .. }) => put_numbers::<8>(&mut bits, input, atomic),
        node => input.chunks_exact(node.size()).for_each(|element| pack(&node, &mut bits, element)),
    }
    Ok(Some(bits.finish_open()))
}

/// Returns whether the C library loses its place in the description of the type. After an array of arrays or compounds it goes back to
/// where the description of the array's elements begins, so that it takes this for what follows.
fn loses_place(node: &Node, is_followed: bool) -> bool {
    match node {
        Node::Atomic(_) | Node::Bytes { .. } => false,
        Node::Array { base, .. } => {
            let is_deep = matches!(**base, Node::Array { .. } | Node::Compound { .. });
            is_deep && is_followed || loses_place(base, false)
        }
        Node::Compound { members, .. } => members.iter().enumerate().any(|(number, (_, member))| {
            loses_place(member, is_followed || bound::sum(number, 1) < members.len())
        }),
    }
}

fn pack(node: &Node, bits: &mut BitWriter, element: &[u8]) {
    match node {
        Node::Atomic(atomic) => put_number(bits, element, *atomic),
        Node::Array { base, .. } => element.chunks_exact(base.size()).for_each(|part| pack(base, bits, part)),
        Node::Compound { members, .. } => members.iter().for_each(|(offset, member)| {
            if let Some(part) = element.get(*offset..offset + member.size()) {
                pack(member, bits, part);
            }
        }),
        Node::Bytes { .. } => element.iter().for_each(|&byte| bits.put(byte.into(), 8)),
    }
}

/// Encodes numbers of `N` bytes, at most 8.
fn put_numbers<const N: usize>(bits: &mut BitWriter, input: &[u8], atomic: Atomic) {
    for number in input.as_chunks::<N>().0 {
        let mut little = [0; 8];
        little.iter_mut().zip(number).for_each(|(to, from)| *to = *from);
        let value = u64::from_le_bytes(little);
        // A number in the other byte order has its lowest byte last.
        let value = if atomic.big { value.swap_bytes() >> (64 - 8 * N) } else { value };
        bits.put_wide(value >> atomic.offset, atomic.precision);
    }
}

/// Encodes a number, whose bits go from its highest byte down.
fn put_number(bits: &mut BitWriter, element: &[u8], atomic: Atomic) {
    let Atomic { size, big, precision, offset } = atomic;
    let top = offset + precision;
    for byte in (0..size).rev() {
        let low = u32::try_from(byte * 8).unwrap_or(u32::MAX); // a bound: an element has at most 64 bytes
        let (from, to) = (low.max(offset), (low + 8).min(top));
        if from >= to {
            continue;
        }
        let at = if big { size - 1 - byte } else { byte };
        let value = element.get(at).copied().unwrap_or(0); // a bound: an element always has this byte
        bits.put(u64::from(value) >> (from - low), to - from);
    }
}

#[cfg(test)]
mod tests {
    use super::{Atomic, Bits, decode, encode, number};

    #[test]
    fn whole_numbers_are_those_of_single_bytes() {
        let input: Vec<u8> = (0..240u32).map(|i| (i * 37 % 251) as u8).collect();
        for size in [1u32, 2, 4, 8] {
            for (big, precision, offset) in [
                (0, 1, 0),
                (0, 8 * size, 0),
                (1, 8 * size, 0),
                (1, 5, 3),
                (0, 8 * size - 3, 2),
                (1, 8 * size - 3, 2),
            ] {
                let values = [8, 0, 240 / size, 1, size, big, precision, offset];
                let packed = encode(&values, &input).unwrap().unwrap();
                let (mut bits, mut wanted) = (Bits::new(&packed), vec![0; 240]);
                let atomic = Atomic { size: size as usize, big: big == 1, precision, offset };
                wanted.chunks_mut(size as usize).for_each(|one| number(&mut bits, one, atomic).unwrap());
                assert_eq!(decode(&values, &packed, 240).unwrap(), wanted, "{values:?}");
                if precision == 8 * size {
                    assert_eq!(wanted, input);
                }
                // What was encoded of it is the same again.
                assert_eq!(encode(&values, &wanted).unwrap(), Some(packed), "{values:?}");
                // A checksum behind the elements would be lost.
                assert_eq!(encode(&values, &[&input[..], &[1, 2, 3, 4]].concat()).unwrap(), None);
            }
        }
    }

    #[test]
    fn types_that_the_c_library_misreads_are_not_encoded() {
        // A number of 5 bits, and arrays and compounds of 2 and 3 bytes.
        let number = &[1, 1, 0, 5, 0][..];
        let two = &[&[2, 2][..], number].concat();
        let deep = &[&[2, 2, 2, 2][..], number].concat();
        let members = |first: &[u32], second: &[u32], at: u32| [&[3, 3, 2, 0], first, &[at], second].concat();
        let encoded = |kind: &[u32]| encode(&[&[0, 0, 4][..], kind].concat(), &[7; 12]).unwrap().is_some();
        assert!(encoded(&members(two, number, 2)));
        assert!(encoded(&members(number, deep, 1)));
        assert!(!encoded(&members(deep, number, 2)));
        let inner = &[&[3, 2, 1, 0], &deep[..]].concat();
        assert!(encoded(&members(number, inner, 1)));
        assert!(!encoded(&members(inner, number, 2)));
        assert!(encoded(&[&[2, 3], &members(number, deep, 1)[..]].concat()));
        assert!(!encoded(&[&[2, 3], &members(deep, number, 2)[..]].concat()));
    }

    #[test]
    fn twelve_bits_of_two_bytes() {
        let values = [8, 0, 2, 1, 2, 0, 12, 2];
        // The elements are 0xabc << 2 and 0x123 << 2, little-endian.
        assert_eq!(decode(&values, &[0xab, 0xc1, 0x23, 0], 100).unwrap(), [0xf0, 0x2a, 0x8c, 0x04]);
        assert!(decode(&values, &[0xab], 100).is_err());
        assert!(decode(&[8, 0, 2, 1, 2, 0, 12, 5], &[0; 9], 100).is_err());
    }
}
