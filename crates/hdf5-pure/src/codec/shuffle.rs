//! Shuffle (filter 2): the first bytes of all elements, then their second ones, and so on.

/// Puts the bytes of elements of `size` bytes together again. Bytes after the last whole element stay.
pub(crate) fn decode(size: usize, input: &[u8]) -> Vec<u8> {
    let n = input.len().checked_div(size).unwrap_or(0);
    if size <= 1 || n <= 1 {
        return input.to_vec();
    }
    let (planes, tail) = input.split_at(n * size);
    let mut out = match size {
        2 => fixed::<2>(planes, n),
        4 => fixed::<4>(planes, n),
        8 => fixed::<8>(planes, n),
        _ => any(planes, n, size),
    };
    out.extend_from_slice(tail);
    out
}

/// The same with the width known to the compiler, which then uses vectors.
fn fixed<const SIZE: usize>(planes: &[u8], n: usize) -> Vec<u8> {
    let mut out = vec![0; planes.len()];
    // Blocks that fit the cache, so that an element is completed while it is there.
    const BLOCK: usize = 4096;
    let (elements, _) = out.as_chunks_mut::<SIZE>();
    for (block, part) in elements.chunks_mut(BLOCK).enumerate() {
        for (byte, plane) in planes.chunks_exact(n).enumerate() {
            let plane = plane.get(block * BLOCK..).unwrap_or_default();
            for (element, &value) in part.iter_mut().zip(plane) {
                if let Some(slot) = element.get_mut(byte) {
                    *slot = value;
                }
            }
        }
    }
    out
}

fn any(planes: &[u8], n: usize, size: usize) -> Vec<u8> {
    let mut out = vec![0; planes.len()];
    for (byte, plane) in planes.chunks_exact(n).enumerate() {
        for (element, &value) in out.chunks_exact_mut(size).zip(plane) {
            if let Some(slot) = element.get_mut(byte) {
                *slot = value;
            }
        }
    }
    out
}

/// Puts the first bytes of all elements first, then their second ones. Bytes after the last whole element stay.
pub(crate) fn encode(size: usize, input: &[u8]) -> Vec<u8> {
    let n = input.len().checked_div(size).unwrap_or(0);
    if size <= 1 || n <= 1 {
        return input.to_vec();
    }
    let (elements, tail) = input.split_at(n * size);
    let mut out = vec![0; elements.len()];
    match size {
        2 => spread::<2>(elements, n, &mut out),
        4 => spread::<4>(elements, n, &mut out),
        8 => spread::<8>(elements, n, &mut out),
        _ => {
            for (byte, plane) in out.chunks_exact_mut(n).enumerate() {
                let column = elements.iter().skip(byte).step_by(size);
                plane.iter_mut().zip(column).for_each(|(to, &from)| *to = from);
            }
        }
    }
    out.extend_from_slice(tail);
    out
}

/// The same with the width known to the compiler, and in blocks that fit the cache.
fn spread<const SIZE: usize>(elements: &[u8], n: usize, out: &mut [u8]) {
    const BLOCK: usize = 4096;
    let (elements, _) = elements.as_chunks::<SIZE>();
    for (block, part) in elements.chunks(BLOCK).enumerate() {
        for (byte, plane) in out.chunks_exact_mut(n).enumerate() {
            let plane = plane.get_mut(block * BLOCK..).unwrap_or_default();
            for (to, element) in plane.iter_mut().zip(part) {
                *to = element.get(byte).copied().unwrap_or(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn planes_of_any_width() {
        for size in [2usize, 3, 4, 8] {
            let n = 5000;
            let elements: Vec<u8> = (0..n * size).map(|i| (i * 7 + i / 256) as u8).collect();
            let mut shuffled: Vec<u8> =
                (0..size).flat_map(|b| (0..n).map(move |e| e * size + b)).map(|i| elements[i]).collect();
            shuffled.push(9);
            let decoded = super::decode(size, &shuffled);
            assert_eq!(decoded[..n * size], elements);
            assert_eq!(decoded[n * size], 9);
        }
    }
}
