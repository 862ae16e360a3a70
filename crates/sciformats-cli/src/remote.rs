//! URLs in place of file names.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sciformats::sciformats_remote::{self, Existing, Remote, RemoteOptions, index::Index};
use sciformats::{Error, File, OpenOptions, Opened, Result};
use sciformats_core::storage::FileStorage;
use sciformats_core::{ReadAt, bound};

use crate::args::{Cli, Command};
use crate::failure::{Failure, Outcome, remark};
use crate::look;

/// The full URLs, by the part of them that may be shown.
pub(crate) type Urls = HashMap<PathBuf, String>;

/// Reduces each URL in the arguments to the part that may be shown, so that no message can contain a password
/// or a signature.
pub(crate) fn without_secrets(arguments: impl Iterator<Item = OsString>) -> (Vec<OsString>, Urls) {
    let mut urls = Urls::new();
    let shown = |argument: OsString| {
        let Some(url) = argument.to_str().filter(|text| sciformats_remote::is_url(text)) else {
            return argument;
        };
        let shown = sciformats_remote::shown(url);
        // Two URLs may differ only in the part that is not shown.
        let numbers = std::iter::once(String::new()).chain((2u32..).map(|number| format!("#{number}")));
        let mut names = numbers.map(|number| PathBuf::from(format!("{shown}{number}")));
        let free = |name: &PathBuf| urls.get(name).is_none_or(|known| known == url);
        let name = names.find(free).unwrap_or_else(|| PathBuf::from(&shown));
        urls.insert(name.clone(), url.to_owned());
        name.into_os_string()
    };
    (arguments.map(shown).collect(), urls)
}

/// Returns how many levels of groups a command visits.
fn levels(command: &Command) -> usize {
    match command {
        Command::Ls(args) if !args.recursive => 1,
        Command::Info(_) | Command::Ls(_) | Command::Manifest(_) | Command::Diff(_) => usize::MAX,
        Command::Verify(_) | Command::Convert(_) | Command::Repack(_) | Command::Index(_) => usize::MAX,
        Command::References(_) | Command::Combine(_) => usize::MAX,
        _ => 0,
    }
}

/// From this number of files on, the line is shared by so many that each fetches less in advance.
const MANY: usize = 16;

/// The bytes at the front of each of many files that are fetched first, and those around a single read. Most headers of files of a
/// few megabytes are shorter.
const WINDOW_OF_MANY: u64 = 256 << 10;

/// The remote files of this run.
#[derive(Debug, Default)]
pub(crate) struct Far {
    urls: Urls,
    levels: usize,
    /// Whether costs are told at the end, for which the remote files are kept.
    stats: bool,
    index: Option<Index>,
    opened: Mutex<Vec<Remote>>,
    /// Whether stdin has been read, which is possible once.
    drained: AtomicBool,
    /// The local files of this run, as they were when they were opened.
    near: Mutex<Vec<Opened>>,
}

impl Far {
    /// Reads the index of the remote file, if there is one.
    pub(crate) fn new(urls: Urls, cli: &Cli) -> Outcome<Self> {
        let index = cli.global.index.as_ref().map(|path| {
            Index::read(path).map_err(|error| match error {
                Error::Io { .. } => Failure::of(path, &error),
                error => Failure::Input(format!(
                    "{}: the file is no index, as the command `index` writes it: {error}",
                    path.display()
                )),
            })
        });
        Ok(Self {
            urls,
            levels: levels(&cli.command),
            stats: cli.global.stats,
            index: index.transpose()?,
            opened: Mutex::default(),
            drained: AtomicBool::new(false),
            near: Mutex::default(),
        })
    }

    /// How files at URLs are read. Many files share one line, so each begins with less of what may be needed.
    fn remote(&self) -> RemoteOptions {
        let mut options = RemoteOptions::from_environment();
        if self.urls.len() >= MANY {
            options.front = options.front.min(WINDOW_OF_MANY);
            options.plan.window = options.plan.window.min(WINDOW_OF_MANY);
        }
        options
    }

    /// Checks that no other program has overwritten a local file since this run opened it.
    pub(crate) fn unchanged(&self) -> Outcome<()> {
        let near = self.near.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = near.iter().find_map(|opened| opened.check_unchanged().err());
        changed.map_or(Ok(()), |error| Err(Failure::Input(error.to_string())))
    }

    /// Returns whether a path is a URL.
    pub(crate) fn is_far(&self, path: &Path) -> bool {
        self.urls.contains_key(path)
    }

    /// Fails if a file cannot be written at a URL, or if there is one already and it is not to be replaced.
    pub(crate) fn vacant(&self, path: &Path, replace: bool) -> Outcome<()> {
        let url = self.urls.get(path).map(String::as_str).unwrap_or_default();
        match sciformats_remote::exists(url, &self.remote()) {
            Ok(true) if !replace => {
                let text = format!("{}: the file exists already (--force overwrites it)", path.display());
                Err(Failure::Usage(text))
            }
            Ok(_) => Ok(()),
            Err(error @ (Error::Usage { .. } | Error::Unsupported { .. })) => {
                Err(Failure::Usage(format!("{}: {error}", path.display())))
            }
            Err(error) => Err(Failure::unwritten(path, &error)),
        }
    }

    /// Writes a local file to a URL.
    pub(crate) fn upload(&self, file: &Path, path: &Path, existing: Existing) -> Outcome<()> {
        let url = self.urls.get(path).map(String::as_str).unwrap_or_default();
        let write = || {
            let file = FileStorage::open(file)?;
            sciformats_remote::upload(&file, url, &self.remote(), existing)
        };
        write().map_err(|error| Failure::unwritten(path, &error))
    }

    /// Opens a file by its path or its URL.
    pub(crate) fn open(&self, path: &Path, options: &OpenOptions) -> Result<File> {
        if path == Path::new("-") {
            if self.drained.swap(true, Ordering::Relaxed) {
                return Err(Error::usage("stdin", "can be read once, and has been read already"));
            }
            return standard_input(options);
        }
        let Some(url) = self.urls.get(path) else {
            let file = sciformats::open_with(path, options)?;
            self.near.lock().unwrap_or_else(PoisonError::into_inner).extend(file.opened().cloned());
            return Ok(file);
        };
        let far = self.remote();
        let remote = match &self.index {
            Some(index) => Remote::with_index(url, index.clone(), &far)?,
            None => sciformats_remote::open(url, &far)?,
        };
        self.gathered(remote, options)
    }

    /// Opens a file that is named by other means than the command line: by its path, or by its URL.
    pub(crate) fn open_url(&self, path: &Path, options: &OpenOptions) -> Result<File> {
        match path.to_str().filter(|text| sciformats_remote::is_url(text)) {
            Some(url) => self.gathered(sciformats_remote::open(url, &self.remote())?, options),
            None => self.open(path, options),
        }
    }

    /// Returns the storage of a file, if its path is a URL, with nothing read of it.
    pub(crate) fn storage(&self, path: &Path) -> Result<Option<Arc<dyn ReadAt>>> {
        let Some(url) = self.urls.get(path) else { return Ok(None) };
        let remote = sciformats_remote::open(url, &self.remote())?;
        if self.stats {
            self.opened.lock().unwrap_or_else(PoisonError::into_inner).push(remote.clone());
        }
        Ok(Some(Arc::new(remote)))
    }

    /// Opens a file by its URL, if it is a URL, and records all structures from its first byte on.
    pub(crate) fn recorded(&self, path: &Path, options: &OpenOptions) -> Option<Result<(Remote, File)>> {
        let url = self.urls.get(path)?;
        let open = || {
            let remote = sciformats_remote::open(url, &self.remote())?;
            remote.record();
            Ok((remote.clone(), self.gathered(remote, options)?))
        };
        Some(open())
    }

    fn gathered(&self, remote: Remote, options: &OpenOptions) -> Result<File> {
        if self.stats {
            self.opened.lock().unwrap_or_else(PoisonError::into_inner).push(remote.clone());
        }
        let file = File::of_remote(remote, options)?;
        file.gather("/", self.levels)?;
        Ok(file)
    }

    /// Writes the cost of each remote file to stderr, if that was requested.
    pub(crate) fn tell_costs(&self) {
        if !self.stats {
            return;
        }
        for remote in self.opened.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let statistics = remote.statistics();
            remark(&format!(
                "{}: {} in {}, {} of them repeated; received {} of {}, of which {} were not used",
                remote.name(),
                look::count(statistics.requests, "request"),
                counted_batches(statistics.batches),
                remote.repeated(),
                look::size(statistics.bytes),
                look::size(remote.size()),
                look::size(statistics.unread),
            ));
        }
    }
}

fn counted_batches(count: u64) -> String {
    if count == 1 { "1 batch".into() } else { format!("{} batches", look::grouped(count)) }
}

/// Reads the file that is written to stdin, as far as the limit of memory permits.
fn standard_input(options: &OpenOptions) -> Result<File> {
    let mut bytes = Vec::new();
    // One byte more than the limit permits shows that there are more; a bound.
    let most = bound::sum(options.limits.memory, 1);
    let read = std::io::stdin().lock().take(most).read_to_end(&mut bytes);
    read.map_err(|error| Error::io("read stdin", error))?;
    options.limits.memory("bytes of stdin", bytes.len() as u64)?;
    File::from_storage(bytes, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_begin_with_less_of_each() {
        let of = |count: usize| {
            let url = |number| (PathBuf::from(format!("{number}")), format!("https://host/{number}"));
            let options = Far { urls: (0..count).map(url).collect(), ..Far::default() }.remote();
            (options.front, options.plan.window)
        };
        let usual = RemoteOptions::default();
        assert_eq!(of(MANY - 1), (usual.front, usual.plan.window));
        assert_eq!(of(MANY), (WINDOW_OF_MANY, WINDOW_OF_MANY));
    }

    #[test]
    fn secrets_are_taken_out_of_the_arguments() {
        let arguments = [
            "ls",
            "https://a.example/f?key=1",
            "https://a.example/f?key=2",
            "https://a.example/f?key=1",
            "f.h5",
        ];
        let (arguments, urls) = without_secrets(arguments.into_iter().map(OsString::from));
        let expected = ["ls", "https://a.example/f", "https://a.example/f#2", "https://a.example/f", "f.h5"];
        assert_eq!(arguments, expected.map(OsString::from));
        assert_eq!(urls[Path::new("https://a.example/f#2")], "https://a.example/f?key=2");
    }
}
