//! The position of an element in the rows of its array: which brackets open before it and close after it.

use sciformats_core::bound;

/// The position of an element, counted in C order.
#[derive(Debug)]
pub(super) struct Place {
    shape: Vec<u64>,
    at: Vec<u64>,
    first: bool,
}

impl Place {
    /// Starts at the first element of an array that has elements.
    pub(super) fn new(shape: &[u64]) -> Self {
        Self { shape: shape.into(), at: vec![0; shape.len()], first: true }
    }

    pub(super) fn is_first(&self) -> bool {
        self.first
    }

    /// Returns how many dimensions begin with this element: the trailing zeros of its index.
    pub(super) fn opening(&self) -> usize {
        self.at.iter().rev().take_while(|&&index| index == 0).count()
    }

    /// Returns how many dimensions end with this element.
    pub(super) fn closing(&self) -> usize {
        let pairs = self.at.iter().zip(&self.shape).rev();
        pairs.take_while(|&(&index, &count)| bound::sum(index, 1) >= count).count()
    }

    /// Advances to the next element.
    pub(super) fn advance(&mut self) {
        self.first = false;
        for (index, &count) in self.at.iter_mut().zip(&self.shape).rev() {
            *index = bound::sum(*index, 1);
            if *index < count {
                return;
            }
            *index = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_of_a_cube() {
        let mut place = Place::new(&[2, 1, 2]);
        let mut text = String::new();
        for i in 0..4 {
            text += &"[".repeat(place.opening());
            text += &i.to_string();
            text += &"]".repeat(place.closing());
            place.advance();
        }
        assert_eq!(text, "[[[01]][[23]]]");
    }
}
