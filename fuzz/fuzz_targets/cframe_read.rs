//! Everything that can be asked of a frame, of any bytes.
#![no_main]

use cframe::{Array, Frame, Limits, OpenOptions, Range, SChunk, Slab};
use libfuzzer_sys::fuzz_target;
use sciformats_fuzz::bounded;

fuzz_target!(|data: &[u8]| {
    let limits = Limits::default().with_memory(2 << 20).with_items(1 << 12);
    let options = OpenOptions::default().with_limits(limits).with_threads(1);
    let file = data.to_vec();
    let again = data.to_vec();
    bounded(2 * data.len(), || {
        walk(file, &options);
        array(again, &options);
    });
});

fn walk(file: Vec<u8>, options: &OpenOptions) {
    let Ok(frame) = Frame::from_storage(file, 0, options) else { return };
    let names: Vec<String> = frame.vlmeta_names().map(str::to_owned).collect();
    names.iter().for_each(|name| drop(frame.vlmeta(name)));
    let mut end = 0;
    for index in 0..frame.chunks().min(50) {
        let Ok(chunk) = frame.chunk(index) else { continue };
        let Ok(bytes) = chunk.decode() else { continue };
        let (from, to) = (bytes.len() / 3, bytes.len() - bytes.len() / 4);
        let mut part = vec![0; to - from];
        chunk.read_into(from, &mut part).expect("as the whole");
        assert!(part == bytes[from..to]);
        if let Ok(range) = frame.chunk_range(index) {
            assert_eq!(range.end - range.start, bytes.len() as u64);
            end = range.end;
        }
    }
    let _ = frame.read_bytes(end / 2, &mut [0; 64]);
    let _ = frame.special(0);
    drop(frame);
}

/// The same bytes as an array.
fn array(file: Vec<u8>, options: &OpenOptions) {
    let Ok(array) = SChunk::from_bytes_with(file, options).and_then(Array::from_schunk) else { return };
    let _ = array.element();
    let ranges: Vec<Range> = array.shape().iter().map(|&n| Range::new(n / 2, n.min(1))).collect();
    if let Ok(slab) = Slab::new(array.shape(), ranges) {
        let _ = array.read_slab_bytes(&slab);
    }
}
