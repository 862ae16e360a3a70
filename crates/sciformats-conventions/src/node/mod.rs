//! An object of a file with its path, and its attributes in the forms that conventions need.

mod attributes;
mod members;
mod references;
mod tree;

use std::sync::Arc;

use sciformats::{ArrayInfo, Error, File, Kind, Name, Object, ObjectId, Result, walk};

pub(crate) use self::tree::Tree;
use crate::conventions::characters::Taken;
use crate::conventions::mcos::Subsystem;

/// An object of a file, and the path that led to it.
///
/// ```no_run
/// use sciformats_conventions::Dataset;
///
/// let data = Dataset::open("weather.nc")?;
/// let temperature = data.node("/tas")?;
/// println!("{:?}", temperature.text("units")?);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Node {
    tree: Arc<Tree>,
    path: String,
    id: ObjectId,
}

impl Node {
    pub(crate) fn new(tree: &Arc<Tree>, path: &str) -> Result<Self> {
        let id = tree.file.resolve(path)?;
        let mut plain =
            format!("/{}", path.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/"));
        // Slashes may belong to a name.
        if tree.file.source().slashes_in_names() && tree.file.resolve(&plain).ok() != Some(id) {
            plain = format!("/{}", path.strip_prefix('/').unwrap_or(path));
        }
        let path = plain;
        Ok(Self { tree: Arc::clone(tree), path, id })
    }

    /// Creates a node for an object whose id is known.
    pub(crate) fn known(tree: &Arc<Tree>, path: &str, id: ObjectId) -> Self {
        Self { tree: Arc::clone(tree), path: path.to_owned(), id }
    }

    /// Returns the file.
    pub fn file(&self) -> &Arc<File> {
        &self.tree.file
    }

    /// Returns the path that led to the object.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the last part of the path; it is empty for the root.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the object's id in the file.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// Returns the object.
    ///
    /// # Errors
    ///
    /// An error if nothing is known about the object.
    pub fn object(&self) -> Result<Object> {
        self.file().source().object(self.id)
    }

    /// Returns the kind of the object.
    ///
    /// # Errors
    ///
    /// As [`object`](Self::object).
    pub fn kind(&self) -> Result<Kind> {
        Ok(self.object()?.kind())
    }

    /// Returns the description of an array; `None` if the object is not an array.
    ///
    /// # Errors
    ///
    /// As [`object`](Self::object), and the error of a damaged array.
    pub fn info(&self) -> Result<Option<ArrayInfo>> {
        match self.object()? {
            Object::Array(info) => Ok(Some(*info)),
            Object::Damaged { kind: Kind::Array, error } => Err(error),
            _ => Ok(None),
        }
    }

    /// Returns the object at a path relative to this one; `None` if there is none.
    ///
    /// # Errors
    ///
    /// An error if what leads there cannot be read.
    pub fn child(&self, path: &str) -> Result<Option<Self>> {
        self.at(&walk::join(&self.path, &Name::from(path)))
    }

    /// Returns the object at a path from the root; `None` if there is none.
    ///
    /// # Errors
    ///
    /// An error if what leads there cannot be read.
    pub fn at(&self, path: &str) -> Result<Option<Self>> {
        match Self::new(&self.tree, path) {
            Ok(node) => Ok(Some(node)),
            Err(Error::NotFound { .. } | Error::Missing { .. } | Error::Forbidden { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the root of the file.
    pub fn root(&self) -> Self {
        Self { tree: Arc::clone(&self.tree), path: "/".into(), id: self.file().source().root() }
    }

    /// Returns the contents of MATLAB's objects, which are read once.
    pub(crate) fn mcos(&self) -> Result<Arc<Subsystem>> {
        match self.tree.mcos.get() {
            Some(known) => Ok(Arc::clone(known)),
            None => {
                let read = Arc::new(Subsystem::read(&self.root())?);
                Ok(Arc::clone(self.tree.mcos.get_or_init(|| read)))
            }
        }
    }

    /// Returns the dimensions of the file that more lies along than the characters of texts. They are looked for once.
    pub(crate) fn taken(&self) -> Arc<Taken> {
        Arc::clone(self.tree.taken.get_or_init(|| Arc::new(Taken::of(&self.root()))))
    }

    /// Returns another object of the file whose id is known.
    pub(crate) fn beside(&self, path: &str, id: ObjectId) -> Self {
        Self::known(&self.tree, path, id)
    }

    /// Returns the last group on the path; `None` for the root.
    ///
    /// # Errors
    ///
    /// An error if it cannot be read.
    pub fn parent(&self) -> Result<Option<Self>> {
        match self.path.rsplit_once('/') {
            Some((parent, name)) if !name.is_empty() => self.at(if parent.is_empty() { "/" } else { parent }),
            _ => Ok(None),
        }
    }

    /// Returns the number of bytes of every text of this array, or of one of its attributes, if all texts
    /// have the same.
    pub(crate) fn text_width(&self, attribute: Option<&str>) -> Result<Option<u64>> {
        match self.file().source().details() {
            Some(details) => details.text_width(self.id, attribute.map(Name::from).as_ref()),
            None => Ok(None),
        }
    }

    /// Returns the tag of a node, in formats that have tags.
    pub fn tag(&self) -> Option<String> {
        self.file().source().details().and_then(|details| details.tag(self.id))
    }
}

#[cfg(all(test, feature = "hdf5"))]
mod tests {
    use sciformats::hdf5_pure::{CreateOptions, Writer};

    use crate::Dataset;

    #[test]
    fn attributes_are_found_whatever_their_number_and_whichever_object_was_asked_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("attributes.h5");
        let mut file = Writer::create_with(&path, &CreateOptions::default()).unwrap();
        // No attribute, a few in the header, a few in dense storage, more than are remembered.
        let counts = [0, 3, 12, 80];
        for count in counts {
            let mut dataset = file.dataset(&format!("with {count}"));
            for number in 0..count {
                dataset = dataset.attribute(&format!("a{number}"), number);
            }
            dataset.write(&[1i32]).unwrap();
        }
        file.finish().unwrap();

        let data = Dataset::open(&path).unwrap();
        let node = |count: i32| data.node(&format!("/with {count}")).unwrap();
        for number in 0..81 {
            for count in counts {
                let found = node(count).number(&format!("a{number}")).unwrap();
                assert_eq!(found, (number < count).then_some(f64::from(number)), "{number} of {count}");
            }
        }
        for count in counts {
            let node = node(count);
            for number in 0..81 {
                assert_eq!(node.has(&format!("a{number}")).unwrap(), number < count, "{number} of {count}");
            }
        }
    }

    #[test]
    fn a_list_of_a_few_members_is_not_taken_for_all_of_them() {
        for is_ordered in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("members.h5");
            let options = CreateOptions::default().with_track_order(is_ordered);
            let mut file = Writer::create_with(&path, &options).unwrap();
            for name in ["c", "a", "b", "other/x", "other/y"] {
                file.dataset(name).write(&[1i32]).unwrap();
            }
            file.finish().unwrap();

            let data = Dataset::open(&path).unwrap();
            let (root, other) = (data.node("/").unwrap(), data.node("/other").unwrap());
            let names = |nodes: Vec<super::Node>| -> Vec<String> {
                nodes.iter().map(|node| node.name().to_owned()).collect()
            };
            let expected = if is_ordered { ["c", "a", "b", "other"] } else { ["a", "b", "c", "other"] };
            assert_eq!(names(root.few(1).unwrap()), expected[..1]);
            assert_eq!(names(root.few(2).unwrap()), expected[..2]);
            assert_eq!(names(other.few(1).unwrap()), ["x"]);
            assert_eq!(names(root.children().unwrap()), expected);
            assert_eq!(names(root.few(3).unwrap()), expected[..3]);
            assert_eq!(names(other.children().unwrap()), ["x", "y"]);
        }
    }
}
