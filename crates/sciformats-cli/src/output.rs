//! Files that are written to stdout.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use crate::failure::{Failure, Outcome};
use crate::interrupt::Passing;
use crate::session::Session;

/// Returns whether a name stands for stdout.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Fails if a file that a command opens by its name, more than once or together with others, is stdin.
pub(crate) fn named(path: &Path, command: &str) -> Outcome<()> {
    if path == Path::new("-") {
        let text = format!(
            "`{command}` needs a file with a name, not stdin; write what comes on stdin to a file first"
        );
        return Err(Failure::Usage(text));
    }
    Ok(())
}

/// Fails if what a command writes is not one file that can go to stdout.
pub(crate) fn not_stdout(path: &Path, what: &str) -> Outcome<()> {
    if is_stdout(path) {
        return Err(Failure::Usage(format!("{what} cannot be written to stdout; choose a name")));
    }
    Ok(())
}

/// Fails if stdout is a terminal, which is no place for the bytes of a file.
pub(crate) fn redirected() -> Outcome<()> {
    if io::stdout().is_terminal() {
        let text = "stdout is a terminal; redirect it into a file or a pipe, or name a file";
        return Err(Failure::Usage(text.into()));
    }
    Ok(())
}

/// Has a file with this ending written somewhere else, and copies it to stdout when it is complete. The formats need a
/// file in which they can go back. What `write` prints must go to the session that it is given.
pub(crate) fn through_file(
    ending: &str,
    session: &Session,
    write: impl FnOnce(&Path, &Session) -> Outcome,
) -> Outcome {
    redirected()?;
    let folder = Passing::new()?;
    let path = folder.path().join(format!("stdout{ending}"));
    let answer = write(&path, &session.aside())?;
    if path.exists() {
        let mut out = session.bytes();
        io::copy(&mut File::open(&path)?, &mut out)?;
        out.flush()?;
    }
    Ok(answer)
}
