//! A picture as JSON: the numbers that are drawn.

use sciformats::Value;

use crate::commands::json::JsonObject;
use crate::figure::sample::Line;
use crate::figure::{Axis, Body, Figure, dates};

/// Returns a JSON object with the numbers that are drawn, and the axes.
pub(super) fn figure(figure: &Figure) -> String {
    let mut object = JsonObject::new();
    let kind = match figure.body {
        Body::Lines(_) => "line",
        Body::Image { .. } => "image",
        Body::Bars(_) => "histogram",
        Body::Points { .. } => "scatter",
        Body::Picture { .. } => "picture",
    };
    object.value("kind", kind).value("title", figure.title.as_str());
    object.raw("x", &axis(&figure.x)).raw("y", &axis(&figure.y));
    match &figure.body {
        Body::Lines(lines) => {
            let left_out: u64 = lines.iter().map(|line| line.left_out).sum();
            object.raw("lines", &list(lines.iter().map(line))).value("not_finite", left_out);
        }
        Body::Image { grid, values } => {
            object.raw("values", &axis(values)).value("not_finite", grid.left_out);
            let rows = grid.values.chunks(grid.columns.max(1)).map(|row| numbers(row.iter().copied()));
            object.raw("image", &list(rows));
        }
        Body::Bars(bars) => {
            let counts = bars.counts.iter().map(|&count| count.into()).collect();
            object.value("counts", Value::List(counts)).value("not_finite", bars.left_out);
        }
        Body::Points { cloud, values } => {
            object.raw("points_x", &numbers(cloud.spots().map(|spot| spot.x)));
            object.raw("points_y", &numbers(cloud.spots().map(|spot| spot.y)));
            if let Some(values) = values {
                object.raw("values", &axis(values));
                object.raw("points_value", &numbers(cloud.spots().map(crate::figure::sample::Spot::value)));
            }
            object.value("count", cloud.count).value("not_finite", cloud.left_out);
        }
        Body::Picture { pixels, left_out } => {
            let row = |row: &[[u8; 3]]| {
                let colours = row.iter().map(|colour| numbers(colour.iter().map(|&part| f64::from(part))));
                list(colours)
            };
            object.raw("image", &list(pixels.colours.chunks(pixels.width.max(1)).map(row)));
            object.value("not_finite", *left_out);
        }
    }
    object.finish()
}

fn axis(axis: &Axis) -> String {
    let mut object = JsonObject::new();
    object.value("label", axis.label.as_str()).value("low", axis.low).value("high", axis.high);
    if let Some(calendar) = axis.dates {
        let ends = [axis.low, axis.high].map(|end| dates::shown(calendar, end).unwrap_or_default().into());
        object.value("calendar", calendar.name()).value("dates", Value::List(ends.to_vec()));
    }
    object.finish()
}

fn line(line: &Line) -> String {
    let mut object = JsonObject::new();
    object.value("name", line.name.as_str());
    object.raw("x", &numbers(line.bins().map(|bin| bin.x)));
    object.raw("first", &numbers(line.bins().map(|bin| bin.first)));
    object.raw("low", &numbers(line.bins().map(|bin| bin.low)));
    object.raw("high", &numbers(line.bins().map(|bin| bin.high)));
    object.raw("last", &numbers(line.bins().map(|bin| bin.last))).finish()
}

fn numbers(values: impl Iterator<Item = f64>) -> String {
    Value::List(values.map(Value::from).collect()).to_json()
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}
