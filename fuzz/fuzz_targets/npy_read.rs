//! Everything that can be asked of an npy file, of any bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use npy::{Conversion, DType, Limits, OpenOptions, Range, Reader, Slab};
use sciformats_fuzz::bounded;

fuzz_target!(|data: &[u8]| {
    let options = OpenOptions::default().with_limits(Limits::default().with_memory(3 << 20));
    let file = data.to_vec();
    bounded(data.len(), || {
        let whole = npy::whole_size(&file);
        let length = file.len() as u64;
        if let Ok(reader) = Reader::from_storage(file, &options) {
            assert!(whole.is_some_and(|whole| whole + reader.leftover() == length));
            walk(reader);
        }
    });
});

fn walk(reader: Reader) {
    let text = reader.dtype().to_string();
    assert_eq!(DType::parse(&text).ok().and_then(|again| again.size()), reader.dtype().size());
    let Ok(all) = Slab::all(reader.shape()) else { return };
    let Ok(bytes) = reader.read_slab_bytes(&all) else { return };
    assert_eq!(bytes.len() as u64, reader.stored_size());
    // Every other index of every dimension, from the second on.
    let ranges: Vec<_> =
        reader.shape().iter().map(|&length| Range::new(length.min(1), length / 2).by(2)).collect();
    if let Ok(slab) = Slab::new(reader.shape(), ranges) {
        let _ = reader.read_slab_bytes(&slab);
    }
    let reader = reader.with_conversion(Conversion::Lossy);
    let _ = (reader.read::<f64>(), reader.read::<i8>(), reader.read::<bool>());
}
