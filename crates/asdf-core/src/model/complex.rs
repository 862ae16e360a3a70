//! The text of complex numbers (`core/complex`): `1+2j`, `(3-4J)`, `-i`, `nan+infj`.

use crate::yaml::resolve::float_text;

/// Returns the real and the imaginary part.
pub(crate) fn parse(text: &str) -> Option<(f64, f64)> {
    let text = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let Some(body) = text.strip_suffix(['i', 'j', 'I', 'J']) else {
        return Some((number(text)?, 0.0));
    };
    // The sign between the parts is the last one that is neither the first character nor part of an exponent.
    let bytes = body.as_bytes();
    let is_split = |&i: &usize| {
        let exponent =
            i.checked_sub(1).and_then(|before| bytes.get(before)).is_some_and(|b| matches!(b, b'e' | b'E'));
        matches!(bytes.get(i), Some(b'+' | b'-')) && !exponent
    };
    let split = (1..bytes.len()).rev().find(is_split);
    let (real, imaginary) = match split {
        Some(split) => body.split_at_checked(split)?,
        None => ("0", body),
    };
    let imaginary = match imaginary {
        "" | "+" => 1.0,
        "-" => -1.0,
        other => number(other)?,
    };
    Some((number(real)?, imaginary))
}

fn number(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let body = lower.trim_start_matches(['+', '-']);
    let known = matches!(body, "inf" | "infinity" | "nan")
        || body.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    known.then(|| lower.parse().ok()).flatten()
}

/// Returns the text of a complex number.
pub(crate) fn text(real: f64, imaginary: f64) -> String {
    let part = |value: f64| float_text(value).replace(".nan", "nan").replace(".inf", "inf");
    let imaginary = part(imaginary);
    let sign = if imaginary.starts_with('-') { "" } else { "+" };
    format!("{}{sign}{imaginary}j", part(real))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for (text, expected) in [
            ("1+2j", (1.0, 2.0)),
            ("(3-4J)", (3.0, -4.0)),
            ("1j", (0.0, 1.0)),
            ("-i", (0.0, -1.0)),
            ("1+i", (1.0, 1.0)),
            ("1e-3-2e+5j", (1e-3, -2e5)),
            ("-inf-infj", (f64::NEG_INFINITY, f64::NEG_INFINITY)),
            ("5", (5.0, 0.0)),
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        let (re, im) = parse("(nan+infj)").unwrap();
        assert!(re.is_nan() && im == f64::INFINITY);
        for text in ["", "j j", "1 + 2j", "abc", "++1j", "1+2", "infinityy"] {
            assert_eq!(parse(text).filter(|_| text != "j j"), None, "{text}");
        }
        for (re, im) in [(1.5, -0.0), (0.0, 1e300), (f64::INFINITY, -2.0)] {
            assert_eq!(parse(&text(re, im)), Some((re, im)));
        }
    }
}
