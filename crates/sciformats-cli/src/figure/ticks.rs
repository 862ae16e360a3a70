//! The positions and texts of the ticks of an axis.

use super::{Axis, dates};

/// A tick: its value and its text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) text: String,
}

/// Returns at most `most` ticks at round numbers within the axis, in ascending order, and at least one if the
/// axis has an extent.
pub(crate) fn ticks(axis: &Axis, most: usize) -> Vec<Tick> {
    let (low, high) = (axis.low.min(axis.high), axis.low.max(axis.high));
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) || most == 0 {
        return Vec::new();
    }
    if let Some(calendar) = axis.dates {
        return dates::ticks(calendar, (low, high), most);
    }
    if axis.log {
        let found = powers((low, high), most);
        if found.len() > 1 {
            return found;
        }
    }
    let mut step = rounded_up(span / most as f64);
    // Rounding may produce one tick too many at the ends. Numbers that hardly differ have no ticks between
    // them.
    for _ in 0..4 {
        let first = (low / step).ceil();
        let last = (high / step + 1e-9).floor();
        let count = last - first + 1.0;
        if count <= most as f64 && step.is_normal() {
            let values = (0..count.max(0.0) as usize).map(|i| (first + i as f64) * step);
            return labelled(values.collect(), step);
        }
        step = rounded_up(step * 1.1);
    }
    Vec::new()
}

/// Returns ticks at powers of ten, at equal distances, and between them at 2 and 5 times a power if there are few.
fn powers((low, high): (f64, f64), most: usize) -> Vec<Tick> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let most = i32::try_from(most).unwrap_or(i32::MAX).max(1); // a bound
    let step = (last - first).max(1).div_euclid(most) + 1;
    let digits: &[f64] = if (last - first) <= most / 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let powers = (first..=last).filter(|power| power.rem_euclid(step) == 0);
    let values = powers.flat_map(|power| {
        // Powers below one are more exact as a quotient.
        let one = if power < 0 { 1.0 / 10f64.powi(-power) } else { 10f64.powi(power) };
        digits.iter().map(move |digit| digit * one)
    });
    let inside = values.filter(|value| (low..=high).contains(value));
    inside.map(|value| Tick { value, text: brief(value) }).collect()
}

/// Returns the next larger number that is 1, 2 or 5 times a power of ten.
fn rounded_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let digit = value / power;
    let round = [1.0, 2.0, 5.0].into_iter().find(|round| digit <= round * (1.0 + 1e-9)).unwrap_or(10.0);
    // Powers below one are more exact as a quotient, such as 1/10 for 0.1.
    if power < 1.0 { round / (1.0 / power).round() } else { round * power }
}

/// Formats ticks with as many digits as are needed to tell them apart.
fn labelled(values: Vec<f64>, step: f64) -> Vec<Tick> {
    let largest = values.iter().fold(0f64, |most, value| most.max(value.abs()));
    let plain = largest < 1e6 && step >= 1e-5;
    let decimals = if plain { decimals(step) } else { 0 };
    let significant = (largest / step).max(1.0).log10().ceil() as usize;
    values
        .into_iter()
        .map(|value| {
            let value = if value.abs() < step / 2.0 { 0.0 } else { value };
            let text = match plain {
                true => format!("{value:.decimals$}"),
                false if value == 0.0 => "0".into(),
                false => scientific(value, significant),
            };
            Tick { value, text }
        })
        .collect()
}

/// Returns the number of digits after the point that a multiple of `step` needs.
fn decimals(step: f64) -> usize {
    (0..12)
        .find(|&digits| {
            let scaled = step * 10f64.powi(digits);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.max(1.0)
        })
        .unwrap_or(12) as usize
}

fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    match text.split_once('e') {
        Some((number, power)) if number.contains('.') => {
            format!("{}e{power}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// Formats a number with four significant digits, in as few characters as possible.
pub(crate) fn brief(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return if value.is_nan() { "nan".into() } else { if value > 0.0 { "inf" } else { "-inf" }.into() };
    }
    if !(1e-4..1e6).contains(&value.abs()) {
        return scientific(value, 3);
    }
    let whole = value.abs().log10().floor() as i32;
    let digits = (3 - whole).clamp(0, 8) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithmic_scales_have_powers_of_ten() {
        let of = |low: f64, high: f64, most: usize| {
            let axis = Axis { log: true, ..Axis::new("", low, high) };
            let ticks = ticks(&axis, most);
            assert!(ticks.iter().all(|tick| (0.0..=1.0).contains(&axis.position(tick.value))));
            ticks.into_iter().map(|tick| tick.text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(0.5, 2000.0, 8), "1 10 100 1000");
        assert_eq!(of(1e-9, 1e6, 5), "1e-8 0.0001 1 10000");
        assert_eq!(of(1.0, 60.0, 8), "1 2 5 10 20 50");
        // Within one power the ticks are those of numbers.
        assert_eq!(of(21.0, 29.0, 4), "22 24 26 28");
        let axis = Axis { log: true, ..Axis::new("", 1.0, 100.0) };
        assert_eq!((axis.position(10.0), axis.position(-3.0)), (0.5, 0.0));
        assert!(axis.position(f64::NAN).is_nan());
    }

    fn texts(low: f64, high: f64, most: usize) -> String {
        let axis = Axis::new("", low, high);
        let ticks = ticks(&axis, most);
        assert!(ticks.len() <= most);
        assert!(ticks.iter().all(|tick| (-1e-9..=1.0 + 1e-9).contains(&axis.position(tick.value))));
        ticks.into_iter().map(|tick| tick.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn round_numbers() {
        assert_eq!(texts(0.0, 10.0, 6), "0 2 4 6 8 10");
        assert_eq!(texts(0.0, 1.0, 6), "0.0 0.2 0.4 0.6 0.8 1.0");
        assert_eq!(texts(-1.0, 1.0, 5), "-1.0 -0.5 0.0 0.5 1.0");
        assert_eq!(texts(0.0, 999.0, 3), "0 500");
        assert_eq!(texts(10.0, 0.0, 3), "0 5 10");
        assert_eq!(texts(1e-9, 4e-9, 4), "1e-9 2e-9 3e-9 4e-9");
        assert_eq!(texts(0.0, 3e8, 4), "0 1e8 2e8 3e8");
        assert_eq!(texts(101_325.0, 101_326.0, 3), "101325.0 101325.5 101326.0");
        assert_eq!(texts(1e9, 1e9 + 3.0, 4), "1e9 1.000000001e9 1.000000002e9 1.000000003e9");
        assert_eq!(texts(5.0, 5.0, 4), "");
        assert_eq!(texts(0.0, f64::INFINITY, 4), "");
        assert_eq!(texts(0.0, 1.0, 0), "");
    }

    #[test]
    fn any_numbers_have_an_end() {
        let numbers = [
            0.0,
            5e-324,
            1e-310,
            2.3e-308,
            1e-300,
            1.0,
            1.0 + f64::EPSILON,
            1e16,
            1e16 + 2.0,
            1e300,
            f64::MAX,
        ];
        for low in numbers.iter().flat_map(|&number| [number, -number]) {
            for high in numbers.iter().flat_map(|&number| [number, -number]) {
                for most in [1, 2, 7] {
                    let found = ticks(&Axis::new("", low, high), most);
                    assert!(found.len() <= most && found.iter().all(|tick| tick.value.is_finite()));
                }
            }
        }
    }

    #[test]
    fn numbers_in_brief() {
        for (value, text) in [
            (0.0, "0"),
            (1.0 / 3.0, "0.3333"),
            (-12.5, "-12.5"),
            (1234.56, "1235"),
            (1.5e9, "1.5e9"),
            (2e-7, "2e-7"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(brief(value), text);
        }
    }
}
