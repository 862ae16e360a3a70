//! A series of pictures: one for each index of a dimension, with the same scale in all of them.

use std::io::Write;
use std::path::{Path, PathBuf};

use sciformats_core::bound;

use super::args::{Plot, Target};
use super::{Subjected, drawn, on_paper, replace};
use crate::args::Object;
use crate::commands::json::JsonObject;
use crate::failure::{Answer, Failure, Outcome, free};
use crate::figure::Ranges;
use crate::look::{self, FAINT, TITLE, WELL};
use crate::meaning::Thing;
use crate::output::is_stdout;
use crate::session::Session;

/// The largest number of pictures; more are a mistake.
pub(in crate::commands) const MOST: u64 = 100_000;

/// Draws a series.
pub(super) fn run(
    args: &Plot,
    (object, each): (&Object, &str),
    (output, target): (&Path, Target),
    session: &Session,
) -> Outcome {
    if is_stdout(output) {
        return Err(Failure::Usage("--each writes several files, which stdout cannot hold".into()));
    }
    let opened = Subjected::open(object, args, session)?;
    let fail = |error| Failure::of(&object.file, &error);
    let shape = opened.thing.array().map_err(fail)?.shape().to_vec();
    let axis = axis(&opened.thing, &shape, each)?;
    let count = shape.get(axis).copied().unwrap_or_default();
    let names = names(output, count)?;
    for name in &names {
        free(name, args.force)?;
    }
    let slice = |index: u64| slice(&opened.thing, (shape.len(), axis), args.slice.as_deref(), index);
    let room = on_paper(args.size, args.scale);
    let figure = |index: u64| {
        let slice = slice(index)?;
        opened.figure((Some(&slice), args.at.as_deref()), (args.kind, room), args, session)
    };
    // The scale is known when everything was read once.
    let mut ranges = Ranges::default();
    for index in 0..count {
        ranges = ranges.and(figure(index)?.ranges());
    }
    let mut size = 0u64;
    for (index, name) in (0..count).zip(&names) {
        let bytes = drawn(&figure(index)?.within(&ranges), target, args);
        let bytes = bytes.map_err(|error| Failure::unwritten(name, &error))?;
        replace(name, &bytes)?;
        size = bound::sum(size, bytes.len() as u64);
    }
    report(&names, size, session)?;
    Ok(Answer::Yes)
}

/// Reports what was written.
pub(in crate::commands) fn report(names: &[PathBuf], size: u64, session: &Session) -> Outcome<()> {
    let mut out = session.text();
    let shown = |name: Option<&PathBuf>| name.map(|name| name.display().to_string()).unwrap_or_default();
    if session.json {
        for name in names {
            let mut line = JsonObject::new();
            line.value("file", name.display().to_string());
            writeln!(out, "{}", line.finish())?;
        }
    } else if !session.quiet {
        let (first, last) = (shown(names.first()), shown(names.last()));
        let range = if names.len() > 1 { format!("{first} … {last}") } else { first };
        let pictures = look::count(names.len() as u64, "picture");
        writeln!(
            out,
            "{TITLE}{}{TITLE:#}: {WELL}written{WELL:#}  {FAINT}{pictures}, {}{FAINT:#}",
            look::safe(&range),
            look::size(size)
        )?;
    }
    Ok(out.flush()?)
}

/// Returns the names of a number of files: `u.png` becomes `u-000.png` and so on, and `{}` in a name becomes the number.
///
/// # Errors
///
/// A failure if there are none, or too many.
pub(in crate::commands) fn names(output: &Path, count: u64) -> Outcome<Vec<PathBuf>> {
    if count == 0 {
        return Err(Failure::Refused("there are no pictures, because the dimension has length 0".into()));
    }
    if count > MOST {
        let (count, most) = (look::grouped(count), look::grouped(MOST));
        return Err(Failure::Refused(format!(
            "there would be {count} pictures, and at most {most} are written"
        )));
    }
    let digits = (count - 1).to_string().len().max(3);
    let name = output.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let numbered = |index: u64| {
        let number = format!("{index:0digits$}");
        let name = match name.rsplit_once('.') {
            _ if name.contains("{}") => name.replace("{}", &number),
            Some((stem, ending)) if !stem.is_empty() => format!("{stem}-{number}.{ending}"),
            _ => format!("{name}-{number}"),
        };
        output.with_file_name(name)
    };
    Ok((0..count).map(numbered).collect())
}

/// Returns the dimension with a name or a number.
fn axis(thing: &Thing, shape: &[u64], each: &str) -> Outcome<usize> {
    let dimensions = thing.variable().map(|variable| variable.dimensions.as_slice()).unwrap_or_default();
    let named = dimensions.iter().position(|dimension| dimension.name.as_deref() == Some(each));
    let number = each.parse().ok().filter(|&number: &usize| number < shape.len());
    named.or(number).ok_or_else(|| {
        let names: Vec<&str> = dimensions.iter().filter_map(|dimension| dimension.name.as_deref()).collect();
        let known = if names.is_empty() { String::new() } else { format!(" {}, or", names.join(", ")) };
        let last = bound::left(shape.len(), 1);
        Failure::Usage(format!("{} has no dimension {each}; there are{known} 0 to {last}", thing.path()))
    })
}

/// Returns the slice at one index of a dimension.
fn slice(thing: &Thing, (rank, axis): (usize, usize), asked: Option<&str>, index: u64) -> Outcome<String> {
    let dimensions = thing.variable().map(|variable| variable.dimensions.as_slice()).unwrap_or_default();
    match (asked, dimensions.get(axis).and_then(|dimension| dimension.name.as_deref())) {
        (Some(asked), Some(name)) if asked.contains('=') => {
            let asked = asked.trim().trim_start_matches('[').trim_end_matches(']');
            Ok(format!("{asked}, {name}={index}"))
        }
        (Some(_), _) => {
            Err(Failure::Usage("beside --each, a slice must name its dimensions, as in lat=0:10".into()))
        }
        (None, _) => {
            // Two dimensions make a picture; those before them are taken at index 0.
            let mut left = bound::left(rank, 3);
            let part = |at: usize| {
                if at == axis {
                    return index.to_string();
                }
                if left > 0 {
                    left -= 1;
                    return "0".to_owned();
                }
                ":".to_owned()
            };
            Ok((0..rank).map(part).collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_numbers() {
        let names = |output: &str, count| -> Vec<String> {
            let names = names(Path::new(output), count).unwrap();
            names.iter().map(|name| name.display().to_string()).collect()
        };
        assert_eq!(names("a/u.png", 2), ["a/u-000.png", "a/u-001.png"]);
        assert_eq!(names("u{}.svg", 1), ["u000.svg"]);
        assert_eq!(names("u", 1), ["u-000"]);
        assert_eq!(names("u.png", 2000).last().unwrap(), "u-1999.png");
        assert!(super::names(Path::new("u.png"), 0).is_err());
        assert!(super::names(Path::new("u.png"), MOST + 1).is_err());
    }
}
