//! What an object means by the convention of its file, for commands that show values.

pub(crate) mod along;
pub(crate) mod first;
mod select;

use std::sync::Arc;

use sciformats::{Array, Error, File, Object, Result};
use sciformats_conventions::decoding::Decoding;
use sciformats_conventions::{Dataset, For, Meaning, Variable};

pub(crate) use select::{Chosen, chosen, selection};

/// Which values of an object are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// The stored values.
    Stored,
    /// The values as the convention defines them, with names where there are some.
    Words,
    /// The values as the convention defines them, with numbers instead of names.
    Values,
    /// As `Values`, with dates as the numbers that they are stored as.
    Numbers,
}

/// An array as it is shown: as its convention defines it, or as it is stored.
#[derive(Debug)]
pub(crate) struct Thing {
    data: Dataset,
    /// The path of the array in the file.
    path: String,
    /// The array as a variable of its convention.
    variable: Option<Variable>,
    /// The decoded values, if they differ from the stored ones.
    meant: Option<File>,
    /// The reason why stored values are shown although decoded ones were requested.
    pub(crate) doubt: Option<Error>,
}

impl Thing {
    /// Opens the object at a path of an open file.
    pub(crate) fn open(file: File, path: &str, view: View) -> Result<Self> {
        let data = Dataset::new(file);
        Self::find(&if view == View::Stored { data.raw() } else { data }, path, view)
    }

    /// Opens the object at a path as it is stored, without looking for the conventions of the file. Its dimensions
    /// have no names then.
    pub(crate) fn stored(file: File, path: &str) -> Self {
        let data = Dataset::new(file).raw();
        Self { data, path: path.to_owned(), variable: None, meant: None, doubt: None }
    }

    /// Finds the object at a path; `data` decodes its values if that is requested.
    pub(crate) fn find(data: &Dataset, path: &str, view: View) -> Result<Self> {
        let stored = |variable: Option<Variable>, doubt| {
            let path = variable.as_ref().map_or(path, Variable::path).to_owned();
            Self { data: data.clone(), path, variable, meant: None, doubt }
        };
        match (view, data.meaning(path)) {
            (View::Stored, Ok(Some(Meaning::Variable(variable))))
                if variable.path() == data.node(path)?.path() =>
            {
                Ok(stored(Some(*variable), None))
            }
            (View::Stored, _) | (_, Ok(None)) => Ok(stored(None, None)),
            (_, Ok(Some(meaning))) => match Self::meant(data, path, (meaning, view)) {
                Ok(thing) => Ok(thing),
                // A group has no stored values that could be shown instead.
                Err(doubt) if is_group(data, path) => Err(doubt),
                Err(doubt) => Ok(stored(None, Some(doubt))),
            },
            (_, Err(doubt)) if is_group(data, path) => Err(doubt),
            (_, Err(doubt)) => {
                // A path that cannot be shown in either way is reported once.
                data.file().array(path)?;
                Ok(stored(None, Some(doubt)))
            }
        }
    }

    fn meant(data: &Dataset, path: &str, (mut meaning, view): (Meaning, View)) -> Result<Self> {
        if let (Meaning::Variable(variable), View::Numbers) = (&mut meaning, view) {
            as_numbers(variable);
        }
        let variable = match &meaning {
            Meaning::Variable(variable) => Some((**variable).clone()),
            _ => None,
        };
        let of = variable.as_ref().map_or(path, Variable::path).to_owned();
        let flagged =
            view == View::Words && variable.as_ref().is_some_and(|variable| variable.flags.is_some());
        let whom = if view == View::Words { For::People } else { For::Programs };
        let same = meaning.is_stored() && !flagged;
        let meant = if same { None } else { Some(meaning.into_file(whom)?) };
        Ok(Self { data: data.clone(), path: of, variable, meant, doubt: None })
    }

    /// Returns the file that contains the object.
    pub(crate) fn file(&self) -> &Arc<File> {
        self.data.file()
    }

    /// Returns the file to read: the file itself, or the decoded values.
    pub(crate) fn source(&self) -> &File {
        self.meant.as_ref().unwrap_or_else(|| self.data.file())
    }

    /// Returns the path of the array in its file.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns what the convention says about the array.
    pub(crate) fn variable(&self) -> Option<&Variable> {
        self.variable.as_ref()
    }

    /// Returns the file as its convention defines it.
    pub(crate) fn data(&self) -> &Dataset {
        &self.data
    }

    /// Returns whether the values differ from the stored ones.
    pub(crate) fn is_meant(&self) -> bool {
        self.meant.is_some()
    }

    /// Returns whether the values are dates.
    pub(crate) fn is_time(&self) -> bool {
        let time = |variable: &Variable| matches!(variable.decoding, Decoding::Time { .. });
        self.meant.is_some() && self.variable.as_ref().is_some_and(time)
    }

    /// Returns the array to read.
    pub(crate) fn array(&self) -> Result<Array<'_>> {
        match &self.meant {
            Some(meant) => meant.array("/"),
            None => self.data.file().array(&self.path),
        }
    }
}

fn is_group(data: &Dataset, path: &str) -> bool {
    matches!(data.file().object(path), Ok(Object::Group))
}

/// Turns dates into the numbers that are stored, with the units that define them.
fn as_numbers(variable: &mut Variable) {
    if let Decoding::Time { numbers, .. } = &variable.decoding {
        let plain = numbers.to.is_none() && numbers.from == variable.stored().element;
        variable.decoding = if plain { Decoding::Stored } else { Decoding::Numbers(numbers.clone()) };
    }
}
