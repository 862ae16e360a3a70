//! Everything that can be asked of an ASDF file, of any bytes.
#![no_main]

use asdf_core::{Array, Asdf, Limits, OpenOptions, Range, ScalarType, Slab};
use libfuzzer_sys::fuzz_target;
use sciformats_fuzz::bounded;

fuzz_target!(|data: &[u8]| {
    let limits = Limits::default().with_memory(1 << 20).with_items(5_000).with_depth(40);
    let options = OpenOptions::default().with_limits(limits).with_threads(1);
    let file = data.to_vec();
    bounded(data.len(), || {
        let Ok(file) = Asdf::from_storage(file, &options) else { return };
        let end = file.layout().len;
        let last = file.blocks().count().saturating_sub(1);
        for (number, block) in file.blocks().enumerate() {
            let entry = block.entry();
            assert!(entry.data_offset() + entry.stored <= end);
            // The room to grow of the last block need not be there.
            assert!(number == last || entry.end() <= end);
            if let Ok(data) = block.data() {
                assert_eq!(data.len() as u64, block.data_size());
            }
        }
        file.verify().expect("memory does not fail");
        for node in file.tree().reachable() {
            if let Ok(array) = file.array_at(node) {
                read(&array);
            }
            let _ = file.integer_at(node);
            let _ = file.complex_at(node);
            let _ = file.tree().pairs(node);
        }
    });
});

fn read(array: &Array<'_>) {
    let size = array.datatype().size().expect("the array was checked");
    let Ok(bytes) = array.read_bytes() else { return };
    assert_eq!(Some(bytes.len() as u64), array.len().checked_mul(size));
    let _ = array.read_mask();
    let _ = array.read_strings();
    // Elements of other types are converted if they fit.
    if let Ok(elements) = array.read::<u8>()
        && array.datatype().scalar() == Some(ScalarType::UInt8)
    {
        assert_eq!(elements, bytes);
        if let Some(slice) = array.as_slice::<u8>() {
            assert_eq!(slice, bytes);
        }
    }
    // The last index of every dimension is the last element.
    if !array.is_empty() {
        let last: Vec<Range> = array.shape().iter().map(|&dimension| Range::new(dimension - 1, 1)).collect();
        let slab = Slab::new(array.shape(), last).expect("it is inside");
        let element = array.read_slab_bytes(&slab).expect("the whole could be read");
        assert!(bytes.ends_with(&element));
    }
}
