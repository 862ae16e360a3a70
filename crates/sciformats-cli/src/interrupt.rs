//! Ctrl-C: a command that writes is asked to stop, and is forced to if it does not stop soon. Other commands
//! end immediately.

use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use std::{fs, io};

use sciformats::storage::{Durability, Scratch, unfinished};

/// How long a command may take to stop by itself.
const GRACE: Duration = Duration::from_millis(100);

/// How often a folder is removed in which a thread may still put the file that it has begun, and how long is between two times.
const TIMES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// The exit status that shells report for a program that Ctrl-C ended.
pub(crate) const STATUS: u8 = 130;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// Whether a program that was started, such as an editor, handles Ctrl-C.
static ELSEWHERE: AtomicBool = AtomicBool::new(false);
/// Folders of files that are only passed on, which must be removed in any case.
static LEFT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Programs that this one has started, which end with it.
static HELPERS: Mutex<Vec<Helper>> = Mutex::new(Vec::new());
/// Whether the output has taken its place. The lock is held while it does, and from the moment on at which Ctrl-C ends the program.
static PLACED: Mutex<bool> = Mutex::new(false);

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Returns whether Ctrl-C has asked the command to stop.
pub(crate) fn is_asked() -> bool {
    ASKED.get().is_some_and(|flag| flag.load(Ordering::SeqCst))
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
    locked(&HELPERS).iter().for_each(Helper::kill);
    let placed = locked(&PLACED);
    if *placed {
        // The new output is complete, and the program is about to end by itself.
        return;
    }
    locked(&LEFT).iter().chain(&unfinished()).for_each(|path| remove(path));
    crate::failure::complain(&crate::failure::Failure::Interrupted.to_string());
    std::process::exit(STATUS.into());
}

/// Removes a file, or a folder with everything in it.
fn remove(path: &Path) {
    for _ in 0..TIMES {
        let Ok(there) = fs::symlink_metadata(path) else { return };
        let _ = if there.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        if fs::symlink_metadata(path).is_err() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
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
        locked(&LEFT).push(folder.path().to_path_buf());
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        locked(&LEFT).retain(|path| path != self.0.path());
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

/// A new folder that is not complete yet. If it is not finished, it is removed with everything in it, also when Ctrl-C ends the
/// program; what a killed process left is removed by the next one that writes the same output.
#[derive(Debug)]
pub(crate) struct NewFolder(Scratch);

impl NewFolder {
    /// Creates an empty folder beside `output`.
    pub(crate) fn beside(output: &Path) -> sciformats::Result<Self> {
        let _ = asked();
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        // It has a name of its own, because there may be a folder with other folders at `output`.
        let scratch = Scratch::sibling(output.with_file_name(format!(".{name}.new")), |_| false)?;
        let refused = |error| sciformats::Error::io("create", error).in_file(output, None);
        fs::create_dir(scratch.path()).map_err(refused)?;
        Ok(Self(scratch))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Moves the folder to `output`, where it replaces what is there.
    pub(crate) fn finish(self, output: &Path) -> io::Result<()> {
        let new = self.path();
        let mut placed = locked(&PLACED);
        if fs::symlink_metadata(output).is_err() {
            fs::rename(new, output)?;
            *placed = true;
            return Ok(());
        }
        let aside = new.with_extension("old");
        fs::rename(output, &aside)?;
        fs::rename(new, output).or_else(|error| fs::rename(&aside, output).and(Err(error)))?;
        *placed = true;
        drop(placed);
        remove(&aside);
        Ok(())
    }

    /// Moves the files in the folder beside it, in this order. Files that are there are replaced.
    pub(crate) fn finish_files(self, names: &[PathBuf], folder: &Path) -> io::Result<()> {
        let mut placed = locked(&PLACED);
        for name in names {
            let (new, target) = (self.path().join(name), folder.join(name));
            // As when a single file is replaced: a link stays, and so do permissions.
            let target = fs::canonicalize(&target).unwrap_or(target);
            if let Ok(there) = fs::metadata(&target) {
                let _ = fs::set_permissions(&new, there.permissions());
            }
            fs::rename(&new, &target)?;
        }
        *placed = true;
        Ok(())
    }
}

/// A program that this one has started. It is ended if it is dropped, and when Ctrl-C ends this program.
#[derive(Clone, Debug)]
pub(crate) struct Helper(Arc<Mutex<Child>>);

impl Helper {
    pub(crate) fn new(child: Child) -> Self {
        let _ = asked();
        let helper = Self(Arc::new(Mutex::new(child)));
        locked(&HELPERS).push(helper.clone());
        helper
    }

    /// Returns what the program reads, the first time.
    pub(crate) fn input(&self) -> Option<ChildStdin> {
        locked(&self.0).stdin.take()
    }

    /// Returns what the program tells, the first time.
    pub(crate) fn told(&self) -> Option<ChildStderr> {
        locked(&self.0).stderr.take()
    }

    /// Waits for the end of the program.
    pub(crate) fn end(&self) -> io::Result<ExitStatus> {
        locked(&self.0).wait()
    }

    /// Ends the program, if it has not ended.
    pub(crate) fn kill(&self) {
        let mut child = locked(&self.0);
        let _ = child.kill();
        let _ = child.wait();
    }
}
