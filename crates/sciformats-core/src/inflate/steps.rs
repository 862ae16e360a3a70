//! The loops that decode a block.

use super::bits::{Bits, code, look, low};
use super::output::{Output, repeat};
use super::{DISTANCE_BITS, DISTANCES, END, Inflater, LENGTH, LITERAL_BITS, LONGEST, ROOM, SPECIAL, STEP};
use crate::bound::{addressable, left};

impl Inflater {
    /// Decodes a block into `out` from `at` on, and returns where it ends.
    pub(super) fn block(
        &self,
        bits: &mut Bits<'_>,
        max: usize,
        out: &mut impl Output,
        mut at: usize,
    ) -> Option<usize> {
        loop {
            let step = if self.is_even { Self::uniform } else { Self::branching };
            let (end, is_over) = step(self, bits, out.bytes(), at)?;
            at = end;
            if at > max {
                return None;
            }
            if is_over {
                return Some(at);
            }
            // There are few bytes of the input or of the output: one literal or copy is decoded with care.
            out.make_room(at, max);
            let bytes = out.bytes();
            bits.refill();
            let entry = code(look(&self.single, bits.buffer), &self.longer, bits.buffer >> LITERAL_BITS)?;
            let (used, extra) = (entry & 31, entry >> 5 & 7);
            let taken = bits.take(used)?;
            if entry & SPECIAL != 0 {
                return (entry & END != 0).then_some(at);
            }
            let [_, literal, length, _] = entry.to_le_bytes();
            if entry & LENGTH == 0 {
                *bytes.get_mut(at)? = literal;
                at += 1;
                continue;
            }
            let length = 3 + usize::from(length) + addressable(taken >> (used - extra));
            bits.refill();
            let entry = look(&self.distances, bits.buffer & (DISTANCES as u64 - 1));
            let entry = code(entry, &self.longer_distances, bits.buffer >> DISTANCE_BITS)?;
            if entry & SPECIAL != 0 {
                return None;
            }
            let (used, extra) = (entry & 31, entry >> 5 & 15);
            let distance = u64::from(entry >> 16) + (bits.take(used)? >> (used - extra));
            let source = at.checked_sub(addressable(distance))?;
            // Nothing can be written behind the end of a slice.
            if at + length + STEP <= bytes.len() {
                repeat(bytes, source, at, length)?;
            } else {
                for (from, to) in (source..).zip(at..at + length) {
                    *bytes.get_mut(to)? = *bytes.get(from)?;
                }
            }
            at += length;
        }
    }

    /// Decodes as long as no step can pass the end of the input or of the output, in the same steps for all that may come. Returns
    /// where it stopped, and whether the block is over.
    #[inline]
    fn uniform(&self, bits: &mut Bits<'_>, out: &mut [u8], mut at: usize) -> Option<(usize, bool)> {
        let table = if self.has_pairs { &*self.pairs } else { &*self.single };
        let Some(last) = out.len().checked_sub(ROOM) else { return Some((at, false)) };
        let Bits { data, at: mut from, mut buffer, mut count } = *bits;
        let mut is_over = false;
        while at <= last {
            let Some(next) = data.get(from..).and_then(<[u8]>::first_chunk::<8>) else { break };
            // Afterwards there are 56 bits or more. A literal and a length take 20 of them at most, and a distance 28.
            buffer |= u64::from_le_bytes(*next) << count;
            from += addressable(u64::from((63 - count) >> 3));
            count |= 56;
            let mut entry = look(table, buffer);
            if entry & SPECIAL != 0 {
                entry = code(entry, &self.longer, buffer >> LITERAL_BITS)?;
                if entry & SPECIAL != 0 {
                    is_over = entry & END != 0;
                    buffer >>= entry & 31;
                    count -= entry & 31;
                    break;
                }
            }
            let [_, first, second, literals] = entry.to_le_bytes();
            // The second one is written over, if it is not a literal.
            *out.get_mut(at..)?.first_chunk_mut()? = [first, second];
            at += usize::from(literals & 3);
            let (used, extra) = (entry & 31, entry >> 5 & 7);
            // Without a length, both the length and the distance are 0.
            let no_length = u64::from(entry & LENGTH == 0);
            let length = 3 + u64::from(second) + low(buffer >> (used - extra), extra);
            let length = addressable(length & no_length.wrapping_sub(1));
            buffer >>= used;
            count -= used;
            let place = buffer & (DISTANCES as u64 - 1) | no_length << DISTANCE_BITS;
            let mut entry = look(&self.distances, place);
            if entry & SPECIAL != 0 {
                entry = code(entry, &self.longer_distances, buffer >> DISTANCE_BITS)?;
                if entry & SPECIAL != 0 {
                    return None;
                }
            }
            let (used, extra) = (entry & 31, entry >> 5 & 15);
            let distance = addressable(u64::from(entry >> 16) + low(buffer >> (used - extra), extra));
            buffer >>= used;
            count -= used;
            let source = at.checked_sub(distance)?;
            let step = *out.get(source..)?.first_chunk::<STEP>()?;
            *out.get_mut(at..)?.first_chunk_mut()? = step;
            if length > STEP || length > distance {
                repeat(out, source, at, length)?;
            }
            at += length;
        }
        *bits = Bits { data, at: from, buffer: low(buffer, count), count };
        Some((at, is_over))
    }

    /// Does the same as [`uniform`](Self::uniform) with branches, which is faster where they are predicted.
    #[inline]
    fn branching(&self, bits: &mut Bits<'_>, out: &mut [u8], mut at: usize) -> Option<(usize, bool)> {
        let table = if self.has_pairs { &*self.pairs } else { &*self.single };
        let Some(last) = out.len().checked_sub(ROOM) else { return Some((at, false)) };
        let Bits { data, at: mut from, mut buffer, mut count } = *bits;
        let mut is_over = false;
        while at <= last {
            let Some(next) = data.get(from..).and_then(<[u8]>::first_chunk::<8>) else { break };
            buffer |= u64::from_le_bytes(*next) << count;
            from += addressable(u64::from((63 - count) >> 3));
            count |= 56;
            let mut entry = look(table, buffer);
            // Each of these entries takes 12 bits at most, so that 20 are left for a length.
            for _ in 0..3 {
                if entry & (LENGTH | SPECIAL) != 0 {
                    break;
                }
                let [_, first, second, literals] = entry.to_le_bytes();
                *out.get_mut(at..)?.first_chunk_mut()? = [first, second];
                at += usize::from(literals & 3);
                // Without a length there are no extra bits, so that six bits are the number.
                buffer >>= entry & 63;
                count -= entry & 63;
                entry = look(table, buffer);
            }
            if entry & SPECIAL != 0 {
                entry = code(entry, &self.longer, buffer >> LITERAL_BITS)?;
                if entry & SPECIAL != 0 {
                    is_over = entry & END != 0;
                    buffer >>= entry & 31;
                    count -= entry & 31;
                    break;
                }
            }
            // A length takes 20 bits at most, and its distance 28.
            if count < 48 && entry & LENGTH != 0 {
                let Some(next) = data.get(from..).and_then(<[u8]>::first_chunk::<8>) else { break };
                buffer |= u64::from_le_bytes(*next) << count;
                from += addressable(u64::from((63 - count) >> 3));
                count |= 56;
            }
            let [_, first, second, literals] = entry.to_le_bytes();
            *out.get_mut(at..)?.first_chunk_mut()? = [first, second];
            at += usize::from(literals & 3);
            let (used, extra) = (entry & 31, entry >> 5 & 7);
            if entry & LENGTH == 0 {
                buffer >>= used;
                count -= used;
                continue;
            }
            let length = addressable(3 + u64::from(second) + low(buffer >> (used - extra), extra));
            let (bits_before, count_before) = (buffer, count);
            buffer >>= used;
            count -= used;
            let entry = look(&self.distances, buffer & (DISTANCES as u64 - 1));
            let entry = code(entry, &self.longer_distances, buffer >> DISTANCE_BITS)?;
            if entry & SPECIAL != 0 {
                return None;
            }
            let (used, extra) = (entry & 31, entry >> 5 & 15);
            let distance = addressable(u64::from(entry >> 16) + low(buffer >> (used - extra), extra));
            buffer >>= used;
            count -= used;
            let source = at.checked_sub(distance)?;
            if length == LONGEST {
                // What is the same over and over is stored as the same copy again and again.
                let width = count_before - count;
                let copy = low(bits_before, width);
                // Literals of this turn may have passed the last place; there is room for one copy.
                let most = left(last, at) / LONGEST + 1;
                let mut times = 1;
                while times < most && count >= width && low(buffer, width) == copy {
                    buffer >>= width;
                    count -= width;
                    times += 1;
                }
                if count < width {
                    // There may be many more, so that as many as fit into 56 bits are compared at once.
                    let together = 56 / width;
                    let copies = (0..together).fold(0, |copies, _| copies << width | copy);
                    while let Some(next) = data.get(from..).and_then(<[u8]>::first_chunk::<8>) {
                        buffer |= u64::from_le_bytes(*next) << count;
                        from += addressable(u64::from((63 - count) >> 3));
                        count |= 56;
                        let after = times + addressable(together.into());
                        if after > most || low(buffer, width * together) != copies {
                            break;
                        }
                        buffer >>= width * together;
                        count -= width * together;
                        times = after;
                    }
                }
                repeat(out, source, at, times * LONGEST)?;
                at += times * LONGEST;
                continue;
            }
            let step = *out.get(source..)?.first_chunk::<STEP>()?;
            *out.get_mut(at..)?.first_chunk_mut()? = step;
            let step = *out.get(source + STEP..)?.first_chunk::<STEP>()?;
            *out.get_mut(at + STEP..)?.first_chunk_mut()? = step;
            // A second step is wrong for short distances, but nothing is lost by it.
            let enough = if distance < STEP { distance } else { 2 * STEP };
            if length > enough {
                repeat(out, source, at, length)?;
            }
            at += length;
        }
        *bits = Bits { data, at: from, buffer: low(buffer, count), count };
        Some((at, is_over))
    }
}

/// Copies a stored block to `at`, and returns where it ends.
pub(super) fn stored(bits: &mut Bits<'_>, max: usize, out: &mut impl Output, at: usize) -> Option<usize> {
    let start = bits.position();
    let (head, rest) = bits.data.get(start..)?.split_first_chunk::<4>()?;
    let [a, b, c, d] = *head;
    let length = u16::from_le_bytes([a, b]);
    if length != !u16::from_le_bytes([c, d]) {
        return None;
    }
    let bytes = rest.get(..length.into())?;
    let end = at + bytes.len();
    if end > max {
        return None;
    }
    out.make_room(end, max);
    out.bytes().get_mut(at..end)?.copy_from_slice(bytes);
    *bits = Bits { data: bits.data, at: start + 4 + bytes.len(), buffer: 0, count: 0 };
    Some(end)
}
