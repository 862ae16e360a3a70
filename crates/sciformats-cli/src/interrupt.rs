//! Ctrl-C: a command that writes is asked to stop, and is forced to if it does not stop soon. Other commands
//! end immediately.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use std::{fs, io};

use sciformats::storage::{Durability, Scratch, unfinished};

/// How long a command may take to stop by itself.
const GRACE: Duration = Duration::from_millis(100);

/// The exit status that shells report for a program that Ctrl-C ended.
pub(crate) const STATUS: u8 = 130;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// Whether a program that was started, such as an editor, handles Ctrl-C.
static ELSEWHERE: AtomicBool = AtomicBool::new(false);
/// Folders of files that are only passed on, which must be removed in any case.
static LEFT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn left() -> MutexGuard<'static, Vec<PathBuf>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a flag that becomes true on Ctrl-C. If the command does not end soon after that, the process is
/// ended. This is safe: nothing that existed before is changed until a new file is complete, and files that
/// are changed in place are whole at any time.
pub(crate) fn asked() -> Arc<AtomicBool> {
    let flag = ASKED.get_or_init(|| {
        // Without a handler, Ctrl-C ends the program as usual.
        let _ = ctrlc::set_handler(stop);
        Arc::default()
    });
    Arc::clone(flag)
}

fn stop() {
    if ELSEWHERE.load(Ordering::SeqCst) {
        return;
    }
    if let Some(flag) = ASKED.get()
        && !flag.swap(true, Ordering::SeqCst)
    {
        std::thread::sleep(GRACE);
    }
    for path in left().iter().chain(&unfinished()) {
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    crate::failure::complain(&crate::failure::Failure::Interrupted.to_string());
    std::process::exit(STATUS.into());
}

/// Makes a write that reaches the largest size of a file (`ulimit -f`) an error like that of a full disk, so that what was begun
/// is taken back. Otherwise the system would end the program with a signal.
#[cfg(unix)]
pub(crate) fn report_large_files() {
    // Without a handler, the program ends as usual.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

#[cfg(not(unix))]
pub(crate) fn report_large_files() {}

/// Runs `work`, in which another program has the terminal.
pub(crate) fn left_to_another<T>(work: impl FnOnce() -> T) -> T {
    let _ = asked();
    ELSEWHERE.store(true, Ordering::SeqCst);
    let done = work();
    ELSEWHERE.store(false, Ordering::SeqCst);
    done
}

/// A folder for a file that is only passed on. It is removed in any case.
#[derive(Debug)]
pub(crate) struct Passing(tempfile::TempDir);

impl Passing {
    pub(crate) fn new() -> io::Result<Self> {
        let _ = asked();
        let folder = tempfile::Builder::new().prefix("sciformats-").tempdir()?;
        left().push(folder.path().to_path_buf());
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        left().retain(|path| path != self.0.path());
    }
}

/// A new file that is not complete yet. It is removed when Ctrl-C ends the program.
#[derive(Debug)]
pub(crate) struct Unfinished(Scratch);

impl Unfinished {
    /// Reserves a place in the folder of `output`.
    pub(crate) fn beside(output: &Path) -> sciformats::Result<Self> {
        let _ = asked();
        Ok(Self(Scratch::sibling(output, sciformats::cframe::is_part_of_folder)?))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Starts to bring the file to the device while it is read back.
    pub(crate) fn settle(&mut self) {
        self.0.settle();
    }

    /// Moves the file to its place.
    pub(crate) fn finish(self) -> sciformats::Result<()> {
        self.0.finish(Durability::Process)
    }
}
