//! Any sequence of writes, frames, commits and sessions gives a file that has exactly the frames that were ended.
#![no_main]

use std::collections::BTreeMap;

use gsd_rs::{CreateOptions, ElementType, Reader, Version, Writer};
use libfuzzer_sys::fuzz_target;

type Chunk = (ElementType, u32, Vec<u8>);
type Frame = BTreeMap<String, Chunk>;

fuzz_target!(|data: &[u8]| {
    let Some((&first, operations)) = data.split_first() else { return };
    let layer = if first & 1 == 0 { Version::new(2, 1) } else { Version::new(1, 0) };
    let options = CreateOptions::new("fuzz", "none", Version::new(1, 0)).with_layer(layer);
    let mut writer = Writer::create_in(Vec::new(), &options).expect("memory does not fail");
    writer.set_buffer(usize::from(first >> 1));
    let mut frames: Vec<Frame> = Vec::new();
    let mut frame = Frame::new();
    for operation in operations.chunks(3) {
        let &[what, which, size] = operation else { break };
        match what % 8 {
            0 => {
                writer.end_frame().expect("memory does not fail");
                frames.push(std::mem::take(&mut frame));
            }
            1 => writer.flush().expect("memory does not fail"),
            2 if frame.is_empty() => writer = reopen(writer, &mut frames),
            3 => {
                writer.discard_frame();
                frame.clear();
            }
            4 if frame.is_empty() => writer.upgrade().expect("it is in order"),
            5 if frame.is_empty() && size == 9 => {
                writer.truncate().expect("memory does not fail");
                frames.clear();
            }
            _ => write(&mut writer, &mut frame, (which, size)),
        }
    }
    writer.discard_frame();
    check(
        Reader::from_bytes(writer.into_bytes().expect("nothing is open")).expect("it was written"),
        &frames,
    );
});

fn reopen(writer: Writer<Vec<u8>>, frames: &mut Vec<Frame>) -> Writer<Vec<u8>> {
    while frames.last().is_some_and(Frame::is_empty) {
        frames.pop(); // empty frames at the end leave no trace
    }
    let writer = Writer::append_in(writer.into_bytes().expect("no frame is open")).expect("it was written");
    assert_eq!(writer.frames(), frames.len() as u64);
    writer
}

fn write(writer: &mut Writer<Vec<u8>>, frame: &mut Frame, (which, size): (u8, u8)) {
    let name = match which % 16 {
        0 => String::new(),
        1 => "a\0b".into(),
        2 => "long".repeat(usize::from(size)),
        n => format!("chunk {n}"),
    };
    let element = ElementType::from_code(which / 16 % 13);
    let columns = u32::from(size % 5);
    let bytes = vec![which ^ size; usize::from(size / 5) * columns as usize * element.size().unwrap_or(1)];
    if writer.write_bytes(&name, element, columns, &bytes).is_ok() {
        assert!(columns > 0 && !name.is_empty() && !name.contains('\0'));
        assert!(frame.insert(name, (element, columns, bytes)).is_none(), "the same name twice");
    }
}

fn check(reader: Reader, frames: &[Frame]) {
    reader.verify().expect("it was written");
    let used = frames.iter().rposition(|frame| !frame.is_empty()).map_or(0, |last| last + 1);
    assert_eq!(reader.frames(), used as u64);
    for (i, frame) in frames.iter().enumerate() {
        assert_eq!(reader.chunks(i as u64).count(), frame.len());
        for (name, (element, columns, bytes)) in frame {
            let chunk = reader.find(i as u64, name).expect("it was written").expect("it was written");
            assert_eq!((chunk.element, chunk.m), (*element, *columns));
            assert_eq!(*reader.read_bytes(&chunk, 0..chunk.n).expect("it was written"), *bytes);
        }
    }
}
