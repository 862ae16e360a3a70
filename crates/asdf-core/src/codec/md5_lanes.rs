//! MD5 (RFC 1321) of several messages at the same time.
//!
//! Each step of MD5 waits for the step before, so a single message leaves most of a processor idle. Messages that do not depend
//! on each other take the same steps together, each in its own lane of a vector.

use wide::u32x4;

/// The number of messages that are processed together.
pub(crate) const LANES: usize = 4;

type Block = [u8; 64];

/// One word of each lane.
type Words = u32x4;

/// The initial words of the state.
const START: [u32; 4] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476];

/// The sines of 1 to 64 radians, without their signs, in parts of 2^32.
const SINES: [u32; 64] = [
    0xD76A_A478,
    0xE8C7_B756,
    0x2420_70DB,
    0xC1BD_CEEE,
    0xF57C_0FAF,
    0x4787_C62A,
    0xA830_4613,
    0xFD46_9501,
    0x6980_98D8,
    0x8B44_F7AF,
    0xFFFF_5BB1,
    0x895C_D7BE,
    0x6B90_1122,
    0xFD98_7193,
    0xA679_438E,
    0x49B4_0821,
    0xF61E_2562,
    0xC040_B340,
    0x265E_5A51,
    0xE9B6_C7AA,
    0xD62F_105D,
    0x0244_1453,
    0xD8A1_E681,
    0xE7D3_FBC8,
    0x21E1_CDE6,
    0xC337_07D6,
    0xF4D5_0D87,
    0x455A_14ED,
    0xA9E3_E905,
    0xFCEF_A3F8,
    0x676F_02D9,
    0x8D2A_4C8A,
    0xFFFA_3942,
    0x8771_F681,
    0x6D9D_6122,
    0xFDE5_380C,
    0xA4BE_EA44,
    0x4BDE_CFA9,
    0xF6BB_4B60,
    0xBEBF_BC70,
    0x289B_7EC6,
    0xEAA1_27FA,
    0xD4EF_3085,
    0x0488_1D05,
    0xD9D4_D039,
    0xE6DB_99E5,
    0x1FA2_7CF8,
    0xC4AC_5665,
    0xF429_2244,
    0x432A_FF97,
    0xAB94_23A7,
    0xFC93_A039,
    0x655B_59C3,
    0x8F0C_CC92,
    0xFFEF_F47D,
    0x8584_5DD1,
    0x6FA8_7E4F,
    0xFE2C_E6E0,
    0xA301_4314,
    0x4E08_11A1,
    0xF753_7E82,
    0xBD3A_F235,
    0x2AD7_D2BB,
    0xEB86_D391,
];

/// The next part of a message, in blocks.
struct Lane<'a> {
    whole: &'a [Block],
    /// At the end of the message: the rest of it, a one bit, zeros, and the length in bits. This is one block or two.
    rest: [Block; 2],
    rests: usize,
}

impl<'a> Lane<'a> {
    /// Nothing of a message.
    const NONE: Self = Self { whole: &[], rest: [[0; 64]; 2], rests: 0 };

    /// A part that the message goes on after. Bytes behind the last whole block do not count.
    fn part(bytes: &'a [u8]) -> Self {
        Self { whole: bytes.as_chunks::<64>().0, ..Self::NONE }
    }

    /// The last part of a message of `len` bytes.
    fn last(bytes: &'a [u8], len: u64) -> Self {
        let (whole, left) = bytes.as_chunks::<64>();
        let mut rest = [0; 128];
        rest[..left.len()].copy_from_slice(left);
        rest[left.len()] = 0x80;
        let rests = if left.len() < 56 { 1 } else { 2 };
        rest[64 * rests - 8..64 * rests].copy_from_slice(&len.wrapping_mul(8).to_le_bytes());
        let (blocks, _) = rest.as_chunks::<64>();
        Self { whole, rest: [blocks[0], blocks[1]], rests }
    }

    fn len(&self) -> usize {
        self.whole.len() + self.rests
    }

    /// Returns a block, which is zeros after the last one.
    fn block(&self, index: usize) -> &Block {
        const NONE: &Block = &[0; 64];
        match self.whole.get(index) {
            Some(block) => block,
            None => self.rest.get(index - self.whole.len()).unwrap_or(NONE),
        }
    }
}

/// Returns the sums of any number of messages. Messages of similar lengths gain the most.
pub(crate) fn sums(messages: &[&[u8]]) -> Vec<[u8; 16]> {
    let together = |messages: &[&[u8]]| {
        let mut sums = Sums::new(messages.iter().map(|message| message.len() as u64).collect());
        sums.update(messages);
        sums.finish()
    };
    messages.chunks(LANES).flat_map(together).collect()
}

/// The sums of up to [`LANES`] messages whose lengths are known, and whose bytes arrive piece by piece.
pub(crate) struct Sums {
    state: [Words; 4],
    lengths: Vec<u64>,
    /// The bytes of each message that have arrived, if it is so long.
    taken: u64,
    sums: Vec<Option<[u8; 16]>>,
}

impl Sums {
    /// The size of all pieces but for the last one of a message is a multiple of this.
    pub(crate) const STEP: usize = 64;

    pub(crate) fn new(lengths: Vec<u64>) -> Self {
        let sums = vec![None; lengths.len()];
        Self { state: START.map(u32x4::splat), lengths, taken: 0, sums }
    }

    /// Adds the next piece of each message. All pieces have the same size, a multiple of [`Self::STEP`]. Only those that end
    /// their message may be shorter, and those of messages that have ended are empty.
    pub(crate) fn update(&mut self, pieces: &[impl AsRef<[u8]>]) {
        let mut lanes = [Lane::NONE; LANES];
        let mut ends = [false; LANES];
        let mut size = 0;
        for (index, (&length, piece)) in self.lengths.iter().zip(pieces).enumerate().take(LANES) {
            let piece = piece.as_ref();
            ends[index] = self.sums[index].is_none() && self.taken + piece.len() as u64 == length;
            lanes[index] = if ends[index] { Lane::last(piece, length) } else { Lane::part(piece) };
            size = size.max(piece.len());
        }
        self.taken += size as u64;
        let count = lanes.iter().map(Lane::len).fold(0, usize::max);
        // The end of a message takes blocks that the others do not have, so what these go on from is kept.
        let is_open = (0..self.lengths.len()).any(|lane| self.sums[lane].is_none() && !ends[lane]);
        let goes_on = is_open.then_some(size / Self::STEP);
        let mut kept = None;
        for index in 0..count {
            if goes_on == Some(index) {
                kept = Some(self.state);
            }
            take(&mut self.state, std::array::from_fn(|lane| lanes[lane].block(index)));
            for (lane, sum) in self.sums.iter_mut().enumerate() {
                if ends[lane] && lanes[lane].len() == index + 1 {
                    let mut bytes = [0; 16];
                    for (bytes, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(&self.state) {
                        *bytes = word.to_array()[lane].to_le_bytes();
                    }
                    *sum = Some(bytes);
                }
            }
        }
        self.state = kept.unwrap_or(self.state);
    }

    /// Returns the sums, which are zeros for messages that have not arrived as a whole.
    pub(crate) fn finish(self) -> Vec<[u8; 16]> {
        self.sums.into_iter().map(Option::unwrap_or_default).collect()
    }
}

/// Updates the state with the next block of each lane.
fn take(state: &mut [Words; 4], blocks: [&Block; LANES]) {
    let blocks = blocks.map(|block| block.as_chunks::<4>().0);
    let message: [Words; 16] = std::array::from_fn(|word| {
        u32x4::new(blocks.map(|words| words.get(word).map_or(0, |&bytes| u32::from_le_bytes(bytes))))
    });
    let before = *state;
    round(state, 0, [7, 12, 17, 22], |i| message[i % 16], |b, c, d| b & c | !b & d);
    round(state, 16, [5, 9, 14, 20], |i| message[(5 * i + 1) % 16], |b, c, d| b & d | c & !d);
    round(state, 32, [4, 11, 16, 23], |i| message[(3 * i + 5) % 16], |b, c, d| b ^ c ^ d);
    round(state, 48, [6, 10, 15, 21], |i| message[7 * i % 16], |b, c, d| c ^ (b | !d));
    for (word, before) in state.iter_mut().zip(before) {
        *word += before;
    }
}

/// Sixteen steps with the same function. The rotations are parameters, so that they are constants where this is inlined.
#[inline(always)]
fn round(
    state: &mut [Words; 4],
    first: usize,
    turns: [u32; 4],
    message: impl Fn(usize) -> Words,
    mix: impl Fn(Words, Words, Words) -> Words,
) {
    let step = |[a, b, c, d]: [Words; 4], i: usize, turn: u32| {
        let sum = a + mix(b, c, d) + (message(i) + u32x4::splat(SINES[i]));
        (sum << turn | sum >> (32 - turn)) + b
    };
    let [mut a, mut b, mut c, mut d] = *state;
    for i in (first..first + 16).step_by(4) {
        a = step([a, b, c, d], i, turns[0]);
        d = step([d, a, b, c], i + 1, turns[1]);
        c = step([c, d, a, b], i + 2, turns[2]);
        b = step([b, c, d, a], i + 3, turns[3]);
    }
    *state = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::md5;

    #[test]
    fn of_the_rfc() {
        let hex = |sum: [u8; 16]| sum.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let messages: [&[u8]; 7] = [
            b"",
            b"a",
            b"abc",
            b"message digest",
            b"abcdefghijklmnopqrstuvwxyz",
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            b"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
        ];
        let sums: Vec<String> = sums(&messages).into_iter().map(hex).collect();
        assert_eq!(
            sums,
            [
                "d41d8cd98f00b204e9800998ecf8427e",
                "0cc175b9c0f1b6a831c399e269772661",
                "900150983cd24fb0d6963f7d28e17f72",
                "f96b697d7cb7938d525a2f31aaf161d0",
                "c3fcd3d76192e4007dfb496cca67e13b",
                "d174ab98d277d9f5a5611c2c9f419d9f",
                "57edf4a22be3c955ac49da2e2107b67a",
            ]
        );
    }

    #[test]
    fn of_messages_in_pieces() {
        let data: Vec<u8> = (0..5000u32).map(|i| ((i * i) >> 3) as u8).collect();
        for lengths in [[0, 1, 64, 128], [5000, 63, 640, 127], [1279, 1280, 1281, 0]] {
            let messages = lengths.map(|len| &data[..len]);
            let mut sums = Sums::new(lengths.map(|len| len as u64).to_vec());
            for at in (0..5000).step_by(10 * Sums::STEP) {
                sums.update(&messages.map(|message| {
                    let rest = message.get(at..).unwrap_or_default();
                    &rest[..rest.len().min(10 * Sums::STEP)]
                }));
            }
            assert_eq!(sums.finish(), messages.map(md5), "{lengths:?}");
        }
    }

    #[test]
    fn of_any_lengths() {
        let data: Vec<u8> = (0..700u32).map(|i| ((i * i) >> 3) as u8).collect();
        let messages: Vec<&[u8]> = (0..300).map(|i| &data[i..(i * 37) % 400 + i]).collect();
        let expected: Vec<[u8; 16]> = messages.iter().map(|message| md5(message)).collect();
        assert_eq!(sums(&messages), expected);
        assert!(sums(&[]).is_empty());
    }
}
