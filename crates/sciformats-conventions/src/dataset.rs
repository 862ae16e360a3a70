//! A file as its convention defines it.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use sciformats::{Error, File, Format, Kind, Object, ObjectId, OpenOptions, Result};

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
        let followed = match self.found.get() {
            None if self.is_far() => self.followed(node)?,
            _ => self.found()?.iter().map(|found| found.convention).collect(),
        };
        for convention in followed {
            if let Some(meaning) = convention.meaning(node, &self.options)? {
                return Ok(Some(self.undecoded(meaning)));
            }
        }
        Ok(Plain.meaning(node, &self.options)?.map(|meaning| self.undecoded(meaning)))
    }

    /// Returns whether evidence of conventions costs requests: other formats than HDF5 keep descriptions in one
    /// place.
    fn is_far(&self) -> bool {
        self.tree.file.is_far() && self.tree.file.format() == Format::Hdf5
    }

    /// Returns the conventions that the file follows, of those that matter for an object. Evidence of the others
    /// is not looked for, because it may be spread over the whole file.
    fn followed(&self, node: &Node) -> Result<Vec<&'static dyn Convention>> {
        let root = self.node("/")?;
        self.tree.file.ahead(|| {
            for convention in REGISTRY {
                if let Ok(true) = convention.concerns(node, &self.options) {
                    let _ = convention.identify(&root);
                }
            }
        })?;
        let mut followed = Vec::new();
        for convention in REGISTRY.iter().copied() {
            // What is wrong with the object is only reported if the convention applies.
            let concerns = convention.concerns(node, &self.options).unwrap_or(true);
            if concerns && convention.identify(&root)?.is_some() {
                followed.push(convention);
            }
        }
        Ok(followed)
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

#[cfg(all(test, feature = "hdf5"))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::borrow::Cow;
    use std::sync::atomic::{AtomicU64, Ordering};

    use sciformats::hdf5_pure::{Datatype, Writer};
    use sciformats_core::ReadAt;
    use sciformats_core::storage::{PlanOptions, Planned, Stored};

    use super::*;

    /// A file that is far away, and the number of its reads.
    #[derive(Clone)]
    struct Counted(Arc<Vec<u8>>, Arc<AtomicU64>);

    impl ReadAt for Counted {
        fn size(&self) -> u64 {
            self.0.size()
        }

        fn read_at(&self, offset: u64, len: usize) -> sciformats_core::Result<Cow<'_, [u8]>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.read_at(offset, len)
        }

        fn read_ahead(&self) -> u64 {
            1 << 20
        }
    }

    #[test]
    fn far_away_only_evidence_that_matters_is_looked_for() {
        // The number of reads of one dataset of a file with so many groups in the root.
        let reads = |groups: u64, work: fn(&Dataset)| {
            let mut writer = Writer::in_memory(&Default::default()).unwrap();
            for number in 0..groups {
                let made = writer.dataset(&format!("group {number:04}/data")).attribute("units", "K");
                made.write(&[number as f64; 100]).unwrap();
            }
            let storage = Counted(Arc::new(writer.into_bytes().unwrap()), Arc::default());
            let file = File::from_storage(storage.clone(), &OpenOptions::default()).unwrap();
            work(&Dataset::new(file));
            storage.1.load(Ordering::Relaxed)
        };
        let one = |data: &Dataset| {
            let variable = data.variable("/group 0007/data").unwrap();
            assert_eq!(variable.units.as_deref(), Some("K"));
            assert_eq!(variable.read().unwrap().numbers().unwrap(), [7.0; 100]);
        };
        let (few, many) = (reads(10, one), reads(1500, one));
        // Finding a name among more of them takes a few steps more.
        assert!(many < 2 * few, "{few} reads became {many}");
        let all = |data: &Dataset| assert!(data.identity().unwrap().is_none());
        assert!(reads(1500, all) > 1000, "all evidence is where it was not counted");
    }

    fn far(bytes: &[u8]) -> Dataset {
        let storage = Planned::with_options(Stored(bytes.to_vec()), PlanOptions::default().with_window(0));
        Dataset::new(File::from_storage(storage, &OpenOptions::default()).unwrap())
    }

    #[test]
    fn a_file_means_the_same_near_and_far() {
        let records = Datatype::compound([("a", Datatype::signed(4)), ("b", Datatype::float64())]);
        let fill = |writer: &mut Writer| {
            let packed =
                writer.dataset("z/packed").attribute("scale_factor", 0.5).attribute("_FillValue", 3i32);
            packed.write(&[1i32, 2, 3]).unwrap();
            writer.dataset("z/log").datatype(records.clone()).shape([2]).write_raw(&[0; 24]).unwrap();
            writer.dataset("z/_nc4_non_coord_x").write(&[1i32]).unwrap();
            writer.dataset("z/data/y").write(&[1i32, 2]).unwrap();
            writer.dataset("z/data/x").write(&[1.5f64, 2.5]).unwrap();
            let group = writer.group("z/data");
            group.unwrap().attribute("NX_class", "NXdata").unwrap();
        };
        let marks: [fn(&mut Writer) -> bool; 5] = [
            |_| true,
            |writer| writer.root().attribute("Conventions", "CF-1.8").is_ok(),
            |writer| writer.root().attribute("NX_class", "NXroot").is_ok(),
            |writer| writer.group("z").unwrap().attribute("NX_class", "NXentry").is_ok(),
            |writer| writer.dataset("a").attribute("_Netcdf4Dimid", 0i32).write(&[1i32]).is_ok(),
        ];
        for (number, mark) in marks.into_iter().enumerate() {
            let mut writer = Writer::in_memory(&Default::default()).unwrap();
            fill(&mut writer);
            assert!(mark(&mut writer));
            let bytes = writer.into_bytes().unwrap();
            let near = Dataset::new(File::from_storage(bytes.clone(), &OpenOptions::default()).unwrap());
            near.identity().unwrap();
            for path in ["/z/packed", "/z/log", "/z/_nc4_non_coord_x", "/z/data/y", "/z/data/x", "/z"] {
                let told = |data: &Dataset| match data.meaning(path).unwrap() {
                    Some(Meaning::Variable(variable)) => {
                        format!("{variable} {:?}", variable.read().unwrap().cells().unwrap())
                    }
                    Some(Meaning::Table(table)) => format!("table of {}", table.rows),
                    other => format!("{other:?}"),
                };
                assert_eq!(told(&far(&bytes)), told(&near), "{path} with mark {number}");
            }
        }
    }
}
