//! Lines along a dimension.

use sciformats::{Error, Result, SelectedAxis};
use sciformats_core::bound;

use super::labels::{Dimension, of_dimension};
use super::numbers::Numbers;
use super::{LINES, Subject, safe_label};
use crate::figure::sample::Line;
use crate::figure::{Axis, Body, Figure};
use crate::look;

impl<'a> Subject<'a> {
    pub(super) fn lines(
        &self,
        numbers: &Numbers,
        (along, each): (&SelectedAxis, Option<&SelectedAxis>),
        room: usize,
    ) -> Result<Figure> {
        let dimension = of_dimension(self.thing, along);
        let ends = (dimension.at(along, 0), dimension.at(along, bound::left(along.count, 1)));
        let count = each.map_or(1, |each| each.count);
        let named = each.map(|each| of_dimension(self.thing, each));
        let mut lines: Vec<Line> = (0..count)
            .map(|i| {
                let name = each.zip(named.as_ref()).map(|(each, named)| named.shown(each, i));
                Line::new(name.unwrap_or_default(), ends, room)
            })
            .collect();
        let mut next = 0u64;
        self.for_each(numbers, &mut |values| {
            for &value in values {
                let (index, line) = (next / count, next % count);
                if let Some(line) = usize::try_from(line).ok().and_then(|line| lines.get_mut(line)) {
                    line.add(dimension.at(along, index), value);
                }
                next += 1;
            }
        })?;
        Ok(self.figure_of_lines(lines, (&dimension, ends), self.values_label()))
    }

    /// Returns the figure of lines along a dimension, whose coordinates begin and end with `ends`.
    fn figure_of_lines(
        &self,
        lines: Vec<Line>,
        (dimension, ends): (&Dimension, (f64, f64)),
        label: impl Into<String>,
    ) -> Figure {
        let range = lines.iter().map(Line::range);
        let (low, high) = range.fold((f64::INFINITY, f64::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        let left_out = lines.iter().map(|line| line.left_out).sum();
        let x = Axis { dates: dimension.dates, ..Axis::new(safe_label(dimension), ends.0, ends.1) };
        let x = if ends.0 > ends.1 { x } else { x.widened() };
        self.finish((x, Axis::new(label, low, high).widened()), Body::Lines(lines), left_out)
    }

    pub(super) fn lines_of_fields(
        &self,
        fields: &[(&str, Numbers)],
        along: &SelectedAxis,
        room: usize,
    ) -> Result<Figure> {
        if fields.len() as u64 > LINES {
            return Err(Error::usage("field", format!("can be given at most {LINES} times")));
        }
        let dimension = of_dimension(self.thing, along);
        let ends = (dimension.at(along, 0), dimension.at(along, bound::left(along.count, 1)));
        let mut lines: Vec<Line> =
            fields.iter().map(|(name, _)| Line::new(look::safe(name).into_owned(), ends, room)).collect();
        let mut start = 0u64;
        self.for_each_row(fields, &mut |columns| {
            for (line, values) in lines.iter_mut().zip(columns) {
                for (index, &value) in (start..).zip(values) {
                    line.add(dimension.at(along, index), value);
                }
            }
            start = bound::sum(start, columns.first().map_or(0, Vec::len) as u64);
        })?;
        let figure = self.figure_of_lines(lines, (&dimension, ends), "");
        Ok(Figure { title: self.plain_title(), ..figure })
    }
}
