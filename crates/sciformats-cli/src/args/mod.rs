//! The command line.

mod global;
mod parse;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use sciformats_core::bound;

use crate::commands::ends::Rows;

pub(crate) use self::global::{Color, Global};
pub(crate) use self::parse::parse_size;
use self::parse::{parse_offset, parse_tolerance};

/// Look into, check, compare, convert and edit scientific files: HDF5, ASDF, Blosc2, GSD, RawArray and npy
#[derive(Debug, Parser)]
#[command(
    name = "sciformats",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Exit status: 0, the command succeeded and the answer is yes; 1, it succeeded and the answer is no \
                  (there are differences or damage); 2, the command line is wrong; 3, the input cannot be read; 4, the output cannot be written.\n\n\
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

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what a file is: its format, version, writer, size and contents
    #[command(after_help = "Examples:\n  sciformats info run.gsd\n  sciformats info --json *.ra\n  \
                            sciformats info run.h5:/fields/u\n\nOf FILE:/PATH the object is described.")]
    Info(Files),
    /// List the members of a group, or all scientific files in a folder
    #[command(
        override_usage = "sciformats ls [OPTIONS] <FILE>... [PATH]",
        after_help = "Examples:\n  sciformats ls run.gsd\n  sciformats ls -r run.gsd /frames/0\n  \
                            sciformats ls -rl data/\n  sciformats ls -r --sizes run.h5\n\nConsecutive numbered members, such as frames, are shown \
                            as one range like `1…4` if everything in them has the same names, types and shapes.\nWith --json \
                            every member is listed."
    )]
    Ls(Ls),
    /// Print the values of an array or a table
    #[command(
        override_usage = "sciformats cat [OPTIONS] <FILE>... [PATH]",
        after_help = "Examples:\n  sciformats cat a.ra\n  sciformats cat run.gsd /frames/0/particles/position --slice ':5, 0'\n  \
                            sciformats cat a.ra --format npy > a.npy\n  \
                            sciformats cat climate.nc /tas --slice time=0,lat=0:10\n  \
                            sciformats cat climate.nc /tas --at time=2001-07-01,lat=52.5\n  \
                            sciformats cat cells.h5ad /obs\n  \
                            sciformats cat run.gsd /log --csv\n\n\
                            Values are printed as the convention of the file defines them: packed numbers are unpacked, missing \
                            values are NaN or empty, dates are in ISO 8601, and categories appear by name. --raw prints the \
                            stored values.\n\nIn a trajectory of HOOMD, /log is a table of the logged quantities with one row per \
                            frame, and /log/NAME is one quantity over all frames.\n\nSlices are written as in NumPy: `0:10`, \
                            `::2`, `-1`, `...`; an index removes its dimension."
    )]
    Cat(Cat),
    /// Print the first rows of an array or a table
    #[command(
        after_help = "Examples:\n  sciformats head cells.h5ad /obs\n  sciformats head run.gsd:/log -n 3 --csv"
    )]
    Head(crate::commands::ends::Ends),
    /// Print the last rows of an array or a table
    #[command(
        after_help = "Examples:\n  sciformats tail climate.nc /time\n  sciformats tail run.gsd:/log -n 3"
    )]
    Tail(crate::commands::ends::Ends),
    /// Draw an array: on the terminal, or into a PNG, SVG or PDF file
    #[command(after_help = "Examples:\n  sciformats plot run.h5 /fields/u\n  \
                            sciformats plot run.h5 /fields/u --slice '0, :, ::2' -o u.png\n  \
                            sciformats plot run.gsd /log/energy --kind histogram\n\nAn array may be larger than \
                            memory: each column of a line shows the lowest and the highest value that falls into it, and \
                            each pixel of an image shows a mean.")]
    Plot(crate::commands::plot::args::Plot),
    /// Browse a file on the terminal: its tree, attributes, statistics, tables and pictures
    #[command(
        after_help = "Examples:\n  sciformats view run.h5\n  sciformats view --web run.h5\n\nPress `?` to see the keys, and `q` to quit."
    )]
    View(View),
    /// Show how a file grows: new rows of an array or a table, or the lengths of everything in a file
    #[command(after_help = "Examples:\n  sciformats watch run.gsd:/log\n  sciformats watch run.h5\n  \
                            sciformats watch stream.ra --interval 0.2\n  sciformats watch run.h5 /u --csv --idle 60 > u.csv\n\n\
                            The file may be an HDF5 file in the mode SWMR, a GSD trajectory, a RawArray file that is written row by \
                            row, or any file that its writer replaces. Only what changes is read. Ctrl-C ends the command.")]
    Watch(crate::commands::watch::Watch),
    /// Show the files of a folder in the browser, on this machine only
    #[command(
        after_help = "Example:\n  sciformats serve data/ --open\n\nThe address that is printed contains a token. Requests without it, \
                      from other machines, and for files outside of the folder are refused."
    )]
    Serve(crate::commands::serve::Serve),
    /// Show the minimum, maximum, mean, standard deviation and quantiles of an array, or one line per array
    #[command(
        override_usage = "sciformats stats [OPTIONS] <FILE>... [PATH]",
        after_help = "Examples:\n  sciformats stats climate.nc\n  sciformats stats climate.nc /tas --slice time=0\n  sciformats stats year-*.nc /tas\n  \
                            sciformats stats run.gsd /log --field log/energy\n\nArrays may be larger than memory. \
                            Missing values are counted and left out. The quantiles of more than two million numbers are exact \
                            to 1/65,536 of the range of the numbers."
    )]
    Stats(Stats),
    /// Find objects by their names, types, attributes and attribute values
    #[command(
        override_usage = "sciformats find [OPTIONS] <FILE>... [PATTERN]",
        after_help = "Examples:\n  sciformats find climate.nc temperature\n  sciformats find data/ '*_bnds'\n  sciformats find *.nc temperature\n  \
                            sciformats find run.h5 --type 'float*' --shape '...,3'\n  \
                            sciformats find climate.nc --attr units=degrees\n  \
                            sciformats find climate.nc -E 'ta[sx]|precip(itation)?'\n\nThe case of letters does not matter. In a \
                            pattern, `*` stands for any characters and `?` for one character; a pattern that has one of these \
                            must match a whole name or value.\n\
                            With -E they are regular expressions, which match a part of a name or a value unless `^` and `$` \
                            are in them; `(?-i)` makes the case of letters matter.\n\
                            Exit status: 0 if something was found, 1 if nothing was found."
    )]
    Find(crate::commands::find::Find),
    /// Print the attributes of an object, or a scalar of a tree
    #[command(after_help = "Examples:\n  sciformats attrs run.h5\n  sciformats attrs run.h5 /fields/u")]
    Attrs(Object),
    /// Print the content manifest, which describes what a file means independently of its format
    #[command(after_help = "Examples:\n  sciformats manifest a.ra\n  \
                            diff <(sciformats manifest a.h5) <(sciformats manifest b.h5)")]
    Manifest(Files),
    /// Compare the contents of two files, which may have different formats
    #[command(after_help = "Examples:\n  sciformats diff old.ra new.ra\n  \
                            sciformats diff a.gsd b.gsd --rtol 1e-5 --ignore '/frames/*/log/*'\n  \
                            sciformats diff a.h5:/run1 b.h5:/run2\n\n\
                            Two numbers are the same if |a - b| <= atol + rtol * |b|; NaN equals NaN. In a pattern, \
                            `*` stands for any characters, including `/`, and `?` stands for one character.")]
    Diff(Diff),
    /// Read everything and report every fault with its offset
    #[command(after_help = "Examples:\n  sciformats verify run.gsd\n  sciformats verify data/\n  \
                            sciformats verify --json data/*.ra\n  sciformats verify --repair-plan run.h5\n  \
                            sciformats verify --repair-plan run.h5 --repair-to mended.h5\n  \
                            sciformats verify run.h5:/fields\n\n\
                            Given a folder, it checks all scientific files in it. Given FILE:/PATH, it reads this object and what \
                            is below it.")]
    Verify(Verify),
    /// Find out what is left of a damaged file, and write it to a clean file of the same format
    #[command(
        after_help = "Examples:\n  sciformats salvage cut.h5\n  sciformats salvage cut.h5 saved.h5\n  \
                            sciformats salvage cut.h5 --map cut.svg --json\n\nThe damaged file is only read. In the new file, \
                            objects that nothing led to are in /lost+found. Where elements are missing there are fill \
                            values, and the attributes `missing` and `damage` of the dataset say where and why.\n\n\
                            whole: everything is there, and checksums confirm it; unchecked: nothing is known to be missing, \
                            but parts have no checksum; partial: a part is missing; metadata: no element is left; \
                            lost: only the name is left.\n\
                            Exit status: 0 if the file is sound, 1 if it is damaged."
    )]
    Salvage(Salvage),
    /// Show the structures of a file with their offsets and field values
    #[command(after_help = "Examples:\n  sciformats inspect a.ra\n  sciformats inspect run.gsd --at 0x1500")]
    Inspect(Inspect),
    /// Write the tree of an ASDF file, and each of its blocks as a separate file beside it
    #[command(
        after_help = "Examples:\n  sciformats explode run.asdf\n  sciformats explode run.asdf parts/run.asdf\n\n\
                            Blocks become NAME0000.asdf, NAME0001.asdf and so on."
    )]
    Explode(InOut),
    /// Put the blocks of an exploded ASDF file back into a single file
    #[command(after_help = "Examples:\n  sciformats implode run_exploded.asdf\n  \
                            sciformats implode parts/run.asdf run.asdf")]
    Implode(InOut),
    /// Change a file in place: its attributes, metalayers and links, or the tree of an ASDF file in an editor
    #[command(after_help = "Examples:\n  sciformats edit run.h5 set /fields/u units 'm/s'\n  \
                            sciformats edit run.h5:/fields/u set units 'm/s'\n  \
                            sciformats edit run.h5 move /u /fields/u --dry-run\n  \
                            sciformats edit u.b2nd set / units K\n  \
                            sciformats edit run.asdf\n  EDITOR='code --wait' sciformats edit run.asdf\n\n\
                            In HDF5 and Blosc2 files, one command makes one change. The change takes effect as a whole; \
                            otherwise the file remains what it was. In Blosc2 files you can set, unset and rename \
                            metalayers.\n\n\
                            The tree of an ASDF file is opened in $VISUAL or $EDITOR. Before anything is written, the program \
                            checks that the syntax is right, that every array lies inside its block, and that no array is \
                            lost.")]
    Edit(crate::commands::edit::args::Edit),
    /// Query tables in files with SQL
    #[cfg(feature = "tables")]
    #[command(
        after_help = "Examples:\n  sciformats sql 'SELECT time, energy FROM \"run.h5:/log\"\n    WHERE energy < 0'\n  \
                            sciformats sql 'SELECT cell_type, count(*), avg(n_genes)\n    FROM \"cells.h5ad:/obs\" GROUP BY cell_type'\n  \
                            sciformats sql 'SELECT file, max(t) FROM \"runs/*.h5:/log\"\n    GROUP BY file' -o last.parquet\n\n\
                            A table is a list of records, a table of PyTables or pandas, a frame of AnnData, a group of arrays of \
                            one length, an array, or a file of Parquet, Arrow or CSV. With `*` and `?` in its name, all files \
                            together are one table with a column `file`.\n\n\
                            Columns that the query does not name are not read. What is not a number is a missing value."
    )]
    Sql(crate::commands::tables::sql::Sql),
    /// Write the contents of a file in another format
    #[command(
        after_help = "Examples:\n  sciformats convert run.gsd run.h5 --check\n  sciformats convert a.npy a.b2nd --filter zstd\n  \
                            sciformats convert run.h5 u.npy --select /fields/u\n  sciformats convert run.h5 run.asdf --dry-run\n  \
                            sciformats convert climate.nc tas.csv --select /tas\n  sciformats convert climate.nc climate.npz\n  \
                            sciformats convert cells.h5ad:/obs cells.parquet\n  \
                            sciformats convert log.parquet log.h5:/run/log --form pytables\n\n\
                            CSV, JSON and npz contain the values that the convention of the file defines, as `cat` prints them: \
                            CSV one table, or arrays of one shape with a column for each and for the coordinates of each dimension; \
                            JSON and npz all arrays that are selected.\n\n\
                            A table, `FILE:/PATH`, becomes Parquet, Arrow or CSV; tables in such files become HDF5.\n\n\
                            Before anything is written, the program lists what the target format cannot hold. If there is \
                            anything to list, it writes nothing unless you give --lossy."
    )]
    Convert(crate::commands::convert::args::Convert),
    /// Write a file anew in its own format: without unused space, with other chunks or another compression
    #[command(after_help = "Examples:\n  sciformats repack run.asdf small.asdf --filter zstd\n  \
                            sciformats repack run.gsd packed.gsd\n\nThe new file is compared with the old one before it takes its place.")]
    Repack(crate::commands::convert::args::Repack),
    /// Save the structures of a remote file in a small local file, so that it opens without a request
    #[command(after_help = "Examples:\n  sciformats index https://data.example/run.h5\n  \
                            sciformats ls -r https://data.example/run.h5 --index run.h5.sfi --stats\n\n\
                            If the remote file has been replaced since then, reading it with the index is an error.")]
    Index(Index),
    /// Write references to the arrays of a file, with which readers of Zarr open it without a copy
    #[command(after_help = "Examples:\n  sciformats references climate.nc -o climate.json\n  \
                            sciformats references climate.nc -o climate.json --url s3://bucket/climate.nc\n\n\
                            The references are JSON of kerchunk. Every array is referenced, or inlined in decoded form, or \
                            refused; stderr tells why.\n\
                            Exit status: 0 if nothing was refused, 1 otherwise.")]
    References(crate::commands::references::References),
    /// Write references to many files as if they were one, joined along a dimension
    #[command(after_help = "Examples:\n  sciformats combine day-*.nc -o month.json\n  \
                            sciformats combine day-*.nc --along time -o month.parquet\n  \
                            sciformats combine heat_*.h5 -o heat.json --from-name 'heat_%Y%m%d.h5'\n\n\
                            Types, filters, chunks, units and calendars must agree, and arrays without the dimension must be the \
                            same in all files; stderr tells what does not fit.\n\
                            Exit status: 0 if nothing was refused, 1 otherwise.")]
    Combine(crate::commands::combine::Combine),
    /// Measure what reading a file costs, and recommend how to repack it
    #[command(after_help = "Examples:\n  sciformats advise climate.nc\n  \
                            sciformats advise climate.nc --profile cmip7 --json\n\n\
                            Samples of chunks are encoded with several filters, and named accesses are replayed over a store that \
                            counts requests, for the file as it is and as the planned `repack` would write it.\n\
                            Exit status: 0 if the file suits the profile, 1 otherwise.")]
    Advise(crate::commands::advise::Advise),
    /// Print the paths in a file that may stand in place of the last word of a command line, for the completion of shells
    #[command(hide = true)]
    Paths {
        /// The words of the command line after the name of the program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
        words: Vec<String>,
    },
    /// Print a completion script for a shell, which also completes paths in files
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
        /// The folder; it is created if it does not exist
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
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) files: Files,
    /// Show how faults can be mended without loss: stale flags, checksums of structures, counts
    #[arg(long)]
    pub(crate) repair_plan: bool,
    /// Write a mended copy
    #[arg(long, value_name = "OUT", requires = "repair_plan", conflicts_with = "repair_in_place")]
    pub(crate) repair_to: Option<PathBuf>,
    /// Mend the file itself, through a journal, so that an interruption leaves it old or new
    #[arg(long, requires = "repair_plan")]
    pub(crate) repair_in_place: bool,
    /// Overwrite an existing OUT
    #[arg(long, short)]
    pub(crate) force: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct InOut {
    /// The file to read
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The file to write; with `implode` it may be `-` for stdout [default: beside the input, with a name derived from its name]
    #[arg(value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, short)]
    pub(crate) force: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Index {
    /// The URL of the file
    #[arg(value_name = "URL")]
    pub(crate) file: PathBuf,
    /// The index to write; `-` is stdout [default: the last part of the URL with .sfi appended]
    #[arg(long, short)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, short)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct View {
    /// The file
    pub(crate) file: PathBuf,
    /// Show the stored values instead of what they mean
    #[arg(long)]
    pub(crate) raw: bool,
    /// Show the file in the browser instead of the terminal
    #[arg(long, conflicts_with = "raw")]
    pub(crate) web: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Object {
    /// The file; `-` is stdin, and `FILE:/PATH` also contains the path
    pub(crate) file: PathBuf,
    /// The path of the object in the file
    #[arg(default_value = "/", hide_default_value = true)]
    pub(crate) path: String,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Salvage {
    /// The damaged file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The file to write, or `-` for stdout; without it, the damage is only reported
    #[arg(value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Draw a strip that shows what each byte of the file belongs to, as SVG (`-` is stdout), or as PNG if PICTURE ends in
    /// .png
    #[arg(long, value_name = "PICTURE")]
    pub(crate) map: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Stats {
    #[command(flatten)]
    pub(crate) object: Object,
    /// More files; the last word may be the path in all of them
    #[arg(value_name = "FILE")]
    pub(crate) more: Vec<PathBuf>,
    /// The part to use, in NumPy's notation or by names of dimensions: `0:10,::2,-1`, `time=0,lat=0:10`
    #[arg(long, short, value_name = "SLICE", allow_hyphen_values = true)]
    pub(crate) slice: Option<String>,
    /// The part to use, by the nearest coordinates: `time=2001-07-01,lat=52.5`
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    /// The field to use if the elements are compounds
    #[arg(long, value_name = "NAME")]
    pub(crate) field: Option<String>,
    /// Use the stored values instead of what they mean
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Ls {
    /// The file, or a folder of files; `-` is stdin, and `FILE:/PATH` also contains the path
    pub(crate) file: PathBuf,
    /// The path of a group or an array in the file, or another file to list
    #[arg(default_value = "/")]
    pub(crate) path: String,
    /// More files to list
    #[arg(value_name = "FILE")]
    pub(crate) more: Vec<PathBuf>,
    /// Include the members of subgroups, and the files in subfolders
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// Include only this many levels of groups or folders; 1 is what is listed without `-r`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) depth: Option<u64>,
    /// Show chunks, filters, and stored and uncompressed sizes
    #[arg(long, short)]
    pub(crate) long: bool,
    /// Show how many bytes each array occupies and the arrays of each group together, stored and uncompressed
    #[arg(long, conflicts_with_all = ["long", "attrs"])]
    pub(crate) sizes: bool,
    /// Show attributes
    #[arg(long)]
    pub(crate) attrs: bool,
    /// List all ranges of numbered members, however many there are
    #[arg(long, short)]
    pub(crate) all: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Cat {
    #[command(flatten)]
    pub(crate) object: Object,
    /// More files; the last word may be the path in all of them
    #[arg(value_name = "FILE")]
    pub(crate) more: Vec<PathBuf>,
    /// The part to print, in NumPy's notation or by names of dimensions: `0:10,::2,-1`, `time=0,lat=0:10`
    #[arg(long, short, value_name = "SLICE", allow_hyphen_values = true)]
    pub(crate) slice: Option<String>,
    /// The part to print, by the nearest coordinates: `time=2001-07-01,lat=52.5`
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    /// Print the stored values instead of what they mean
    #[arg(long)]
    pub(crate) raw: bool,
    /// The output format [default: text, or json with --json]
    #[arg(long, short, value_enum)]
    format: Option<CatFormat>,
    /// The same as `--format csv`
    #[arg(long, conflicts_with = "format")]
    csv: bool,
    /// Print every element, however many there are
    #[arg(long, short)]
    pub(crate) all: bool,
    /// The rows to print, if there is no slice.
    #[arg(skip)]
    pub(crate) rows: Option<Rows>,
}

impl Ls {
    /// Returns whether the members of groups and folders at this depth are listed; those at the top have the
    /// depth 0.
    pub(crate) fn descends(&self, depth: usize) -> bool {
        self.depth.map_or(self.recursive, |most| bound::sum(depth as u64, 1) < most)
    }
}

impl Cat {
    /// Prints some rows of an object.
    pub(crate) fn of_rows(object: Object, rows: Rows, format: Option<CatFormat>) -> Self {
        Self {
            object,
            more: Vec::new(),
            slice: None,
            at: None,
            raw: false,
            format,
            csv: false,
            all: false,
            rows: Some(rows),
        }
    }

    /// Returns the same command for one object.
    pub(crate) fn of(&self, object: Object) -> Self {
        Self { object, more: Vec::new(), ..self.clone() }
    }

    /// Sets whether stored values are printed, and whether all of them are.
    pub(crate) fn with(self, raw: bool, all: bool) -> Self {
        Self { raw, all, ..self }
    }

    /// The output format, if one was chosen.
    pub(crate) fn format(&self) -> Option<CatFormat> {
        if self.csv { Some(CatFormat::Csv) } else { self.format }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CatFormat {
    /// Aligned text, summarised as NumPy does
    Text,
    /// Comma-separated values, one line per row of the last dimension
    Csv,
    /// One JSON value: nested lists
    Json,
    /// NumPy's file format
    Npy,
    /// The stored values as packed little-endian bytes; text is preceded by its length as a 64-bit integer
    Raw,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The first file, called A, or an object in it as `FILE:/PATH`
    pub(crate) a: PathBuf,
    /// The second file, called B, or an object in it
    pub(crate) b: PathBuf,
    /// Relative tolerance
    #[arg(long, default_value_t = 0.0, value_parser = parse_tolerance)]
    pub(crate) rtol: f64,
    /// Absolute tolerance
    #[arg(long, default_value_t = 0.0, value_parser = parse_tolerance)]
    pub(crate) atol: f64,
    /// Ignore objects whose path matches; an attribute has the path PATH@NAME; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(crate) ignore: Vec<String>,
    /// Compare only objects whose path matches; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Vec<String>,
    /// Also compare how objects are stored: chunks, filters, fill values, orders, shared types; not where
    /// they are stored
    #[arg(long)]
    pub(crate) storage: bool,
    /// The number of differing elements to show per array
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(crate) show: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The file
    pub(crate) file: PathBuf,
    /// Show only the structures that contain the byte at this offset, such as 4096 or 0x1000
    #[arg(long, value_name = "OFFSET", value_parser = parse_offset)]
    pub(crate) at: Option<u64>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
