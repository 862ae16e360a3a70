//! Options that every command takes.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sciformats::External;

use super::parse::parse_size;

/// Options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// Print output for programs: one JSON value, or JSON Lines where a list may be long
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Use at most this many threads [default: as many as the machine has]
    #[arg(long, global = true, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// Limit the memory that decoding one object may take, such as 512M or 4GiB [default: 16GiB]
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) limit_memory: Option<u64>,
    /// Refuse to read or write more elements than this, because a few bytes can declare any number; up to 1032 times the
    /// size of the file is always allowed [default: 4GiB read, 256MiB written]
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) limit_unfolded: Option<u64>,
    /// Other files that may be opened when a file names them: `none`, those `beside` the file or in folders
    /// below its own, or also those in a folder PATH; may be repeated [default: beside]
    #[arg(long, global = true, value_name = "none|beside|PATH", value_parser = parse_external)]
    pub(crate) external: Vec<Place>,
    /// Report how many requests were made to read files by URL, and how many bytes were received
    #[arg(long, global = true)]
    pub(crate) stats: bool,
    /// The index of a file that is opened by its URL, as written by the command `index`
    #[arg(long, global = true, value_name = "INDEX")]
    pub(crate) index: Option<PathBuf>,
    /// Print neither progress nor notes
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

/// A place where other files may be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Nowhere,
    Beside,
    In(PathBuf),
}

impl Global {
    /// Returns which other files may be opened.
    ///
    /// # Errors
    ///
    /// A message if `none` is combined with another place.
    pub(crate) fn external(&self) -> Result<External, String> {
        if self.external.contains(&Place::Nowhere)
            && self.external.iter().any(|place| *place != Place::Nowhere)
        {
            return Err("--external none cannot be combined with another --external".into());
        }
        let folders = self.external.iter().filter_map(|place| match place {
            Place::In(folder) => Some(folder.clone()),
            _ => None,
        });
        let folders: Vec<PathBuf> = folders.collect();
        Ok(match self.external.first() {
            Some(Place::Nowhere) => External::None,
            _ if folders.is_empty() => External::SameFolder,
            _ => External::SameFolderAnd(folders),
        })
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

fn parse_external(text: &str) -> Result<Place, String> {
    match text {
        "none" => Ok(Place::Nowhere),
        "beside" => Ok(Place::Beside),
        folder if Path::new(folder).exists() => Ok(Place::In(folder.into())),
        _ => Err("expected none, beside, or an existing folder".into()),
    }
}
