//! An editor of any bytes changes what it can; what it committed opens, and holds the change.
#![no_main]

use hdf5_pure::{EditOptions, Editor, File, Result};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // What no reader takes for a group stays none.
    if File::from_bytes(data).and_then(|file| file.root()).is_err() {
        return;
    }
    let storage = Box::new(data.to_vec());
    let Ok(mut editor) = Editor::in_storage(storage, &EditOptions::default()) else { return };
    if change(&mut editor).is_ok() {
        let file = editor.file().expect("what was committed can be opened");
        let root = file.root().expect("it was changed");
        let value: Vec<u64> = root.attribute("fuzz").expect("it was set").read().expect("it is a number");
        assert_eq!(value, [7]);
    }
});

fn change(editor: &mut Editor) -> Result<()> {
    editor.object("/")?.attribute("fuzz", 7u64)?;
    editor.commit()
}
