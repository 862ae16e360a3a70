//! A file as its convention defines it.

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
    /// Whether values are returned as they are stored, without applying scales, fill values, times and
    /// categories. Names, dimensions and coordinates are not affected. The default is no.
    pub raw: bool,
    /// Whether values outside of `valid_min`, `valid_max` and `valid_range` are missing, as the CF
    /// conventions say (section 2.5.1) and xarray does not. The default is yes.
    pub valid: bool,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self { raw: false, valid: true }
    }
}

/// A file as variables with named dimensions, coordinates, units and decoded values.
///
/// Nothing is read until it is requested. A few attributes show which conventions a file follows, and the
/// meaning of an object follows from its attributes and those of its neighbours.
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
    ///
    /// As [`sciformats::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(sciformats::open(path)?))
    }

    /// Opens the file at `path`, with options.
    ///
    /// # Errors
    ///
    /// As [`sciformats::open_with`].
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Ok(Self::new(sciformats::open_with(path, options)?))
    }

    /// Uses a file that is open.
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

    /// Sets the options.
    #[must_use]
    pub fn with_options(self, options: DecodeOptions) -> Self {
        Self { options, ..self }
    }

    /// Returns the same dataset without decoding: values are returned as they are stored.
    #[must_use]
    pub fn raw(self) -> Self {
        let options = DecodeOptions { raw: true, ..self.options };
        self.with_options(options)
    }

    /// Returns the file.
    pub fn file(&self) -> &Arc<File> {
        &self.tree.file
    }

    /// Returns the object at a path.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is no such object; otherwise the error of reading what leads to it.
    pub fn node(&self, path: &str) -> Result<Node> {
        Node::new(&self.tree, path)
    }

    /// Returns whether a coordinate points north, which is upwards on a map: by its units, its standard name or its attribute
    /// `axis`.
    pub fn points_north(&self, coordinate: &Variable) -> bool {
        let units = coordinate.units.as_deref().unwrap_or_default().to_ascii_lowercase();
        let north = ["degrees_north", "degree_north", "degree_n", "degrees_n", "degreen", "degreesn"];
        let name = coordinate.standard_name.as_deref().unwrap_or_default();
        let axis = || self.node(coordinate.path()).ok()?.text("axis").ok()?;
        north.contains(&units.as_str())
            || matches!(name, "latitude" | "grid_latitude" | "projection_y_coordinate")
            || axis().as_deref() == Some("Y")
    }

    /// Returns an object whose id is known, and the path that led to it.
    pub fn known(&self, path: &str, id: ObjectId) -> Node {
        Node::known(&self.tree, path, id)
    }

    fn found(&self) -> Result<&[Found]> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let root = self.node("/")?;
        // Conventions look at different members and attributes, which are fetched together if the file is remote.
        self.tree.file.ahead(|| {
            for convention in REGISTRY {
                let _ = convention.identify(&root);
            }
        })?;
        let mut found = Vec::new();
        for convention in REGISTRY.iter().copied() {
            if let Some(identity) = convention.identify(&root)? {
                found.push(Found { convention, identity });
            }
        }
        Ok(self.found.get_or_init(|| found))
    }

    /// Returns the convention that the file follows, or the most specific one of several; `None` if no
    /// convention was recognised.
    ///
    /// # Errors
    ///
    /// An error if the attributes and members that identify it cannot be read.
    pub fn identity(&self) -> Result<Option<&Identity>> {
        Ok(self.identities()?.into_iter().next())
    }

    /// Returns the conventions that the file follows, the most specific one first.
    ///
    /// # Errors
    ///
    /// As [`identity`](Self::identity).
    pub fn identities(&self) -> Result<Vec<&Identity>> {
        Ok(self.found()?.iter().map(|found| &found.identity).collect())
    }

    /// Returns what to look at first. There are no highlights if no convention defines them.
    ///
    /// # Errors
    ///
    /// An error if the objects that define this cannot be read.
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

    /// Returns the meaning of an object; `None` for groups that are only folders, and for objects without
    /// elements.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is no such object; otherwise the error of reading the parts that define
    /// its meaning.
    pub fn meaning(&self, path: &str) -> Result<Option<Meaning>> {
        self.meaning_of(&self.node(path)?)
    }

    /// As [`meaning`](Self::meaning), for an object that was found already.
    ///
    /// # Errors
    ///
    /// As [`meaning`](Self::meaning).
    pub fn meaning_of(&self, node: &Node) -> Result<Option<Meaning>> {
        for found in self.found()? {
            if let Some(meaning) = found.convention.meaning(node, &self.options)? {
                return Ok(Some(self.undecoded(meaning)));
            }
        }
        Ok(Plain.meaning(node, &self.options)?.map(|meaning| self.undecoded(meaning)))
    }

    /// Returns the meaning without its decoding, if that is requested.
    fn undecoded(&self, meaning: Meaning) -> Meaning {
        match meaning {
            Meaning::Variable(variable) if self.options.raw => variable.undecoded().into(),
            other => other,
        }
    }

    /// Returns the variable that an object is, or that a group stands for.
    ///
    /// # Errors
    ///
    /// As [`meaning`](Self::meaning); [`Error::Usage`] if the object is not a variable.
    pub fn variable(&self, path: &str) -> Result<Variable> {
        match self.meaning(path)? {
            Some(Meaning::Variable(variable)) => Ok(*variable),
            other => Err(wrong(path, "variable", other.as_ref())),
        }
    }

    /// Returns the table that an object is.
    ///
    /// # Errors
    ///
    /// As [`meaning`](Self::meaning); [`Error::Usage`] if the object is not a table.
    pub fn table(&self, path: &str) -> Result<Table> {
        match self.meaning(path)? {
            Some(Meaning::Table(table)) => Ok(table),
            other => Err(wrong(path, "table", other.as_ref())),
        }
    }

    /// Returns the sparse matrix that an object is.
    ///
    /// # Errors
    ///
    /// As [`meaning`](Self::meaning); [`Error::Usage`] if the object is not a sparse matrix.
    pub fn sparse(&self, path: &str) -> Result<SparseMatrix> {
        match self.meaning(path)? {
            Some(Meaning::Sparse(matrix)) => Ok(matrix),
            other => Err(wrong(path, "sparse matrix", other.as_ref())),
        }
    }

    /// Returns the variables of a group, in the order of creation if it is recorded.
    ///
    /// # Errors
    ///
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

    /// Returns the subgroups of a group.
    ///
    /// # Errors
    ///
    /// An error if they cannot be listed.
    pub fn groups(&self, group: &str) -> Result<Vec<Node>> {
        let children = self.node(group)?.children()?.into_iter();
        children
            .filter_map(|child| child.kind().map(|kind| (kind == Kind::Group).then_some(child)).transpose())
            .collect()
    }
}

fn wrong(path: &str, wanted: &str, found: Option<&Meaning>) -> Error {
    let found = match found {
        None => "a group or has no elements",
        Some(Meaning::Variable(_)) => "a variable",
        Some(Meaning::Table(_)) => "a table",
        Some(Meaning::Sparse(_)) => "a sparse matrix",
    };
    Error::usage("path", format!("{path} is {found}, not a {wanted}"))
}
