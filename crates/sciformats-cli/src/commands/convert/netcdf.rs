//! `convert` to netCDF-4: variables with dimensions and units.

use sciformats_conventions::Dataset;
use sciformats_conventions::write::NetCdfCopy;
use sciformats_convert::compare::Pattern;

use super::args::Convert;
use super::export::{end, told};
use super::{broken, size};
use crate::failure::{Answer, Failure, Outcome, free};
use crate::interrupt::Unfinished;
use crate::output::{is_stdout, through_file};
use crate::session::Session;

/// The compression without `--level`, as fast as the common one and nearly as small.
const LEVEL: u32 = 4;

pub(super) fn run(args: &Convert, session: &Session) -> Outcome {
    let (input, output) = (&args.files.input, &args.files.output);
    if is_stdout(output) && !args.dry_run {
        return through_file(".nc", session, |path, session| {
            run(&Convert { files: args.files.to(path), ..args.clone() }, session)
        });
    }
    let storage = &args.storage;
    if storage.chunks.is_some() || storage.bound.is_some() || args.check {
        return Err(Failure::Usage("--chunks, --bound and --check have no meaning for netCDF".into()));
    }
    let level = match storage.filter.as_deref() {
        None => storage.level,
        Some("none") => None,
        Some("zlib" | "deflate" | "gzip") => Some(storage.level.unwrap_or(LEVEL)),
        Some(other) => {
            let text = format!("{other}: netCDF files are compressed with zlib, or not at all (none)");
            return Err(Failure::Usage(text));
        }
    };
    if !level.is_none_or(|level| (1..=9).contains(&level)) {
        return Err(Failure::Usage("--level must be between 1 and 9".into()));
    }
    if !args.dry_run {
        free(output, args.files.force)?;
    }
    let data = Dataset::new(session.open_whole(input)?);
    super::selected(args, data.file())?;
    let patterns: Vec<Pattern> = args.select.iter().map(|text| Pattern::from(text.as_str())).collect();
    let selected = |path: &str| {
        let ends = path.match_indices('/').map(|(at, _)| at).filter(|&at| at > 0).chain([path.len()]);
        let mut places = ends.filter_map(|at| path.get(..at));
        patterns.is_empty() || places.any(|place| patterns.iter().any(|pattern| pattern.matches(place)))
    };
    let copy = NetCdfCopy::new(&data, &selected).map_err(|error| Failure::of(input, &error))?;
    let mut out = session.text();
    let losses: Vec<(String, String)> = copy.losses().to_vec();
    told(&mut out, &losses, session)?;
    let stopped = !losses.is_empty() && !args.lossy;
    let none = copy.variables() == 0;
    if stopped || none || args.dry_run {
        end(&mut out, (output, copy.variables()), None, session)?;
        return Ok(Answer::of(!stopped && !none));
    }
    let write = || {
        let unfinished = Unfinished::beside(output)?;
        copy.create(unfinished.path(), level)?;
        super::unchanged(data.file())?;
        unfinished.finish()
    };
    let written = session.watched("converting", &[data.file()], write);
    written.map_err(|error| broken(&args.files, &error))?;
    end(&mut out, (output, copy.variables()), Some(size(output)), session)?;
    Ok(Answer::Yes)
}
