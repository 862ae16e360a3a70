//! Lists everything that a file contains, whatever its format: `contents FILE`.
#![allow(clippy::print_stdout, reason = "printing is the purpose of the example")]

use sciformats::walk::Found;
use sciformats::{Error, File, Object, Result};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or_else(|| Error::usage("arguments", "name no file"))?;
    for line in lines(&sciformats::open(path)?) {
        println!("{line}");
    }
    Ok(())
}

/// Returns one line per object and link. Damaged objects are reported, and the others are listed as well.
pub(crate) fn lines(file: &File) -> Vec<String> {
    let line = |what: Found| match what {
        Found::Object(_, Object::Array(info)) => {
            format!("{} {:?}", info.element, info.shape.unwrap_or_default())
        }
        Found::Object(_, object) => object.kind().to_string(),
        Found::HardLink(first) => format!("the same as {first}"),
        Found::Soft(target) => format!("leads to {target}"),
        Found::External { file, target } => format!("leads to {target} in {file}"),
        Found::User(class) => format!("link of class {class}"),
        Found::Unreadable(error) | Found::Unlisted(error) => format!("cannot be read: {error}"),
    };
    file.walk().map(|entry| format!("{} {}", entry.path, line(entry.what))).collect()
}
