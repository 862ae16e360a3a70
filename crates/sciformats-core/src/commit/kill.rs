//! Kill tests: a writing program is killed, and the remaining file is examined.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::error::{Error, Result};

/// How long a program has to report its first commit.
const PATIENCE: Duration = Duration::from_secs(120);

/// Returns the example `name` of the package under test. `cargo test` builds examples together with the
/// tests, unless a single test is selected.
///
/// # Errors
/// `NotFound`.
pub fn example(name: &str) -> Result<PathBuf> {
    let test = std::env::current_exe().map_err(|error| Error::io("find the test", error))?;
    let folder = test.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    let path = folder.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if path.is_file() { Ok(path) } else { Err(Error::not_found("example", path.display().to_string())) }
}

/// Starts `program FILE` and kills it this long after its start or, if `awaited` is true, after its first
/// report. The program reports lines `committed N`. Returns the largest `N`, or 0 if there was none.
///
/// # Errors
///
/// `Io` if it cannot be started; [`Error::Usage`] if a report is awaited but does not arrive within two
/// minutes.
pub fn killed(program: &Path, file: &Path, after: Duration, awaited: bool) -> Result<u64> {
    let mut command = Command::new(program);
    let mut child = command
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Error::io("start the program", error))?;
    let out = child.stdout.take();
    let (report, begun) = channel();
    let reader = std::thread::spawn(move || {
        // The last line may be incomplete; the one before it counts then.
        let lines =
            out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(std::result::Result::ok);
        let numbers = lines.filter_map(|line| line.strip_prefix("committed ")?.parse().ok());
        // If nobody waits for the report, the receiver is closed.
        numbers.inspect(|_| report.send(()).unwrap_or_default()).max()
    });
    let in_time = !awaited || begun.recv_timeout(PATIENCE).is_ok();
    if in_time {
        std::thread::sleep(after);
    }
    child.kill().and_then(|()| child.wait()).map_err(|error| Error::io("kill the program", error))?;
    let last = match reader.join() {
        Ok(last) => last.unwrap_or(0), // a bound: without a report, nothing need be in the file
        Err(panic) => std::panic::resume_unwind(panic),
    };
    if in_time { Ok(last) } else { Err(Error::usage("program", "did not report a commit in time")) }
}
