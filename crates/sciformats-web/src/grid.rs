//! Arrays reduced to what a picture shows: a mean for each pixel, or a range for each column.

use sciformats::{Array, Error, Result, Selection};
use serde_json::{Value, json};

use crate::numbers::{Aspect, Range, bytes, mean};
use crate::session::{Opened, Reply, Request};
use crate::thing::{Thing, shape_of};

/// The number of elements that a picture is made of; of more, only some are read.
const MOST: u64 = 4 << 20;

/// The number of rows that a picture is made of, if they are far from each other in the file.
const ROWS: u64 = 1024;

/// The largest width and height of a picture.
const PIXELS: u64 = 4096;

/// A part of a dimension: from `first` on, `count` elements with distance `step`.
#[derive(Clone, Copy, Debug)]
struct Part {
    first: u64,
    step: u64,
    count: u64,
}

impl Part {
    /// Returns the part from `from` to `to` of a dimension, of which every element is read.
    fn new(length: u64, from: Option<u64>, to: Option<u64>) -> Self {
        let to = to.unwrap_or(length).min(length);
        let first = from.unwrap_or(0).min(to);
        Self { first, step: 1, count: to - first }
    }

    /// Returns the same part with at most `most` elements.
    fn thinned(self, most: u64) -> Self {
        let step = self.count.div_ceil(most.max(1)).max(1);
        Self { first: self.first + (step - 1) / 2, step, count: self.count.div_ceil(step) }.within(self)
    }

    /// Returns this part without what is outside of another one.
    fn within(self, other: Self) -> Self {
        let end = other.first + other.count;
        let fits = end.checked_sub(self.first + 1).map_or(0, |room| room / self.step + 1);
        Self { count: self.count.min(fits), ..self }
    }

    fn text(self) -> String {
        // A part without elements ends where it begins.
        let end = self.count.checked_sub(1).map_or(self.first, |last| self.first + last * self.step + 1);
        format!("{}:{end}:{}", self.first, self.step)
    }
}

/// Returns the axis of a request.
fn axis(request: &Request<'_>, name: &str, rank: usize) -> Result<usize> {
    let axis = usize::try_from(request.number(name)?).unwrap_or(usize::MAX);
    if axis < rank { Ok(axis) } else { Err(Error::usage("axis", format!("{axis} is not one of {rank}"))) }
}

/// Returns the selection of some parts of an array, and of the `fixed` index in each other dimension.
fn select(array: &Array<'_>, request: &Request<'_>, parts: &[(usize, Part)]) -> Result<Selection> {
    let shape = shape_of(array)?;
    let fixed = request.numbers("fixed");
    let texts: Vec<String> = (0..shape.len())
        .map(|axis| match parts.iter().find(|(of, _)| *of == axis) {
            Some((_, part)) => part.text(),
            None => fixed.get(axis).copied().unwrap_or(0).to_string(),
        })
        .collect();
    Selection::parse(&texts.join(","), shape)
}

/// Returns what a pixel shows of the numbers that fall into it: the mean of the finite ones, the first infinite one if there are none, or
/// NaN.
fn pixel(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let (mut sum, mut count, mut other) = (0.0, 0, f64::NAN);
    numbers.clone().for_each(|number| {
        if number.is_finite() {
            sum += number;
            count += 1;
        } else if other.is_nan() {
            other = number;
        }
    });
    if count == 0 { other } else { mean(numbers.filter(|number| number.is_finite()), sum, count) }
}

/// Answers a grid of at most `rows` times `columns` means of the dimensions `y` and `x`.
pub(crate) fn grid(opened: &Opened, request: &Request<'_>) -> Result<Reply> {
    let thing = Thing::of(opened, request)?;
    let array = thing.array()?;
    let shape = shape_of(&array)?;
    let (y, x) = (axis(request, "y", shape.len())?, axis(request, "x", shape.len())?);
    if y == x {
        return Err(Error::usage("axis", "of rows and of columns must differ"));
    }
    let length = |axis: usize| shape.get(axis).copied().unwrap_or(0);
    let mut down = Part::new(length(y), request.maybe_number("y0"), request.maybe_number("y1"));
    let mut across = Part::new(length(x), request.maybe_number("x0"), request.maybe_number("x1"));
    let rows = request.maybe_number("rows").unwrap_or(512).clamp(1, PIXELS).min(down.count.max(1));
    let columns = request.maybe_number("columns").unwrap_or(512).clamp(1, PIXELS).min(across.count.max(1));
    let most = MOST.max(rows * columns);
    if down.count.checked_mul(across.count).is_none_or(|all| all > most) {
        // Some rows are left out, but at least one is read for each pixel.
        let whole = (most / across.count.max(1)).clamp(rows, ROWS.max(rows));
        down = down.thinned(whole);
        across = across.thinned((most / down.count.max(1)).max(columns));
    }
    let selection = select(&array, request, &[(y, down), (x, across)])?;
    let numbers = Aspect::of(request).read(&array, &selection)?;
    let (high, wide) = (fit(down.count), fit(across.count));
    // The elements are in the order of the dimensions in the array.
    let (by_row, by_column) = if y < x { (wide, 1) } else { (1, high) };
    let (rows, columns) = (fit(rows).min(high.max(1)), fit(columns).min(wide.max(1)));
    let mut means = vec![f64::NAN; rows * columns];
    if high > 0 && wide > 0 {
        for (row, line) in means.chunks_exact_mut(columns).enumerate() {
            let (top, bottom) = (row * high / rows, ((row + 1) * high / rows).max(row * high / rows + 1));
            for (column, place) in line.iter_mut().enumerate() {
                let left = column * wide / columns;
                let right = ((column + 1) * wide / columns).max(left + 1);
                let at = |i: usize, j: usize| numbers.get(i * by_row + j * by_column).copied();
                let at = |i: usize, j: usize| at(i, j).unwrap_or(f64::NAN);
                *place = pixel((top..bottom).flat_map(|i| (left..right).map(move |j| at(i, j))));
            }
        }
    }
    let Range { low, high: top, missing, infinite } = Range::of(&numbers);
    let json = json!({
        "rows": rows, "columns": columns, "low": low, "high": top, "missing": missing, "infinite": infinite,
        "all": numbers.len(), "shape": shape, "down": part(down), "across": part(across),
        "whole": rows == high && columns == wide && down.step == 1 && across.step == 1,
    });
    Ok(Reply::with(&json, bytes(&means)))
}

fn part(part: Part) -> Value {
    json!({ "first": part.first, "step": part.step, "count": part.count })
}

fn fit(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Answers the elements along the dimension `x`, or their lowest and highest in each of `columns` columns.
pub(crate) fn line(opened: &Opened, request: &Request<'_>) -> Result<Reply> {
    let thing = Thing::of(opened, request)?;
    let array = thing.array()?;
    let shape = shape_of(&array)?;
    let x = axis(request, "x", shape.len())?;
    let whole = Part::new(
        shape.get(x).copied().unwrap_or(0),
        request.maybe_number("from"),
        request.maybe_number("to"),
    );
    let columns = fit(request.maybe_number("columns").unwrap_or(1024).clamp(1, PIXELS));
    let along = if whole.count > MOST { whole.thinned(MOST) } else { whole };
    let selection = select(&array, request, &[(x, along)])?;
    let numbers = Aspect::of(request).read(&array, &selection)?;
    let Range { low, high, missing, infinite } = Range::of(&numbers);
    let raw = numbers.len() <= 2 * columns;
    let data = if raw { numbers.clone() } else { columned(&numbers, columns) };
    let json = json!({
        "raw": raw, "columns": columns, "low": low, "high": high, "missing": missing, "infinite": infinite,
        "all": numbers.len(), "along": part(along),
    });
    Ok(Reply::with(&json, bytes(&data)))
}

/// Returns the lowest number of each column, and then the highest ones.
fn columned(numbers: &[f64], columns: usize) -> Vec<f64> {
    let mut out = vec![f64::NAN; 2 * columns];
    let (lows, highs) = out.split_at_mut(columns);
    for (column, (low, high)) in lows.iter_mut().zip(highs).enumerate() {
        let from = column * numbers.len() / columns;
        let to = (column + 1) * numbers.len() / columns;
        for &number in numbers.get(from..to).unwrap_or_default().iter().filter(|number| number.is_finite()) {
            *low = low.min(number);
            *high = high.max(number);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_thinned_and_stays_inside() {
        for (from, to, most) in [(0, 10, 3), (5, 6, 1), (0, 1000, 999), (7, 1000, 100), (3, 3, 5)] {
            let part = Part::new(1000, Some(from), Some(to));
            let thin = part.thinned(most);
            assert!(thin.count <= most, "{thin:?}");
            assert!(thin.count == 0 || thin.first + (thin.count - 1) * thin.step < to, "{thin:?}");
            assert!(thin.count > 0 || part.count == 0, "{thin:?}");
        }
    }

    #[test]
    fn columns_have_the_range_of_their_numbers() {
        assert_eq!(columned(&[1.0, 5.0, f64::NAN, -2.0], 2), [1.0, -2.0, 5.0, -2.0]);
    }
}
