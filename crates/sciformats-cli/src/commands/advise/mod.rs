//! `advise`: measures what reading a file costs, and tells how to repack it.

mod json;
mod text;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use sciformats_convert::advise::{self, Cost, Options, Profile};

use self::json::json;
use self::text::text;
use crate::failure::{Answer, Failure, Outcome};
use crate::output::named;
use crate::session::Session;

/// The arguments of `advise`.
#[derive(Debug, Args)]
pub(crate) struct Advise {
    /// The file, or its URL
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What the file is for
    #[arg(long, value_enum, default_value_t = For::Cloud)]
    profile: For,
    /// The number of chunks of each dataset that are encoded with each filter
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    samples: u16,
    /// Plan no filter that the HDF5 library only has as a plug-in
    #[arg(long)]
    no_plugins: bool,
    /// The time of a round trip in milliseconds, from which the time of accesses is worked out
    #[arg(long, value_name = "MS", default_value_t = 60.0)]
    latency: f64,
    /// The number of MB that a connection transfers in a second
    #[arg(long, value_name = "MB", default_value_t = 100.0)]
    bandwidth: f64,
}

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum For {
    /// Reading from an object store
    Cloud,
    /// The archive of CMIP7
    Cmip7,
    /// Reading from a disk
    Local,
    /// Keeping it for decades
    Archive,
}

pub(super) fn run(args: &Advise, session: &Session) -> Outcome {
    if !(args.latency >= 0.0 && args.bandwidth > 0.0) {
        return Err(Failure::Usage("--latency is at least 0, and --bandwidth above it".into()));
    }
    named(&args.file, "advise")?;
    let file = Arc::new(session.open_whole(&args.file)?);
    let profile = match args.profile {
        For::Cloud => Profile::Cloud,
        For::Cmip7 => Profile::Cmip7,
        For::Local => Profile::Local,
        For::Archive => Profile::Archive,
    };
    let mut options = Options::of(profile).with_samples(args.samples.into());
    if args.no_plugins {
        options = options.with_plugins(false);
    }
    let failed = |error: sciformats::Error| Failure::of(&args.file, &error);
    let storage = session.far().storage(&args.file).map_err(failed)?;
    let open = || match &storage {
        Some(storage) => Ok(storage.clone()),
        None => {
            let storage = sciformats_core::storage::FileStorage::open(&args.file)?;
            Ok(Arc::new(storage) as Arc<dyn sciformats_core::ReadAt>)
        }
    };
    let advice =
        session.watched("measuring", &[&file], || advise::advise(&file, &open, &options)).map_err(failed)?;
    let mut out = session.text();
    if session.json {
        writeln!(out, "{}", json(&advice, args))?;
    } else {
        text(&mut out, &advice, args)?;
    }
    out.flush()?;
    Ok(Answer::of(advice.suits()))
}

/// The seconds that an access takes on the connection of which the arguments tell.
fn seconds(cost: &Cost, args: &Advise) -> f64 {
    cost.seconds(args.latency / 1e3, args.bandwidth * 1e6)
}

/// The command that carries out the plan.
fn command(args: &Advise, arguments: &[String]) -> String {
    let word = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-=,:+@%".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text.to_owned()
        } else {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
    };
    let file = args.file.display().to_string();
    let words = ["sciformats", "repack", file.as_str(), "OUT"]
        .into_iter()
        .chain(arguments.iter().map(String::as_str));
    words.map(word).collect::<Vec<_>>().join(" ")
}
