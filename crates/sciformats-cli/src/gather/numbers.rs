//! Converts elements to numbers that can be drawn. They are rounded to binary64 if necessary, and complex
//! numbers become their magnitude.

use sciformats::{Datum, Decoder, ElementType, Error, Name, Result};
use sciformats_conventions::type_name;

/// How elements of a type become numbers.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    element: ElementType,
    /// The field of a compound that is used, and the field of that one, and so on.
    field: Vec<Name>,
}

impl Numbers {
    /// Prepares the conversion of elements of a type, or of a field of compounds.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the elements are not numbers, or if a field has to be named.
    pub(crate) fn new(element: &ElementType, field: Option<&str>) -> Result<Self> {
        let problem = |text: String| Err(Error::usage("array", text));
        let unknown = |text: String| Err(Error::usage("--field", text));
        let (one, field) = match (element, field) {
            (ElementType::Compound(fields), Some(wanted)) => match inner(fields, wanted) {
                Some((one, path)) => (one, path),
                None => {
                    return unknown(format!("names {wanted}, but the fields are {}", names(fields)));
                }
            },
            (ElementType::Compound(fields), None) => {
                return problem(format!(
                    "holds compounds; choose one of their fields with --field: {}",
                    names(fields)
                ));
            }
            (_, Some(_)) => {
                return unknown(format!(
                    "names a field, but the elements are of type {}, which has none",
                    type_name(element)
                ));
            }
            (plain, None) => (plain, Vec::new()),
        };
        if !is_number(one) {
            return problem(format!("holds elements of type {}, which are not numbers", type_name(one)));
        }
        Ok(Self { element: element.clone(), field })
    }

    /// Appends the numbers that the canonical bytes hold.
    pub(crate) fn append(&self, bytes: &[u8], out: &mut Vec<f64>) -> Result<()> {
        use ElementType as T;
        let base = match &self.element {
            T::Enum { base, .. } => base,
            other => other,
        };
        match base {
            T::Int(1) => out.extend(bytes.iter().map(|&byte| f64::from(byte.cast_signed()))),
            T::UInt(1) | T::Bool => out.extend(bytes.iter().map(|&byte| f64::from(byte))),
            T::Int(2) => out.extend(words(bytes).map(|word| f64::from(i16::from_le_bytes(word)))),
            T::UInt(2) => out.extend(words(bytes).map(|word| f64::from(u16::from_le_bytes(word)))),
            T::Int(4) => out.extend(words(bytes).map(|word| f64::from(i32::from_le_bytes(word)))),
            T::UInt(4) => out.extend(words(bytes).map(|word| f64::from(u32::from_le_bytes(word)))),
            T::Int(8) => out.extend(words(bytes).map(|word| i64::from_le_bytes(word) as f64)),
            T::UInt(8) => out.extend(words(bytes).map(|word| u64::from_le_bytes(word) as f64)),
            T::F32 => out.extend(words(bytes).map(|word| f64::from(f32::from_le_bytes(word)))),
            T::F64 | T::FloatOther => out.extend(words(bytes).map(f64::from_le_bytes)),
            _ => {
                for datum in Decoder::new(&self.element, bytes) {
                    out.push(self.one(&datum?));
                }
            }
        }
        Ok(())
    }

    /// Calls `visit` with each integer that the canonical bytes hold.
    pub(crate) fn for_each_integer(&self, bytes: &[u8], visit: &mut dyn FnMut(i128)) -> Result<()> {
        match &self.element {
            ElementType::Int(8) => words(bytes).for_each(|word| visit(i64::from_le_bytes(word).into())),
            ElementType::UInt(8) => words(bytes).for_each(|word| visit(u64::from_le_bytes(word).into())),
            element => {
                for datum in Decoder::new(element, bytes) {
                    self.chosen(&datum?).and_then(Datum::to_i128).into_iter().for_each(&mut *visit);
                }
            }
        }
        Ok(())
    }

    fn one(&self, datum: &Datum<'_>) -> f64 {
        match self.chosen(datum) {
            Some(Datum::Complex(real, imaginary, _)) => real.hypot(*imaginary),
            chosen => chosen.and_then(Datum::to_f64).unwrap_or(f64::NAN),
        }
    }

    /// Returns the field that is used.
    fn chosen<'d, 'b>(&self, datum: &'d Datum<'b>) -> Option<&'d Datum<'b>> {
        let mut datum = datum;
        let mut path = self.field.iter();
        while let Datum::Record(fields) = datum {
            let wanted = path.next();
            datum = fields.iter().find(|(name, _)| Some(*name) == wanted).map(|(_, inner)| inner)?;
        }
        Some(datum)
    }

    /// Returns whether the numbers are integers.
    pub(crate) fn are_whole(&self) -> bool {
        fn whole(element: &ElementType) -> bool {
            use ElementType as T;
            match element {
                T::Enum { base, .. } => whole(base),
                other => matches!(other, T::Int(_) | T::UInt(_) | T::Bool | T::Bits(_)),
            }
        }
        let mut element = &self.element;
        for wanted in &self.field {
            let ElementType::Compound(fields) = element else { return false };
            match fields.iter().find(|(name, _)| name == wanted) {
                Some((_, inner)) => element = inner,
                None => return false,
            }
        }
        whole(element)
    }
}

/// Returns the field with a name, or the field `b` of the field `a` for the name `a.b`.
fn inner<'a>(fields: &'a [(Name, ElementType)], wanted: &str) -> Option<(&'a ElementType, Vec<Name>)> {
    if let Some((name, one)) = fields.iter().find(|(name, _)| name.shown() == wanted) {
        return Some((one, vec![name.clone()]));
    }
    fields.iter().find_map(|(name, one)| {
        let rest = wanted.strip_prefix(&*name.shown())?.strip_prefix('.')?;
        let ElementType::Compound(fields) = one else { return None };
        let (one, path) = inner(fields, rest)?;
        Some((one, std::iter::once(name.clone()).chain(path).collect()))
    })
}

fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks().0.iter().copied()
}

/// Returns whether elements of a type can be drawn.
pub(crate) fn is_number(element: &ElementType) -> bool {
    use ElementType as T;
    match element {
        T::Complex(_) => true,
        T::Bits(size) | T::Time(size) => *size <= 16,
        other => other.is_real(),
    }
}

fn names(fields: &[(Name, ElementType)]) -> String {
    fn collect(fields: &[(Name, ElementType)], before: &str, found: &mut Vec<String>) {
        for (name, element) in fields {
            let name = format!("{before}{}", name.shown());
            match element {
                ElementType::Compound(fields) => collect(fields, &format!("{name}."), found),
                element if is_number(element) => found.push(name),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    collect(fields, "", &mut found);
    found.join(", ")
}

#[cfg(test)]
mod tests {
    use sciformats::memory::{Number, array, texts};

    use super::*;

    fn numbers<T: Number>(values: &[T]) -> Vec<f64> {
        let array = array(&[values.len() as u64], values);
        let mut out = Vec::new();
        Numbers::new(&array.info.element, None).unwrap().append(&array.bytes, &mut out).unwrap();
        out
    }

    #[test]
    fn numbers_of_every_size() {
        assert_eq!(numbers::<i8>(&[-1, 2]), [-1.0, 2.0]);
        assert_eq!(numbers::<u16>(&[65535]), [65535.0]);
        assert_eq!(numbers::<i32>(&[-7]), [-7.0]);
        assert_eq!(numbers::<u64>(&[u64::MAX]), [2f64.powi(64)]);
        assert_eq!(numbers::<i128>(&[-5]), [-5.0]);
        assert_eq!(numbers::<f32>(&[0.5]), [0.5]);
    }

    #[test]
    fn fields_of_fields() {
        let point =
            ElementType::Compound(vec![("x".into(), ElementType::UInt(1)), ("y".into(), ElementType::F32)]);
        let element = ElementType::Compound(vec![("n".into(), ElementType::UInt(1)), ("at".into(), point)]);
        let mut bytes = vec![9, 5];
        bytes.extend(0.5f32.to_le_bytes());
        for (field, value, whole) in [("n", 9.0, true), ("at.x", 5.0, true), ("at.y", 0.5, false)] {
            let numbers = Numbers::new(&element, Some(field)).unwrap();
            let mut out = Vec::new();
            numbers.append(&bytes, &mut out).unwrap();
            assert_eq!((out.as_slice(), numbers.are_whole()), (&[value][..], whole), "{field}");
        }
        let error = Numbers::new(&element, Some("at.z")).unwrap_err().to_string();
        assert!(error.contains("the fields are n, at.x, at.y"), "{error}");
        assert!(Numbers::new(&element, Some("at")).is_err());
    }

    #[test]
    fn fields_and_magnitudes() {
        let element = ElementType::Compound(vec![
            ("id".into(), ElementType::UInt(1)),
            ("z".into(), ElementType::Complex(8)),
            ("name".into(), ElementType::Text),
        ]);
        let mut bytes = vec![9];
        bytes.extend(3f32.to_le_bytes());
        bytes.extend(4f32.to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
        let taken = |field| {
            let mut out = Vec::new();
            Numbers::new(&element, Some(field))?.append(&bytes, &mut out)?;
            Ok::<_, Error>(out)
        };
        assert_eq!(taken("z").unwrap(), [5.0]);
        assert_eq!(taken("id").unwrap(), [9.0]);
        assert!(Numbers::new(&element, Some("id")).unwrap().are_whole());
        for (field, problem) in
            [("name", "which are not numbers"), ("x", "names x, but the fields are id, z")]
        {
            assert!(taken(field).unwrap_err().to_string().contains(problem));
        }
        let error = Numbers::new(&element, None).unwrap_err().to_string();
        assert!(error.contains("choose one of their fields with --field: id, z"), "{error}");
        assert!(Numbers::new(&texts(&[], &[""]).info.element, None).is_err());
        assert!(Numbers::new(&ElementType::F32, Some("x")).is_err());
    }
}
