//! Which datasets are rounded, and their elements.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use hdf5_pure::structure::{Class, Fill, FloatOrder};
use hdf5_pure::{Address, Dataset};
use sciformats_core::number::Information;
use sciformats_core::{Range, Slab, bound};

use crate::sink::{Rounding, WriteOptions};
use sciformats::Result;

/// The fill values of the netCDF library, which are missing values even if nothing tells so.
const NETCDF_FILL: f64 = 9.969_209_968_386_869e36;
/// The largest number of elements of a box in which information is measured.
const BOX: u64 = 1 << 18;
/// The largest number of boxes. Larger datasets are measured in boxes that are spread over them.
const BOXES: u64 = 64;
/// With fewer pairs of neighbours, nothing is said about their information.
const LEAST_PAIRS: u64 = 1000;

/// Rounds the stored elements of a dataset.
pub(crate) struct Rounder {
    rounding: Rounding,
    wide: bool,
    big: bool,
    /// Values that mark what is missing; they stay as they are, and no other number becomes one of them.
    marks: Vec<f64>,
    /// What is outside of these is missing, too; no number passes a border.
    valid: (f64, f64),
}

/// The bits that the information in datasets needs; `None` for those that are not rounded.
#[derive(Debug, Default)]
pub(super) struct Measured(Mutex<HashMap<Address, Option<u8>>>);

impl Measured {
    /// Returns how a dataset is rounded, if it is: floating-point numbers of 4 or 8 bytes that are no dimension scale. If bits are to
    /// be found by information, the dataset is measured the first time.
    pub(super) fn rounder(&self, dataset: &Dataset, options: &WriteOptions) -> Result<Option<Rounder>> {
        let Some(mut rounder) = Rounder::of(dataset, options)? else { return Ok(None) };
        let Rounding::Information(share) = rounder.rounding else { return Ok(Some(rounder)) };
        let known = |map: &Mutex<HashMap<Address, Option<u8>>>| {
            map.lock().unwrap_or_else(PoisonError::into_inner).get(&dataset.address()).copied()
        };
        let bits = match known(&self.0) {
            Some(bits) => bits,
            None => {
                let bits = rounder.measured(dataset, f64::from(share) / 1e4)?;
                self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(dataset.address(), bits);
                bits
            }
        };
        Ok(bits.map(|bits| {
            rounder.rounding = Rounding::Bits(bits);
            rounder
        }))
    }
}

impl Rounder {
    fn of(dataset: &Dataset, options: &WriteOptions) -> Result<Option<Self>> {
        let Some(rounding) = options.rounding else { return Ok(None) };
        let Some(mut rounder) = Self::of_numbers(dataset)? else { return Ok(None) };
        rounder.rounding = rounding;
        Ok(Some(rounder))
    }

    /// Returns what rounds a dataset, without a rounding: floating-point numbers of 4 or 8 bytes that are no dimension scale.
    pub(crate) fn of_numbers(dataset: &Dataset) -> Result<Option<Self>> {
        let datatype = dataset.datatype();
        let Class::FloatingPoint(float) = &datatype.class else { return Ok(None) };
        let ieee = matches!(datatype.element_type(), Ok(hdf5_pure::ElementType::Float(_)));
        let big = match float.order {
            FloatOrder::Little => false,
            FloatOrder::Big => true,
            _ => return Ok(None),
        };
        if !ieee || !matches!(datatype.size, 4 | 8) || dataset.shape().is_empty() {
            return Ok(None);
        }
        let (mut marks, mut scale) = (vec![NETCDF_FILL], false);
        let mut valid = (f64::NEG_INFINITY, f64::INFINITY);
        for attribute in dataset.attributes()? {
            let numbers = || attribute.read::<f64>().unwrap_or_default();
            match attribute.name().map(hdf5_pure::Name::as_bytes).unwrap_or_default() {
                b"CLASS" => {
                    scale |= attribute
                        .read::<String>()
                        .is_ok_and(|class| class.iter().any(|class| class == "DIMENSION_SCALE"));
                }
                b"_FillValue" | b"missing_value" => marks.extend(numbers()),
                b"valid_min" => valid.0 = numbers().first().copied().unwrap_or(valid.0),
                b"valid_max" => valid.1 = numbers().first().copied().unwrap_or(valid.1),
                b"valid_range" => {
                    if let [least, most] = numbers()[..] {
                        valid = (least, most);
                    }
                }
                _ => {}
            }
        }
        let mut rounder = Self { rounding: Rounding::Bits(52), wide: datatype.size == 8, big, marks, valid };
        if let Fill::Value(element) = &dataset.fill_value()?.value {
            let mark = rounder.number(element);
            rounder.marks.push(mark);
        }
        if !rounder.wide {
            // A mark of 64 bits marks the number of 32 bits that is next to it.
            rounder.marks.iter_mut().for_each(|mark| *mark = f64::from(*mark as f32));
        }
        Ok((!scale).then_some(rounder))
    }

    /// The bytes of an element.
    fn size(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    /// The rounding of all elements.
    pub(super) fn rounding(&self) -> Rounding {
        self.rounding
    }

    fn number(&self, element: &[u8]) -> f64 {
        if self.wide {
            let bytes = element.first_chunk().copied().unwrap_or_default();
            if self.big { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) }
        } else {
            let bytes = element.first_chunk().copied().unwrap_or_default();
            (if self.big { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) }).into()
        }
    }

    /// Returns whether a number stands for something that is missing. NaN is missing, but every NaN stays as it is anyway.
    fn is_missing(&self, number: f64) -> bool {
        self.marks.contains(&number) || number < self.valid.0 || number > self.valid.1
    }

    /// Rounds elements as they are stored.
    pub(crate) fn round(&self, elements: &mut [u8]) {
        for element in elements.chunks_exact_mut(self.size()) {
            let number = self.number(element);
            if self.is_missing(number) {
                continue;
            }
            if self.wide {
                let rounded = self.rounding.round_f64(number);
                // A number must not become one that is missing.
                if !self.is_missing(rounded) {
                    element.copy_from_slice(&if self.big {
                        rounded.to_be_bytes()
                    } else {
                        rounded.to_le_bytes()
                    });
                }
            } else if let Some(bytes) = element.first_chunk().copied() {
                let narrow = if self.big { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) };
                let rounded = self.rounding.round_f32(narrow);
                if !self.is_missing(rounded.into()) {
                    element.copy_from_slice(&if self.big {
                        rounded.to_be_bytes()
                    } else {
                        rounded.to_le_bytes()
                    });
                }
            }
        }
    }

    /// Sets the bits that stay.
    pub(crate) fn with_bits(self, bits: u8) -> Self {
        Self { rounding: Rounding::Bits(bits), ..self }
    }

    /// Starts to measure the information of arrays with so many axes.
    pub(crate) fn information(&self, axes: usize) -> Option<Information> {
        Information::of_floats(self.size(), axes)
    }

    /// Adds a box of elements as they are stored.
    pub(crate) fn add(&self, elements: &mut [u8], shape: &[u64], information: &mut Information) {
        if self.big {
            elements.chunks_exact_mut(self.size()).for_each(<[u8]>::reverse);
        }
        let shape: Vec<usize> = shape.iter().map(|n| bound::addressable(*n)).collect();
        let missing = |bits: u64| {
            self.is_missing(match self.wide {
                true => f64::from_bits(bits),
                false => f32::from_bits(u32::try_from(bits).unwrap_or_default()).into(),
            })
        };
        information.add(elements, &shape, &missing);
    }

    /// Returns the bits that keep a share of the information, or `None` if there is too little to tell, or all bits are needed.
    pub(crate) fn bits(&self, information: &Information, share: f64) -> Option<u8> {
        let all = if self.wide { 52 } else { 23 };
        let bits = information.bits_to_keep(share).filter(|bits| *bits < all)?;
        u8::try_from(bits).ok().filter(|_| information.pairs() >= LEAST_PAIRS)
    }

    /// Measures a dataset in boxes: all of it, or if it is large 64 boxes that are spread over it.
    fn measured(&self, dataset: &Dataset, share: f64) -> Result<Option<u8>> {
        let shape = dataset.shape();
        let Some(mut information) = self.information(shape.len()) else { return Ok(None) };
        if shape.contains(&0) {
            return Ok(None);
        }
        let sides = sides(shape);
        let counts: Vec<u64> = shape.iter().zip(&sides).map(|(n, side)| n.div_ceil(*side)).collect();
        let all = counts.iter().fold(1, |all, n| bound::product(all, *n));
        let boxes = all.min(BOXES);
        for number in 0..boxes {
            // Of few boxes every one, of many those in the middle of equal parts.
            let mut place = if all == boxes { number } else { all / boxes * number + all / boxes / 2 };
            let mut ranges = Vec::new();
            for ((n, side), count) in shape.iter().zip(&sides).zip(&counts).rev() {
                let start = bound::product(place % count, *side);
                ranges.push(Range::new(start, (*side).min(bound::left(*n, start))));
                place /= count;
            }
            ranges.reverse();
            let slab = Slab::new(shape, ranges)?;
            self.add(&mut dataset.read_raw(&slab)?, &slab.shape(), &mut information);
        }
        Ok(self.bits(&information, share))
    }
}

/// The sides of a box with at most [`BOX`] elements: the longest ones are halved.
fn sides(shape: &[u64]) -> Vec<u64> {
    let mut sides: Vec<u64> = shape.iter().map(|n| (*n).max(1)).collect();
    while sides.iter().fold(1, |all, n| bound::product(all, *n)) > BOX {
        let Some(longest) = sides.iter_mut().max() else { break };
        *longest = longest.div_ceil(2);
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_small_and_no_longer_than_the_array() {
        assert_eq!(sides(&[10, 20]), [10, 20]);
        assert_eq!(sides(&[u64::MAX]), [BOX]);
        let sides = sides(&[1000, 3, 4000]);
        assert!(sides.iter().product::<u64>() <= BOX && sides[1] == 3);
    }

    #[test]
    fn nothing_becomes_missing_or_ceases_to_be() {
        let rounder = Rounder {
            rounding: Rounding::Bits(2),
            wide: false,
            big: true,
            marks: vec![-1024.0],
            valid: (-2000.0, 1.1),
        };
        let numbers = [-1024.0f32, -1020.0, 1.09, -1999.0, -2050.0, 1.3, -3.1];
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        rounder.round(&mut bytes);
        let found: Vec<f32> =
            bytes.chunks(4).map(|bytes| f32::from_be_bytes(bytes.try_into().unwrap())).collect();
        // Rounded, the second number would be the mark, and the fourth one would be outside of what is valid.
        assert_eq!(found, [-1024.0, -1020.0, 1.0, -1999.0, -2050.0, 1.3, -3.0]);
    }
}
