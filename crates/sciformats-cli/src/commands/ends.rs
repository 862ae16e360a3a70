//! `head` and `tail`: print the first or the last rows of an array or a table.

use clap::Args;
use sciformats_core::bound;

use crate::args::{Cat, CatFormat, Object};
use crate::failure::Outcome;
use crate::session::Session;

/// The number of rows that are printed by default.
const ROWS: &str = "10";

/// Rows at one end of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// The first ones.
    First(u64),
    /// The last ones.
    Last(u64),
}

impl Rows {
    /// Returns the slice of an array of this shape that consists of these rows; `None` if it has no rows.
    pub(crate) fn slice(self, shape: &[u64]) -> Option<String> {
        let length = shape.first()?;
        Some(match self {
            Self::First(rows) => format!(":{}", rows.min(*length)),
            Self::Last(rows) => format!("{}:", bound::left(*length, rows)),
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct Ends {
    #[command(flatten)]
    object: Object,
    /// The number of rows: indices along the first dimension
    #[arg(long, short = 'n', value_name = "N", default_value = ROWS)]
    lines: u64,
    /// Print the stored values instead of what they mean
    #[arg(long)]
    raw: bool,
    /// The output format [default: text, or json with --json]
    #[arg(long, short, value_enum)]
    format: Option<CatFormat>,
    /// The same as `--format csv`
    #[arg(long, conflicts_with = "format")]
    csv: bool,
    /// Print every element of the rows, however many there are
    #[arg(long, short)]
    all: bool,
}

impl Ends {
    /// Returns the command `cat` that prints these rows.
    fn cat(&self, rows: Rows) -> Cat {
        let format = if self.csv { Some(CatFormat::Csv) } else { self.format };
        Cat::of_rows(self.object.clone(), rows, format).with(self.raw, self.all)
    }
}

pub(super) fn head(args: &Ends, session: &Session) -> Outcome {
    super::cat::run(&args.cat(Rows::First(args.lines)), session)
}

pub(super) fn tail(args: &Ends, session: &Session) -> Outcome {
    super::cat::run(&args.cat(Rows::Last(args.lines)), session)
}
