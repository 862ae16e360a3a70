//! What every command needs: the options, how to open a file, where to print.

use std::io::{self, BufWriter, Stdout, StdoutLock, Write};
use std::path::Path;

use anstream::adapter::StripBytes;
use sciformats::{File, Limits, OpenOptions, Result};

use crate::args::{Color, Global};
use crate::failure::{Failure, Outcome};
use crate::look::{self, Progress};

/// Bytes that are written at once.
const BUFFER: usize = 64 << 10;

/// The options of this run.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    options: OpenOptions,
}

impl Session {
    pub(crate) fn new(global: &Global) -> Outcome<Self> {
        match global.color {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
        let mut limits = Limits::default();
        if let Some(memory) = global.limit_memory {
            limits = limits.with_memory(memory);
        }
        let mut options = OpenOptions::default().with_limits(limits).with_threads(global.threads);
        if let Some(unfolded) = global.limit_unfolded {
            options = options.with_unfolded(unfolded);
        }
        Ok(Self { json: global.json, quiet: global.quiet, options })
    }

    /// How files are opened.
    pub(crate) fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// Opens a file.
    pub(crate) fn try_open(&self, path: &Path) -> Result<File> {
        sciformats::open_with(path, &self.options)
    }

    /// Opens a file, or fails with what to tell the user.
    pub(crate) fn open(&self, path: &Path) -> Outcome<File> {
        self.try_open(path).map_err(|error| Failure::of(path, &error))
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

    /// Runs `work` and shows how far reading `files` has got, if it takes long and somebody watches.
    pub(crate) fn watched<T>(&self, what: &str, files: &[&File], work: impl FnOnce() -> T) -> T {
        if self.quiet { work() } else { Progress::watch(what, files, work) }
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
