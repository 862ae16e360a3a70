//! `convert` to PNG: an array as a picture with one pixel per element, or a series of them if it has more dimensions.

use sciformats::Error;
use sciformats_conventions::Dataset;
use sciformats_core::bound;

use super::args::Convert;
use super::export::chosen;
use crate::commands::plot::replace;
use crate::commands::plot::series::{names, report};
use crate::failure::{Answer, Failure, Outcome, free};
use crate::figure::canvas::Pixels;
use crate::figure::raster;
use crate::figure::{Body, Figure, palette};
use crate::gather::{Kind, Room, Subject};
use crate::meaning::first::first;
use crate::meaning::{Thing, View};
use crate::output::{is_stdout, redirected};
use crate::session::Session;

pub(super) fn run(args: &Convert, session: &Session) -> Outcome {
    let (input, output) = (&args.files.input, &args.files.output);
    args.storage.unasked(args.check, "png")?;
    let data = Dataset::new(session.open_whole(input)?);
    super::selected(args, data.file())?;
    let fail = |error: Error| Failure::of(input, &error);
    let path = match chosen(&data, args).as_slice() {
        [one] => one.clone(),
        _ if args.select.is_empty() => first(&data)
            .map(|first| first.path)
            .ok_or_else(|| Failure::Refused(format!("{}: no array makes a picture", input.display())))?,
        several => {
            let count = several.len();
            let text = format!("{}: {count} arrays are selected, and a picture shows one", input.display());
            return Err(Failure::Refused(text));
        }
    };
    let thing = Thing::find(&data, &path, View::Numbers).map_err(fail)?;
    session.doubt(input, &thing);
    let array = thing.array().map_err(fail)?;
    let (subject, _) = Subject::new((&thing, &array), (None, None), None).map_err(fail)?;
    // What a picture shows are the last dimensions; each index of the others makes one.
    let inner = subject.selection.shape();
    let outer =
        array.shape().get(..bound::left(array.shape().len(), inner.len())).unwrap_or_default().to_vec();
    let colours = subject.place_of_colours();
    let sides = inner.iter().enumerate().filter(|(at, _)| Some(*at) != colours).map(|(_, side)| *side);
    let &[rows, columns, ..] = sides.collect::<Vec<u64>>().as_slice() else {
        let text = format!("{}: {path} has fewer than two dimensions; `plot` draws it", input.display());
        return Err(Failure::Refused(text));
    };
    let count = outer.iter().fold(1u64, |count, &side| bound::product(count, side));
    let bytes = bound::product(bound::product(rows, columns), 64);
    data.file().limits().memory("bytes of a picture", bytes).map_err(fail)?;
    let names = if outer.is_empty() { vec![output.clone()] } else { names(output, count)? };
    let stdout = is_stdout(output);
    if stdout && names.len() > 1 {
        return Err(Failure::Usage("there are several pictures, which stdout cannot hold".into()));
    }
    if args.dry_run {
        let aside = session.aside();
        report(&names, 0, if stdout { &aside } else { session })?;
        return Ok(Answer::Yes);
    }
    if stdout {
        redirected()?;
    }
    for name in names.iter().filter(|_| !stdout) {
        free(name, args.files.force)?;
    }
    let room = (bound::addressable(columns), bound::addressable(rows));
    let room = Room { line: room.0, image: room, bars: 1 };
    let figure = |number: u64| -> Outcome<Figure> {
        let slice = slice(&outer, number);
        let part = (Some(slice.as_str()).filter(|_| !outer.is_empty()), None);
        let (subject, _) = Subject::new((&thing, &array), part, Some(Kind::Image)).map_err(fail)?;
        session
            .watched("reading", &[thing.source()], || subject.figure(Kind::Image, room, None))
            .map_err(fail)
    };
    let mut ranges = crate::figure::Ranges::default();
    if count > 1 {
        for number in 0..count {
            ranges = ranges.and(figure(number)?.ranges());
        }
    }
    let mut size = 0u64;
    for (number, name) in (0u64..).zip(&names) {
        let bytes = png(figure(number)?.within(&ranges)).map_err(|error| Failure::unwritten(name, &error))?;
        super::unchanged(data.file()).map_err(fail)?;
        if stdout {
            let mut out = session.bytes();
            std::io::Write::write_all(&mut out, &bytes)?;
            std::io::Write::flush(&mut out)?;
            return Ok(Answer::Yes);
        }
        replace(name, &bytes)?;
        size = bound::sum(size, bytes.len() as u64);
    }
    report(&names, size, session)?;
    Ok(Answer::Yes)
}

/// Returns a picture as pixels without axes.
fn png(figure: Figure) -> sciformats::Result<Vec<u8>> {
    let pixels = match figure.body {
        Body::Picture { pixels, .. } => pixels,
        Body::Image { grid, values } => {
            let colours = grid.values.iter().map(|&value| palette::scale(values.position(value)));
            Pixels { width: grid.columns, colours: colours.collect() }
        }
        _ => return Err(Error::internal("a picture has no pixels")),
    };
    raster::png(&pixels)
}

/// Returns the slice of a picture with a number, counted in C order.
fn slice(outer: &[u64], number: u64) -> String {
    let mut rest = number;
    let mut parts: Vec<String> = outer
        .iter()
        .rev()
        .map(|&side| {
            let index = rest % side.max(1);
            rest /= side.max(1);
            index.to_string()
        })
        .collect();
    parts.reverse();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_counted_in_c_order() {
        let slices: Vec<String> = (0..6).map(|number| slice(&[2, 3], number)).collect();
        assert_eq!(slices, ["0, 0", "0, 1", "0, 2", "1, 0", "1, 1", "1, 2"]);
    }
}
