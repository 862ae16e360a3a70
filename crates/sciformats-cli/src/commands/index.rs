//! `index`: writes the structures of a remote file into a local file.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use sciformats::walk::{Entry, Found, breadth_first};
use sciformats::{File, Object};

use crate::args::Index;
use crate::failure::{Answer, Failure, Outcome, free};
use crate::look;
use crate::output::{is_stdout, through_file};
use crate::session::Session;

pub(super) fn run(args: &Index, session: &Session) -> Outcome {
    if args.output.as_deref().is_some_and(is_stdout) {
        return through_file(".sfi", session, |path, session| {
            run(&Index { output: Some(path.into()), ..args.clone() }, session)
        });
    }
    let last = || args.file.file_name().map(|name| PathBuf::from(format!("{}.sfi", name.to_string_lossy())));
    let output = args.output.clone().or_else(last);
    let nameless =
        || Failure::Usage("the URL has no last part to name the index after; choose a name with -o".into());
    let output = output.ok_or_else(nameless)?;
    free(&output, args.force)?;
    let opened = session.far().recorded(&args.file, session.options());
    let opened = opened.ok_or_else(|| Failure::Usage(format!("{} is no URL", args.file.display())))?;
    let (remote, file) = opened.map_err(|error| Failure::of(&args.file, &error))?;
    session.watched("indexing", &[&file], || touch(&file));
    let index = remote.index().map_err(|error| Failure::of(&args.file, &error))?;
    index.write(&output).map_err(|error| Failure::unwritten(&output, &error))?;
    if !session.quiet {
        let bytes: u64 = index.extents.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        let mut out = session.text();
        let name = output.display().to_string();
        let (structures, whole) = (look::size(bytes), look::size(index.size));
        writeln!(out, "{}: {structures} of structures of {whole}", look::safe(&name))?;
        out.flush()?;
    }
    Ok(Answer::Yes)
}

/// Reads all structures once. Damage is ignored here; it is reported when the structures are used.
fn touch(file: &File) {
    let source = file.source();
    let _ = breadth_first(source, ("/", source.root()), file.limits(), &mut |Entry { what, .. }| {
        if let Found::Object(id, object) = what {
            for attribute in source.attributes(id).into_iter().flatten().flatten() {
                let _ = attribute.value.map(|value| value.data);
            }
            let _ = source.storage(id);
            if matches!(object, Object::Array(_)) {
                // This reads the chunk index.
                let _ = source.stored(id);
            }
        }
        ControlFlow::Continue(())
    });
}
