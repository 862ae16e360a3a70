//! An editor and a stream over any bytes change what they can; what they leave opens, and holds the change.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rawarray::{Editor, Reader, StreamWriter};
use sciformats_fuzz::bounded;

/// Longer rows would only take time.
const LONGEST: u64 = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let (edited, resumed) = (data.to_vec(), data.to_vec());
    bounded(8 * data.len(), || {
        edit(edited);
        resume(resumed);
    });
});

fn edit(file: Vec<u8>) {
    let Ok(mut editor) = Editor::in_storage(file) else { return };
    let row =
        editor.dims().split_last().map_or(0, |(_, row)| row.iter().fold(1, |n, side| side.saturating_mul(n)));
    let size = editor.element().size().saturating_mul(row);
    let rows = editor.dims().last().copied().unwrap_or(0);
    let added = size > 0 && size < LONGEST && editor.append_bytes(&vec![7; size as usize]).is_ok();
    let changed = editor.set_metadata(b"fuzz").is_ok();
    let reader = Reader::from_bytes(editor.into_storage()).expect("what was changed can be opened");
    if added {
        assert_eq!(reader.dims().last(), Some(&(rows + 1)));
    }
    if changed {
        assert_eq!(reader.metadata().expect("it was set").as_ref(), b"fuzz");
    }
}

fn resume(file: Vec<u8>) {
    let Ok(stream) = StreamWriter::resume_in(file) else { return };
    let rows = stream.rows();
    let Ok(file) = stream.finish() else { return };
    let reader = Reader::from_bytes(file).expect("what was finished can be opened");
    assert_eq!(reader.dims().last(), Some(&rows));
}
