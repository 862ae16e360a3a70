//! What an object means by the convention of its file, where a command shows its values.

pub(crate) mod along;
pub(crate) mod first;
mod select;

use std::sync::Arc;

use sciformats::{Array, Error, File, Result};
use sciformats_conventions::decoding::Decoding;
use sciformats_conventions::{Dataset, For, Meaning, Variable};

pub(crate) use select::selection;

/// Which values of an object are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Those that are stored.
    Stored,
    /// What they mean, in words where there are some.
    Words,
    /// What they mean, in numbers where they are some.
    Values,
    /// As `Values`, and moments as what they count.
    Numbers,
}

/// An array as it is shown: the values that are meant, or those that are stored.
#[derive(Debug)]
pub(crate) struct Thing {
    data: Dataset,
    /// The path of the array in the file.
    path: String,
    /// What is known of it as a variable.
    variable: Option<Variable>,
    /// Its values, where they are not what is stored.
    meant: Option<File>,
    /// Why what is stored is shown although something else was wanted.
    pub(crate) doubt: Option<Error>,
}

impl Thing {
    /// The object at a path of a file that is open.
    pub(crate) fn open(file: File, path: &str, view: View) -> Result<Self> {
        let data = Dataset::new(file);
        Self::find(&if view == View::Stored { data.raw() } else { data }, path, view)
    }

    /// The object at a path; `data` decodes if values are wanted that are meant.
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
                Err(doubt) => Ok(stored(None, Some(doubt))),
            },
            (_, Err(doubt)) => {
                // What cannot be shown either is told once.
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

    /// The file that the object is in.
    pub(crate) fn file(&self) -> &Arc<File> {
        self.data.file()
    }

    /// What is read: the file, or the values that are meant.
    pub(crate) fn source(&self) -> &File {
        self.meant.as_ref().unwrap_or_else(|| self.data.file())
    }

    /// The path of the array in its file.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// What is known of it beside its values.
    pub(crate) fn variable(&self) -> Option<&Variable> {
        self.variable.as_ref()
    }

    /// The file as its convention means it.
    pub(crate) fn data(&self) -> &Dataset {
        &self.data
    }

    /// Whether its values are other ones than those that are stored.
    pub(crate) fn is_meant(&self) -> bool {
        self.meant.is_some()
    }

    /// Whether its values are moments.
    pub(crate) fn is_time(&self) -> bool {
        let time = |variable: &Variable| matches!(variable.decoding, Decoding::Time { .. });
        self.meant.is_some() && self.variable.as_ref().is_some_and(time)
    }

    /// The array to be read.
    pub(crate) fn array(&self) -> Result<Array<'_>> {
        match &self.meant {
            Some(meant) => meant.array("/"),
            None => self.data.file().array(&self.path),
        }
    }
}

/// Moments become what they count, in the units that say so.
fn as_numbers(variable: &mut Variable) {
    if let Decoding::Time { numbers, .. } = &variable.decoding {
        let plain = numbers.to.is_none() && numbers.from == variable.stored().element;
        variable.decoding = if plain { Decoding::Stored } else { Decoding::Numbers(numbers.clone()) };
    }
}
