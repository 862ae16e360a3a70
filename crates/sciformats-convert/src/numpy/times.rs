//! Dates and time spans of NumPy, which the common model has as integers. The files of formats that hold them say it in the text of the
//! element type.

use std::fmt;

use npy::{DType, Kind};
use sciformats::Format;
use sciformats::model::{ArrayInfo, Value};
use sciformats_core::fault::locate_all;
use sciformats_core::literal::{Encoding, Literal};

/// The fact about an array that contains the text of its element type.
pub(crate) const FACT: &str = "dtype";

/// Which integers in an element are dates or time spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Times {
    /// The element itself, or each item of it.
    Whole(DType),
    /// Those of fields of a record, by their names. Fields without any are not listed.
    Fields(Vec<(String, Times)>),
}

impl Times {
    /// Returns the dates and time spans of an array; `None` if it has none.
    ///
    /// ```
    /// use sciformats::{ArrayInfo, ElementType};
    /// use sciformats_convert::numpy::Times;
    ///
    /// let mut info = ArrayInfo::new(ElementType::Int(8), [2]);
    /// assert_eq!(Times::of(&info), None);
    /// info.facts.push(("dtype", "<M8[ns]".into()));
    /// assert_eq!(Times::of(&info).map(|times| times.to_string()).as_deref(), Some("datetime64[ns]"));
    /// ```
    pub fn of(info: &ArrayInfo) -> Option<Self> {
        let text = info.facts.iter().find_map(|(key, value)| match value {
            Value::Text(text) if *key == FACT => Some(text),
            _ => None,
        })?;
        let literal = locate_all("dtype", 0, text.as_bytes(), Literal::parse(Encoding::Utf8));
        // A type without parts may be written without quotes.
        literal.map_or_else(|_| plain(text), |literal| within(&literal))
    }

    /// Returns whether files of a format can hold them.
    pub(crate) fn fit(format: Format) -> bool {
        matches!(format, Format::Npy | Format::Blosc2)
    }

    /// Gives the integers in a type their units.
    pub(super) fn give(&self, to: &mut DType) {
        match (self, to) {
            (_, DType::Array { item, .. }) => self.give(item),
            (Self::Whole(time), to) if *to == DType::scalar(Kind::Int, 8) => *to = time.clone(),
            (Self::Fields(times), DType::Record(fields)) => {
                for (name, times) in times {
                    fields
                        .iter_mut()
                        .filter(|field| field.name == *name)
                        .for_each(|field| times.give(&mut field.dtype));
                }
            }
            _ => {}
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = |unit: &str| if unit.is_empty() { String::new() } else { format!("[{unit}]") };
        match self {
            Self::Whole(DType::Scalar { kind: Kind::DateTime(of), .. }) => {
                write!(f, "datetime64{}", unit(of))
            }
            Self::Whole(DType::Scalar { kind: Kind::TimeDelta(of), .. }) => {
                write!(f, "timedelta64{}", unit(of))
            }
            Self::Whole(other) => write!(f, "{other}"),
            Self::Fields(fields) => {
                let shown = fields.iter().map(|(name, times)| format!("{name}: {times}"));
                write!(f, "{{{}}}", shown.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// Returns those of a type without parts, such as `>M8[s]`.
fn plain(text: &str) -> Option<Times> {
    let text = text.trim_start_matches(['<', '>', '=', '|']);
    let unit = |long: &str, short: &str| text.strip_prefix(long).or_else(|| text.strip_prefix(short));
    let (letter, unit) = match (unit("datetime64", "M8"), unit("timedelta64", "m8")) {
        (Some(unit), _) => ('M', unit),
        (_, Some(unit)) => ('m', unit),
        _ => return None,
    };
    DType::parse(&format!("'<{letter}8{unit}'")).ok().map(Times::Whole)
}

fn within(literal: &Literal) -> Option<Times> {
    let fields: Vec<(String, Times)> = match literal {
        Literal::Text(text) => return plain(text),
        Literal::List(fields) => fields.iter().filter_map(field).collect(),
        Literal::Dictionary(parts) => {
            let part = |wanted: &str| {
                parts.iter().find_map(|(key, value)| match (key, value) {
                    (Literal::Text(key), Literal::List(values)) if key == wanted => Some(values),
                    _ => None,
                })
            };
            let fields = part("names")?.iter().zip(part("formats")?);
            fields.filter_map(|(name, format)| Some((named(name)?, item(format)?))).collect()
        }
        _ => return None,
    };
    (!fields.is_empty()).then_some(Times::Fields(fields))
}

fn field(literal: &Literal) -> Option<(String, Times)> {
    match literal {
        Literal::List(parts) => Some((named(parts.first()?)?, item(parts.get(1)?)?)),
        _ => None,
    }
}

/// Returns those of a field, which may have a shape.
fn item(literal: &Literal) -> Option<Times> {
    match literal {
        Literal::List(parts) => match parts.as_slice() {
            [of, Literal::List(shape)] if shape.iter().all(|n| matches!(n, Literal::Number(_))) => within(of),
            [of, Literal::Number(_)] => within(of),
            _ => within(literal),
        },
        _ => within(literal),
    }
}

/// Returns the name of a field, which may have a title before it.
fn named(literal: &Literal) -> Option<String> {
    match literal {
        Literal::Text(name) => Some(name.clone()),
        Literal::List(parts) => match parts.as_slice() {
            [_, Literal::Text(name)] => Some(name.clone()),
            _ => None,
        },
        _ => None,
    }
    .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sciformats::model::ElementType;

    #[test]
    fn texts_of_both_formats() {
        for (text, shown, written) in [
            ("<M8[s]", "datetime64[s]", "[('f', '<M8[s]')]"),
            ("'>m8'", "timedelta64", "[('f', '<m8')]"),
            ("[('f', '>M8[25s]', (2,)), ('g', '<i8')]", "{f: datetime64[25s]}", "[('f', '<M8[25s]', (2,))]"),
            (
                "{'names': ['f', 'i'], 'formats': [('<m8[D]', (2,)), '<i8'], 'offsets': [0, 24], 'itemsize': 40}",
                "{f: timedelta64[D]}",
                "[('f', '<m8[D]', (2,))]",
            ),
            (
                "[(('title', 'f'), [('q', '<M8[ns]')])]",
                "{f: {q: datetime64[ns]}}",
                "[('f', [('q', '<M8[ns]')])]",
            ),
        ] {
            let mut info = ArrayInfo::new(ElementType::Int(8), [1]);
            info.facts.push((FACT, text.into()));
            let times = Times::of(&info).unwrap();
            assert_eq!(times.to_string(), shown);
            let mut made = DType::parse(
                &written
                    .replace("M8[s]", "i8")
                    .replace("M8[25s]", "i8")
                    .replace("m8[D]", "i8")
                    .replace("M8[ns]", "i8")
                    .replace("m8", "i8"),
            )
            .unwrap();
            match (&times, &mut made) {
                (Times::Whole(_), DType::Record(fields)) => times.give(&mut fields[0].dtype),
                (_, made) => times.give(made),
            }
            assert_eq!(made.to_string(), written);
        }
        for none in ["<i8", "[('f', '<i8')]", "float32", "[('', '<M8[s]')]"] {
            let mut info = ArrayInfo::new(ElementType::Int(8), [1]);
            info.facts.push((FACT, none.into()));
            assert_eq!(Times::of(&info), None, "{none}");
        }
    }
}
