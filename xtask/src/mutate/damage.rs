//! Damages bytes in the way that failing disks, interrupted transfers and attackers do.

/// Numbers that replace sizes and offsets: the limits of fields.
const EDGES: [u64; 10] =
    [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 62, 0x7fff_ffff_ffff_ffff, u64::MAX];

/// The largest number of damages in one mutant.
const MOST: usize = 4;

/// Returns mutant number `number` of these files.
pub(super) fn mutant(originals: &[Vec<u8>], seed: u64, number: u64) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
    let Some(original) = originals.get(random.below(originals.len())) else { return Vec::new() };
    let mut bytes = original.clone();
    for _ in 0..=random.below(MOST) {
        damage(&mut bytes, originals, &mut random);
    }
    bytes
}

fn damage(bytes: &mut Vec<u8>, originals: &[Vec<u8>], random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    // The beginning is damaged more often, because it contains structures more often than the end.
    let near = if random.below(2) == 0 { bytes.len().min(512) } else { bytes.len() };
    let at = random.below(near);
    let length = (1 + random.below(64)).min(bytes.len() - at);
    match random.below(8) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.byte(),
        2 => {
            let width = [1, 2, 4, 8][random.below(4)].min(bytes.len() - at);
            let edge = EDGES[random.below(EDGES.len())].to_le_bytes();
            bytes[at..at + width].copy_from_slice(&edge[..width]);
        }
        3 => bytes[at..at + length].fill(random.byte()),
        4 => bytes.truncate(at),
        5 => drop(bytes.drain(at..at + length)),
        6 => {
            let copy = bytes[at..at + length].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, copy);
        }
        _ => {
            // A piece of another file at the same position is most likely to be understood.
            let other = &originals[random.below(originals.len())];
            let piece = other.get(at..(at + length).min(other.len())).unwrap_or_default();
            bytes[at..at + piece.len()].copy_from_slice(piece);
        }
    }
}

/// The generator `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    /// Returns a number below `bound`; 0 if `bound` is 0.
    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % bound).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn originals() -> Vec<Vec<u8>> {
        vec![(0..=255).collect(), vec![7; 1000], vec![], vec![1]]
    }

    #[test]
    fn a_mutant_can_be_made_again() {
        for number in 0..200 {
            assert_eq!(mutant(&originals(), 5, number), mutant(&originals(), 5, number));
        }
    }

    #[test]
    fn mutants_differ_from_each_other_and_from_the_originals() {
        let mutants: Vec<Vec<u8>> = (0..200).map(|number| mutant(&originals(), 1, number)).collect();
        let same = mutants.iter().filter(|mutant| originals().contains(mutant)).count();
        assert!(same < 100, "{same}");
        let mut distinct = mutants.clone();
        distinct.sort();
        distinct.dedup();
        assert!(distinct.len() > 100, "{}", distinct.len());
    }

    #[test]
    fn nothing_can_be_damaged_no_more() {
        assert_eq!(mutant(&[], 1, 1), b"");
        assert_eq!(mutant(&[vec![]], 1, 1), b"");
    }
}
