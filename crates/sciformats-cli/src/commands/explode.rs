//! `explode` writes the tree and each block of an ASDF file as separate files; `implode` joins them again.

use std::io::Write;
use std::path::{Path, PathBuf};

use sciformats::asdf_core::{Document, OpenOptions};
use sciformats::{Error, Format};
use sciformats_core::bound;

use crate::args::InOut;
use crate::failure::{Answer, Failure, Outcome, free};
use crate::interrupt::NewFolder;
use crate::look;
use crate::output::{is_stdout, named, not_stdout, through_file};
use crate::session::Session;

pub(super) fn explode(args: &InOut, session: &Session) -> Outcome {
    named(&args.input, "explode")?;
    let target = args.output.clone().unwrap_or_else(|| beside(&args.input, "_exploded"));
    not_stdout(&target, "an exploded file, which consists of several,")?;
    free(&target, args.force)?;
    let document = open(&args.input, session)?;
    // Each block becomes a file beside the tree. Blocks that nothing refers to may be left out.
    let stem = target.file_stem().unwrap_or_default().to_string_lossy();
    let most = bound::sum(document.block_count(), document.other_files().len());
    for number in 0..most {
        free(&target.with_file_name(format!("{stem}{number:04}.asdf")), args.force)?;
    }
    let unwritten = |error: &Error| Failure::unwritten(&target, error);
    let name =
        PathBuf::from(target.file_name().ok_or_else(|| Failure::Usage("OUT has no file name".into()))?);
    // All files take their places when the last one is complete, the tree after the blocks that it names.
    let new = NewFolder::beside(&target).map_err(|error| unwritten(&error))?;
    let parts = document.explode(new.path().join(&name));
    let parts = parts.map_err(|error| match error {
        // A file beside the input that cannot be read.
        Error::NotFound { .. } | Error::Forbidden { .. } => Failure::of(&args.input, &error),
        Error::Io { path: Some(ref path), .. } if !path.starts_with(new.path()) => {
            Failure::of(&args.input, &error)
        }
        error => unwritten(&error),
    })?;
    let names = parts.iter().filter_map(|part| part.file_name()).map(PathBuf::from);
    let names: Vec<PathBuf> = names.chain([name]).collect();
    let folder = target.parent().unwrap_or(Path::new("")).to_path_buf();
    let placed = new.finish_files(&names, &folder);
    placed.map_err(|error| Failure::Unwritten(target.clone(), error.to_string()))?;
    let parts: Vec<PathBuf> =
        parts.iter().filter_map(|part| part.file_name()).map(|name| target.with_file_name(name)).collect();
    let mut out = session.text();
    if session.json {
        let paths = std::iter::once(&target).chain(&parts).map(|path| path.display().to_string());
        let paths: Vec<String> = paths.collect();
        let line = serde_json::json!({ "files": paths }).to_string();
        writeln!(out, "{}", look::safe_json(&line))?;
    } else if !session.quiet {
        let blocks = look::count(parts.len() as u64, "block");
        writeln!(
            out,
            "{}: contains the tree, with {blocks} beside it",
            look::safe(&target.display().to_string())
        )?;
    }
    out.flush()?;
    Ok(Answer::Yes)
}

pub(super) fn implode(args: &InOut, session: &Session) -> Outcome {
    named(&args.input, "implode")?;
    if args.output.as_deref().is_some_and(is_stdout) {
        return through_file(".asdf", session, |path, session| {
            implode(&InOut { output: Some(path.into()), ..args.clone() }, session)
        });
    }
    let target = args.output.clone().unwrap_or_else(|| beside(&args.input, "_all"));
    free(&target, args.force)?;
    let mut document = open(&args.input, session)?;
    let blocks = document.implode().map_err(|error| Failure::of(&args.input, &error))?;
    document.save(&target).map_err(|error| Failure::unwritten(&target, &error))?;
    let mut out = session.text();
    if session.json {
        let line = serde_json::json!({ "file": target.display().to_string(), "blocks": blocks }).to_string();
        writeln!(out, "{}", look::safe_json(&line))?;
    } else if !session.quiet {
        let blocks = look::count(blocks as u64, "block");
        writeln!(out, "{}: contains the tree and {blocks}", look::safe(&target.display().to_string()))?;
    }
    out.flush()?;
    Ok(Answer::Yes)
}

/// Opens an ASDF file for changes. Its blocks may be in files beside it.
pub(super) fn open(path: &Path, session: &Session) -> Outcome<Document> {
    if let Ok(Some(format)) = Format::of_path(path)
        && format != Format::Asdf
    {
        let path = path.display();
        return Err(Failure::Refused(format!(
            "{path}: this command needs an ASDF file, and the format of this file is {format}"
        )));
    }
    let options = OpenOptions::default()
        .with_limits(session.options().limits)
        .with_threads(session.options().threads)
        .with_external(session.options().external.clone());
    let mut document = Document::open_with(path, &options).map_err(|error| Failure::of(path, &error))?;
    document.options_mut().threads = session.options().threads;
    Ok(document)
}

/// Returns the name of a file beside another: `NAME_all.asdf`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}{suffix}.asdf"))
}
