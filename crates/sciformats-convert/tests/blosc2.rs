//! Reads Blosc2 frames and arrays through the common view.

#![cfg(feature = "blosc2")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use cframe::{ArrayParams, Params, Range, SChunk};
use sciformats::{Access, ElementType, File, OpenOptions, Selection, Slab, cframe};
use sciformats_convert::verify;

fn opened(schunk: &SChunk) -> File {
    File::from_bytes(schunk.to_bytes().unwrap()).unwrap()
}

fn frame() -> SChunk {
    let mut schunk = SChunk::new(Params::new(4));
    for i in 0..3u32 {
        let items: Vec<u8> = (1000 * i..1000 * (i + 1)).flat_map(u32::to_le_bytes).collect();
        schunk.append(&items).unwrap();
    }
    schunk.append_special(cframe::Special::Zeros, &[], 40).unwrap();
    schunk.set_metalayer("about", b"\x01").unwrap();
    schunk.set_vlmeta_value("b", &cframe::Value::from("text")).unwrap();
    schunk.set_vlmeta("a", b"\xc1").unwrap();
    schunk
}

#[test]
fn items_and_metalayers() {
    let file = opened(&frame());
    let array = file.array("/").unwrap();
    assert_eq!((array.element(), array.shape()), (&ElementType::Opaque(4), &[3010][..]));
    assert_eq!(array.info().chunks, Some(vec![1000]));
    assert_eq!(array.info().filters, ["shuffle", "lz4 5"]);
    for (range, step) in
        [(Range::new(998, 4), 1), (Range::new(1, 7).by(400), 400), (Range::new(0, 1505).by(2), 2)]
    {
        let mut out = Vec::new();
        file.source().read(array.id(), &Slab::new(&[3010], [range]).unwrap(), &mut out).unwrap();
        let expected: Vec<u8> = (0..range.count)
            .map(|k| range.start + k * step)
            .flat_map(|i| if i < 3000 { (i as u32).to_le_bytes() } else { [0; 4] })
            .collect();
        assert_eq!(out, expected, "{range:?}");
    }
    let shown: Vec<(String, Option<String>)> = file
        .source()
        .attributes(array.id())
        .unwrap()
        .map(|attribute| {
            let attribute = attribute.unwrap();
            let json = file.source().attribute_json(array.id(), &attribute);
            (attribute.name.to_string(), json)
        })
        .collect();
    let expected = [("meta:about", Some("1")), ("vlmeta:a", None), ("vlmeta:b", Some("\"text\""))];
    assert_eq!(shown, expected.map(|(name, json)| (name.to_owned(), json.map(str::to_owned))));
    assert_eq!(verify::verify(&file, &mut |finding| panic!("{}", finding.error)).attributes, 3);
    let measures = file.source().measures().unwrap();
    assert_eq!(measures.iter().find(|(key, _)| *key == "special chunks").unwrap().1.to_string(), "zeros");
}

#[test]
fn bytes_that_are_no_whole_items() {
    let mut schunk = SChunk::new(Params::new(4));
    schunk.append(&[7; 10]).unwrap();
    let file = opened(&schunk);
    let array = file.array("/").unwrap();
    assert_eq!((array.element(), array.shape()), (&ElementType::Opaque(1), &[10][..]));
}

#[test]
fn arrays() {
    for (dtype, expected) in [("<i2", "int16"), (">i2", "int16"), ("|V2", "opaque(2)"), ("|S2", "string")] {
        let spec = ArrayParams::new(&[5, 7], dtype).unwrap().with_chunks(&[3, 4]).with_blocks(&[2, 2]);
        let mut array = cframe::Array::new(&spec).unwrap();
        let all: Vec<u8> = (0..35u16).flat_map(u16::to_be_bytes).collect();
        array.write_slab_bytes(&Slab::all(&[5, 7]).unwrap(), &all).unwrap();
        let file = opened(array.schunk());
        let found = file.array("/").unwrap();
        assert_eq!((found.element().to_string().as_str(), found.shape()), (expected, &[5, 7][..]));
        assert_eq!(found.info().chunks, Some(vec![3, 4]));
        if dtype == ">i2" {
            let selection = Selection::parse("1:3,::-3", &[5, 7]).unwrap();
            let mut values = Vec::new();
            found
                .for_each(&selection, &mut |datum| {
                    values.extend(datum.to_i128());
                    Ok(ControlFlow::Continue(()))
                })
                .unwrap();
            assert_eq!(values, [13, 10, 7, 20, 17, 14]);
        }
        let attribute = file.source().attributes(found.id()).unwrap().next().unwrap().unwrap();
        let json = file.source().attribute_json(found.id(), &attribute).unwrap();
        assert_eq!(json, format!(r#"{{"shape":[5,7],"chunks":[3,4],"blocks":[2,2],"dtype":"{dtype}"}}"#));
        assert_eq!(verify::verify(&file, &mut |finding| panic!("{}", finding.error)).findings, 0);
    }
}

#[test]
fn a_block_of_padding_is_checked_too() {
    // The second block row of the second chunk is beyond the end of the array.
    let spec = ArrayParams::new(&[5], "<i8")
        .unwrap()
        .with_chunks(&[4])
        .with_blocks(&[2])
        .with_params(Params::new(8).with_level(1));
    let mut array = cframe::Array::new(&spec).unwrap();
    array.write_slab_bytes(&Slab::all(&[5]).unwrap(), &[9; 40]).unwrap();
    let mut bytes = array.schunk().to_bytes().unwrap();
    let at = match array.schunk().frame() {
        Some(frame) => frame.chunk_place(1).unwrap(),
        None => SChunk::from_bytes(bytes.clone()).unwrap().frame().unwrap().chunk_place(1).unwrap(),
    };
    let cframe::ChunkPlace::At(at) = at else { panic!("{at:?}") };
    let at = usize::try_from(at).unwrap();
    // The start of the chunk's last block is then outside the chunk.
    bytes[at + 36..at + 40].fill(0x7f);
    let file = File::from_bytes(bytes).unwrap();
    let mut errors = Vec::new();
    verify::verify(&file, &mut |finding| errors.push(finding.error.to_string()));
    assert!(!errors.is_empty());
}

#[test]
fn a_folder_is_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sparse.b2frame");
    let mut schunk = SChunk::create_sparse(&path, Params::new(2)).unwrap();
    schunk.append(&[1; 600]).unwrap();
    schunk.append(&[2; 500]).unwrap();
    schunk.commit().unwrap();
    for access in [Access::paged(), Access::direct()] {
        let file = File::open_with(&path, &OpenOptions::default().with_access(access)).unwrap();
        assert_eq!(file.array("/").unwrap().shape(), [550]);
        assert!(file.size() > 97 + 2 * 32);
        assert_eq!(file.source().headline(), "sparse, 2 chunks");
        assert_eq!(verify::verify(&file, &mut |finding| panic!("{}", finding.error)).bytes, 1100);
    }
}

#[test]
fn structures_fill_the_file() {
    let mut schunk = frame();
    schunk.remove(1).unwrap();
    let file = opened(&schunk);
    let (mut end, mut names) = (0, Vec::new());
    file.source()
        .structures(&mut |s| {
            if s.depth == 0 {
                assert_eq!(s.offset, end, "{}", s.name);
                end += s.size;
            }
            names.push(s.name.into_owned());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(end, file.size());
    assert_eq!(
        names,
        ["frame header", "chunks", "chunk 2", "chunk 0", "chunk 1", "offsets chunk", "trailer"]
    );
}
