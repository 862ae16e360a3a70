//! Values with individual meanings.

/// Values with individual meanings: `flag_values`, `flag_masks` and `flag_meanings` of the CF conventions.
///
/// ```
/// use sciformats_conventions::Flags;
///
/// let sky = Flags { values: Some(vec![0, 1]), masks: None, meanings: vec!["clear".into(), "cloudy".into()] };
/// assert_eq!((sky.label(1), sky.label(7)), ("cloudy".into(), "7".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    /// The values; `None` if each mask is also the value.
    pub values: Option<Vec<i128>>,
    /// The relevant bits for each meaning; `None` if all bits are relevant.
    pub masks: Option<Vec<i128>>,
    /// The meanings.
    pub meanings: Vec<String>,
}

impl Flags {
    /// Returns the meanings of a value, separated by spaces, or its digits if it has none.
    pub fn label(&self, value: i128) -> String {
        let mut held = Vec::new();
        for (at, meaning) in self.meanings.iter().enumerate() {
            let mask = self.masks.as_ref().and_then(|masks| masks.get(at)).copied();
            let expected = self.values.as_ref().and_then(|values| values.get(at)).copied();
            let holds = match (mask, expected) {
                (None, None) => false,
                (None, Some(expected)) => value == expected,
                (Some(mask), None) => value & mask != 0,
                (Some(mask), Some(expected)) => value & mask == expected,
            };
            if holds {
                held.push(meaning.as_str());
            }
        }
        if held.is_empty() { value.to_string() } else { held.join(" ") }
    }
}
