//! Edits a file until it is killed: `edit_until_killed FILE`. It prints the number of each commit after the commit.
//!
//! Commit n sets the attribute `commit` of the root group to n. It adds a dataset `log/d<n>`, whose elements and whose
//! attribute are n, and removes the dataset of ten commits before.

use std::io::Write;

use hdf5_pure::options::Flush;
use hdf5_pure::{Editor, File, Result};

fn main() -> Result<()> {
    let Some(path) = std::env::args_os().nth(1) else { return Ok(()) };
    let mut out = std::io::stdout();
    loop {
        // The file is opened again from time to time, because opening may be interrupted too.
        let mut editor = Editor::open(&path)?;
        let mut n = committed(&editor.file()?)?;
        for _ in 0..25 {
            n += 1;
            let elements = vec![n; 1 + (n % 7) as usize * 100];
            editor.root().attribute("commit", n)?;
            editor.dataset(&format!("log/d{n}")).attribute("number", n).write(&elements)?;
            if n > 10 {
                editor.unlink(&format!("log/d{}", n - 10))?;
            }
            // Only some commits wait for the device, so that more of the time is spent within commits.
            editor.commit_with(if n % 3 == 0 { Flush::Ordered } else { Flush::None })?;
            if writeln!(out, "committed {n}").is_err() {
                return Ok(());
            }
        }
    }
}

fn committed(file: &File) -> Result<u64> {
    match file.root()?.attribute("commit") {
        Ok(attribute) => Ok(attribute.read::<u64>()?.first().copied().unwrap_or(0)),
        Err(_) => Ok(0),
    }
}
