//! The letters of pictures that consist of pixels: the outlines of `DejaVu` Sans, so that a picture looks the same on every
//! machine. Their widths are also used to place text in the other kinds of files, whose readers have fonts of their own.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, GlyphId, PxScale, ScaleFont, point};

fn font() -> Option<&'static FontRef<'static>> {
    static FONT: OnceLock<Option<FontRef<'static>>> = OnceLock::new();
    // The bytes are part of the program, and a test reads them.
    FONT.get_or_init(|| FontRef::try_from_slice(dejavu::sans::regular()).ok()).as_ref()
}

/// Returns the scale at which a square of the font has sides of `size` pixels.
fn scale(font: &FontRef<'static>, size: f64) -> PxScale {
    let units = font.units_per_em().unwrap_or(2048.0);
    PxScale::from((size * f64::from(font.height_unscaled() / units)) as f32)
}

/// Calls `put` for each letter with its distance from the start of the text, and returns the width of the text.
fn laid_out(text: &str, size: f64, mut put: impl FnMut(&FontRef<'static>, PxScale, GlyphId, f32)) -> f64 {
    let Some(font) = font() else { return 0.0 };
    let scale = scale(font, size);
    let scaled = font.as_scaled(scale);
    let (mut at, mut before) = (0f32, None);
    for c in text.chars() {
        let glyph = scaled.glyph_id(c);
        if let Some(before) = before {
            at += scaled.kern(before, glyph);
        }
        put(font, scale, glyph, at);
        at += scaled.h_advance(glyph);
        before = Some(glyph);
    }
    f64::from(at)
}

/// Returns the width of a text whose letters have this size, in pixels.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    laid_out(text, size, |_, _, _, _| {})
}

/// Calls `put` for each pixel that a text touches: its distance to the right of the start and below the line on which the
/// letters stand, and the part of it that is covered.
pub(crate) fn draw(text: &str, size: f64, put: &mut dyn FnMut(i64, i64, f64)) {
    laid_out(text, size, |font, scale, glyph, at| {
        let glyph = glyph.with_scale_and_position(scale, point(at, 0.0));
        let Some(outline) = font.outline_glyph(glyph) else { return };
        let start = outline.px_bounds().min;
        outline.draw(|x, y, cover| {
            let place = |start: f32, offset: u32| start as i64 + i64::from(offset);
            put(place(start.x, x), place(start.y, y), f64::from(cover.clamp(0.0, 1.0)));
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_widths_and_pixels() {
        assert!(font().is_some());
        assert_eq!(width("", 16.0), 0.0);
        let (narrow, wide) = (width("il", 16.0), width("WM", 16.0));
        assert!(narrow > 5.0 && narrow * 2.0 < wide, "{narrow} {wide}");
        assert!((width("abc", 32.0) - 2.0 * width("abc", 16.0)).abs() < 0.1);
        let (mut sum, mut lowest, mut highest) = (0.0, i64::MIN, i64::MAX);
        draw("I", 16.0, &mut |_, y, cover| {
            sum += cover;
            if cover > 0.5 {
                (lowest, highest) = (lowest.max(y), highest.min(y));
            }
        });
        // A stroke as high as a capital letter, which stands on the line.
        assert!((12.0..40.0).contains(&sum), "{sum}");
        assert!(lowest == -1 && (-13..=-11).contains(&highest), "{lowest} {highest}");
    }

    #[test]
    fn units_have_their_letters() {
        let font = font().unwrap();
        for c in ['m', '/', 'µ', 'μ', 'Å', '°', '²', '⁻', '¹', 'λ', 'Ω', '×', '…', '−', '→', 'é', 'ж']
        {
            assert_ne!(font.glyph_id(c), GlyphId(0), "{c}");
        }
    }
}
