//! Reduces any number of values to as many as a picture has room for.
//!
//! At each place along a line, the first, last, lowest and highest value are kept, so no peak is lost. Each
//! place of an image keeps the mean. Values that are not finite are counted and left out.

use std::collections::BTreeMap;

use sciformats_core::bound;

/// The values at one place of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bin {
    /// The x of the first value.
    pub(crate) x: f64,
    pub(crate) first: f64,
    pub(crate) last: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Whether a value before it was left out, so that the line is interrupted there.
    pub(crate) gap: bool,
}

/// A line that is being collected.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    bins: Vec<Option<Bin>>,
    from: f64,
    to: f64,
    gap: bool,
    pub(crate) left_out: u64,
}

impl Line {
    /// Creates a line over x from `from` to `to` with this many places.
    pub(crate) fn new(name: impl Into<String>, (from, to): (f64, f64), room: usize) -> Self {
        Self { name: name.into(), bins: vec![None; room.max(1)], from, to, gap: false, left_out: 0 }
    }

    /// Adds a value. The x of the values must not decrease.
    pub(crate) fn add(&mut self, x: f64, y: f64) {
        if !y.is_finite() || !x.is_finite() {
            self.left_out += 1;
            self.gap = true;
            return;
        }
        let part = if self.to == self.from { 0.0 } else { (x - self.from) / (self.to - self.from) };
        let place = place(part, self.bins.len());
        let gap = std::mem::take(&mut self.gap);
        match self.bins.get_mut(place) {
            Some(Some(bin)) => {
                bin.last = y;
                bin.low = bin.low.min(y);
                bin.high = bin.high.max(y);
            }
            Some(empty) => *empty = Some(Bin { x, first: y, last: y, low: y, high: y, gap }),
            None => {}
        }
    }

    /// Returns the places that have values, in ascending x.
    pub(crate) fn bins(&self) -> impl Iterator<Item = &Bin> {
        self.bins.iter().flatten()
    }

    /// Returns the lowest and the highest value.
    pub(crate) fn range(&self) -> (f64, f64) {
        self.bins().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), bin| {
            (low.min(bin.low), high.max(bin.high))
        })
    }
}

/// Returns the place of a fraction of 1 among `count` places.
fn place(part: f64, count: usize) -> usize {
    let place = (part * count as f64).floor().max(0.0) as usize;
    place.min(bound::left(count, 1))
}

/// Means over the cells of a grid; NaN if a cell has no value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) values: Vec<f64>,
    pub(crate) left_out: u64,
}

impl Grid {
    /// Returns the lowest and the highest value.
    pub(crate) fn range(&self) -> (f64, f64) {
        range(&self.values)
    }

    /// Returns the same grid with its rows in reverse order.
    #[must_use]
    pub(crate) fn turned(self) -> Self {
        let rows = self.values.chunks(self.columns.max(1)).rev();
        Self { values: rows.flatten().copied().collect(), ..self }
    }

    /// Returns the value of a cell.
    pub(crate) fn at(&self, row: usize, column: usize) -> f64 {
        self.values.get(row * self.columns + column).copied().unwrap_or(f64::NAN)
    }
}

fn range(values: &[f64]) -> (f64, f64) {
    let finite = values.iter().filter(|value| value.is_finite());
    finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)))
}

/// An image that is being collected, row by row.
#[derive(Debug)]
pub(crate) struct Mean {
    /// The rows and columns of the array.
    of: (u64, u64),
    /// The rows and columns of the grid.
    grid: (usize, usize),
    sums: Vec<(f64, u64)>,
    /// The number of the next value.
    next: u64,
    left_out: u64,
}

impl Mean {
    /// Creates an image of this many rows and columns, for a picture that has room for `most`.
    pub(crate) fn new((rows, columns): (u64, u64), most: (usize, usize)) -> Self {
        let fit = |count: u64, most: usize| bound::addressable(count).min(most).max(1);
        let grid = (fit(rows, most.0), fit(columns, most.1));
        Self { of: (rows, columns), grid, sums: vec![(0.0, 0); grid.0 * grid.1], next: 0, left_out: 0 }
    }

    pub(crate) fn add_all(&mut self, values: &[f64]) {
        let (rows, columns) = self.of;
        let mut rest = values;
        while !rest.is_empty() && columns > 0 && rows > 0 {
            let (row, start) = (self.next / columns, self.next % columns);
            let count = bound::addressable(columns - start).min(rest.len());
            let (now, after) = rest.split_at(count);
            let line = field(row, rows, self.grid.0) * self.grid.1;
            let line = self.sums.get_mut(line..line + self.grid.1).unwrap_or_default();
            let mut left_out = 0;
            for (column, &value) in (start..).zip(now) {
                match line.get_mut(field(column, columns, self.grid.1)) {
                    Some((sum, count)) if value.is_finite() => {
                        *sum += value;
                        *count += 1;
                    }
                    _ => left_out += 1,
                }
            }
            self.left_out += left_out;
            self.next += now.len() as u64;
            rest = after;
        }
    }

    pub(crate) fn finish(self) -> Grid {
        let mean = |&(sum, count): &(f64, u64)| if count == 0 { f64::NAN } else { sum / count as f64 };
        let values = self.sums.iter().map(mean).collect();
        Grid { rows: self.grid.0, columns: self.grid.1, values, left_out: self.left_out }
    }
}

/// Returns the cell, of `fields` cells, that index `index` of `count` falls into.
fn field(index: u64, count: u64, fields: usize) -> usize {
    if count == fields as u64 {
        return bound::addressable(index);
    }
    usize::try_from(u128::from(index) * fields as u128 / u128::from(count.max(1))).unwrap_or(usize::MAX) // a bound
}

/// A histogram.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bars {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) counts: Vec<u64>,
    pub(crate) left_out: u64,
}

impl Bars {
    /// Creates bars for values from `low` to `high`, both included.
    pub(crate) fn new((low, high): (f64, f64), room: usize) -> Self {
        Self { low, high, counts: vec![0; room.max(1)], left_out: 0 }
    }

    pub(crate) fn add(&mut self, value: f64) {
        if !value.is_finite() {
            self.left_out += 1;
            return;
        }
        let span = self.high / 2.0 - self.low / 2.0;
        let part = if span == 0.0 { 0.0 } else { (value / 2.0 - self.low / 2.0) / span };
        let place = place(part, self.counts.len());
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
    }

    pub(crate) fn most(&self) -> u64 {
        self.counts.iter().copied().max().unwrap_or(0) // a bound of all counts
    }
}

/// A point of a scatter plot, or several that fall into one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spot {
    /// Where the first of them is.
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The sum of their third numbers.
    sum: f64,
    count: u64,
}

impl Spot {
    /// Returns the mean of the third numbers.
    pub(crate) fn value(&self) -> f64 {
        self.sum / self.count as f64
    }
}

/// Points in a plane. Those that fall into one place of the picture become one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cloud {
    x: (f64, f64),
    y: (f64, f64),
    /// The columns and rows of the picture.
    room: (usize, usize),
    spots: BTreeMap<usize, Spot>,
    pub(crate) count: u64,
    pub(crate) left_out: u64,
}

impl Cloud {
    /// Creates an empty cloud for points with x and y within these ranges.
    pub(crate) fn new(x: (f64, f64), y: (f64, f64), (columns, rows): (usize, usize)) -> Self {
        let room = (columns.max(1), rows.max(1));
        Self { x, y, room, spots: BTreeMap::new(), count: 0, left_out: 0 }
    }

    /// Adds a point with a third number, which its colour shows.
    pub(crate) fn add(&mut self, (x, y): (f64, f64), value: f64) {
        if !(x.is_finite() && y.is_finite() && value.is_finite()) {
            self.left_out += 1;
            return;
        }
        self.count += 1;
        let within = |value: f64, (low, high): (f64, f64)| {
            let span = high / 2.0 - low / 2.0;
            if span == 0.0 { 0.0 } else { (value / 2.0 - low / 2.0) / span }
        };
        let (column, row) = (place(within(x, self.x), self.room.0), place(within(y, self.y), self.room.1));
        let spot = self.spots.entry(row * self.room.0 + column);
        let spot = spot.or_insert(Spot { x, y, sum: 0.0, count: 0 });
        spot.sum += value;
        spot.count += 1;
    }

    /// Returns the points that are drawn.
    pub(crate) fn spots(&self) -> impl Iterator<Item = &Spot> {
        self.spots.values()
    }

    /// Returns the lowest and the highest third number.
    pub(crate) fn range(&self) -> (f64, f64) {
        self.spots().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), spot| {
            (low.min(spot.value()), high.max(spot.value()))
        })
    }
}

/// Statistics of many values, computed without keeping the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Statistics {
    /// The number of finite values.
    pub(crate) count: u64,
    /// The number of values that are not finite.
    pub(crate) left_out: u64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    mean: f64,
    /// The sum of squared distances from the mean.
    squares: f64,
}

impl Default for Statistics {
    fn default() -> Self {
        let (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
        Self { count: 0, left_out: 0, low, high, mean: 0.0, squares: 0.0 }
    }
}

impl Statistics {
    pub(crate) fn add(&mut self, value: f64) {
        if !value.is_finite() {
            self.left_out += 1;
            return;
        }
        self.count += 1;
        self.low = self.low.min(value);
        self.high = self.high.max(value);
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
    }

    /// Returns the mean of all finite values.
    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.mean }
    }

    /// Returns the standard deviation of the values themselves, not of a population that they are a sample
    /// of.
    pub(crate) fn deviation(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { (self.squares / self.count as f64).sqrt() }
    }
}

/// The number of values that are kept to compute quantiles exactly.
const KEPT: usize = 1 << 21;
/// The number of parts of the range that are counted if there are more values.
const PLACES: usize = 1 << 16;

/// Computes quantiles in bounded memory.
#[derive(Debug)]
pub(crate) enum Quantiles {
    /// All values.
    Exact(Vec<f64>),
    /// The number of values in each part of the range.
    Counted(Bars),
}

impl Quantiles {
    /// Starts with values whose statistics are known.
    pub(crate) fn new(statistics: &Statistics) -> Self {
        if usize::try_from(statistics.count).is_ok_and(|count| count <= KEPT) {
            return Self::Exact(Vec::new());
        }
        Self::Counted(Bars::new((statistics.low, statistics.high), PLACES))
    }

    pub(crate) fn add(&mut self, value: f64) {
        match self {
            Self::Exact(values) => values.extend(value.is_finite().then_some(value)),
            Self::Counted(bars) => bars.add(value),
        }
    }

    /// Returns the quantiles for some fractions, and the largest possible error. They are those of NumPy if
    /// all values were kept.
    pub(crate) fn finish(self, parts: &[f64]) -> (Vec<f64>, f64) {
        match self {
            Self::Exact(mut values) => {
                values.sort_unstable_by(f64::total_cmp);
                (parts.iter().map(|&part| between(&values, part)).collect(), 0.0)
            }
            Self::Counted(bars) => {
                let width = (bars.high / 2.0 - bars.low / 2.0) / bars.counts.len() as f64 * 2.0;
                let all: u64 = bars.counts.iter().sum();
                let find = |part: &f64| {
                    let wanted = part * all as f64;
                    let mut below = 0u64;
                    for (at, count) in bars.counts.iter().enumerate() {
                        below += count;
                        if below as f64 >= wanted {
                            return bars.low + (at as f64 + 0.5) * width;
                        }
                    }
                    bars.high
                };
                (parts.iter().map(find).collect(), width)
            }
        }
    }
}

/// Returns a quantile of sorted values, interpolated between its two neighbours.
fn between(values: &[f64], part: f64) -> f64 {
    let at = part * bound::left(values.len(), 1) as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    match (values.get(low), values.get(high)) {
        (Some(low), Some(high)) => low + (high - low) * at.fract(),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_at_one_place_become_one() {
        let mut cloud = Cloud::new((0.0, 10.0), (0.0, 1.0), (10, 10));
        for (x, y, z) in [
            (0.0, 0.0, 1.0),
            (0.5, 0.05, 3.0),
            (10.0, 1.0, 7.0),
            (f64::NAN, 0.0, 1.0),
            (1.0, 0.5, f64::INFINITY),
        ] {
            cloud.add((x, y), z);
        }
        let spots: Vec<(f64, f64, f64)> = cloud.spots().map(|spot| (spot.x, spot.y, spot.value())).collect();
        assert_eq!(spots, [(0.0, 0.0, 2.0), (10.0, 1.0, 7.0)]);
        assert_eq!((cloud.count, cloud.left_out, cloud.range()), (3, 2, (2.0, 7.0)));
        // Without any extent, all are at one place.
        let mut cloud = Cloud::new((1.0, 1.0), (1.0, 1.0), (5, 5));
        (0..3).for_each(|_| cloud.add((1.0, 1.0), 0.0));
        assert_eq!(cloud.spots().count(), 1);
    }

    #[test]
    fn a_line_keeps_its_peaks_and_gaps() {
        let mut line = Line::new("", (0.0, 999.0), 10);
        for i in 0..1000u16 {
            let y = match i {
                555 => 100.0,
                556 => -100.0,
                700 => f64::NAN,
                other => f64::from(other),
            };
            line.add(i.into(), y);
        }
        assert_eq!((line.bins().count(), line.left_out), (10, 1));
        assert_eq!(line.range(), (-100.0, 999.0));
        let bins: Vec<&Bin> = line.bins().collect();
        assert_eq!((bins[5].low, bins[5].high), (-100.0, 599.0));
        assert_eq!((bins[0].first, bins[0].last, bins[0].x), (0.0, 99.0, 0.0));
        // 700 itself is missing: the line is broken before 701, which is in the bin that begins there.
        assert!(bins[7].gap && !bins[6].gap);
    }

    #[test]
    fn few_values_of_a_line_stay_as_they_are() {
        let mut line = Line::new("", (5.0, 5.0), 100);
        line.add(5.0, 3.0);
        assert_eq!(line.range(), (3.0, 3.0));
        assert_eq!(Line::new("", (0.0, 1.0), 0).range(), (f64::INFINITY, f64::NEG_INFINITY));
    }

    #[test]
    fn means_of_blocks_in_pieces_of_any_size() {
        let values: Vec<f64> = (0..24u8).map(f64::from).collect();
        for piece in [1, 5, 6, 7, 24] {
            let mut mean = Mean::new((4, 6), (2, 3));
            values.chunks(piece).for_each(|piece| mean.add_all(piece));
            let grid = mean.finish();
            assert_eq!((grid.rows, grid.columns), (2, 3));
            assert_eq!(grid.values, [3.5, 5.5, 7.5, 15.5, 17.5, 19.5], "{piece}");
            assert_eq!(grid.range(), (3.5, 19.5));
        }
        let mut mean = Mean::new((1, 2), (10, 10));
        mean.add_all(&[f64::NAN, 1.0]);
        assert_eq!(mean.left_out, 1);
        let grid = mean.finish();
        assert!(grid.at(0, 0).is_nan() && grid.at(0, 1) == 1.0 && grid.at(9, 9).is_nan());
        let mut none = Mean::new((0, 5), (3, 3));
        none.add_all(&[1.0]);
        assert!(none.finish().at(0, 0).is_nan());
    }

    #[test]
    fn quantiles_exact_and_counted() {
        let mut statistics = Statistics::default();
        let values: Vec<f64> = (0..=100u8).rev().map(f64::from).collect();
        values.iter().for_each(|&value| statistics.add(value));
        let mut quantiles = Quantiles::new(&statistics);
        values.iter().chain(&[f64::NAN]).for_each(|&value| quantiles.add(value));
        assert_eq!(quantiles.finish(&[0.0, 0.255, 0.5, 1.0]), (vec![0.0, 25.5, 50.0, 100.0], 0.0));
        // More than are kept.
        let many = Statistics { count: KEPT as u64 + 1, ..statistics };
        let mut quantiles = Quantiles::new(&many);
        values.iter().for_each(|&value| quantiles.add(value));
        let (found, off) = quantiles.finish(&[0.25, 0.5]);
        assert!(off > 0.0 && off < 0.002, "{off}");
        assert!((found[0] - 25.0).abs() <= off && (found[1] - 50.0).abs() <= off, "{found:?}");
        assert!(Quantiles::new(&Statistics::default()).finish(&[0.5]).0[0].is_nan());
    }

    #[test]
    fn bars_and_statistics() {
        let mut bars = Bars::new((0.0, 4.0), 4);
        let mut statistics = Statistics::default();
        for value in [0.0, 0.5, 1.0, 4.0, f64::NAN, f64::INFINITY] {
            bars.add(value);
            statistics.add(value);
        }
        assert_eq!((bars.counts.as_slice(), bars.left_out, bars.most()), (&[2, 1, 0, 1][..], 2, 2));
        assert_eq!((statistics.count, statistics.left_out), (4, 2));
        assert_eq!((statistics.low, statistics.high, statistics.mean()), (0.0, 4.0, 1.375));
        let squares = [1.375f64, 0.875, 0.375, 2.625].map(|off| off * off);
        assert!((statistics.deviation() - (squares.iter().sum::<f64>() / 4.0).sqrt()).abs() < 1e-12);
        assert!(Statistics::default().mean().is_nan());
        // The whole range of numbers fits.
        let mut wide = Bars::new((f64::MIN, f64::MAX), 2);
        [f64::MIN, f64::MAX].into_iter().for_each(|value| wide.add(value));
        assert_eq!(wide.counts, [1, 1]);
    }
}
