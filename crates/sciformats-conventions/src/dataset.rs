//! A file as its convention means it.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use sciformats::{Error, File, Kind, Object, ObjectId, OpenOptions, Result};

use crate::convention::{Convention, Meaning, REGISTRY};
use crate::conventions::plain::Plain;
use crate::identity::{Identity, Outline};
use crate::node::{Node, Tree};
use crate::sparse::SparseMatrix;
use crate::table::Table;
use crate::variable::Variable;

/// How values are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// Whether values are those that are stored, without scales, fills, times and categories; names, dimensions and coordinates
    /// are told all the same. Default: no.
    pub raw: bool,
    /// Whether values outside of `valid_min`, `valid_max` and `valid_range` are missing, as the CF conventions say (section 2.5.1)
    /// and xarray does not. Default: yes.
    pub valid: bool,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self { raw: false, valid: true }
    }
}

/// A file as variables with named dimensions, coordinates, units and decoded values.
///
/// Nothing is read before it is asked for: which conventions a file follows is seen from a few attributes, and what an object means
/// from its own and those of its neighbours.
///
/// ```no_run
/// use sciformats_conventions::Dataset;
///
/// let data = Dataset::open("weather.nc")?;
/// let temperature = data.variable("/tas")?;
/// println!("{temperature}");
/// for kelvin in temperature.read()?.numbers()? {
///     assert!(kelvin.is_nan() || kelvin > 0.0); // what is missing is NaN
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dataset {
    tree: Arc<Tree>,
    options: DecodeOptions,
    found: Arc<OnceLock<Vec<Found>>>,
}

/// A convention that a file follows.
struct Found {
    convention: &'static dyn Convention,
    identity: Identity,
}

impl std::fmt::Debug for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.identity.fmt(f)
    }
}

impl Dataset {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// As [`sciformats::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(sciformats::open(path)?))
    }

    /// Opens the file at `path`, with options.
    ///
    /// # Errors
    /// As [`sciformats::open_with`].
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Ok(Self::new(sciformats::open_with(path, options)?))
    }

    /// A file that is open.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array, texts};
    /// use sciformats::{File, Format};
    /// use sciformats_conventions::Dataset;
    ///
    /// let mut tree = Memory::new(Format::Hdf5);
    /// tree.attribute(tree.root(), "Conventions", texts(&[], &["CF-1.11"]));
    /// let tas = tree.array(tree.root(), "tas", array::<i16>(&[2], &[100, -1]));
    /// tree.attribute(tas, "scale_factor", array::<f64>(&[], &[0.5]));
    /// tree.attribute(tas, "_FillValue", array::<i16>(&[], &[-1]));
    /// let data = Dataset::new(File::from(tree));
    /// assert_eq!(data.identity()?.map(|found| found.to_string()), Some("CF 1.11".into()));
    /// assert_eq!(data.variable("/tas")?.read()?.cells()?, [Some("50.0".into()), None]);
    /// assert_eq!(data.raw().variable("/tas")?.read()?.cells()?, [Some("100".into()), Some("-1".into())]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn new(file: impl Into<Arc<File>>) -> Self {
        Self { tree: Tree::new(file.into()), options: DecodeOptions::default(), found: Arc::default() }
    }

    /// The same with other options.
    #[must_use]
    pub fn with_options(self, options: DecodeOptions) -> Self {
        Self { options, ..self }
    }

    /// The same without decoding: values are those that are stored.
    #[must_use]
    pub fn raw(self) -> Self {
        let options = DecodeOptions { raw: true, ..self.options };
        self.with_options(options)
    }

    /// The file.
    pub fn file(&self) -> &Arc<File> {
        &self.tree.file
    }

    /// The object at a path.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none; what is wrong with what leads there.
    pub fn node(&self, path: &str) -> Result<Node> {
        Node::new(&self.tree, path)
    }

    /// An object that is known already, and the path that led to it.
    pub fn known(&self, path: &str, id: ObjectId) -> Node {
        Node::known(&self.tree, path, id)
    }

    fn found(&self) -> Result<&[Found]> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let root = self.node("/")?;
        let mut found = Vec::new();
        for convention in REGISTRY.iter().copied() {
            if let Some(identity) = convention.identify(&root)? {
                found.push(Found { convention, identity });
            }
        }
        Ok(self.found.get_or_init(|| found))
    }

    /// The convention that the file follows; of several the most special one. `None` if no mark of one was found.
    ///
    /// # Errors
    /// If the attributes and members that would tell cannot be read.
    pub fn identity(&self) -> Result<Option<&Identity>> {
        Ok(self.identities()?.into_iter().next())
    }

    /// The conventions that the file follows, the most special one first.
    ///
    /// # Errors
    /// As [`identity`](Self::identity).
    pub fn identities(&self) -> Result<Vec<&Identity>> {
        Ok(self.found()?.iter().map(|found| &found.identity).collect())
    }

    /// What to look at first. Without a convention that says so there are no highlights.
    ///
    /// # Errors
    /// If what would tell cannot be read.
    pub fn outline(&self) -> Result<Outline> {
        let root = self.node("/")?;
        for found in self.found()? {
            let outline = found.convention.outline(&root)?;
            if outline != Outline::default() {
                return Ok(outline);
            }
        }
        Ok(Outline::default())
    }

    /// What an object means; `None` for groups that are only folders, and for objects without elements.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such object; what is wrong with what tells of its meaning.
    pub fn meaning(&self, path: &str) -> Result<Option<Meaning>> {
        self.meaning_of(&self.node(path)?)
    }

    /// As [`meaning`](Self::meaning), of an object that was found.
    ///
    /// # Errors
    /// As [`meaning`](Self::meaning).
    pub fn meaning_of(&self, node: &Node) -> Result<Option<Meaning>> {
        for found in self.found()? {
            if let Some(meaning) = found.convention.meaning(node, &self.options)? {
                return Ok(Some(self.undecoded(meaning)));
            }
        }
        Ok(Plain.meaning(node, &self.options)?.map(|meaning| self.undecoded(meaning)))
    }

    /// What was meant without its decoding, if that is wanted.
    fn undecoded(&self, meaning: Meaning) -> Meaning {
        match meaning {
            Meaning::Variable(variable) if self.options.raw => variable.undecoded().into(),
            other => other,
        }
    }

    /// The variable that an object is, or that a group stands for.
    ///
    /// # Errors
    /// As [`meaning`](Self::meaning); [`Error::Usage`] if it is none.
    pub fn variable(&self, path: &str) -> Result<Variable> {
        match self.meaning(path)? {
            Some(Meaning::Variable(variable)) => Ok(*variable),
            other => Err(wrong(path, "variable", other.as_ref())),
        }
    }

    /// The table that an object is.
    ///
    /// # Errors
    /// As [`meaning`](Self::meaning); [`Error::Usage`] if it is none.
    pub fn table(&self, path: &str) -> Result<Table> {
        match self.meaning(path)? {
            Some(Meaning::Table(table)) => Ok(table),
            other => Err(wrong(path, "table", other.as_ref())),
        }
    }

    /// The sparse matrix that an object is.
    ///
    /// # Errors
    /// As [`meaning`](Self::meaning); [`Error::Usage`] if it is none.
    pub fn sparse(&self, path: &str) -> Result<SparseMatrix> {
        match self.meaning(path)? {
            Some(Meaning::Sparse(matrix)) => Ok(matrix),
            other => Err(wrong(path, "sparse matrix", other.as_ref())),
        }
    }

    /// The variables of a group, in the order in which they were made where that is kept.
    ///
    /// # Errors
    /// As [`meaning`](Self::meaning).
    pub fn variables(&self, group: &str) -> Result<Vec<Variable>> {
        let mut variables = Vec::new();
        for child in self.node(group)?.children()? {
            if !matches!(child.object()?, Object::Array(_)) {
                continue;
            }
            if let Some(Meaning::Variable(variable)) = self.meaning_of(&child)? {
                variables.push(*variable);
            }
        }
        Ok(variables)
    }

    /// The groups of a group.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn groups(&self, group: &str) -> Result<Vec<Node>> {
        let children = self.node(group)?.children()?.into_iter();
        children
            .filter_map(|child| child.kind().map(|kind| (kind == Kind::Group).then_some(child)).transpose())
            .collect()
    }
}

fn wrong(path: &str, wanted: &str, found: Option<&Meaning>) -> Error {
    let found = match found {
        None => "a group or holds nothing",
        Some(Meaning::Variable(_)) => "a variable",
        Some(Meaning::Table(_)) => "a table",
        Some(Meaning::Sparse(_)) => "a sparse matrix",
    };
    Error::usage("path", format!("{path} is {found}, not a {wanted}"))
}
