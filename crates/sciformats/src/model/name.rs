//! Names of members and attributes.

use std::borrow::Cow;
use std::fmt;

use sciformats_core::name::NameBytes;

/// The name of a member, attribute, field or enumeration value. Names are bytes and are ordered as bytes;
/// most of them are UTF-8.
///
/// When a name is shown as text, UTF-8 is unchanged, and bytes that are not UTF-8 are shown as `\xNN`. In a
/// name that needs this, or that itself contains a backslash followed by `x`, every backslash is doubled.
/// Different names therefore always have different texts, and [`Name::from_shown`] is the inverse.
///
/// ```
/// use sciformats::Name;
///
/// let odd = Name::from(&b"caf\xe9"[..]);
/// assert_eq!(odd.to_string(), r"caf\xe9");
/// assert_eq!(Name::from_shown(r"caf\xe9"), odd);
/// assert_eq!(Name::from("a/b").to_string(), "a/b");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Name(NameBytes);

impl Name {
    /// Returns the bytes as they are stored, without padding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the name as text; see the type's documentation for names that are not UTF-8.
    ///
    /// ```
    /// use sciformats::Name;
    ///
    /// assert_eq!(Name::from("température").shown(), "température");
    /// assert_eq!(Name::from(&b"caf\xe9"[..]).shown(), r"caf\xe9"); // not UTF-8
    /// ```
    pub fn shown(&self) -> Cow<'_, str> {
        match std::str::from_utf8(&self.0) {
            Ok(text) if !text.contains(r"\x") => Cow::Borrowed(text),
            _ => Cow::Owned(escaped(&self.0)),
        }
    }

    /// Returns the name that is [`shown`](Self::shown) as `text`.
    ///
    /// ```
    /// use sciformats::Name;
    ///
    /// assert_eq!(Name::from_shown(r"caf\xe9").as_bytes(), b"caf\xe9");
    /// ```
    pub fn from_shown(text: &str) -> Self {
        if !text.contains(r"\x") {
            return Self::from(text);
        }
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&first, tail)) = rest.split_first() {
            let (byte, tail) = match (first, tail) {
                (b'\\', [b'\\', tail @ ..]) => (b'\\', tail),
                (b'\\', [b'x', high, low, tail @ ..]) => match (hex(*high), hex(*low)) {
                    (Some(high), Some(low)) => ((high << 4) | low, tail),
                    _ => (first, tail_of(rest)),
                },
                _ => (first, tail),
            };
            bytes.push(byte);
            rest = tail;
        }
        Self::from(bytes)
    }

    /// Returns the name as a format stores it that only has names in UTF-8: a name that is not UTF-8 becomes the text that is
    /// [`shown`](Self::shown) for it. So does a name that looks like such a text. [`of_utf8`](Self::of_utf8) is the inverse.
    ///
    /// ```
    /// use sciformats::Name;
    ///
    /// assert_eq!(Name::from(&b"caf\xe9"[..]).to_utf8(), r"caf\xe9");
    /// assert_eq!(Name::from(r"caf\xe9").to_utf8(), r"caf\\xe9"); // a text with a backslash
    /// assert_eq!(Name::from(r"C:\xyz").to_utf8(), r"C:\xyz");
    /// ```
    pub fn to_utf8(&self) -> Cow<'_, str> {
        match std::str::from_utf8(&self.0) {
            Ok(text) if looked_through(text).is_none() => Cow::Borrowed(text),
            _ => Cow::Owned(escaped(&self.0)),
        }
    }

    /// Returns the name that a format stores as `text`, if it only has names in UTF-8.
    ///
    /// ```
    /// use sciformats::Name;
    ///
    /// assert_eq!(Name::of_utf8(r"caf\xe9").as_bytes(), b"caf\xe9");
    /// assert_eq!(Name::of_utf8(r"C:\xyz").as_bytes(), br"C:\xyz");
    /// ```
    pub fn of_utf8(text: &str) -> Self {
        looked_through(text).unwrap_or_else(|| text.into())
    }
}

/// Returns the name for which [`Name::to_utf8`] stores the text with escapes; `None` if the text is stored for itself.
fn looked_through(text: &str) -> Option<Name> {
    let first = Name::from_shown(text);
    let mut inner = text.to_owned();
    // What is shown for a name that is not UTF-8 may have been escaped again, each time with twice the backslashes.
    while inner.contains(r"\x") {
        let name = Name::from_shown(&inner);
        if name.shown() != inner {
            return None;
        }
        match std::str::from_utf8(name.as_bytes()) {
            Ok(shorter) => inner = shorter.to_owned(),
            Err(_) => return Some(first),
        }
    }
    None
}

fn tail_of(bytes: &[u8]) -> &[u8] {
    bytes.split_first().map_or(&[], |(_, tail)| tail)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn escaped(bytes: &[u8]) -> String {
    use fmt::Write;
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', r"\\"));
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, r"\x{byte:02x}");
        }
    }
    text
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.shown())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.shown(), f)
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self::from(name.as_bytes())
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self::from(name.as_bytes())
    }
}

impl From<&[u8]> for Name {
    fn from(name: &[u8]) -> Self {
        Self(name.into())
    }
}

impl From<NameBytes> for Name {
    fn from(name: NameBytes) -> Self {
        Self(name)
    }
}

impl From<Vec<u8>> for Name {
    fn from(name: Vec<u8>) -> Self {
        Self::from(&name[..])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_any_bytes_have_texts_of_their_own() {
        let names: [&[u8]; 9] = [
            b"plain",
            b"caf\xe9",
            br"caf\xe9",
            br"caf\\xe9",
            br"\xyz",
            br"a\x41",
            br"a\\x41",
            b"\\\xe9",
            b"\\",
        ];
        let texts: Vec<String> = names.iter().map(|name| Name::from(*name).to_utf8().into_owned()).collect();
        let expected =
            ["plain", r"caf\xe9", r"caf\\xe9", r"caf\\\\xe9", r"\xyz", r"a\x41", r"a\\x41", r"\\\xe9", r"\"];
        assert_eq!(texts, expected);
        for (name, text) in names.iter().zip(texts) {
            assert_eq!(Name::of_utf8(&text).as_bytes(), *name);
        }
    }

    #[test]
    fn names_that_look_alike_stay_apart() {
        let table: [(&[u8], &str); 5] = [
            (b"a\\b", r"a\b"),
            (b"\xff", r"\xff"),
            (b"\\xff", r"\\xff"),
            (b"\\\\xff", r"\\\\xff"),
            ("µ/\u{2028}".as_bytes(), "µ/\u{2028}"),
        ];
        for (bytes, shown) in table {
            assert_eq!(Name::from(bytes).shown(), shown);
            assert_eq!(Name::from_shown(shown).as_bytes(), bytes);
        }
    }

    proptest! {
        #[test]
        fn shown_and_back(bytes in prop::collection::vec(prop_oneof![Just(b'\\'), Just(b'x'), Just(b'f'), any::<u8>()], 0..12)) {
            let name = Name::from(bytes);
            prop_assert_eq!(Name::from_shown(&name.shown()), name);
        }

        #[test]
        fn no_text_panics(text in r"[\\x0-9a-f]{0,12}") {
            let _ = Name::from_shown(&text);
        }
    }
}
