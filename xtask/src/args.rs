//! The arguments after a command.

use crate::sh::{Failure, Result};

/// The arguments of a command, which are taken one after the other. Whatever is left at the end is a mistake.
#[derive(Debug, Clone)]
pub(crate) struct Args(Vec<String>);

impl Args {
    pub(crate) fn new(words: impl IntoIterator<Item = String>) -> Self {
        Self(words.into_iter().collect())
    }

    /// Returns whether `--name` is present.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|word| word != name);
        self.0.len() < before
    }

    /// Returns the number after `--name`.
    pub(crate) fn number(&mut self, name: &str) -> Result<Option<u64>> {
        let Some(at) = self.0.iter().position(|word| word == name) else { return Ok(None) };
        let value = self.0.get(at + 1).and_then(|word| word.parse().ok());
        let value = value.ok_or_else(|| Failure::setup(format!("{name} needs a number")))?;
        self.0.drain(at..at + 2);
        Ok(Some(value))
    }

    /// Returns the text after `--name`.
    pub(crate) fn value(&mut self, name: &str) -> Result<Option<String>> {
        let Some(at) = self.0.iter().position(|word| word == name) else { return Ok(None) };
        let value = self.0.get(at + 1).cloned();
        let value = value.ok_or_else(|| Failure::setup(format!("{name} needs a value")))?;
        self.0.drain(at..at + 2);
        Ok(Some(value))
    }

    /// Returns the next argument that is not an option.
    pub(crate) fn word(&mut self) -> Option<String> {
        let at = self.0.iter().position(|word| !word.starts_with('-'))?;
        Some(self.0.remove(at))
    }

    /// Fails if any argument is left.
    pub(crate) fn end(self) -> Result {
        match self.0.first() {
            None => Ok(()),
            Some(word) => {
                Err(Failure::setup(format!("unknown argument `{word}`; `cargo xtask` lists the tasks")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Args {
        Args::new(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn words_options_and_numbers_come_in_any_order() {
        let mut args = args("--seconds 30 gsd_read --only .*5 --check");
        assert_eq!(args.value("--only"), Ok(Some(".*5".to_owned())));
        assert!(args.flag("--check"));
        assert_eq!(args.number("--seconds"), Ok(Some(30)));
        assert_eq!(args.word().as_deref(), Some("gsd_read"));
        assert_eq!(args.end(), Ok(()));
    }

    #[test]
    fn leftovers_and_missing_numbers_are_mistakes() {
        assert_eq!(args("--fast").end().unwrap_err().status, 2);
        assert_eq!(args("--seconds soon").number("--seconds").unwrap_err().status, 2);
    }
}
