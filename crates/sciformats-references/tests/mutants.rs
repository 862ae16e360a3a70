//! Damaged files: every reference lies within the file, and what is referenced is what the file is read as.

use crate::support::{assemble, collect};
use sciformats::hdf5_pure::filters::Filters;
use sciformats::hdf5_pure::options::Bound;
use sciformats::hdf5_pure::{CreateOptions, Writer};
use sciformats::{File, Slab};
use sciformats_references::Place;

/// Mutants per bound.
const COUNT: u64 = 1500;

fn sample(bound: Bound) -> Vec<u8> {
    let mut writer = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
    let values: Vec<u16> = (0..60).map(|i| i * 977).collect();
    writer.dataset("plain").shape([6, 10]).write(&values).unwrap();
    writer.dataset("fixed").shape([6, 10]).chunks([4, 4]).write(&values).unwrap();
    let zipped = writer.dataset("zipped").shape([6, 10]).max_shape([None, Some(10)]).chunks([2, 10]);
    zipped.filters(Filters::new().shuffle().deflate(6)).write(&values).unwrap();
    let tree = writer.dataset("tree").shape([6, 10]).max_shape([None, None]).chunks([3, 5]);
    tree.filters(Filters::new().fletcher32()).write(&values).unwrap();
    writer.dataset("small").shape([4]).compact().write(&[1u16, 2, 3, 4]).unwrap();
    writer.into_bytes().unwrap()
}

/// A sequence of numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }
}

#[test]
fn references_to_damaged_files_are_within_the_file_and_right() {
    let (mut compared, mut opened) = (0, 0);
    for bound in [Bound::Earliest, Bound::V110, Bound::V200] {
        let original = sample(bound);
        for seed in 0..COUNT {
            let mut numbers = Numbers(seed);
            let mut bytes = original.clone();
            for _ in 0..1 + numbers.below(4) {
                let at = numbers.below(bytes.len());
                bytes[at] = match numbers.below(4) {
                    0 => 0,
                    1 => 0xff,
                    2 => bytes[at] ^ (1 << numbers.below(8)),
                    _ => numbers.below(256) as u8,
                };
            }
            if numbers.below(8) == 0 {
                bytes.truncate(numbers.below(bytes.len()));
            }
            let Ok(file) = File::from_bytes(bytes.clone()) else { continue };
            opened += 1;
            let (found, _) = collect(&file);
            for array in &found.arrays {
                for (number, place) in array.chunks.iter() {
                    let mut index = Vec::new();
                    array.chunks.index(number, &mut index);
                    if let Place::Range { offset, length, .. } = place {
                        let end = offset.checked_add(length).unwrap();
                        assert!(end <= bytes.len() as u64, "{bound:?} {seed}: {} at {offset}", array.path);
                    }
                    let within = index.iter().zip(&array.chunk_shape).zip(&array.shape);
                    assert!(within.clone().all(|((n, side), length)| n * side < *length));
                    assert_eq!(within.len(), array.shape.len());
                }
                if array.shape.iter().product::<u64>() > 1 << 16
                    || crate::support::width(&array.dtype).is_none()
                {
                    continue;
                }
                // A reader that decodes the chunks sees what the library reads; where it cannot, neither is wrong.
                let Ok(read) = assemble(array, &bytes) else { continue };
                let Ok(id) = file.resolve(&array.path) else { continue };
                let Ok(sciformats::Object::Array(info)) = file.source().object(id) else { continue };
                let mut wanted = Vec::new();
                let Ok(slab) = Slab::all(info.shape.as_deref().unwrap_or_default()) else { continue };
                if file.read(id, &slab, &mut wanted).is_err() {
                    continue;
                }
                if array.dtype.as_str().is_some_and(|dtype| dtype.starts_with('<'))
                    && read.iter().all(Option::is_some)
                {
                    let read: Vec<u8> = read.into_iter().flatten().collect();
                    assert!(read == wanted, "{bound:?} {seed}: {} differs: {array:?}", array.path);
                    compared += 1;
                }
            }
        }
    }
    assert!(opened > COUNT && compared > COUNT, "{opened} opened, {compared} compared");
}
