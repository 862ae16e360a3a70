//! Everything that can be asked of a GSD file, of any bytes.
use gsd_rs::hoomd::Trajectory;
use gsd_rs::{Chunk, Element, Limits, OpenOptions, Reader, Writer};
use sciformats_fuzz_memory::bounded;

/// The longest input. Longer ones only have more of the same: a file with as many names as there can be takes a hundred times as
/// long as all others, and tests of the crate read it.
const MOST: usize = 32 << 10;

/// One run.
pub(crate) fn run(data: &[u8]) {
    if data.len() > MOST {
        return;
    }
    // As many frames, names and particles as matter: more of them take longer, and reach no other code.
    let limits = Limits::default().with_memory(256 << 10).with_items(1000);
    let options = OpenOptions::default().with_limits(limits);
    let file = data.to_vec();
    bounded(data.len(), || {
        if let Ok(reader) = Reader::from_storage(file, &options) {
            layer(&reader);
            schema(reader);
        }
    });
    let file = data.to_vec();
    bounded(data.len(), || append(file));
}

fn layer(reader: &Reader) {
    let whole = reader.verify().is_ok();
    assert!(!whole || reader.space().is_ok());
    for (id, name) in reader.names().enumerate() {
        assert_eq!(reader.name(id as u16), Some(name));
    }
    for chunk in reader.all_chunks().take(500).map_while(Result::ok) {
        let found = reader.find(chunk.frame, chunk.name);
        if whole {
            // Another chunk of the same name and frame may come first.
            let found = found.expect("it is in order").expect("it is there");
            assert_eq!((found.frame, found.name), (chunk.frame, chunk.name));
        }
        read(reader, &chunk);
    }
    for frame in [0, 1, reader.frames().saturating_sub(1), u64::MAX] {
        reader.chunks(frame).take(500).for_each(drop);
    }
    assert!(reader.history("log/energy").take(500).filter_map(Result::ok).all(|c| c.name == "log/energy"));
    assert!(reader.names_with_prefix("p").all(|name| name.starts_with(b"p")));
}

fn read(reader: &Reader, chunk: &Chunk<'_>) {
    let Ok(bytes) = reader.read_bytes(chunk, 0..chunk.n) else { return };
    assert_eq!(Some(bytes.len() as u64), chunk.size());
    if bytes.len() < 10_000 {
        typed::<u8>(reader, chunk, &bytes);
        typed::<i16>(reader, chunk, &bytes);
        typed::<f32>(reader, chunk, &bytes);
        typed::<u64>(reader, chunk, &bytes);
        let _ = reader.text(chunk);
    }
}

fn typed<T: Element>(reader: &Reader, chunk: &Chunk<'_>, bytes: &[u8]) {
    if let Ok(elements) = reader.read::<T>(chunk)
        && chunk.element == T::TYPE
    {
        assert_eq!(bytemuck::cast_slice::<T, u8>(&elements), bytes);
    }
}

fn schema(reader: Reader) {
    let Ok(trajectory) = Trajectory::new(reader) else { return };
    for frame in [0, 1, trajectory.len().saturating_sub(1)] {
        let _ = trajectory.frame(frame);
    }
    let _ = trajectory.read_log();
    let _ = trajectory.steps();
}

/// Whatever is in the file, appending gives a file that opens; and the frame is there, if the file was sound before.
fn append(file: Vec<u8>) {
    let sound = Reader::from_bytes(file.clone()).is_ok_and(|reader| reader.verify().is_ok());
    let Ok(mut writer) = Writer::append_in(file) else { return };
    let frame = writer.frames();
    if writer.write("appended", 1, &[7u8]).is_err() || writer.end_frame().is_err() {
        return;
    }
    let Ok(file) = writer.into_bytes() else { return };
    let reader = Reader::from_bytes(file).expect("what was written can be opened");
    assert_eq!(reader.frames(), frame + 1);
    if sound {
        let chunk = reader.find(frame, "appended").expect("it is in order").expect("it was written");
        assert_eq!(*reader.read::<u8>(&chunk).expect("its data is in the file"), [7]);
    }
}
