//! Parts of arrays as the index of their first element and their lengths.

/// Returns the boxes that consist of the elements `from..to` of an array in row-major order.
pub(crate) fn boxes(shape: &[u64], from: u64, to: u64) -> Vec<(Vec<u64>, Vec<u64>)> {
    let mut found = Vec::new();
    cut(shape, from, to, &[], &mut found);
    found
}

fn cut(shape: &[u64], from: u64, to: u64, before: &[u64], found: &mut Vec<(Vec<u64>, Vec<u64>)>) {
    if from >= to {
        return;
    }
    let Some((_, inner)) = shape.split_first() else {
        found.push((before.to_vec(), vec![1; before.len()]));
        return;
    };
    let row: u64 = inner.iter().product::<u64>().max(1);
    let whole = |first: u64, last: u64, found: &mut Vec<_>| {
        if first < last {
            let start = [before, &[first], &vec![0; inner.len()]].concat();
            let count = [&vec![1; before.len()][..], &[last - first], inner].concat();
            found.push((start, count));
        }
    };
    let (first, last) = (from / row, to / row);
    if first == last {
        cut(inner, from - first * row, to - first * row, &[before, &[first]].concat(), found);
        return;
    }
    let mut next = first;
    if !from.is_multiple_of(row) {
        cut(inner, from % row, row, &[before, &[first]].concat(), found);
        next += 1;
    }
    whole(next, last, found);
    cut(inner, 0, to % row, &[before, &[last]].concat(), found);
}

/// Returns the box of the chunk with the index `scaled`, as far as it lies in the array.
pub(crate) fn chunk(shape: &[u64], chunk: &[u64], scaled: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let starts: Vec<u64> = scaled.iter().zip(chunk).map(|(at, n)| at.saturating_mul(*n)).collect(); // a bound: clipped below
    let counts =
        starts.iter().zip(chunk).zip(shape).map(|((start, n), size)| (*n).min(size.saturating_sub(*start))); // a bound
    (starts.clone(), counts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_hold_each_element_once() {
        let shape = [3, 4, 5];
        for from in 0..60 {
            for to in from..=60 {
                let mut seen = vec![0; 60];
                for (start, count) in boxes(&shape, from, to) {
                    for i in start[0]..start[0] + count[0] {
                        for j in start[1]..start[1] + count[1] {
                            for k in start[2]..start[2] + count[2] {
                                seen[(i * 20 + j * 5 + k) as usize] += 1;
                            }
                        }
                    }
                }
                let expected: Vec<_> = (0..60).map(|i| i32::from(from <= i && i < to)).collect();
                assert_eq!(seen, expected, "{from}..{to}");
            }
        }
    }

    #[test]
    fn chunks_at_the_edge_are_clipped() {
        assert_eq!(chunk(&[5, 7], &[2, 4], &[2, 1]), (vec![4, 4], vec![1, 3]));
    }
}
