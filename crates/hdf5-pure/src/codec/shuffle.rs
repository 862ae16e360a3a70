//! Shuffle (filter 2): the first bytes of all elements come first, then their second bytes, and so on.

/// Reassembles elements of `size` bytes in `out`. Bytes after the last whole element stay as they are.
pub(crate) fn decode(size: usize, input: &[u8], out: &mut Vec<u8>) {
    let n = input.len().checked_div(size).unwrap_or_default();
    if size <= 1 || n <= 1 {
        input.clone_into(out);
        return;
    }
    out.resize(input.len(), 0);
    let (planes, tail) = input.split_at(n * size);
    let (elements, rest) = out.split_at_mut(planes.len());
    match size {
        2 => fixed::<2>(planes, n, elements),
        4 => fixed::<4>(planes, n, elements),
        8 => fixed::<8>(planes, n, elements),
        _ => any(planes, n, size, elements),
    }
    rest.copy_from_slice(tail);
}

/// Does the same with a width that the compiler knows, and with slices that it sees to be equally long, so that it can
/// use vector instructions. `planes` has `n` bytes for each byte of an element, and `out` has as many bytes.
fn fixed<const SIZE: usize>(planes: &[u8], n: usize, out: &mut [u8]) {
    let (elements, _) = out.as_chunks_mut::<SIZE>();
    let elements = &mut elements[..n];
    let planes: [&[u8]; SIZE] = std::array::from_fn(|byte| &planes[byte * n..][..n]);
    for i in 0..n {
        let mut element = [0; SIZE];
        for (byte, plane) in element.iter_mut().zip(&planes) {
            *byte = plane[i];
        }
        elements[i] = element;
    }
}

fn any(planes: &[u8], n: usize, size: usize, out: &mut [u8]) {
    for (byte, plane) in planes.chunks_exact(n).enumerate() {
        for (element, &value) in out.chunks_exact_mut(size).zip(plane) {
            if let Some(slot) = element.get_mut(byte) {
                *slot = value;
            }
        }
    }
}

/// Rearranges bytes so that the first bytes of all elements come first, then their second bytes. Bytes after the last
/// whole element stay as they are.
pub(crate) fn encode(size: usize, input: &[u8]) -> Vec<u8> {
    let n = input.len().checked_div(size).unwrap_or_default();
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

/// Does the same with a width that the compiler knows, in blocks that fit into the cache.
fn spread<const SIZE: usize>(elements: &[u8], n: usize, out: &mut [u8]) {
    const BLOCK: usize = 4096;
    let (elements, _) = elements.as_chunks::<SIZE>();
    for (block, part) in elements.chunks(BLOCK).enumerate() {
        for (byte, plane) in out.chunks_exact_mut(n).enumerate() {
            let plane = plane.get_mut(block * BLOCK..).unwrap_or_default();
            for (to, element) in plane.iter_mut().zip(part) {
                *to = element.get(byte).copied().unwrap_or(0); // a bound: an element always has this byte
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
            let mut decoded = vec![7; size * 3];
            super::decode(size, &shuffled, &mut decoded);
            assert_eq!(decoded.len(), shuffled.len());
            assert_eq!(decoded[..n * size], elements);
            assert_eq!(decoded[n * size], 9);
        }
    }
}
