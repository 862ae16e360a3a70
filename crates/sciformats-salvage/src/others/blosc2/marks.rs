//! The metalayers of variable length of the clean frame: those of the damaged one, and those that say what is missing.

use cframe::{SChunk, Value};
use sciformats_convert::convert::Loss;
use sciformats_core::{Error, Result};

use super::Saved;
use crate::earlier::{self, Slab};

/// The metalayers that say what is missing.
const MISSING: &str = "missing";
const DAMAGE: &str = "damage";
/// The most parts that are listed.
const ROWS: usize = 100_000;

impl Saved {
    /// Writes the metalayers. What an earlier salvage has said stays true, and metalayers of the user that have the names of those get
    /// others.
    pub(super) fn write_vlmeta(&self, frame: &mut SChunk) -> Result<Vec<Loss>> {
        let mut losses = Vec::new();
        let named = |wanted: &str| self.vlmeta.iter().find(|(name, _)| name == wanted);
        let value = |name: &str| named(name).and_then(|(_, content)| Value::from_msgpack(content).ok());
        let marked = self.damage.as_deref();
        let said = value(DAMAGE).and_then(|value| Some(value.as_str()?.to_owned()));
        let said = said.filter(|text| marked.is_some() && earlier::is_damage(text));
        let rank = self.missing.first().map(|(start, _)| start.len());
        let listed = value(MISSING).filter(|_| said.is_some()).and_then(|value| slabs(&value, rank));
        for (name, content) in &self.vlmeta {
            let is_mark = name == DAMAGE && said.is_some() || name == MISSING && listed.is_some();
            let mut name = name.clone();
            if marked.is_some() && (name == DAMAGE || name == MISSING) {
                if is_mark {
                    continue;
                }
                let other = earlier::before(&name, |name| named(name).is_some());
                losses.push(loss(&name, earlier::renamed(&other)));
                name = other;
            }
            put(frame, &name, content, &mut losses)?;
        }
        let Some(damage) = marked else { return Ok(losses) };
        let damage = earlier::joined(damage, said.as_deref().unwrap_or_default());
        put(frame, DAMAGE, &Value::Text(damage).to_msgpack()?, &mut losses)?;
        let missing = earlier::merged(&self.missing, listed.unwrap_or_default());
        if !missing.is_empty() {
            if missing.len() > ROWS {
                losses.push(loss(MISSING, format!("lists {ROWS} of {} parts", missing.len())));
            }
            let row = |(start, count): &Slab| {
                Value::List(start.iter().chain(count).map(|&n| Value::Int(n.into())).collect())
            };
            let rows = Value::List(missing.iter().take(ROWS).map(row).collect());
            put(frame, MISSING, &rows.to_msgpack()?, &mut losses)?;
        }
        Ok(losses)
    }
}

/// Writes a metalayer, and lists it if the frame takes no more.
fn put(frame: &mut SChunk, name: &str, content: &[u8], losses: &mut Vec<Loss>) -> Result<()> {
    match frame.set_vlmeta(name, content) {
        Ok(()) => Ok(()),
        Err(error @ Error::Io { .. }) => Err(error),
        Err(error) => {
            losses.push(loss(name, format!("is left out: {error}")));
            Ok(())
        }
    }
}

fn loss(name: &str, what: String) -> Loss {
    Loss { path: format!("/@{name}"), what, lost: None }
}

/// Returns the parts that a metalayer lists, if it is a list of parts of so many dimensions.
fn slabs(value: &Value, rank: Option<usize>) -> Option<Vec<Slab>> {
    let number = |value: &Value| match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    };
    let rows = value.as_list()?.iter().map(|row| {
        let numbers: Vec<u64> = row.as_list()?.iter().map(number).collect::<Option<_>>()?;
        let (start, count) = numbers.split_at_checked(numbers.len() / 2)?;
        let fits =
            start.len() == count.len() && !start.is_empty() && rank.is_none_or(|rank| rank == start.len());
        fits.then(|| (start.to_vec(), count.to_vec()))
    });
    rows.collect()
}
