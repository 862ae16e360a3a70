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
use crate::look::{self, Cell, PLAIN};
use crate::session::Session;

pub(super) fn run(args: &Edit, session: &Session) -> Outcome {
    let mut document = open(&args.file, session)?;
    let before = document.tree_text().map_err(|error| Failure::of(&args.file, &error))?;
    let file = tempfile::Builder::new().prefix("sciformats-").suffix(".yaml").tempfile()?;
    std::fs::write(file.path(), &before)?;
    match save(args, (&mut document, &before), file.path()) {
        Ok(Some(done)) if args.dry_run => possible(&done.notes, file, session),
        Ok(Some(done)) => told(&done, session),
        Ok(None) => told(&Done { update: Update::Unchanged, notes: Vec::new() }, session),
        Err(failure) => Err(kept(file, &before, failure)),
    }
}

/// What became of the file, and what is otherwise than the user may expect.
struct Done {
    update: Update,
    notes: Vec<String>,
}

/// Lets the user edit the text until it is a tree, and saves it unless that is not wanted. Returns `None` if the text stays the same.
fn save(args: &Edit, (document, before): (&mut Document, &str), text: &Path) -> Outcome<Option<Done>> {
    let unused = document.unused_blocks();
    loop {
        edited(text)?;
        let after = std::fs::read(text);
        let after = after.map_err(|error| Failure::Input(format!("{}: {error}", text.display())))?;
        if after == before.as_bytes() {
            return Ok(None);
        }
        match checked(document, &after) {
            Ok(()) if args.drop_blocks => break,
            Ok(()) => match document.unused_blocks().difference(&unused).count() as u64 {
                0 => break,
                lost => again(&left(lost, document))?,
            },
            Err(error) => again(&placed(&after, &error))?,
        }
    }
    let failed = |error: Error| Failure::unwritten(&args.file, &error);
    let mut notes = Vec::new();
    if document.drops_comments().map_err(failed)? {
        notes.push("the comments are left out, because some are before `%YAML` or after `...`".into());
    }
    if args.dry_run {
        return Ok(Some(Done { update: Update::Unchanged, notes }));
    }
    let there = std::fs::metadata(&args.file).ok();
    let update = document.update().map_err(failed)?;
    if let (Update::Rewritten, Some(there)) = (update, there) {
        notes.extend(changed(&there, &args.file));
    }
    Ok(Some(Done { update, notes }))
}

/// Returns what is otherwise than before about a file that was replaced by a new one.
#[cfg(unix)]
fn changed(there: &std::fs::Metadata, file: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt;
    let mut notes = Vec::new();
    if there.nlink() > 1 {
        let others = look::count(there.nlink() - 1, "other hard link");
        let verb = if there.nlink() == 2 { "keeps" } else { "keep" };
        notes.push(format!("{others} of the file {verb} the old contents"));
    }
    let owner = |metadata: &std::fs::Metadata| (metadata.uid(), metadata.gid());
    if let Ok(now) = std::fs::metadata(file)
        && owner(&now) != owner(there)
    {
        let ((old_user, old_group), (user, group)) = (owner(there), owner(&now));
        notes.push(format!(
            "the file belongs to {user}:{group}; before, it belonged to {old_user}:{old_group}"
        ));
    }
    notes
}

#[cfg(not(unix))]
fn changed(_: &std::fs::Metadata, _: &Path) -> Vec<String> {
    Vec::new()
}

/// Reports that the edited text could be saved, and keeps it.
fn possible(notes: &[String], file: NamedTempFile, session: &Session) -> Outcome {
    let (_, text) = file.keep().map_err(|error| error.error)?;
    let text = text.display().to_string();
    let mut out = session.text();
    if session.json {
        let mut line = serde_json::json!({ "update": "possible", "written": false, "text": text });
        noted(&mut line, notes);
        writeln!(out, "{}", look::safe_json(&line.to_string()))?;
    } else if !session.quiet {
        let text = look::safe(&text);
        writeln!(out, "the edited tree can be saved; nothing was written (the edited text is in {text})")?;
        tell(&mut out, notes)?;
    }
    out.flush()?;
    Ok(Answer::Yes)
}

/// Adds notes to what programs read, if there are some.
fn noted(line: &mut serde_json::Value, notes: &[String]) {
    if let Some(object) = line.as_object_mut().filter(|_| !notes.is_empty()) {
        object.insert("notes".into(), notes.into());
    }
}

fn tell(out: &mut impl Write, notes: &[String]) -> std::io::Result<()> {
    notes.iter().try_for_each(|note| look::told(out, (PLAIN, "note"), Cell::new(PLAIN, note)))
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
fn checked(document: &mut Document, text: &[u8]) -> sciformats::Result<()> {
    match std::str::from_utf8(text) {
        Ok(text) => document.set_tree_text(text)?,
        // This says where the text is none.
        Err(_) => drop(Tree::parse_at(text, 0, document.tree().limits())?),
    }
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
fn placed(text: &[u8], error: &Error) -> String {
    let line = error.offset().filter(|_| error.blame() == Blame::File).and_then(|offset| {
        let before = text.get(..usize::try_from(offset).ok()?)?;
        Some(format!("line {}: ", 1 + before.iter().filter(|&&byte| byte == b'\n').count()))
    });
    format!("{}{error}", line.unwrap_or_default())
}

/// Reports what is wrong and asks whether to edit again. It fails if the answer is no, or if nobody can be asked.
fn again(problem: &str) -> Outcome<()> {
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
    Err(Failure::Input(format!("the tree was not changed: {problem}")))
}

/// Keeps the user's text in its temporary file, if it is another one than before, and reports where it is.
fn kept(file: NamedTempFile, before: &str, failure: Failure) -> Failure {
    // A text that cannot be read now may be readable later.
    if std::fs::read(file.path()).is_ok_and(|text| text == before.as_bytes()) {
        return failure;
    }
    let place = match file.keep() {
        Ok((_, kept)) => format!("(the edited text is in {})", kept.display()),
        Err(error) => format!("(the edited text cannot be kept: {})", error.error),
    };
    match failure {
        Failure::Unwritten(path, error) => Failure::Unwritten(path, format!("{error} {place}")),
        Failure::Usage(text) => Failure::Usage(format!("{text} {place}")),
        Failure::Refused(text) => Failure::Refused(format!("{text} {place}")),
        failure => Failure::Input(format!("{failure} {place}")),
    }
}

fn told(done: &Done, session: &Session) -> Outcome {
    let (word, bytes) = match done.update {
        Update::Unchanged => ("unchanged", None),
        Update::InPlace { bytes } => ("changed in place", Some(bytes)),
        Update::Rewritten => ("written anew", None),
    };
    let mut out = session.text();
    if session.json {
        let mut line = serde_json::json!({ "update": word, "bytes": bytes });
        noted(&mut line, &done.notes);
        writeln!(out, "{}", look::safe_json(&line.to_string()))?;
    } else if !session.quiet {
        let size = bytes.map(|bytes| format!(": {}", look::size(bytes))).unwrap_or_default();
        writeln!(out, "{word}{size}")?;
        tell(&mut out, &done.notes)?;
    }
    out.flush()?;
    Ok(Answer::Yes)
}
