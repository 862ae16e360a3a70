//! References to the chunks of Blosc2 frames.

use crate::support;
use sciformats::cframe::{Array, ArrayParams};
use sciformats::{File, Slab};
use sciformats_references::{Options, Place};

#[test]
fn every_chunk_of_a_frame_is_a_range() {
    let values: Vec<f32> = (0..13 * 17).map(|i| i as f32).collect();
    let params = ArrayParams::new(&[13, 17], "<f4").unwrap().with_chunks(&[5, 8]).with_blocks(&[3, 4]);
    let mut array = Array::new(&params).unwrap();
    array.write_slab(&Slab::all(&[13, 17]).unwrap(), &values).unwrap();
    let bytes = array.schunk().to_bytes().unwrap();
    let file = File::from_bytes(bytes.clone()).unwrap();
    let mut found = support::Collected::default();
    let mut options = Options::new("file:///a.b2nd").with_codecs(true);
    options.inline = 0;
    let report = sciformats_references::scan(&file, &options, &mut found).unwrap();
    assert!(report.is_complete(), "{report:?}");
    let array = &found.arrays[0];
    let config = &array.filters[0];
    assert_eq!((&config["id"], &config["itemsize"]), (&"sciformats.blosc2".into(), &4.into()));
    assert_eq!((&config["chunks"], &config["blocks"]), (&vec![5, 8].into(), &vec![3, 4].into()));
    assert_eq!(array.chunks.len(), 9);
    for (_, place) in array.chunks.iter() {
        let Place::Range { offset, length, .. } = place else { panic!("a chunk is inlined") };
        let chunk =
            sciformats::cframe::decompress(&bytes[offset as usize..(offset + length) as usize]).unwrap();
        // Four blocks of 3 by 4 elements.
        assert_eq!(chunk.len(), 4 * 12 * 4);
    }
    options.codecs = false;
    assert!(!sciformats_references::scan(&file, &options, &mut found).unwrap().is_complete());
}
