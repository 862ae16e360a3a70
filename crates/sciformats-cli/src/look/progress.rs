//! Progress on stderr, for work that takes longer than a second and only on a terminal.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sciformats::File;

/// Work that takes less is not shown.
const QUIET: Duration = Duration::from_secs(1);
/// How often what is shown changes.
const STEP: Duration = Duration::from_millis(100);

/// Shows how many bytes have been read.
pub(crate) struct Progress;

impl Progress {
    /// Runs `work`; a second thread looks at how much of `files` has been read and shows it.
    pub(crate) fn watch<T>(what: &str, files: &[&File], work: impl FnOnce() -> T) -> T {
        if !std::io::stderr().is_terminal() {
            return work();
        }
        std::thread::scope(|scope| {
            let (done, wait) = channel::<()>();
            scope.spawn(move || {
                if wait.recv_timeout(QUIET) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let started = Instant::now().checked_sub(QUIET).unwrap_or_else(Instant::now);
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                    bar.set_style(style);
                }
                while wait.recv_timeout(STEP) == Err(RecvTimeoutError::Timeout) {
                    let read: u64 = files.iter().map(|file| file.bytes_read()).sum();
                    let rate = (read as f64 / started.elapsed().as_secs_f64().max(1e-3)) as u64;
                    bar.set_message(format!("{what}: {}, {}/s", super::size(read), super::size(rate)));
                    bar.tick();
                }
                bar.finish_and_clear();
            });
            let result = work();
            drop(done);
            result
        })
    }
}
