//! Which datasets are rounded, and their elements.

use hdf5_pure::Dataset;
use hdf5_pure::structure::{Class, Fill, FloatOrder};

use crate::sink::{Rounding, WriteOptions};
use sciformats::Result;

/// Rounds the stored elements of a dataset.
pub(super) struct Rounder {
    rounding: Rounding,
    wide: bool,
    big: bool,
    /// Values that mark what is missing; they stay as they are.
    marks: Vec<f64>,
}

impl Rounder {
    /// Returns how a dataset is rounded, if it is: floating-point numbers of 4 or 8 bytes that are no dimension scale.
    pub(super) fn of(dataset: &Dataset, options: &WriteOptions) -> Result<Option<Self>> {
        let Some(rounding) = options.rounding else { return Ok(None) };
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
        let (mut marks, mut scale) = (Vec::new(), false);
        for attribute in dataset.attributes()? {
            match attribute.name().map(hdf5_pure::Name::as_bytes).unwrap_or_default() {
                b"CLASS" => {
                    scale |= attribute
                        .read::<String>()
                        .is_ok_and(|class| class.iter().any(|class| class == "DIMENSION_SCALE"));
                }
                b"_FillValue" | b"missing_value" => {
                    marks.extend(attribute.read::<f64>().unwrap_or_default());
                }
                _ => {}
            }
        }
        let mut rounder = Self { rounding, wide: datatype.size == 8, big, marks };
        if let Fill::Value(element) = &dataset.fill_value()?.value {
            let mark = rounder.number(element);
            rounder.marks.push(mark);
        }
        Ok((!scale).then_some(rounder))
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

    /// Rounds elements as they are stored.
    pub(super) fn round(&self, elements: &mut [u8]) {
        for element in elements.chunks_exact_mut(if self.wide { 8 } else { 4 }) {
            let number = self.number(element);
            if self.marks.contains(&number) {
                continue;
            }
            if self.wide {
                let rounded = self.rounding.round_f64(number);
                element.copy_from_slice(&if self.big {
                    rounded.to_be_bytes()
                } else {
                    rounded.to_le_bytes()
                });
            } else if let Some(bytes) = element.first_chunk().copied() {
                let narrow = if self.big { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) };
                let rounded = self.rounding.round_f32(narrow);
                element.copy_from_slice(&if self.big {
                    rounded.to_be_bytes()
                } else {
                    rounded.to_le_bytes()
                });
            }
        }
    }
}
