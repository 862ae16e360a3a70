//! Colours: a scale that becomes lighter evenly and that everybody can tell apart, and a few colours for
//! lines.

/// Red, green, blue.
pub(crate) type Colour = [u8; 3];

/// The colour of values that are not finite.
pub(crate) const NOTHING: Colour = [0x80, 0x80, 0x80];
pub(crate) const BLACK: Colour = [0, 0, 0];
pub(crate) const WHITE: Colour = [255, 255, 255];
pub(crate) const GREY: Colour = [0xD8, 0xD8, 0xD8];

/// Evenly spaced points of the scale, from its low end.
const SCALE: [Colour; 9] = [
    [0x44, 0x01, 0x54],
    [0x47, 0x2D, 0x7B],
    [0x3B, 0x52, 0x8B],
    [0x2C, 0x72, 0x8E],
    [0x21, 0x91, 0x8C],
    [0x28, 0xAE, 0x80],
    [0x5E, 0xC9, 0x62],
    [0xAD, 0xDC, 0x30],
    [0xFD, 0xE7, 0x25],
];

/// The number of lines that have a colour of their own.
pub(crate) const LINE_COLOURS: usize = 7;

/// The colours of lines, in order.
const LINES: [Colour; LINE_COLOURS] = [
    [0x00, 0x72, 0xB2],
    [0xD5, 0x5E, 0x00],
    [0x00, 0x9E, 0x73],
    [0xCC, 0x79, 0xA7],
    [0xE6, 0x9F, 0x00],
    [0x56, 0xB4, 0xE9],
    [0x60, 0x60, 0x60],
];

/// Returns the colour of the line with this number.
pub(crate) fn line(number: usize) -> Colour {
    LINES.get(number % LINES.len()).copied().unwrap_or(BLACK)
}

/// Returns the colour at a position between 0 and 1; NaN is grey.
pub(crate) fn scale(position: f64) -> Colour {
    if position.is_nan() {
        return NOTHING;
    }
    let at = position.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64;
    let (low, part) = (at.floor(), at - at.floor());
    let point = |index: usize| SCALE.get(index.min(SCALE.len() - 1)).copied().unwrap_or(NOTHING);
    let (from, to) = (point(low as usize), point(low as usize + 1));
    let mut mixed = from;
    for ((out, from), to) in mixed.iter_mut().zip(from).zip(to) {
        *out = (f64::from(from) + (f64::from(to) - f64::from(from)) * part).round() as u8;
    }
    mixed
}

/// Returns the nearest of the 216 colours of a terminal that has only these.
pub(crate) fn indexed([red, green, blue]: Colour) -> u8 {
    // The levels of the colour cube are 0, 95, 135, 175, 215 and 255.
    let step = |value: u8| match value {
        0..48 => 0,
        48..115 => 1,
        other => (other - 35) / 40,
    };
    16 + 36 * step(red) + 6 * step(green) + step(blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_has_ends_a_middle_and_no_number() {
        assert_eq!(scale(0.0), [0x44, 0x01, 0x54]);
        assert_eq!(scale(0.5), [0x21, 0x91, 0x8C]);
        assert_eq!(scale(1.0), [0xFD, 0xE7, 0x25]);
        assert_eq!(scale(-3.0), scale(0.0));
        assert_eq!(scale(f64::INFINITY), scale(1.0));
        assert_eq!(scale(f64::NAN), NOTHING);
        // It gets lighter all the way.
        let light = |i: i32| scale(f64::from(i) / 100.0).iter().map(|&part| u32::from(part)).sum::<u32>();
        assert!((1..=10).all(|i| light(i * 10) > light(i * 10 - 10)));
    }

    #[test]
    fn few_colours() {
        assert_eq!(indexed([0, 0, 0]), 16);
        assert_eq!(indexed([255, 255, 255]), 231);
        assert_eq!(indexed([95, 135, 175]), 16 + 36 + 12 + 3);
    }
}
