//! `edit` of an ASDF file: opens its tree in an editor and writes the result back in place.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::Command;

use sciformats::asdf_core::{Document, Tree, Update};
use sciformats::{Blame, Error};
use tempfile::NamedTempFile;

use super::args::Edit;
use crate::commands::explode::open;
use crate::failure::{Answer, Failure, Outcome, complain};
use crate::look;
use crate::session::Session;

pub(super) fn run(args: &Edit, session: &Session) -> Outcome {
    let mut document = open(&args.file, session)?;
    let before = document.tree().to_text().map_err(|error| Failure::of(&args.file, &error))?;
    let file = tempfile::Builder::new().prefix("sciformats-").suffix(".yaml").tempfile()?;
    std::fs::write(file.path(), &before)?;
    let unused = document.unused_blocks();
    loop {
        edited(file.path())?;
        let after = std::fs::read_to_string(file.path())?;
        if after == before {
            return told(Update::Unchanged, session);
        }
        match checked(&mut document, &after) {
            Ok(()) if args.drop_blocks => break,
            Ok(()) => match document.unused_blocks().difference(&unused).count() as u64 {
                0 => break,
                lost => again(file.path(), &left(lost, &document))?,
            },
            Err(error) => again(file.path(), &placed(&after, &error))?,
        }
    }
    if args.dry_run {
        let mut out = session.text();
        if session.json {
            writeln!(out, "{}", serde_json::json!({ "update": "possible", "written": false }))?;
        } else if !session.quiet {
            writeln!(out, "the edited tree can be saved; nothing was written")?;
        }
        out.flush()?;
        return Ok(Answer::Yes);
    }
    match document.update() {
        Ok(update) => told(update, session),
        Err(error) => Err(kept(file, Failure::unwritten(&args.file, &error))),
    }
}

/// Opens the file in the user's editor and waits until the editor ends.
fn edited(path: &Path) -> Outcome<()> {
    let named = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|e| !e.trim().is_empty()));
    let editor = named.unwrap_or_else(|| if cfg!(windows) { "notepad" } else { "vi" }.into());
    // As in other programs, `code --wait` means a program and its argument.
    let mut words = editor.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    let failed =
        |why: String| Failure::Usage(format!("the editor `{editor}` {why}; set $EDITOR to choose another"));
    // While the editor runs, Ctrl-C belongs to the editor.
    match crate::interrupt::left_to_another(|| command.args(words).arg(path).status()) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("ended with {status}"))),
        Err(error) => Err(failed(format!("cannot be started: {error}"))),
    }
}

/// Replaces the tree of the document by the text, if the text is a valid tree whose arrays can be read.
fn checked(document: &mut Document, text: &str) -> sciformats::Result<()> {
    let limits = *document.tree().limits();
    *document.tree_mut() = Tree::parse_at(text.as_bytes(), 0, &limits)?;
    document.check_arrays()
}

/// Explains why a tree that leaves out arrays is not saved.
fn left(lost: u64, document: &Document) -> String {
    let (lost, all) = (look::grouped(lost), look::count(document.block_count() as u64, "block"));
    format!(
        "the edited tree no longer names {lost} of {all}, so their arrays would be lost (--drop-blocks saves it anyway)"
    )
}

/// Describes what is wrong with the text, and in which line.
fn placed(text: &str, error: &Error) -> String {
    let line = error.offset().filter(|_| error.blame() == Blame::File).and_then(|offset| {
        let before = text.get(..usize::try_from(offset).ok()?)?;
        Some(format!("line {}: ", 1 + before.matches('\n').count()))
    });
    format!("{}{error}", line.unwrap_or_default())
}

/// Reports what is wrong and asks whether to edit again. If nobody can be asked, the edited text is kept.
fn again(path: &Path, problem: &str) -> Outcome<()> {
    if std::io::stdin().is_terminal() {
        complain(problem);
        let mut err = anstream::stderr();
        write!(err, "Edit again? [Y/n] ")?;
        err.flush()?;
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        if !answer.trim().eq_ignore_ascii_case("n") {
            return Ok(());
        }
    }
    let copy = tempfile::Builder::new().prefix("sciformats-").suffix(".yaml").tempfile()?;
    std::fs::copy(path, copy.path())?;
    Err(kept(copy, Failure::Input(format!("the tree was not changed: {problem}"))))
}

/// Keeps the user's text in its temporary file and reports where it is.
fn kept(file: NamedTempFile, failure: Failure) -> Failure {
    let Ok((_, kept)) = file.keep() else { return failure };
    let place = format!("(the edited text is in {})", kept.display());
    match failure {
        Failure::Unwritten(path, error) => Failure::Unwritten(path, format!("{error} {place}")),
        failure => Failure::Input(format!("{failure} {place}")),
    }
}

fn told(update: Update, session: &Session) -> Outcome {
    let (word, bytes) = match update {
        Update::Unchanged => ("unchanged", None),
        Update::InPlace { bytes } => ("changed in place", Some(bytes)),
        Update::Rewritten => ("written anew", None),
    };
    let mut out = session.text();
    if session.json {
        writeln!(out, "{}", serde_json::json!({ "update": word, "bytes": bytes }))?;
    } else if !session.quiet {
        let size = bytes.map(|bytes| format!(": {}", look::size(bytes))).unwrap_or_default();
        writeln!(out, "{word}{size}")?;
    }
    out.flush()?;
    Ok(Answer::Yes)
}
