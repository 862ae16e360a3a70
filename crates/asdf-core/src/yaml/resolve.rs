//! The meaning of scalars: the types of YAML 1.1 as PyYAML resolves them, which is what ASDF files mean.

use std::borrow::Cow;
use std::fmt;

use sciformats_core::bound;
use sciformats_core::fault::{Fault, FaultKind};

use super::YAML_PREFIX;
use super::integer::Integer;
use super::timestamp::{self, Reading, Timestamp};

/// The largest number of digits of a number. The time for parsing grows with its square; Python has the same limit.
const MAX_DIGITS: usize = 4300;

/// The value of a scalar. `Display` writes a text that has the same meaning as a plain scalar (except for strings and bytes).
///
/// ```
/// use asdf_core::Tree;
/// use asdf_core::yaml::Value;
///
/// let tree = Tree::parse("[017, 1:30, no, 1e5, 2024-05-17]\n")?; // as YAML 1.1 has it
/// let mut values = Vec::new();
/// for &item in tree.items(tree.root()).unwrap_or_default() {
///     values.extend(tree.value(item)?);
/// }
/// assert_eq!(values[..3], [Value::Int(15), Value::Int(90), Value::Bool(false)]);
/// assert_eq!(values[3].as_str(), Some("1e5")); // a text: a number would have a point
/// assert_eq!(values[4].to_string(), "2024-05-17");
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `~`, `null`, or an empty text.
    Null,
    /// `true`, `no`, `On` and similar words.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A whole number of more than 128 bits.
    BigInt(Integer),
    /// A number with a point, infinity, or not-a-number.
    Float(f64),
    /// Text, including scalars with a tag that is not one of YAML's own.
    Str(Cow<'a, str>),
    /// The decoded bytes of `!!binary`.
    Bytes(Vec<u8>),
    /// A date or a time.
    Timestamp(Timestamp),
}

impl Value<'_> {
    /// Returns a number for each type, which distinguishes values of different types.
    pub(super) fn kind(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int(_) | Self::BigInt(_) => 2,
            Self::Float(_) => 3,
            Self::Str(_) => 4,
            Self::Bytes(_) => 5,
            Self::Timestamp(_) => 6,
        }
    }

    /// Returns the number, if it is one. Whole numbers are rounded to the nearest representable number.
    ///
    /// ```
    /// use asdf_core::yaml::Value;
    ///
    /// assert_eq!((Value::Int(3).as_f64(), Value::Float(0.5).as_f64()), (Some(3.0), Some(0.5)));
    /// assert_eq!(Value::Bool(true).as_f64(), None);
    /// ```
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::BigInt(value) => value.to_string().parse().ok(),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the whole number, if it is one that fits `T`.
    ///
    /// ```
    /// use asdf_core::yaml::Value;
    ///
    /// assert_eq!(Value::Int(300).as_int::<u16>(), Some(300));
    /// assert_eq!(Value::Int(300).as_int::<u8>(), None);
    /// ```
    pub fn as_int<T: TryFrom<i128>>(&self) -> Option<T> {
        match self {
            Self::Int(value) => T::try_from(*value).ok(),
            _ => None,
        }
    }

    /// Returns the text, if it is one.
    ///
    /// ```
    /// use asdf_core::yaml::Value;
    ///
    /// assert_eq!(Value::Str("M31".into()).as_str(), Some("M31"));
    /// assert_eq!(Value::Int(31).as_str(), None);
    /// ```
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::BigInt(value) => write!(f, "{value}"),
            Self::Float(value) => f.write_str(&float_text(*value)),
            Self::Str(text) => f.write_str(text),
            Self::Bytes(bytes) => f.write_str(&base64(bytes)),
            Self::Timestamp(stamp) => write!(f, "{stamp}"),
        }
    }
}

/// Returns the shortest text that YAML 1.1 and 1.2 read as the same number. It has a point, and a sign in the exponent.
///
/// ```
/// use asdf_core::yaml::resolve::float_text;
///
/// assert_eq!((float_text(3.0), float_text(1e300)), ("3.0".into(), "1.0e+300".into()));
/// assert_eq!(float_text(f64::NAN), ".nan");
/// ```
pub fn float_text(value: f64) -> String {
    if value.is_nan() {
        return ".nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf".into() } else { "-.inf".into() };
    }
    let text = format!("{value:?}");
    match text.split_once('e') {
        None => text,
        Some((mantissa, exponent)) => {
            let point = if mantissa.contains('.') { "" } else { ".0" };
            let sign = if exponent.starts_with('-') { "" } else { "+" };
            format!("{mantissa}{point}e{sign}{exponent}")
        }
    }
}

/// Returns what `text` means with `tag`. A quoted text without a tag is a string.
pub(super) fn resolve<'a>(text: &'a str, plain: bool, tag: Option<&str>) -> Result<Value<'a>, Fault> {
    let string = Value::Str(Cow::Borrowed(text));
    let Some(tag) = tag else {
        return if plain { implicit(text) } else { Ok(string) };
    };
    if tag == "!" {
        return implicit(text);
    }
    let fault = |kind| Err(Fault::new("text", FaultKind::Rule(kind)));
    match tag.strip_prefix(YAML_PREFIX) {
        Some("null") => Ok(Value::Null),
        Some("bool") => match boolean(&text.to_ascii_lowercase()) {
            Some(value) => Ok(Value::Bool(value)),
            None => fault("is not a boolean"),
        },
        Some("int") => integer(text).map_or_else(|| fault("is not a whole number"), Ok),
        Some("float") => {
            float(text).map_or_else(|| fault("is not a number"), |value| Ok(Value::Float(value)))
        }
        Some("timestamp") => match timestamp::read(text) {
            Reading::Yes(stamp) => Ok(Value::Timestamp(stamp)),
            _ => fault("is not a date or time"),
        },
        Some("binary") => {
            decode_base64(text).map_or_else(|| fault("is not base64"), |bytes| Ok(Value::Bytes(bytes)))
        }
        _ => Ok(string),
    }
}

/// Returns the value of a plain text, whose type follows from its form.
fn implicit(text: &str) -> Result<Value<'_>, Fault> {
    let fault = |kind| Err(Fault::new("text", FaultKind::Rule(kind)));
    if is_null(text) {
        return Ok(Value::Null);
    }
    if let Some(value) = boolean(text) {
        return Ok(Value::Bool(value));
    }
    if is_float(text) {
        return float(text).map_or_else(|| fault("is not a number"), |value| Ok(Value::Float(value)));
    }
    if is_integer(text) {
        return integer(text)
            .map_or_else(|| fault("is a number without digits, or with too many digits"), Ok);
    }
    match timestamp::read(text) {
        Reading::Yes(stamp) => Ok(Value::Timestamp(stamp)),
        Reading::Impossible => fault("is a day or a time that does not exist"),
        Reading::No => Ok(Value::Str(Cow::Borrowed(text))),
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

fn unsigned(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn all(text: &str, accepted: impl Fn(u8) -> bool) -> bool {
    text.bytes().all(accepted)
}

fn digit_or_line(b: u8) -> bool {
    b.is_ascii_digit() || b == b'_'
}

/// Returns whether the text consists of a digit, followed by digits and underscores.
fn is_digits(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && all(text, digit_or_line)
}

/// Returns whether the parts after the first colon have one or two digits each and are below 60.
fn is_sixtieths(part: &str) -> bool {
    match part.as_bytes() {
        [b] => b.is_ascii_digit(),
        [a, b] => (b'0'..=b'5').contains(a) && b.is_ascii_digit(),
        _ => false,
    }
}

fn is_integer(text: &str) -> bool {
    let (_, body) = unsigned(text);
    if let Some(digits) = body.strip_prefix("0b") {
        return !digits.is_empty() && all(digits, |b| matches!(b, b'0' | b'1' | b'_'));
    }
    if let Some(digits) = body.strip_prefix("0x") {
        return !digits.is_empty() && all(digits, |b| b.is_ascii_hexdigit() || b == b'_');
    }
    match body.strip_prefix('0') {
        Some(octal) => all(octal, |b| matches!(b, b'0'..=b'7' | b'_')),
        None => {
            let mut parts = body.split(':');
            parts.next().is_some_and(is_digits) && parts.all(is_sixtieths)
        }
    }
}

fn is_float(text: &str) -> bool {
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let (_, body) = unsigned(text);
    if matches!(body, ".inf" | ".Inf" | ".INF") {
        return true;
    }
    let Some((whole, rest)) = body.split_once('.') else { return false };
    if let Some((first, sixtieths)) = whole.split_once(':') {
        return is_digits(first) && sixtieths.split(':').all(is_sixtieths) && all(rest, digit_or_line);
    }
    let (fraction, exponent) = match rest.split_once(['e', 'E']) {
        Some((fraction, exponent)) => (fraction, Some(exponent)),
        None => (rest, None),
    };
    let signed = |exponent: &str| {
        let digits = exponent.strip_prefix(['+', '-']);
        digits.is_some_and(|digits| !digits.is_empty() && all(digits, |b| b.is_ascii_digit()))
    };
    // Without digits before the point, there can be no sign, and a digit must follow the point.
    let number = match whole {
        "" => body.len() == text.len() && is_digits(fraction),
        whole => is_digits(whole) && all(fraction, digit_or_line),
    };
    number && exponent.is_none_or(signed)
}

/// Returns the number of a text that has the form of one, or of an explicit `!!int`.
fn integer(text: &str) -> Option<Value<'static>> {
    if text.len() > MAX_DIGITS {
        return None;
    }
    let (negative, body) = unsigned(text);
    let based = |digits: &str, base| {
        let number = Integer::from_digits(negative, digits, base)?;
        Some(i128::try_from(&number).map_or_else(|_| Value::BigInt(number), Value::Int))
    };
    if let Some(digits) = body.strip_prefix("0b") {
        return based(digits, 2);
    }
    if let Some(digits) = body.strip_prefix("0x") {
        return based(digits, 16);
    }
    if body.contains(':') {
        let value = body.split(':').try_fold(0i128, |sum, part| {
            sum.checked_mul(60)?.checked_add(part.replace('_', "").parse::<i128>().ok()?)
        })?;
        return Some(Value::Int(if negative { value.checked_neg()? } else { value }));
    }
    let base = if body.starts_with('0') { 8 } else { 10 };
    based(body, base)
}

fn float(text: &str) -> Option<f64> {
    let cleaned = text.replace('_', "").to_ascii_lowercase();
    let (negative, body) = unsigned(&cleaned);
    let magnitude = match body {
        ".inf" => f64::INFINITY,
        // The sign is set, as in the not-a-number of other readers.
        ".nan" => return Some(-f64::NAN.abs()),
        body if body.contains(':') => {
            let mut base = 1.0;
            let mut sum = 0.0;
            for part in body.split(':').rev() {
                sum += decimal(part)? * base;
                base *= 60.0;
            }
            sum
        }
        body => decimal(body)?,
    };
    Some(if negative { -magnitude } else { magnitude })
}

fn decimal(text: &str) -> Option<f64> {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.').then(|| text.parse().ok()).flatten()
}

/// Whether `text`, written plain, is a string to every reader: of YAML 1.1, of 1.2, and those between.
pub(crate) fn is_plain_string(text: &str) -> bool {
    is_plain_text(text, false) && is_string(text) && !misleads(text)
}

/// Returns whether a plain text is a string because of its form.
pub(super) fn is_string(text: &str) -> bool {
    // Every other form begins with one of these characters, or is a word for null, true or false.
    let begins = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-'));
    let is_number = || is_float(text) || is_integer(text) || timestamp::read(text) != Reading::No;
    !is_null(text) && boolean(text).is_none() && !(begins && is_number())
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// Returns whether some reader takes the text for something other than a string: numbers of YAML 1.2, `y` and `n`, merge and
/// value keys.
pub(super) fn misleads(text: &str) -> bool {
    const WORDS: [&str; 7] = ["yes", "no", "true", "false", "on", "off", "null"];
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-')) {
        return matches!(text, "y" | "Y" | "n" | "N" | "<<" | "=")
            || WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    }
    let (_, body) = unsigned(text);
    let based = |prefix: &str| {
        let split = body.split_at_checked(prefix.len());
        split.is_some_and(|(start, rest)| {
            start.eq_ignore_ascii_case(prefix) && all(rest, |b| b.is_ascii_hexdigit() || b == b'_')
        })
    };
    // Texts that begin like a number and consist only of characters of numbers.
    let numeric = body.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && all(body, |b| b.is_ascii_digit() || b"._eE+-:".contains(&b));
    let special = [".inf", ".nan"].iter().any(|word| body.eq_ignore_ascii_case(word));
    numeric || special || based("0o") || based("0x") || based("0b")
}

/// Returns whether `text` can be written without quotes on one line, outside or inside of brackets.
pub(super) fn is_plain_text(text: &str, flow: bool) -> bool {
    let Some(first) = text.chars().next() else { return false };
    // Most texts are words and numbers.
    if first.is_ascii_alphanumeric()
        && all(text, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/' | b'+'))
    {
        return true;
    }
    let starts = match first {
        '-' | '?' | ':' => text.chars().nth(1).is_some_and(|c| !c.is_whitespace() && !",[]{}".contains(c)),
        ',' | '[' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
            false
        }
        _ => true,
    };
    let edges = !text.starts_with(' ') && !text.ends_with([' ', ':']);
    // Some readers, such as PyYAML without its library in C, end a plain scalar at a tab.
    let inside = !text.contains(": ") && !text.contains(" #") && !text.contains('\t');
    let brackets =
        !flow || !text.contains([',', '[', ']', '{', '}', '?']) && !text.contains("::") && first != ':';
    let marker = text.starts_with("---") || text.starts_with("...");
    starts && edges && inside && brackets && !marker && is_one_line(text)
}

/// Returns whether `text` can be written on one line without escapes.
pub(super) fn is_one_line(text: &str) -> bool {
    text.chars().all(|c| {
        super::cursor::is_printable(c) && !matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
    })
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bound::product(bytes.len().div_ceil(3), 4));
    for group in bytes.chunks(3) {
        let mut padded = [0; 4];
        padded.iter_mut().skip(1).zip(group).for_each(|(place, byte)| *place = *byte);
        let bits = u32::from_be_bytes(padded);
        for (i, shift) in [18u32, 12, 6, 0].into_iter().enumerate() {
            let symbol = usize::try_from(bits >> shift & 63).ok().and_then(|i| BASE64.get(i).copied());
            out.push(if i > group.len() { '=' } else { char::from(symbol.unwrap_or(b'=')) });
        }
    }
    out
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let body: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    if !body.len().is_multiple_of(4) {
        return None;
    }
    let symbols = body.strip_suffix(b"==").or_else(|| body.strip_suffix(b"=")).unwrap_or(&body);
    let mut out = Vec::with_capacity(symbols.len());
    for group in symbols.chunks(4) {
        let mut bits = 0u32;
        for &symbol in group {
            let value = BASE64.iter().position(|&b| b == symbol)?;
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        let missing = u32::try_from(4usize.checked_sub(group.len())?).ok()?;
        let [_, bytes @ ..] = (bits << missing.checked_mul(6)?).to_be_bytes();
        out.extend_from_slice(bytes.get(..group.len().checked_sub(1)?)?);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_of_numbers_reads_as_the_same_number() {
        for value in
            [0.0, -0.0, 1.0, 1e5, 1e16, 1e300, -2.5e-9, f64::MIN_POSITIVE, f64::MAX, 0.1, f64::INFINITY]
        {
            let text = float_text(value);
            let Ok(Value::Float(read)) = implicit(&text) else { panic!("{text}") };
            assert_eq!(read.to_bits(), value.to_bits(), "{text}");
        }
        assert!(matches!(implicit(".nan"), Ok(Value::Float(value)) if value.is_nan()));
    }

    #[test]
    fn strings_that_others_would_misread_are_not_plain() {
        for text in [
            "1e5",
            "0o17",
            "08",
            "y",
            "N",
            "No",
            "nULL",
            "-.5",
            "+.5",
            "12e03",
            "1:60",
            "2001-12-14",
            "",
            " a",
            "a ",
            "a: b",
            "a #b",
            "- a",
            "[a",
            "'a",
            "%a",
            "@a",
            "---",
            "...",
            "a\nb",
            "a\tb",
            "=",
            "<<",
            "0x",
            "a:",
            "\u{FEFF}",
        ] {
            assert!(!is_plain_string(text), "{text:?}");
        }
        for text in ["a", "a b", "http://x.y/z", "a:b", "-a", "é", "a'b", "x#y", "v1.2", "ACS"] {
            assert!(is_plain_string(text), "{text:?}");
        }
    }

    #[test]
    fn numbers_without_bound_are_refused() {
        assert!(implicit(&"9".repeat(5000)).is_err());
        assert!(matches!(implicit(&"9".repeat(4000)), Ok(Value::BigInt(_))));
    }

    proptest! {
        #[test]
        fn floats_come_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(!value.is_nan());
            let text = float_text(value);
            let read = implicit(&text);
            prop_assert!(matches!(read, Ok(Value::Float(read)) if read.to_bits() == bits), "{}", text);
        }

        #[test]
        fn bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(decode_base64(&base64(&bytes)), Some(bytes));
        }

        #[test]
        fn no_text_panics(text in "[-+.:_0-9eExobn~ T]{0,20}") {
            let _ = implicit(&text);
            for tag in ["int", "float", "bool", "null", "timestamp", "binary"] {
                let _ = resolve(&text, true, Some(&format!("{YAML_PREFIX}{tag}")));
            }
        }
    }
}
