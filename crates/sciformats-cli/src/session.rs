//! What every command needs: the options, a way to open files, and the output.

use std::io::{self, BufWriter, IsTerminal, Stderr, Stdout, StdoutLock, Write};
use std::path::Path;
use std::sync::Arc;

use anstream::adapter::StripBytes;
use sciformats::options::Missing;
use sciformats::{Access, File, Limits, OpenOptions, Result};

use crate::args::{Color, Global};
use crate::failure::{Failure, Outcome, complain};
use crate::look::{self, Escaped, Progress};
use crate::meaning::Thing;
use crate::remote::Far;

/// The number of bytes that are written at once.
const BUFFER: usize = 64 << 10;

/// The options of this run.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    options: OpenOptions,
    far: Arc<Far>,
    /// Whether stdout is for the contents of a file, so that text is written to stderr.
    aside: bool,
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
        // Other programs may truncate a file while it is read. Through a memory map this would kill the
        // process, so files are not mapped.
        let mut options = OpenOptions::default().with_limits(limits).with_threads(global.threads);
        options = options.with_external(global.external().map_err(Failure::Usage)?);
        if let Some(unfolded) = global.limit_unfolded {
            options = options.with_unfolded(unfolded);
        }
        Ok(Self { json: global.json, quiet: global.quiet, options, far: Arc::new(far), aside: false })
    }

    /// Returns the remote files of this run.
    pub(crate) fn far(&self) -> &Far {
        &self.far
    }

    /// As [`far`](Self::far), for work that may outlive this borrow.
    #[cfg(feature = "tables")]
    pub(crate) fn shared_far(&self) -> Arc<Far> {
        Arc::clone(&self.far)
    }

    /// Returns how files are opened.
    pub(crate) fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// Opens a file to be looked at. Elements that are missing in other files are shown as the library of the
    /// format shows them, and [`watched`](Self::watched) reports it.
    pub(crate) fn try_open(&self, path: &Path) -> Result<File> {
        self.far.open(path, &self.options.clone().with_missing(Missing::Filled))
    }

    /// Opens a file to be looked at. Elements that are missing in other files are an error.
    pub(crate) fn try_open_whole(&self, path: &Path) -> Result<File> {
        self.far.open(path, &self.options)
    }

    /// As [`try_open`](Self::try_open), but also opens a file that was cut short, in order to report what is
    /// wrong with it.
    pub(crate) fn try_open_cut(&self, path: &Path) -> Result<File> {
        let options = self.options.clone().with_missing(Missing::Filled).with_cut(true);
        self.far.open(path, &options)
    }

    /// As [`try_open`](Self::try_open), but also opens a file that is being written row by row.
    pub(crate) fn open_growing(&self, path: &Path) -> Result<File> {
        let options = self.options.clone().with_missing(Missing::Filled).with_unfinished(true);
        self.far.open(path, &options)
    }

    /// Returns the same session with stdout left for the contents of a file: text is written to stderr, and only what
    /// matters.
    pub(crate) fn aside(&self) -> Self {
        let (options, far) = (self.options.clone(), Arc::clone(&self.far));
        Self { json: self.json, quiet: true, options, far, aside: true }
    }

    /// Returns whether text is written to stderr, because stdout is for the contents of a file.
    pub(crate) fn is_aside(&self) -> bool {
        self.aside
    }

    /// Returns the same session, which prints only what matters.
    pub(crate) fn quietly(&self) -> Self {
        let (options, far) = (self.options.clone(), Arc::clone(&self.far));
        Self { json: self.json, quiet: true, options, far, aside: self.aside }
    }

    /// Opens a file whose elements are to be written. Missing elements are an error.
    pub(crate) fn open_whole(&self, path: &Path) -> Outcome<File> {
        self.try_open_whole(path).map_err(|error| Failure::of(path, &error))
    }

    /// As [`open_whole`](Self::open_whole), for a file of which each structure is read once: no pages of it are kept in memory.
    pub(crate) fn open_passing(&self, path: &Path) -> Outcome<File> {
        let options = self.options.clone().with_access(Access::direct());
        self.far.open(path, &options).map_err(|error| Failure::of(path, &error))
    }

    /// As [`open_whole`](Self::open_whole), but also opens a file that was cut short, whose losses are
    /// reported.
    pub(crate) fn open_cut(&self, path: &Path) -> Outcome<File> {
        let options = self.options.clone().with_cut(true);
        self.far.open(path, &options).map_err(|error| Failure::of(path, &error))
    }

    /// Opens a file, or returns the failure to report.
    pub(crate) fn open(&self, path: &Path) -> Outcome<File> {
        self.try_open(path).map_err(|error| Failure::of(path, &error))
    }

    /// Reports if the meaning of an object cannot be determined, so that stored values are shown.
    pub(crate) fn doubt(&self, path: &Path, thing: &Thing) {
        if let Some(doubt) = thing.doubt.as_ref().filter(|_| !self.quiet) {
            complain(&format!(
                "{}: {doubt}; the stored values are shown, not what they mean",
                path.display()
            ));
        }
        // Only the meaning of a table leaves out what an array stores.
        if self.quiet || thing.variable().is_some() || !thing.is_meant() {
            return;
        }
        for (name, why) in thing.data().table(thing.path()).map(|table| table.omitted).unwrap_or_default() {
            complain(&format!("{}: {}: the column {name} is not shown: {why}", path.display(), thing.path()));
        }
    }

    /// Returns the failure to read a file that was cut short, with the next step, after what is left of it was shown.
    pub(crate) fn whole(path: &Path, file: &File) -> Outcome<()> {
        match file.cut_short() {
            Some(whole) => {
                let told = look::cut_short(path, (file.size(), whole));
                Err(Failure::Input(format!("{}: {told}", path.display())))
            }
            None => Ok(()),
        }
    }

    /// Returns the output for text: stdout, with colours if it is a terminal that shows them.
    pub(crate) fn text(&self) -> impl Write + use<> {
        if self.aside {
            Text::Aside(BufWriter::with_capacity(BUFFER, anstream::stderr()))
        } else if look::plain() {
            Text::Plain(BufWriter::with_capacity(BUFFER, io::stdout()), StripBytes::new())
        } else {
            let stream = anstream::AutoStream::auto(io::stdout());
            Text::Styled(BufWriter::with_capacity(BUFFER, stream))
        }
    }

    /// Returns the output for values that programs read, as JSON or comma-separated: stdout without changes, unless it is a
    /// terminal, where control characters are shown as escapes.
    pub(crate) fn data(&self) -> impl Write + use<> {
        let out = BufWriter::with_capacity(BUFFER, io::stdout());
        if io::stdout().is_terminal() { Data::Screen(Escaped::new(out)) } else { Data::Bytes(out) }
    }

    /// Returns the output for bytes: stdout without changes.
    pub(crate) fn bytes(&self) -> BufWriter<StdoutLock<'static>> {
        BufWriter::with_capacity(BUFFER, io::stdout().lock())
    }

    /// Runs `work`. If it takes long and stderr is a terminal, the progress of reading `files` is shown.
    /// Elements that were missing in other files are reported afterwards.
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
                complain(&format!("{path}{error}; the missing elements are shown as fill values or zeros"));
            }
        }
        done
    }
}

/// Values on their way to stdout, in large parts.
enum Data {
    Bytes(BufWriter<Stdout>),
    Screen(Escaped<BufWriter<Stdout>>),
}

impl Write for Data {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Bytes(out) => out.write(bytes),
            Self::Screen(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Bytes(out) => out.flush(),
            Self::Screen(out) => out.flush(),
        }
    }
}

/// Text on its way to stdout. Without colours it is written in large parts, because stdout itself is flushed
/// at each line.
enum Text {
    Plain(BufWriter<Stdout>, StripBytes),
    Styled(BufWriter<anstream::AutoStream<Stdout>>),
    /// On its way to stderr, because stdout is for something else.
    Aside(BufWriter<anstream::AutoStream<Stderr>>),
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out, strip) => {
                strip.strip_next(bytes).try_for_each(|part| out.write_all(part))?;
                Ok(bytes.len())
            }
            Self::Styled(out) => out.write(bytes),
            Self::Aside(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out, _) => out.flush(),
            Self::Styled(out) => out.flush(),
            Self::Aside(out) => out.flush(),
        }
    }
}
