//! `repack`: the same contents in the same format, stored anew and compared with what was there.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use sciformats::compare::{self, compare};
use sciformats::convert::{Options, Plan};
use sciformats::{Error, File, Format};

use super::args::{Files, Repack};
use super::{broken, free, interruptible, size};
use crate::commands::json::JsonObject;
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, FAINT, TITLE, WELL, WRONG};
use crate::session::Session;

pub(crate) fn run(args: &Repack, session: &Session) -> Outcome {
    let Files { input, output, .. } = &args.files;
    free(&args.files)?;
    let file = Arc::new(session.open(input)?);
    session.watched("repacking", &[&file], || rewrite(args, &file, session))?;
    // The new file is read back whole, and compared with the old one.
    let written = session.open(output)?;
    let mut first = None;
    let summary = session.watched("comparing", &[&file, &written], || {
        compare(&file, &written, &compare::Options::exact(), &mut |difference| {
            first = Some(difference);
            ControlFlow::Break(())
        })
    });
    let (before, after) = (size(input), size(output));
    let mut out = session.text();
    let path = output.display().to_string();
    if session.json {
        let mut line = JsonObject::new();
        line.value("file", path.as_str()).value("same", summary.is_same());
        line.value("before", before).value("after", after);
        writeln!(out, "{}", line.finish())?;
    } else if let Some(difference) = first {
        let place = look::safe(&difference.path);
        writeln!(out, "{TITLE}{}{TITLE:#}: {WRONG}differs{WRONG:#} at {place}", look::safe(&path))?;
    } else if !session.quiet {
        let sizes = format!("{} → {}", look::size(before), look::size(after));
        writeln!(
            out,
            "{TITLE}{}{TITLE:#}: {WELL}written and checked{WELL:#}  {FAINT}{sizes}{FAINT:#}",
            look::safe(&path)
        )?;
    }
    out.flush()?;
    Ok(Answer::of(summary.is_same()))
}

fn rewrite(args: &Repack, file: &Arc<File>, session: &Session) -> Outcome<()> {
    let Files { input, output, .. } = &args.files;
    let fail = |error| broken(&args.files, error);
    let mut write = args.storage.options();
    write.threads = session.options().threads;
    write.limits = session.options().limits;
    if file.format() == Format::Asdf {
        return sciformats::repack::asdf(input, output, &write).map_err(fail);
    }
    let mut options = Options::default();
    options.cancel = Some(interruptible());
    let plan = Plan::new(file, file.format(), &options).map_err(|error| Failure::of(input, &error))?;
    if let Some(loss) = plan.losses().first() {
        let error = Error::unsupported(format!("repacking it: {} {}", loss.path, loss.what));
        return Err(Failure::of(input, &error));
    }
    plan.write(output, &write).map_err(fail)
}
