//! Pictures in colours of their own: red, green and blue parts, or a palette.

use sciformats::{ElementType, Result, SelectedAxis};
use sciformats_conventions::Role;
use sciformats_core::bound;

use super::labels::of_dimension;
use super::numbers::Numbers;
use super::{Subject, fitted, safe_label};
use crate::figure::canvas::Pixels;
use crate::figure::palette;
use crate::figure::sample::Mean;
use crate::figure::{Axis, Body, Figure};
use crate::meaning::Thing;

impl<'a> Subject<'a> {
    /// Returns which of the three dimensions of this part is that of red, green and blue; `None` if none is.
    pub(crate) fn place_of_colours(&self) -> Option<usize> {
        let axes = self.selection.axes();
        let [_, _, last] = axes.as_slice() else { return None };
        let named = colours(self.thing, self.array.shape());
        let named = axes.iter().position(|axis| Some(axis.dimension) == named && axis.count > 2);
        named.or_else(|| (3..=4).contains(&last.count).then_some(2))
    }

    /// Returns the palette of an image, if it has one of 8-bit colours.
    pub(super) fn palette(&self) -> Option<Vec<[f64; 3]>> {
        let variable = self.thing.variable()?;
        let palette = variable.coordinates.iter().find(|other| other.role == Role::Palette)?;
        let array = self.thing.file().array(&palette.path).ok()?;
        let &[count @ 1..=65_536, 3] = array.shape() else { return None };
        let numbers = Numbers::new(array.element(), None).ok()?;
        let mut values = Vec::new();
        numbers.append(&array.bytes(&array.all().ok()?).ok()?, &mut values).ok()?;
        let colours: Vec<[f64; 3]> = values.as_chunks().0.to_vec();
        (colours.len() as u64 == count).then_some(colours)
    }

    /// Returns a picture in the colours of a palette.
    pub(super) fn painted(
        &self,
        numbers: &Numbers,
        (down, across): (&SelectedAxis, &SelectedAxis),
        palette: &[[f64; 3]],
        room: (usize, usize),
    ) -> Result<Figure> {
        let of = (down.count, across.count);
        let mut means = [0; 3].map(|_| Mean::new(of, fitted(of, room)));
        self.for_each(numbers, &mut |values| {
            for (part, mean) in means.iter_mut().enumerate() {
                let colour = |value: f64| {
                    let colour = if value >= 0.0 { palette.get(value as usize) } else { None };
                    colour.and_then(|colour| colour.get(part)).copied().unwrap_or(f64::NAN)
                };
                mean.add_all(&values.iter().map(|&value| colour(value)).collect::<Vec<f64>>());
            }
        })?;
        Ok(self.coloured(means, (down, across), 1.0))
    }

    /// Returns a picture whose colours are red, green and blue parts; a fourth part is left out. `inner` is the number of
    /// numbers of one part that follow each other.
    pub(super) fn photo(
        &self,
        numbers: &Numbers,
        (down, across): (&SelectedAxis, &SelectedAxis),
        (parts, inner): (u64, u64),
        room: (usize, usize),
    ) -> Result<Figure> {
        let of = (down.count, across.count);
        let mut means = [0; 3].map(|_| Mean::new(of, fitted(of, room)));
        let parts = bound::addressable(parts);
        let (mut at, mut run, mut most) = (0usize, 0u64, 0f64);
        let mut split: [Vec<f64>; 3] = Default::default();
        self.for_each(numbers, &mut |values| {
            for &value in values {
                if let Some(part) = split.get_mut(at) {
                    part.push(value);
                    most = most.max(if value.is_finite() { value } else { 0.0 });
                }
                run += 1;
                if run == inner {
                    (run, at) = (0, if at + 1 == parts { 0 } else { at + 1 });
                }
            }
            for (mean, values) in means.iter_mut().zip(&mut split) {
                mean.add_all(values);
                values.clear();
            }
        })?;
        // Bytes and words go to their largest number, and other numbers to 1 or to 255.
        let whole = match self.array.element() {
            ElementType::UInt(2) => 65_535.0,
            ElementType::UInt(1) => 255.0,
            _ if most <= 1.0 => 1.0,
            _ => 255.0,
        };
        Ok(self.coloured(means, (down, across), 255.0 / whole))
    }

    fn coloured(
        &self,
        means: [Mean; 3],
        (down, across): (&SelectedAxis, &SelectedAxis),
        scale: f64,
    ) -> Figure {
        let [red, green, blue] = means.map(Mean::finish);
        let part = |value: f64| (value * scale).round().clamp(0.0, 255.0) as u8;
        let parts = red.values.iter().zip(&green.values).zip(&blue.values);
        let colours =
            parts.map(
                |((red, green), blue)| {
                    if red.is_nan() { palette::NOTHING } else { [part(*red), part(*green), part(*blue)] }
                },
            );
        let pixels = Pixels { width: red.columns, colours: colours.collect() };
        let left_out = red.left_out;
        let axis = |axis: &SelectedAxis| {
            let dimension = of_dimension(self.thing, axis);
            let label = if matches!(dimension.label.as_str(), "height" | "width") {
                String::new()
            } else {
                safe_label(&dimension)
            };
            Axis::new(label, axis.first as f64, axis.first as f64 + axis.step as f64 * axis.count as f64)
        };
        self.finish((axis(across), axis(down)), Body::Picture { pixels, left_out }, left_out)
    }
}

/// Returns the dimension of red, green and blue among the last three of an array.
pub(super) fn colours(thing: &Thing, shape: &[u64]) -> Option<usize> {
    let [.., first, second, third] = shape else { return None };
    let start = bound::left(shape.len(), 3);
    let dimensions = thing.variable().map(|variable| variable.dimensions.as_slice()).unwrap_or_default();
    let name =
        |at: usize| dimensions.get(at).and_then(|one| one.name.as_deref()).map(str::to_ascii_lowercase);
    let lengths = [(start, first), (bound::sum(start, 1), second), (bound::sum(start, 2), third)];
    let few = |length: u64| (3..=4).contains(&length);
    let words = ["colour", "color", "rgb", "rgba", "channel", "band"];
    // Channels and bands that are not the last dimension are images of their own.
    let named = lengths.into_iter().rev().find(|(at, length)| {
        let words = if *at == bound::sum(start, 2) { &words[..] } else { &words[..2] };
        few(**length) && name(*at).is_some_and(|name| words.iter().any(|word| name.starts_with(word)))
    });
    if let Some((at, _)) = named {
        return Some(at);
    }
    // Three bytes for each of many points of a grid are nothing else.
    let bytes = thing.array().is_ok_and(|array| *array.element() == ElementType::UInt(1));
    let last = bound::sum(start, 2);
    (few(*third) && bytes && *first >= 16 && *second >= 16 && name(last).is_none()).then_some(last)
}
