//! The order of dimensions: programs that store arrays column by column write their dimensions in reverse.

use sciformats::{ElementType, Error, Range, Result, Slab};
use sciformats_core::bound;

/// The order in which the dimensions of a variable are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The order of the variable.
    Same,
    /// The reverse order.
    Reversed,
}

impl Order {
    /// Returns a list of dimensions in the stored order.
    pub(crate) fn turned<T: Clone>(self, list: &[T]) -> Vec<T> {
        match self {
            Self::Same => list.to_vec(),
            Self::Reversed => list.iter().rev().cloned().collect(),
        }
    }

    /// Returns the stored elements of a selection.
    pub(crate) fn slab(self, shape: &[u64], ranges: &[Range]) -> Result<Slab> {
        Slab::new(&self.turned(shape), self.turned(ranges))
    }
}

/// Reverses the dimensions of elements in canonical bytes; `shape` is their shape before that.
pub(crate) fn transposed(element: &ElementType, bytes: Vec<u8>, shape: &[u64]) -> Result<Vec<u8>> {
    if shape.iter().filter(|&&count| count > 1).count() < 2 {
        return Ok(bytes);
    }
    let size = element.size().and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0);
    let Some(size) = size else {
        return Err(Error::unsupported(format!(
            "an array of type {element} that is stored column by column"
        )));
    };
    let shape: Vec<usize> = shape.iter().map(|&count| bound::addressable(count)).collect();
    let mut out = Vec::with_capacity(bytes.len());
    // The stored index of the next element, and the distance of one step along each dimension.
    let mut strides = vec![1usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = bound::product(strides[axis], shape[axis]);
    }
    let mut position = vec![0usize; shape.len()];
    let mut index = 0usize;
    for _ in 0..bytes.len() / size {
        let start = bound::product(index, size);
        let element = bytes.get(start..bound::sum(start, size));
        out.extend_from_slice(
            element.ok_or_else(|| Error::usage("elements", "are fewer than their shape says"))?,
        );
        // The dimension that now varies fastest is the first stored one.
        for axis in 0..shape.len() {
            position[axis] += 1;
            index += strides[axis];
            if position[axis] < shape[axis] {
                break;
            }
            index -= strides[axis] * shape[axis];
            position[axis] = 0;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_rows() {
        let bytes: Vec<u8> = (0..6).collect();
        assert_eq!(transposed(&ElementType::UInt(1), bytes.clone(), &[2, 3]).unwrap(), [0, 3, 1, 4, 2, 5]);
        assert_eq!(transposed(&ElementType::UInt(1), bytes.clone(), &[6, 1]).unwrap(), bytes);
        let cube: Vec<u8> = (0..24).collect();
        let turned = transposed(&ElementType::UInt(1), cube, &[2, 3, 4]).unwrap();
        // Element (k, j, i) is what (i, j, k) was.
        assert_eq!(turned[(3 * 3 + 2) * 2 + 1], 12 + 2 * 4 + 3);
        assert!(transposed(&ElementType::Text, Vec::new(), &[2, 2]).is_err());
    }
}
