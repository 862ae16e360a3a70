//! The command line of `edit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::value::Kind;

#[derive(Debug, Args)]
#[command(subcommand_value_name = "CHANGE", subcommand_help_heading = "Changes of HDF5 and Blosc2 files")]
pub(crate) struct Edit {
    /// The file; `FILE:/PATH` also contains the first path of the change
    pub(super) file: PathBuf,
    /// Check the change and report what it would do, but write nothing
    #[arg(long, global = true)]
    pub(super) dry_run: bool,
    /// ASDF: save the tree even if it no longer names some blocks; their arrays are then lost
    #[arg(long)]
    pub(super) drop_blocks: bool,
    #[command(subcommand)]
    pub(super) change: Option<Change>,
}

/// One change of a file.
#[derive(Debug, Subcommand)]
pub(super) enum Change {
    /// Set an attribute, or a metalayer of Blosc2
    #[command(after_help = "Examples:\n  sciformats edit run.h5 set / title 'a week in May'\n  \
                            sciformats edit run.h5 set /fields/u valid_range '[0, 1e3]' --type float32\n  \
                            sciformats edit u.b2nd set / units '\"K\"'\n  \
                            sciformats edit u.b2nd set / meta:station '{\"name\": \"north\", \"height\": 412.5}'\n\n\
                            VALUE is JSON; anything that is not JSON is taken as text. Without --type, an existing attribute \
                            keeps its type, and a new attribute in HDF5 becomes int64, uint64 (if int64 is too small), \
                            float64, bool or text. Nested lists of one shape become an array.\n\n\
                            A metalayer of Blosc2 holds any JSON value. NAME or vlmeta:NAME is a metalayer of variable \
                            length, and meta:NAME is one of fixed length.")]
    Set {
        /// The path of the object; in Blosc2 it is `/`
        path: String,
        /// The name of the attribute
        name: String,
        /// The value: JSON, or otherwise text
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// The type of the elements
        #[arg(long = "type", value_name = "TYPE", value_enum)]
        kind: Option<Kind>,
    },
    /// Remove an attribute, or a metalayer of Blosc2
    #[command(after_help = "Example:\n  sciformats edit run.h5 unset /fields/u units")]
    Unset {
        /// The path of the object; in Blosc2 it is `/`
        path: String,
        /// The name of the attribute
        name: String,
    },
    /// Rename an attribute, or a metalayer of Blosc2
    #[command(after_help = "Example:\n  sciformats edit run.h5 rename /fields/u unit units")]
    Rename {
        /// The path of the object; in Blosc2 it is `/`
        path: String,
        /// The name of the attribute
        name: String,
        /// The new name
        to: String,
    },
    /// Move or rename an object or a link
    #[command(after_help = "Examples:\n  sciformats edit run.h5 move /u /fields/u\n  \
                            sciformats edit run.h5 move /fields/u /fields/velocity\n\n\
                            Missing groups on the way to the new path are created. If the new path exists already, nothing \
                            is moved.")]
    Move {
        /// The present path
        path: String,
        /// The new path
        to: String,
    },
    /// Delete a link; an object goes with its last link
    #[command(after_help = "Examples:\n  sciformats edit run.h5 delete /fields/old\n  \
                            sciformats edit run.h5 delete --recursive /scratch\n\n\
                            Later writes use the space of the object again. `sciformats repack` makes the file smaller.")]
    Delete {
        /// The path of the link
        path: String,
        /// Also delete a group that has members, with all of them
        #[arg(long, short)]
        recursive: bool,
    },
    /// Make a link: another path to an object
    #[command(after_help = "Examples:\n  sciformats edit run.h5 link /latest /runs/7\n  \
                            sciformats edit run.h5 link --soft /latest /runs/7\n  \
                            sciformats edit run.h5 link /entry/data /data --in data_000001.h5\n\n\
                            A hard link, which is the default, is equal to the path that the object had before. A soft link \
                            contains the path TARGET and leads to whatever is at that path. An external link leads to a path \
                            in another file.")]
    Link {
        /// The path of the new link
        path: String,
        /// The path of the object that it leads to
        target: String,
        /// Make a soft link
        #[arg(long, short, conflicts_with = "other")]
        soft: bool,
        /// Make a link into this other file, named as from the folder of the first one
        #[arg(long = "in", value_name = "FILE")]
        other: Option<String>,
    },
}

impl Change {
    /// The path that the change begins with.
    pub(super) fn path(&self) -> &str {
        match self {
            Self::Set { path, .. }
            | Self::Unset { path, .. }
            | Self::Rename { path, .. }
            | Self::Move { path, .. }
            | Self::Delete { path, .. }
            | Self::Link { path, .. } => path,
        }
    }

    /// The change in a word, as it is called on the command line.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Set { .. } => "set",
            Self::Unset { .. } => "unset",
            Self::Rename { .. } => "rename",
            Self::Move { .. } => "move",
            Self::Delete { .. } => "delete",
            Self::Link { .. } => "link",
        }
    }
}
