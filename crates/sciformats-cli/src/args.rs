//! The command line.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use sciformats::External;

/// Look into, check and compare scientific files: HDF5, ASDF, Blosc2, GSD and RawArray.
#[derive(Debug, Parser)]
#[command(
    name = "sciformats",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Exit status: 0 done, and the answer is yes; 1 done, and the answer is no (differences, damage); \
                  2 wrong usage; 3 the input cannot be read; 4 the output cannot be written.\n\n\
                  Examples:\n  sciformats climate.nc\n  sciformats ls -r data/\n  sciformats info run.gsd\n  \
                  sciformats cat run.gsd /frames/0/particles/position --slice ':10'\n  \
                  sciformats diff old.ra new.ra --rtol 1e-6"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options before a command that take a value of their own.
const WITH_VALUES: [&str; 6] =
    ["--threads", "--limit-memory", "--limit-unfolded", "--external", "--index", "--color"];

/// The arguments, with the command `ls` where there is only a file: a word that is no command, but is there as a file or is a URL.
pub(crate) fn with_command(mut arguments: Vec<OsString>, far: impl Fn(&OsStr) -> bool) -> Vec<OsString> {
    let mut at = 1;
    while let Some(word) = arguments.get(at) {
        let text = word.to_str().unwrap_or_default();
        if WITH_VALUES.contains(&text) {
            at += 2;
        } else if text.starts_with('-') {
            at += 1;
        } else {
            let known = |command: &clap::Command| command.get_name() == text || text == "help";
            let command = Cli::command().get_subcommands().any(known);
            if !command && (Path::new(word).exists() || far(word)) {
                arguments.insert(at, "ls".into());
            }
            break;
        }
    }
    arguments
}

/// Options that every command takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Print for programs: one JSON value, or JSON Lines where a list may be long
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Threads to use [default: as many as the machine has]
    #[arg(long, global = true, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// Memory that decoding one object may take, such as 512M or 4GiB [default: 16GiB]
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) limit_memory: Option<u64>,
    /// Bytes of elements that a command may go through, if they are more than 1032 for each byte of the file [default: 4GiB, and
    /// 256MiB of what is written]
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) limit_unfolded: Option<u64>,
    /// Other files that may be opened where a file names them: `none`, those `beside` it or in folders there, or also those in a
    /// folder PATH; may be repeated [default: beside]
    #[arg(long, global = true, value_name = "none|beside|PATH", value_parser = parse_external)]
    pub(crate) external: Vec<Place>,
    /// Tell how many requests reading files by URL took, and how many bytes came
    #[arg(long, global = true)]
    pub(crate) stats: bool,
    /// The index of a file that is opened by its URL, as the command `index` writes it
    #[arg(long, global = true, value_name = "INDEX")]
    pub(crate) index: Option<PathBuf>,
    /// Show no progress and no remarks
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

/// Where other files may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Nowhere,
    Beside,
    In(PathBuf),
}

impl Global {
    /// Which other files may be opened.
    pub(crate) fn external(&self) -> Result<External, String> {
        if self.external.contains(&Place::Nowhere)
            && self.external.iter().any(|place| *place != Place::Nowhere)
        {
            return Err("--external none goes with no other --external".into());
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

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Tell what a file is: format, version, writer, size, contents
    #[command(after_help = "Examples:\n  sciformats info run.gsd\n  sciformats info --json *.ra")]
    Info(Files),
    /// List what a file holds, or all scientific files in a folder
    #[command(after_help = "Examples:\n  sciformats ls run.gsd\n  sciformats ls -r run.gsd /frames/0\n  \
                            sciformats ls -rl data/\n\nNumbered members that are alike, such as frames with \
                            the same arrays of the same types and shapes, are one line: `1…4`.\nWith --json they \
                            are all listed.")]
    Ls(Ls),
    /// Print the values of an array
    #[command(
        after_help = "Examples:\n  sciformats cat a.ra\n  sciformats cat run.gsd /frames/0/particles/position --slice ':5, 0'\n  \
                            sciformats cat a.ra --format npy > a.npy\n  \
                            sciformats cat climate.nc /tas --slice time=0,lat=40:60\n  \
                            sciformats cat climate.nc /tas --at time=2001-07-01,lat=52.5\n  \
                            sciformats cat cells.h5ad /obs\n  \
                            sciformats cat run.gsd /log --csv\n\n\
                            Values are what the convention of the file means: unpacked, with what is missing as NaN or \
                            empty, dates in ISO 8601, categories by name. --raw prints what is stored.\n\nIn a trajectory of HOOMD, /log is a table of \
                            what was logged, a row a frame, and /log/NAME one quantity over all frames.\n\nSlices are NumPy's: `0:10`, `::2`, `-1`, `...`; \
                            indices drop their dimension."
    )]
    Cat(Cat),
    /// Draw an array: on the terminal, or into a PNG or SVG file
    #[command(after_help = "Examples:\n  sciformats plot run.h5 /fields/u\n  \
                            sciformats plot run.h5 /fields/u --slice '0, :, ::2' -o u.png\n  \
                            sciformats plot run.gsd /log/energy --kind histogram\n\nArrays may be of any size: of a \
                            line the lowest and highest value of each column are drawn, of an image the mean of each \
                            pixel.")]
    Plot(crate::commands::plot::args::Plot),
    /// Look through a file on the terminal: its tree, attributes, statistics, tables and pictures
    #[command(
        after_help = "Example:\n  sciformats view run.h5\n\nThe key `?` tells what the others do; `q` quits."
    )]
    View(View),
    /// Tell the least, the greatest, the mean, the deviation and quantiles of an array, or of all arrays
    #[command(
        after_help = "Examples:\n  sciformats stats climate.nc\n  sciformats stats climate.nc /tas --slice time=0\n  \
                            sciformats stats run.gsd /log --field log/energy\n\nArrays may be larger than memory. What is \
                            missing is counted and left out. Quantiles of more than two million numbers are told to a \
                            65,536th of their range."
    )]
    Stats(Stats),
    /// Find objects by their names, types, attributes and the values of these
    #[command(
        after_help = "Examples:\n  sciformats find climate.nc temperature\n  sciformats find data/ '*_bnds'\n  \
                            sciformats find run.h5 --type float32\n\nThe case of letters does not matter. With `*` for any \
                            characters and `?` for one, a pattern is one of a whole name or value.\n\
                            Exit status: 0 if something was found, 1 if nothing was."
    )]
    Find(Find),
    /// Print the attributes of an object, or a scalar of the tree
    #[command(after_help = "Examples:\n  sciformats attrs run.h5\n  sciformats attrs run.h5 /fields/u")]
    Attrs(Object),
    /// Print the content manifest: what a file means, whatever its format
    #[command(after_help = "Examples:\n  sciformats manifest a.ra\n  \
                            diff <(sciformats manifest a.h5) <(sciformats manifest b.h5)")]
    Manifest(Files),
    /// Compare the contents of two files, also of two formats
    #[command(after_help = "Examples:\n  sciformats diff old.ra new.ra\n  \
                            sciformats diff a.gsd b.gsd --rtol 1e-5 --ignore '/frames/*/log/*'\n\n\
                            Numbers are the same if |a - b| <= atol + rtol * |b|; NaN is the same as NaN. In a pattern, \
                            `*` stands for any characters and `?` for one.")]
    Diff(Diff),
    /// Read everything and tell every fault
    #[command(after_help = "Examples:\n  sciformats verify run.gsd\n  sciformats verify data/\n  \
                            sciformats verify --json data/*.ra\n\nOf a folder all scientific files in it are read.")]
    Verify(Files),
    /// Show the structures in a file with offsets and field values
    #[command(after_help = "Examples:\n  sciformats inspect a.ra\n  sciformats inspect run.gsd --at 0x1500")]
    Inspect(Inspect),
    /// Write the blocks of an ASDF file as files of their own, beside its tree
    #[command(
        after_help = "Examples:\n  sciformats explode run.asdf\n  sciformats explode run.asdf parts/run.asdf\n\n\
                            Blocks become NAME0000.asdf, NAME0001.asdf and so on."
    )]
    Explode(InOut),
    /// Take the blocks in files beside an exploded ASDF file back into one file
    #[command(after_help = "Examples:\n  sciformats implode run_exploded.asdf\n  \
                            sciformats implode parts/run.asdf run.asdf")]
    Implode(InOut),
    /// Change a file in place: attributes, metalayers, links, or the tree of an ASDF file in an editor
    #[command(after_help = "Examples:\n  sciformats edit run.h5 set /fields/u units 'm/s'\n  \
                            sciformats edit run.h5 move /u /fields/u --dry-run\n  \
                            sciformats edit u.b2nd set / units K\n  \
                            sciformats edit run.asdf\n  EDITOR='code --wait' sciformats edit run.asdf\n\n\
                            HDF5 and Blosc2 files take one change at a time: it is there as a whole, or the file is what it \
                            was. Of Blosc2 files the metalayers can be set, unset and renamed.\n\n\
                            Of an ASDF file, $VISUAL or $EDITOR shows the tree. It is checked before anything is written: its \
                            syntax, that every array lies inside its block, and that no array is lost.")]
    Edit(crate::commands::edit::args::Edit),
    /// Write the contents of a file in another format
    #[command(
        after_help = "Examples:\n  sciformats convert run.gsd run.h5 --check\n  sciformats convert a.npy a.b2nd --filter zstd\n  \
                            sciformats convert run.h5 u.npy --select /fields/u\n  sciformats convert run.h5 run.asdf --dry-run\n\n\
                            What the target cannot hold is listed before anything is written; nothing is written then, \
                            unless --lossy."
    )]
    Convert(crate::commands::convert::args::Convert),
    /// Write a file anew: without lost space, with other chunks or another compression
    #[command(after_help = "Examples:\n  sciformats repack run.asdf small.asdf --filter zstd\n  \
                            sciformats repack run.gsd packed.gsd\n\nThe new file is compared with the old one.")]
    Repack(crate::commands::convert::args::Repack),
    /// Write the structures of a file at a URL into a small file here, by which it opens without a request
    #[command(after_help = "Examples:\n  sciformats index https://data.example/run.h5\n  \
                            sciformats ls -r https://data.example/run.h5 --index run.h5.sfi --stats\n\n\
                            Where the file was replaced since, reading it by the index is an error.")]
    Index(Index),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  sciformats completions bash > ~/.local/share/bash-completion/completions/sciformats"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder
    #[command(after_help = "Example:\n  sciformats man ~/.local/share/man/man1")]
    Man {
        /// The folder; it is made if it is not there
        dir: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Files {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct InOut {
    /// The file to read
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The file to write [default: beside the other, with a name that follows from its name]
    #[arg(value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Take the place of files that are there
    #[arg(long, short)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Index {
    /// The URL of the file
    #[arg(value_name = "URL")]
    pub(crate) file: PathBuf,
    /// The index to write [default: the last part of the URL and .sfi]
    #[arg(long, short)]
    pub(crate) output: Option<PathBuf>,
    /// Take the place of a file that is there
    #[arg(long, short)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct View {
    /// The file
    pub(crate) file: PathBuf,
    /// Show what is stored instead of what it means
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Object {
    /// The file
    pub(crate) file: PathBuf,
    /// The path of the object in it
    #[arg(default_value = "/")]
    pub(crate) path: String,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    #[command(flatten)]
    pub(crate) object: Object,
    /// The part to go through, as NumPy writes it or by names of dimensions: `0:10,::2,-1`, `time=0,lat=40:60`
    #[arg(long, short, value_name = "SLICE", allow_hyphen_values = true)]
    pub(crate) slice: Option<String>,
    /// The part to go through by coordinates, the nearest ones: `time=2001-07-01,lat=52.5`
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    /// The field to go through of compounds
    #[arg(long, value_name = "NAME")]
    pub(crate) field: Option<String>,
    /// Go through what is stored instead of what it means
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Find {
    /// The file, or a folder with files
    pub(crate) file: PathBuf,
    /// What names, attributes or values hold, or a pattern of them
    #[arg(value_name = "PATTERN", required_unless_present = "kind")]
    pub(crate) pattern: Option<String>,
    /// The type of the elements of arrays, as `ls` tells it, or `group`
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Ls {
    /// The file, or a folder with files
    pub(crate) file: PathBuf,
    /// The path of a group or array in it
    #[arg(default_value = "/")]
    pub(crate) path: String,
    /// List groups in groups, and folders in folders
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// Show chunks, filters, and stored and logical size
    #[arg(long, short)]
    pub(crate) long: bool,
    /// Show attributes
    #[arg(long)]
    pub(crate) attrs: bool,
    /// List numbered members to the last, however many ranges of them there are
    #[arg(long, short)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Cat {
    #[command(flatten)]
    pub(crate) object: Object,
    /// The part to print, as NumPy writes it or by names of dimensions: `0:10,::2,-1`, `time=0,lat=40:60`
    #[arg(long, short, value_name = "SLICE", allow_hyphen_values = true)]
    pub(crate) slice: Option<String>,
    /// The part to print by coordinates, the nearest ones: `time=2001-07-01,lat=52.5`
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    /// Print what is stored instead of what it means
    #[arg(long)]
    pub(crate) raw: bool,
    /// How to print it [default: text, or json with --json]
    #[arg(long, short, value_enum)]
    format: Option<CatFormat>,
    /// The same as `--format csv`
    #[arg(long, conflicts_with = "format")]
    csv: bool,
    /// Print every element, however many there are
    #[arg(long, short)]
    pub(crate) all: bool,
}

impl Cat {
    /// How to print it, if that was said.
    pub(crate) fn format(&self) -> Option<CatFormat> {
        if self.csv { Some(CatFormat::Csv) } else { self.format }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CatFormat {
    /// Aligned text, summarised as NumPy does
    Text,
    /// Comma-separated values, one row of the last dimension a line
    Csv,
    /// One JSON value: lists in lists
    Json,
    /// NumPy's file format
    Npy,
    /// What is stored, as packed little-endian bytes; strings as a 64-bit length and their bytes
    Raw,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The one file
    pub(crate) a: PathBuf,
    /// The other file
    pub(crate) b: PathBuf,
    /// Relative tolerance
    #[arg(long, default_value_t = 0.0, value_parser = parse_tolerance)]
    pub(crate) rtol: f64,
    /// Absolute tolerance
    #[arg(long, default_value_t = 0.0, value_parser = parse_tolerance)]
    pub(crate) atol: f64,
    /// Leave out objects whose path matches, and attributes as PATH@NAME; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(crate) ignore: Vec<String>,
    /// Compare only objects whose path matches; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Vec<String>,
    /// Compare also how objects are stored: chunks, filters, fill values, orders, who shares a type; not where
    #[arg(long)]
    pub(crate) storage: bool,
    /// Differing elements to show of each array
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(crate) show: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The file
    pub(crate) file: PathBuf,
    /// Show only the structures that hold this byte; `0x` for hexadecimal
    #[arg(long, value_name = "OFFSET", value_parser = parse_offset)]
    pub(crate) at: Option<u64>,
}

fn parse_external(text: &str) -> Result<Place, String> {
    match text {
        "none" => Ok(Place::Nowhere),
        "beside" => Ok(Place::Beside),
        folder if Path::new(folder).exists() => Ok(Place::In(folder.into())),
        _ => Err("expected none, beside, or a folder that is there".into()),
    }
}

/// A number of bytes with a unit of 1024: `64`, `512K`, `2MiB`, `4g`.
fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err("expected a number of bytes, such as 512M or 4GiB".into()),
    };
    let number: u64 =
        number.parse().map_err(|_| "expected a number of bytes, such as 512M or 4GiB".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "more than 2^64 bytes".into())
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 => Ok(value),
        _ => Err("expected a number that is not negative".into()),
    }
}

fn parse_offset(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| "expected a byte offset, such as 4096 or 0x1000".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_file_alone_is_listed() {
        let folder = env!("CARGO_MANIFEST_DIR");
        let with = |words: &[&str]| {
            let words = ["sciformats"].iter().chain(words).map(OsString::from).collect();
            let all = with_command(words, |word| word == "https://a.example/x.h5");
            all.iter().skip(1).map(|word| word.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(with(&[folder]), ["ls", folder]);
        assert_eq!(
            with(&["--json", "--threads", "2", folder, "-r"]),
            ["--json", "--threads", "2", "ls", folder, "-r"]
        );
        assert_eq!(with(&["https://a.example/x.h5"]), ["ls", "https://a.example/x.h5"]);
        assert_eq!(with(&["info", folder]), ["info", folder]);
        assert_eq!(with(&["nothing of that name"]), ["nothing of that name"]);
        assert_eq!(with(&["--help"]), ["--help"]);
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in
            [("7", 7), ("2K", 2048), ("2kb", 2048), ("3MiB", 3 << 20), ("4g", 4 << 30), ("1 T", 1 << 40)]
        {
            assert_eq!(parse_size(text), Ok(bytes));
        }
        for text in ["", "M", "-1", "1.5G", "3X", "99999999999G"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn tolerances_and_offsets() {
        assert_eq!(parse_tolerance("1e-5"), Ok(1e-5));
        assert!(parse_tolerance("-1").is_err() && parse_tolerance("nan").is_err());
        assert_eq!(parse_offset("0x10"), Ok(16));
        assert!(parse_offset("0xg").is_err());
    }
}
