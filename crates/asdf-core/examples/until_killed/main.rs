//! Changes a file until the process is killed: `until_killed FILE`. A stream gets more rows. In any other file, a number, a text
//! that follows from it, and now and then another array are updated in place.
//!
//! `tests/kill.rs` starts and kills it.

mod text;

use std::path::Path;

use asdf_core::{Document, Error, NewArray, Result, StreamWriter};
use text::text;

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or_else(|| Error::usage("arguments", "must name a file"))?;
    let path = Path::new(&path);
    if path.ends_with("stream.asdf") { append(path) } else { update(path) }
}

fn update(path: &Path) -> Result<()> {
    let mut document = Document::open(path)?;
    for n in document.tree().get_as::<u64>("n")? + 1.. {
        document.set("n", &n)?;
        document.set("text", &text(n))?;
        if n.is_multiple_of(7) {
            document.set_array(&format!("arrays/a{n}"), NewArray::new(&[n; 300], &[300])?)?;
        }
        document.update()?;
    }
    Ok(())
}

fn append(path: &Path) -> Result<()> {
    let mut writer = StreamWriter::append_to(path)?;
    for row in writer.rows().. {
        writer.append(&[row; 300])?;
    }
    Ok(())
}
