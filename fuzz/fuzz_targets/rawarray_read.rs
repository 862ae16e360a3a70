//! Everything that can be asked of a RawArray file, of any bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rawarray::{Element, ElementType, Limits, OpenOptions, Range, Reader, Slab};
use sciformats_fuzz::bounded;

fuzz_target!(|data: &[u8]| {
    // The options are part of the input, so that files with undefined flags are looked into as well.
    let lenient = data.last().is_some_and(|byte| byte & 1 == 1);
    let limits = Limits::default().with_memory(3 << 20).with_depth(4);
    let options = OpenOptions::default().with_limits(limits).with_undefined_flags_ignored(lenient);
    let file = data.to_vec();
    bounded(data.len(), || {
        if let Ok(reader) = Reader::from_storage(file, &options) {
            walk(&reader);
        }
    });
});

fn walk(reader: &Reader) {
    assert_eq!(reader.metadata().map(|bytes| bytes.len() as u64).ok(), Some(reader.metadata_len()));
    whole(reader);
    if let Some(slab) = every_other(reader) {
        part(reader, &slab);
    }
    for index in 0..reader.len().min(3) {
        if let Ok(nested) = reader.nested(index) {
            walk(&nested);
        }
    }
}

/// The whole array, as bytes and as elements, which must agree.
fn whole(reader: &Reader) {
    match reader.element() {
        ElementType::Int(1) => typed::<i8>(reader),
        ElementType::Int(2) => typed::<i16>(reader),
        ElementType::Int(16) => typed::<i128>(reader),
        ElementType::UInt(4) => typed::<u32>(reader),
        ElementType::UInt(8) => typed::<u64>(reader),
        ElementType::Float(2) => typed::<half::f16>(reader),
        ElementType::Float(4) => typed::<f32>(reader),
        ElementType::Float(8) => typed::<f64>(reader),
        ElementType::BFloat16 => typed::<half::bf16>(reader),
        ElementType::Complex(8) => typed::<num_complex::Complex<f32>>(reader),
        ElementType::Bool => typed::<bool>(reader),
        ElementType::Opaque(3) => typed::<[u8; 3]>(reader),
        _ => {
            if let Ok(bytes) = reader.read_bytes() {
                assert_eq!(bytes.len() as u64, reader.len() * reader.element().size());
            }
        }
    }
}

fn typed<T: Element>(reader: &Reader) {
    let Ok(elements) = reader.read::<T>() else { return };
    assert_eq!(elements.len() as u64, reader.len());
    let all = Slab::all(reader.shape()).expect("its size was checked");
    let bytes = |elements: &[T]| bytemuck::cast_slice::<T, u8>(elements).to_vec();
    let expected = bytes(&elements);
    drop(elements);
    assert!(bytes(&reader.read_slab(&all).expect("as the whole")) == expected);
    assert!(bytes(&reader.view().expect("as the whole")) == expected);
}

/// Every other index of every dimension, from the second on.
fn every_other(reader: &Reader) -> Option<Slab> {
    let shape = reader.shape();
    let ranges: Vec<_> = shape.iter().map(|&length| Range::new(length.min(1), length / 2).by(2)).collect();
    Slab::new(shape, ranges).ok()
}

fn part(reader: &Reader, slab: &Slab) {
    let size = slab.len().checked_mul(reader.element().size()).filter(|&size| size <= 3 << 20);
    let Some(size) = size.and_then(|size| usize::try_from(size).ok()) else { return };
    let mut out = vec![0; size];
    if reader.read_slab_bytes_into(slab, &mut out).is_err() {
        return;
    }
    let Ok(all) = reader.read_bytes() else { return };
    let width = reader.element().size() as usize;
    let Some(run) = slab.runs().next().filter(|_| width > 0) else { return };
    let first = run.from as usize * width;
    assert_eq!(out.get(..width), all.get(first..first + width));
}
