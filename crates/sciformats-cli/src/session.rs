//! What every command needs: the options, how to open a file, where to print.

use std::io::{self, BufWriter, Stdout, StdoutLock, Write};
use std::path::Path;

use anstream::adapter::StripBytes;
use sciformats::options::Missing;
use sciformats::{File, Limits, OpenOptions, Result};

use crate::args::{Color, Global};
use crate::failure::{Failure, Outcome, complain};
use crate::look::{self, Progress};
use crate::meaning::Thing;
use crate::remote::Far;

/// Bytes that are written at once.
const BUFFER: usize = 64 << 10;

/// The options of this run.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    options: OpenOptions,
    far: Far,
}

impl Session {
    pub(crate) fn new(global: &Global, far: Far) -> Outcome<Self> {
        match global.color {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
        let mut limits = Limits::default();
        if let Some(memory) = global.limit_memory {
            limits = limits.with_memory(memory);
        }
        // Other programs may cut a file short while it is read: of a map that would be the end of this one.
        let mut options = OpenOptions::default().with_limits(limits).with_threads(global.threads);
        options = options.with_external(global.external().map_err(Failure::Usage)?);
        if let Some(unfolded) = global.limit_unfolded {
            options = options.with_unfolded(unfolded);
        }
        Ok(Self { json: global.json, quiet: global.quiet, options, far })
    }

    /// Files that are opened by their URLs.
    pub(crate) fn far(&self) -> &Far {
        &self.far
    }

    /// How files are opened.
    pub(crate) fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// Opens a file to be looked at: elements that other files should have, and have not, are shown as the format's library
    /// shows them, and [`watched`](Self::watched) says so.
    pub(crate) fn try_open(&self, path: &Path) -> Result<File> {
        self.far.open(path, &self.options.clone().with_missing(Missing::Filled))
    }

    /// As [`try_open`](Self::try_open), also a file that was cut short, to tell what is wrong with it.
    pub(crate) fn try_open_cut(&self, path: &Path) -> Result<File> {
        let options = self.options.clone().with_missing(Missing::Filled).with_cut(true);
        self.far.open(path, &options)
    }

    /// Opens a file whose elements are to be written: what is missing is an error.
    pub(crate) fn open_whole(&self, path: &Path) -> Outcome<File> {
        self.far.open(path, &self.options).map_err(|error| Failure::of(path, &error))
    }

    /// As [`open_whole`](Self::open_whole), also a file that was cut short: what is lost of it is told.
    pub(crate) fn open_cut(&self, path: &Path) -> Outcome<File> {
        let options = self.options.clone().with_cut(true);
        self.far.open(path, &options).map_err(|error| Failure::of(path, &error))
    }

    /// Opens a file, or fails with what to tell the user.
    pub(crate) fn open(&self, path: &Path) -> Outcome<File> {
        self.try_open(path).map_err(|error| Failure::of(path, &error))
    }

    /// Tells if what an object means cannot be known, so that what is stored is shown.
    pub(crate) fn doubt(&self, path: &Path, thing: &Thing) {
        if let Some(doubt) = thing.doubt.as_ref().filter(|_| !self.quiet) {
            complain(&format!("{}: {doubt}; what is stored is shown, not what it means", path.display()));
        }
    }

    /// Where text goes: stdout, with colours if it is a terminal that wants them.
    pub(crate) fn text(&self) -> impl Write + use<> {
        if look::plain() {
            Text::Plain(BufWriter::with_capacity(BUFFER, io::stdout()), StripBytes::new())
        } else {
            let stream = anstream::AutoStream::auto(io::stdout());
            Text::Styled(BufWriter::with_capacity(BUFFER, stream))
        }
    }

    /// Where bytes go: stdout as it is.
    pub(crate) fn bytes(&self) -> BufWriter<StdoutLock<'static>> {
        BufWriter::with_capacity(BUFFER, io::stdout().lock())
    }

    /// Runs `work`, shows how far reading `files` has got, if it takes long and somebody watches, and tells what
    /// was missing of other files.
    pub(crate) fn watched<T>(&self, what: &str, files: &[&File], work: impl FnOnce() -> T) -> T {
        self.watched_over(what, files, None, work)
    }

    /// As [`watched`](Self::watched), with the number of bytes that will be read.
    pub(crate) fn watched_over<T>(
        &self,
        what: &str,
        files: &[&File],
        total: Option<u64>,
        work: impl FnOnce() -> T,
    ) -> T {
        let done = if self.quiet { work() } else { Progress::watch(what, files, total, work) };
        for file in files {
            for error in file.source().take_missing() {
                let path = file.path().map(|path| format!("{}: ", path.display())).unwrap_or_default();
                complain(&format!("{path}{error}; what it lacks is shown as fill values or zeros"));
            }
        }
        done
    }
}

/// Text on its way to stdout. What is without colours is written in large parts: stdout itself ends them at each line.
enum Text {
    Plain(BufWriter<Stdout>, StripBytes),
    Styled(BufWriter<anstream::AutoStream<Stdout>>),
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out, strip) => {
                strip.strip_next(bytes).try_for_each(|part| out.write_all(part))?;
                Ok(bytes.len())
            }
            Self::Styled(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out, _) => out.flush(),
            Self::Styled(out) => out.flush(),
        }
    }
}
