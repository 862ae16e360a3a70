//! `repack`: the same contents in the same format, stored anew and compared with what was there.

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sciformats::File;
use sciformats::compare::{self, compare};

use super::args::{Files, Repack};
use super::{broken, free, interruptible, size};
use crate::commands::json::JsonObject;
use crate::failure::{Answer, Outcome};
use crate::look::{self, FAINT, TITLE, WELL, WRONG};
use crate::session::Session;

pub(crate) fn run(args: &Repack, session: &Session) -> Outcome {
    let Files { input, output, .. } = &args.files;
    free(&args.files)?;
    let file = Arc::new(session.open(input)?);
    let before = size(input);
    // The new file is read back whole and compared with the old one, and takes its place after that.
    let Beside(new) = &Beside::of(output);
    session.watched("repacking", &[&file], || rewrite(args, (&file, new), session))?;
    let written = session.open(new)?;
    let mut first = None;
    let summary = session.watched("comparing", &[&file, &written], || {
        compare(&file, &written, &compare::Options::exact(), &mut |difference| {
            first = Some(difference);
            ControlFlow::Break(())
        })
    });
    drop(written);
    let after = size(new);
    if summary.is_same() {
        put(new, output)?;
    }
    let mut out = session.text();
    let path = output.display().to_string();
    if session.json {
        let mut line = JsonObject::new();
        line.value("file", path.as_str()).value("same", summary.is_same());
        line.value("before", before).value("after", after);
        writeln!(out, "{}", line.finish())?;
    } else if let Some(difference) = first {
        let (path, place) = (look::safe(&path), look::safe(&difference.path));
        writeln!(out, "{TITLE}{path}{TITLE:#}: {WRONG}not written{WRONG:#}: it would differ at {place}")?;
    } else if !session.quiet {
        let sizes = format!("{} → {}", look::size(before), look::size(after));
        writeln!(
            out,
            "{TITLE}{}{TITLE:#}: {WELL}written and checked{WELL:#}  {FAINT}{sizes}{FAINT:#}",
            look::safe(&path)
        )?;
    }
    out.flush()?;
    Ok(Answer::of(summary.is_same()))
}

/// A file beside the one that is wanted: what it names has to lie as it will in the end. What is left of it goes.
struct Beside(PathBuf);

impl Beside {
    fn of(output: &Path) -> Self {
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        Self(output.with_file_name(format!(".{}-{name}", std::process::id())))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It is not there if all went well.
        let _ = fs::remove_file(&self.0);
    }
}

/// Puts the new file in the place of one that may be there, which hands down who may read and write it and gives way only
/// after the new bytes are on the device: until then its own may be the only copy there is.
fn put(new: &Path, output: &Path) -> io::Result<()> {
    if let Ok(metadata) = fs::metadata(output) {
        fs::set_permissions(new, metadata.permissions())?;
        if fs::metadata(new)?.is_file() {
            fs::File::options().read(true).write(true).open(new)?.sync_all()?;
        }
    }
    fs::rename(new, output)
}

fn rewrite(args: &Repack, (file, new): (&Arc<File>, &Path), session: &Session) -> Outcome<()> {
    let mut write = args.storage.options();
    write.threads = session.options().threads;
    write.limits = session.options().limits;
    sciformats::repack::rewrite(file, new, &write, Some(interruptible()))
        .map_err(|error| broken(&args.files, error))
}
