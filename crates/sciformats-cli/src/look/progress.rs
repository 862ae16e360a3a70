//! Shows progress on stderr, if it is a terminal, for work that takes longer than a second.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sciformats::walk::{Found, breadth_first};
use sciformats::{File, Object};
use sciformats_core::bound;

/// Shorter work is not shown.
const QUIET: Duration = Duration::from_secs(1);
/// The interval between updates.
const STEP: Duration = Duration::from_millis(100);

/// Shows how many bytes have been read.
pub(crate) struct Progress;

impl Progress {
    /// Runs `work` while a second thread shows how much of `files` has been read. `total` is the number of
    /// bytes that will be read; if it is `None`, the sizes of all arrays are added up.
    pub(crate) fn watch<T>(what: &str, files: &[&File], total: Option<u64>, work: impl FnOnce() -> T) -> T {
        if !std::io::stderr().is_terminal() {
            return work();
        }
        let read = || -> u64 { files.iter().map(|file| file.bytes_read()).sum() };
        let before = read();
        std::thread::scope(|scope| {
            let (done, wait) = channel::<()>();
            scope.spawn(move || {
                let started = Instant::now();
                if wait.recv_timeout(QUIET) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                    bar.set_style(style);
                }
                let total = total.or_else(|| bytes(files, &wait));
                while wait.recv_timeout(STEP) == Err(RecvTimeoutError::Timeout) {
                    let read = bound::left(read(), before);
                    bar.set_message(format!("{what}: {}", told(read, total, started.elapsed())));
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

/// Returns the size of all arrays; `None` if the work ends before they are counted.
fn bytes(files: &[&File], wait: &Receiver<()>) -> Option<u64> {
    let mut sum = 0u64;
    for file in files {
        let source = file.source();
        breadth_first(source, ("/", source.root()), file.limits(), &mut |entry| {
            if let Found::Object(_, Object::Array(info)) = entry.what {
                sum = bound::sum(sum, info.logical().unwrap_or_default());
            }
            match wait.try_recv() {
                Err(TryRecvError::Empty) => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        })
        .is_continue()
        .then_some(())?;
    }
    Some(sum)
}

/// Formats how much is done, the speed, and the remaining time: `1.0 GiB of 4.0 GiB (25 %), 512 MiB/s, 6 s
/// left`.
fn told(read: u64, total: Option<u64>, elapsed: Duration) -> String {
    let rate = read as f64 / elapsed.as_secs_f64().max(1e-3);
    let speed = super::size(rate as u64);
    match total.filter(|&total| total > 0 && read <= total) {
        Some(total) => {
            let percent = (100.0 * read as f64 / total as f64) as u64;
            let left = (total - read) as f64 / rate.max(1.0);
            let (done, all, left) = (super::size(read), super::size(total), time(left));
            format!("{done} of {all} ({percent} %), {speed}/s, {left} left")
        }
        None => format!("{}, {speed}/s", super::size(read)),
    }
}

/// Formats a time for people: `6 s`, `2 min 30 s`, `3 h 5 min`.
fn time(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours @ 0..100, minutes, _) => format!("{hours} h {minutes} min"),
        _ => "days".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_how_fast_how_long() {
        let second = Duration::from_secs(2);
        assert_eq!(told(1 << 30, Some(4 << 30), second), "1.0 GiB of 4.0 GiB (25 %), 512 MiB/s, 6 s left");
        assert_eq!(told(1 << 30, None, second), "1.0 GiB, 512 MiB/s");
        // What was counted is not all that is read: nothing is promised.
        assert_eq!(told(5 << 30, Some(4 << 30), second), "5.0 GiB, 2.5 GiB/s");
        assert_eq!(told(0, Some(1000), second), "0 B of 1000 B (0 %), 0 B/s, 16 min 40 s left");
        assert_eq!(
            (time(61.0), time(11_100.0), time(1e9)),
            ("1 min 1 s".into(), "3 h 5 min".into(), "days".into())
        );
    }
}
