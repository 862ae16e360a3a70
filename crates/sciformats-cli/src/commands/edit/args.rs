//! The command line of `edit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::value::Kind;

#[derive(Debug, Args)]
#[command(subcommand_value_name = "CHANGE", subcommand_help_heading = "Changes of HDF5 and Blosc2 files")]
pub(crate) struct Edit {
    /// The file
    pub(super) file: PathBuf,
    /// Check the change and tell what it does, and write nothing
    #[arg(long, global = true)]
    pub(super) dry_run: bool,
    /// ASDF: save also a tree that no longer names blocks, whose arrays are then lost
    #[arg(long)]
    pub(super) drop_blocks: bool,
    #[command(subcommand)]
    pub(super) change: Option<Change>,
}

/// A change of a file.
#[derive(Debug, Subcommand)]
pub(super) enum Change {
    /// Set an attribute, or a metalayer of Blosc2
    #[command(after_help = "Examples:\n  sciformats edit run.h5 set / title 'a week in May'\n  \
                            sciformats edit run.h5 set /fields/u valid_range '[0, 1e3]' --type float32\n  \
                            sciformats edit u.b2nd set / units '\"K\"'\n  \
                            sciformats edit u.b2nd set / meta:station '{\"name\": \"north\", \"height\": 412.5}'\n\n\
                            VALUE is JSON, or text as it stands if it is none. Without --type, an attribute that is there \
                            keeps its type; in HDF5 a new one becomes int64, uint64 (beyond int64), float64, bool or text. \
                            Lists in lists of one shape are arrays.\n\n\
                            Metalayers of Blosc2 hold any JSON. NAME, or vlmeta:NAME, is one of variable length, \
                            meta:NAME one of fixed length.")]
    Set {
        /// The path of the object; of Blosc2, `/`
        path: String,
        /// The name of the attribute
        name: String,
        /// The value: JSON, or text
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// The type of the elements
        #[arg(long = "type", value_name = "TYPE", value_enum)]
        kind: Option<Kind>,
    },
    /// Remove an attribute, or a metalayer of Blosc2
    #[command(after_help = "Example:\n  sciformats edit run.h5 unset /fields/u units")]
    Unset {
        /// The path of the object; of Blosc2, `/`
        path: String,
        /// The name of the attribute
        name: String,
    },
    /// Give an attribute, or a metalayer of Blosc2, another name
    #[command(after_help = "Example:\n  sciformats edit run.h5 rename /fields/u unit units")]
    Rename {
        /// The path of the object; of Blosc2, `/`
        path: String,
        /// The name of the attribute
        name: String,
        /// Its new name
        to: String,
    },
    /// Move an object or a link, or give it another name
    #[command(after_help = "Examples:\n  sciformats edit run.h5 move /u /fields/u\n  \
                            sciformats edit run.h5 move /fields/u /fields/velocity\n\n\
                            Groups on the way to the new place are made. What is at the new place already stays there: the \
                            move is refused.")]
    Move {
        /// Where it is
        path: String,
        /// Where it shall be
        to: String,
    },
    /// Delete a link, and with the last link to an object the object
    #[command(after_help = "Examples:\n  sciformats edit run.h5 delete /fields/old\n  \
                            sciformats edit run.h5 delete --recursive /scratch\n\n\
                            The space of the object is used again by what is written later; `sciformats repack` gives it \
                            back.")]
    Delete {
        /// The path of the link
        path: String,
        /// Delete also a group that has members, with all of them
        #[arg(long, short)]
        recursive: bool,
    },
    /// Make a link: another path to an object
    #[command(after_help = "Examples:\n  sciformats edit run.h5 link /latest /runs/7\n  \
                            sciformats edit run.h5 link --soft /latest /runs/7\n  \
                            sciformats edit run.h5 link /entry/data /data --in data_000001.h5\n\n\
                            A hard link, which is the default, is as good as the path that the object had before. A soft link \
                            holds the path TARGET, and leads to whatever is there. An external link does so in another \
                            file.")]
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
