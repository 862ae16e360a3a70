//! All filters as a registry of `hdf5-pure`.

use std::sync::Arc;

use hdf5_pure::filters::{Filter, Registry};
use hdf5_pure::structure::{Class, FloatOrder};
use hdf5_pure::{Datatype, ElementType};
use sciformats_core::endian::ByteOrder;
use sciformats_core::{Fault, bound};

use crate::{Chunk, Element, Kind};

/// Returns a registry of all filters of this build. Errors for filters that are [refused](crate::refused) say what can undo them.
///
/// ```
/// # #[cfg(feature = "zfp")] {
/// use hdf5_pure::filters::Filters;
/// use hdf5_pure::{CreateOptions, File, OpenOptions, Writer};
/// use sciformats_filters::hdf5::registry;
///
/// let waves: Vec<f64> = (0..4096).map(|i| f64::from(i % 64).sin() + f64::from(i / 64).cos()).collect();
/// let mut file = Writer::in_memory(&CreateOptions::default().with_registry(registry()))?;
/// // zfp with an accuracy of 0.001, as the values of the original plug-in.
/// let accuracy = 0.001f64.to_bits();
/// let filters = Filters::new().custom(32013, vec![3, 0, accuracy as u32, (accuracy >> 32) as u32]);
/// file.dataset("waves").shape([64, 64]).chunks([32, 64]).filters(filters).write(&waves)?;
/// let file = File::from_storage(file.into_bytes()?, &OpenOptions::default().with_registry(registry()))?;
/// let read = file.dataset("waves")?.read::<f64>()?;
/// assert!(read.iter().zip(&waves).all(|(a, b)| (a - b).abs() <= 0.001));
/// # }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub fn registry() -> Registry {
    let registry = Registry::default();
    #[cfg(feature = "blosc2")]
    let registry = registry.with_blosc(crate::blosc2::registry());
    let registry = crate::registry::all_refused()
        .iter()
        .fold(registry, |registry, refused| registry.with_elsewhere(refused.id, refused.elsewhere));
    crate::all()
        .iter()
        .fold(registry, |registry, filter| registry.with(filter.id(), Arc::new(Adapter(*filter))))
}

/// A filter of this crate as one of `hdf5-pure`.
struct Adapter(&'static dyn crate::Filter);

impl Filter for Adapter {
    fn decode(&self, values: &[u32], input: &[u8], expected: usize) -> Result<Vec<u8>, Fault> {
        // Filters before this one may have added something, such as a checksum.
        self.0.decode(values, input, bound::sum(bound::product(expected, 2), 4096))
    }

    fn encode(&self, values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        self.0.encode(values, input)
    }

    fn is_identity(&self) -> bool {
        self.0.is_identity()
    }

    fn configure(&self, values: &[u32], datatype: &Datatype, chunk: &[u64]) -> Result<Vec<u32>, Fault> {
        self.0.configure(values, &Chunk { element: element(datatype), shape: chunk })
    }
}

/// Returns what filters can know about a datatype.
fn element(datatype: &Datatype) -> Element {
    let kind = match datatype.element_type() {
        Ok(ElementType::Integer { signed: true, .. }) => Kind::Signed,
        Ok(ElementType::Integer { signed: false, .. }) => Kind::Unsigned,
        Ok(ElementType::Float(_)) => Kind::Float,
        _ => Kind::Other,
    };
    let big_endian = match &datatype.class {
        Class::FixedPoint(fixed) => fixed.order == ByteOrder::Big,
        Class::FloatingPoint(float) => float.order == FloatOrder::Big,
        _ => false,
    };
    Element { kind, size: datatype.size, big_endian }
}

#[cfg(test)]
mod tests {
    use hdf5_pure::filters::Filters;
    use hdf5_pure::{CreateOptions, File, OpenOptions, Writer};

    use super::*;

    #[test]
    fn errors_say_what_can_undo_a_refused_filter() {
        let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
        let filters = Filters::new().custom(32024, Vec::new());
        let mut dataset =
            file.dataset("flow").shape([2]).chunks([2]).filters(filters).create::<u8>().unwrap();
        dataset.write_chunk(&[0], 0, &[1, 2]).unwrap();
        let options = OpenOptions::default().with_registry(registry());
        let file = File::from_storage(file.into_bytes().unwrap(), &options).unwrap();
        let error = file.dataset("flow").unwrap().read::<u8>().unwrap_err().to_string();
        assert!(
            error.contains("filter 32024 (sz3), which Python's hdf5plugin can undo, is not supported"),
            "{error}"
        );
    }
}
