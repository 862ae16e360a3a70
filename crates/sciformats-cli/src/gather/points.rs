//! Points, from pairs or triples of numbers.

use sciformats::{ElementType, Result, SelectedAxis};
use sciformats_core::bound;

use super::Subject;
use super::numbers::Numbers;
use crate::figure::sample::Cloud;
use crate::figure::{Axis, Body, Figure};
use crate::look;

impl<'a> Subject<'a> {
    /// Returns whether two dimensions are those of a list of points: two or three coordinates, which have no coordinates
    /// themselves, of more points than that.
    pub(super) fn are_points(&self, points: &SelectedAxis, columns: &SelectedAxis) -> bool {
        let length = self.array.shape().get(columns.dimension).copied();
        let few = (2..=3).contains(&columns.count) && length == Some(columns.count) && points.count > 3;
        let variable = self.thing.variable();
        let known = |axis: &SelectedAxis| {
            variable.is_some_and(|variable| variable.coordinates_path(axis.dimension).is_some())
        };
        let spaced = |axis: &SelectedAxis| {
            let dimension = variable.and_then(|variable| variable.dimensions.get(axis.dimension));
            dimension.is_some_and(|dimension| dimension.spacing.is_some())
        };
        few && columns.dimension == bound::left(self.array.shape().len(), 1)
            && !known(columns)
            && ![points, columns].iter().any(|axis| spaced(axis))
            && matches!(
                self.array.element(),
                ElementType::F16 | ElementType::F32 | ElementType::F64 | ElementType::Int(_)
            )
    }

    pub(super) fn scatter_of_fields(
        &self,
        fields: &[(&str, Numbers)],
        room: (usize, usize),
    ) -> Result<Figure> {
        let labels: Vec<String> = fields.iter().map(|(name, _)| look::safe(name).into_owned()).collect();
        let figure = cloud(&labels, room, &mut |visit| {
            self.for_each_row(fields, &mut |columns| {
                let third = columns.get(2);
                if let [x, y, ..] = columns {
                    for (at, (&x, &y)) in x.iter().zip(y).enumerate() {
                        visit((x, y), third.and_then(|third| third.get(at)).copied().unwrap_or(0.0));
                    }
                }
            })
        })?;
        Ok(self.finish_cloud(figure, self.plain_title()))
    }

    pub(super) fn scatter(
        &self,
        numbers: &Numbers,
        (_, columns): (&SelectedAxis, &SelectedAxis),
        room: (usize, usize),
    ) -> Result<Figure> {
        let units = self.thing.variable().and_then(|variable| variable.units.as_deref());
        let units = units.map(|units| format!(" ({})", look::safe(units))).unwrap_or_default();
        let count = bound::addressable(columns.count);
        let labels: Vec<String> =
            ["x", "y", "z"].iter().take(count).map(|name| format!("{name}{units}")).collect();
        let figure = cloud(&labels, room, &mut |visit| {
            // A piece may end inside a point.
            let mut point: Vec<f64> = Vec::new();
            self.for_each(numbers, &mut |values| {
                for &value in values {
                    point.push(value);
                    if let (true, [x, y, rest @ ..]) = (point.len() == count, point.as_slice()) {
                        visit((*x, *y), rest.first().copied().unwrap_or(0.0));
                        point.clear();
                    }
                }
            })
        })?;
        Ok(self.finish_cloud(figure, self.title()))
    }

    fn finish_cloud(&self, (x, y, body): (Axis, Axis, Body), title: String) -> Figure {
        let left_out = match &body {
            Body::Points { cloud, .. } => cloud.left_out,
            _ => 0,
        };
        let figure = self.finish((x, y), body, left_out);
        let note = figure.note.replace("value", "point");
        Figure { title, note, ..figure }
    }
}

/// Goes through points: their x and y, and a third number.
type Points<'v> = &'v mut dyn FnMut(&mut dyn FnMut((f64, f64), f64)) -> Result<()>;

/// Returns the axes and the points of a scatter plot, for which all points are visited twice.
fn cloud(labels: &[String], room: (usize, usize), points: Points<'_>) -> Result<(Axis, Axis, Body)> {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut x, mut y) = (none, none);
    points(&mut |(px, py), value| {
        if px.is_finite() && py.is_finite() && value.is_finite() {
            x = (x.0.min(px), x.1.max(px));
            y = (y.0.min(py), y.1.max(py));
        }
    })?;
    let label = |at: usize| labels.get(at).cloned().unwrap_or_default();
    let (x, y) = (Axis::new(label(0), x.0, x.1).widened(), Axis::new(label(1), y.0, y.1).widened());
    // Two places for each column and row, so that points that are not at one place stay apart.
    let (columns, rows) = (bound::product(room.0, 2), bound::product(room.1, 2));
    let mut cloud = Cloud::new((x.low, x.high), (y.low, y.high), (columns, rows));
    points(&mut |point, value| cloud.add(point, value))?;
    let (low, high) = cloud.range();
    let values = labels.get(2).map(|label| Axis::new(label.clone(), low, high).widened());
    Ok((x, y, Body::Points { cloud, values }))
}
