//! The checksum of metadata and the hash of names: Jenkins' lookup3 (`hashlittle`).

/// Returns the hash of `bytes`. It starts from `initial`, which is 0 for checksums and names, and the message type for shared
/// messages.
pub(crate) fn hash(bytes: &[u8], initial: u32) -> u32 {
    let [a, b, c, d, ..] = (bytes.len() as u64).to_le_bytes();
    let len = u32::from_le_bytes([a, b, c, d]);
    let mut state = [0xdead_beef_u32.wrapping_add(len).wrapping_add(initial); 3];
    // The last block is mixed differently, whether it is complete or not. Only an empty input has no last block.
    let Some(last) = bytes.len().checked_sub(1).map(|n| n / 12) else { return state[2] };
    let (whole, rest) = bytes.as_chunks::<12>();
    let (mixed, finished) = whole.split_at(last.min(whole.len()));
    for block in mixed {
        add(&mut state, block);
        mix(&mut state);
    }
    match finished.first() {
        Some(block) => add(&mut state, block),
        None => {
            let mut padded = [0; 12];
            padded.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
            add(&mut state, &padded);
        }
    }
    finish(&mut state);
    state[2]
}

fn add([a, b, c]: &mut [u32; 3], block: &[u8; 12]) {
    let [a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3] = *block;
    *a = a.wrapping_add(u32::from_le_bytes([a0, a1, a2, a3]));
    *b = b.wrapping_add(u32::from_le_bytes([b0, b1, b2, b3]));
    *c = c.wrapping_add(u32::from_le_bytes([c0, c1, c2, c3]));
}

fn mix([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, z: &mut u32, y: u32, k| {
        *x = x.wrapping_sub(*z) ^ z.rotate_left(k);
        *z = z.wrapping_add(y);
    };
    step(a, c, *b, 4);
    step(b, a, *c, 6);
    step(c, b, *a, 8);
    step(a, c, *b, 16);
    step(b, a, *c, 19);
    step(c, b, *a, 4);
}

fn finish([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, y: u32, k| *x = (*x ^ y).wrapping_sub(y.rotate_left(k));
    step(c, *b, 14);
    step(a, *c, 11);
    step(b, *a, 25);
    step(c, *b, 16);
    step(a, *c, 4);
    step(b, *a, 14);
    step(c, *b, 24);
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn published_values() {
        assert_eq!(hash(b"", 0), 0xdead_beef);
        assert_eq!(hash(b"a", 0), 0x58d6_8708);
        assert_eq!(hash(b"data", 0), 0xeaa2_c748);
        assert_eq!(hash(b"0123456789ab", 0), 0x1065_e50a);
        assert_eq!(hash(&[b'x'; 13], 0), 0xd1a7_8aa6);
        assert_eq!(hash(b"Four score and seven years ago", 0), 0x1777_0551);
    }
}
