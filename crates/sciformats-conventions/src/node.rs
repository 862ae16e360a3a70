//! An object of a file with its path, and its attributes in the forms that conventions need.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sciformats::details::Details;
use sciformats::{
    ArrayInfo, AttributeValue, Datum, Decoder, ElementType, Error, File, Kind, Name, Object, ObjectId,
    Result, Slab, Target, walk,
};

use crate::conventions::characters::Taken;
use crate::conventions::mcos::Subsystem;
#[cfg(feature = "blosc2")]
use crate::metalayer;

/// The number of elements of a small array that are read to examine a file: names of columns, a version, a
/// header.
const SMALL: u64 = 1 << 20;

/// A file that conventions examine, and what has been found out about it.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) file: Arc<File>,
    /// The names of objects in groups that have been listed.
    names: Mutex<HashMap<ObjectId, Arc<HashMap<ObjectId, Name>>>>,
    /// The members of the group that was listed last, because each convention looks at the same group.
    listed: Mutex<Option<Listed>>,
    /// The attributes of the object that was asked last, because each convention asks the same object.
    attributed: Mutex<Option<Attributed>>,
    /// The contents of MATLAB's objects, once they have been read.
    mcos: OnceLock<Arc<Subsystem>>,
    /// The dimensions of arrays that are no texts, once they have been looked for.
    taken: OnceLock<Arc<Taken>>,
}

/// The members of a group.
#[derive(Debug)]
struct Listed {
    group: ObjectId,
    members: Arc<[Known]>,
    /// The number of members that can be reached without following a soft link, or `usize::MAX` if all members are listed.
    count: usize,
}

/// A member of a group: its name, and the object if it is known where the link leads.
type Known = (Name, Option<ObjectId>);

/// The number of members that are listed at least, because one convention looks at more members than the one before.
const LISTED: usize = 1024;

/// The names of the attributes of an object.
#[derive(Debug)]
struct Attributed {
    object: ObjectId,
    /// `None` if there are many, or if one of them cannot be read.
    names: Option<Vec<Name>>,
}

/// The number of attributes up to which an object's names are known after the first question.
const FEW_ATTRIBUTES: usize = 64;

impl Tree {
    pub(crate) fn new(file: Arc<File>) -> Arc<Self> {
        Arc::new(Self {
            file,
            names: Mutex::default(),
            listed: Mutex::default(),
            attributed: Mutex::default(),
            mcos: OnceLock::new(),
            taken: OnceLock::new(),
        })
    }

    /// Returns whether it is known that an object has no attribute with a name.
    fn lacks(&self, details: &dyn Details, object: ObjectId, name: &str) -> bool {
        let last = || self.attributed.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = |known: &Attributed| {
            known
                .names
                .as_ref()
                .is_some_and(|names| names.iter().all(|found| found.as_bytes() != name.as_bytes()))
        };
        if let Some(known) = last().as_ref().filter(|known| known.object == object) {
            return missing(known);
        }
        // A damaged name is reported by whoever asks for an attribute that it might be.
        let names = details.few_attribute_names(object, FEW_ATTRIBUTES).ok().flatten();
        let found = Attributed { object, names };
        let is_missing = missing(&found);
        *last() = Some(found);
        is_missing
    }
}

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

/// Returns the texts among the elements of an attribute or array; `None` if an element is something else.
fn texts(element: &ElementType, bytes: &[u8]) -> Result<Option<Vec<String>>> {
    let mut texts = Vec::new();
    for datum in Decoder::new(element, bytes) {
        match datum? {
            Datum::Text(text) => texts.push(String::from_utf8_lossy(text).into_owned()),
            Datum::List(list) => {
                for part in list {
                    let Datum::Text(text) = part else { return Ok(None) };
                    texts.push(String::from_utf8_lossy(text).into_owned());
                }
            }
            Datum::Bytes(bytes) => {
                texts.push(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned());
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(texts))
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

    /// Returns the members of a group that can be reached, in the order of creation if it is recorded.
    ///
    /// # Errors
    ///
    /// An error if they cannot be listed.
    pub fn children(&self) -> Result<Vec<Self>> {
        self.few(usize::MAX)
    }

    /// Returns the first members of a group that can be reached, because a group may have any number of them.
    pub(crate) fn few(&self, count: usize) -> Result<Vec<Self>> {
        let mut children = Vec::new();
        let members = self.members(count)?;
        self.file().ahead(|| {
            for (name, _) in members.iter().take(count).filter(|(_, id)| id.is_none()) {
                let _ = self.reached(name);
            }
        })?;
        for (name, id) in members.iter() {
            if children.len() >= count {
                break;
            }
            children.extend(match id {
                Some(id) => Some(self.member(name, *id)),
                None => self.reached(name)?,
            });
        }
        Ok(children)
    }

    /// Returns the first members of a group that can be reached. What `look` reads of each of them is fetched in one
    /// batch if the file is remote.
    pub(crate) fn few_ahead(&self, count: usize, look: impl Fn(&Self)) -> Result<Vec<Self>> {
        let children = self.few(count)?;
        self.file().ahead(|| children.iter().for_each(&look))?;
        Ok(children)
    }

    /// Returns members: in the order of creation if it is recorded, and otherwise at least the first `count`, besides
    /// those that cannot be reached.
    fn members(&self, count: usize) -> Result<Arc<[Known]>> {
        let listed = || self.tree.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = listed().as_ref().filter(|known| known.group == self.id && known.count >= count)
        {
            return Ok(Arc::clone(&known.members));
        }
        let (members, count) = self.list(count.max(LISTED))?;
        let members: Arc<[Known]> = members.into();
        *listed() = Some(Listed { group: self.id, members: Arc::clone(&members), count });
        Ok(members)
    }

    /// Lists members, and returns how many of them can be reached without following a soft link, or `usize::MAX` if these
    /// are all members.
    fn list(&self, count: usize) -> Result<(Vec<Known>, usize)> {
        let source = self.file().source();
        let created = match source.details() {
            Some(details) => details.created(self.id)?,
            None => None,
        };
        if let Some(names) = created {
            return Ok((names.into_iter().map(|name| (name, None)).collect(), usize::MAX));
        }
        let mut members = Vec::new();
        let mut reached = 0;
        for member in source.members(self.id)? {
            let member = member?;
            let id = match member.target {
                Target::Object(id) => Some(id),
                _ => None,
            };
            reached += usize::from(id.is_some());
            members.push((member.name, id));
            if reached >= count {
                return Ok((members, reached));
            }
        }
        Ok((members, usize::MAX))
    }

    fn member(&self, name: &Name, id: ObjectId) -> Self {
        Self { tree: Arc::clone(&self.tree), path: walk::join(&self.path, name), id }
    }

    /// Returns the member with a name, if it can be reached.
    fn reached(&self, name: &Name) -> Result<Option<Self>> {
        let path = walk::join(&self.path, name);
        let id = match self.file().source().member(self.id, name)? {
            Some(Target::Object(id)) => id,
            // A link that leads nowhere, for any reason, is not a member that can be reached.
            Some(Target::Soft(_) | Target::External { .. }) => match self.at(&path) {
                Ok(Some(node)) => node.id,
                Ok(None) | Err(_) => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(Self { tree: Arc::clone(&self.tree), path, id }))
    }

    /// Returns the member of this group that is a given object, through a hard link.
    pub(crate) fn named(&self, id: ObjectId) -> Result<Option<Self>> {
        let known = self.tree.names.lock().unwrap_or_else(PoisonError::into_inner).get(&self.id).cloned();
        let names = match known {
            Some(names) => names,
            None => {
                let mut names = HashMap::new();
                for member in self.file().source().members(self.id)? {
                    let member = member?;
                    if let Target::Object(id) = member.target {
                        names.insert(id, member.name);
                    }
                }
                let names = Arc::new(names);
                self.tree
                    .names
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(self.id, Arc::clone(&names));
                names
            }
        };
        let path = names.get(&id).map(|name| walk::join(&self.path, name));
        Ok(path.map(|path| Self { tree: Arc::clone(&self.tree), path, id }))
    }

    /// Returns an attribute; `None` if there is no attribute with this name.
    ///
    /// # Errors
    ///
    /// An error if the attributes cannot be searched, or if the value cannot be read.
    pub fn attribute(&self, name: &str) -> Result<Option<AttributeValue>> {
        let source = self.file().source();
        let details = source.details();
        if details.is_some_and(|details| self.tree.lacks(details, self.id, name)) {
            return Ok(None);
        }
        let name = Name::from(name);
        let found = match details {
            Some(details) => details.attribute(self.id, &name)?,
            None => {
                source.attributes(self.id)?.filter_map(Result::ok).find(|attribute| attribute.name == name)
            }
        };
        #[cfg(feature = "blosc2")]
        if found.is_none() && source.format() == sciformats::Format::Blosc2 {
            return self.metalayer(&name);
        }
        found.map(|attribute| attribute.value).transpose()
    }

    /// Returns the attribute that a metalayer of Blosc2 contains: `units` is stored as `vlmeta:units`.
    #[cfg(feature = "blosc2")]
    fn metalayer(&self, name: &Name) -> Result<Option<AttributeValue>> {
        let stored = Name::from(format!("{}{}", metalayer::PREFIX, name.shown()).as_str());
        let mut attributes = self.file().source().attributes(self.id)?.filter_map(Result::ok);
        match attributes.find(|attribute| attribute.name == stored) {
            Some(attribute) => Ok(metalayer::attribute(&attribute.value?.data?)),
            None => Ok(None),
        }
    }

    /// Returns whether there is an attribute with this name.
    ///
    /// # Errors
    ///
    /// As [`attribute`](Self::attribute).
    pub fn has(&self, name: &str) -> Result<bool> {
        Ok(self.attribute(name)?.is_some())
    }

    /// Returns the names of the attributes, in the order of creation if it is recorded.
    ///
    /// # Errors
    ///
    /// An error if they cannot be listed.
    pub fn attribute_names(&self) -> Result<Vec<String>> {
        let source = self.file().source();
        let names = match source.details() {
            Some(details) => details.attribute_names(self.id)?,
            None => source
                .attributes(self.id)?
                .map(|found| found.map(|found| found.name))
                .collect::<Result<_>>()?,
        };
        Ok(names.iter().map(|name| name.shown().into_owned()).collect())
    }

    /// Returns the texts of an attribute; `None` if there is no such attribute, or if it contains something
    /// else.
    ///
    /// # Errors
    ///
    /// As [`attribute`](Self::attribute).
    pub fn texts(&self, name: &str) -> Result<Option<Vec<String>>> {
        let Some(value) = self.attribute(name)? else { return Ok(None) };
        if value.shape.is_none() {
            return Ok(None);
        }
        texts(&value.element, &value.data?)
    }

    /// Returns the text of an attribute; `None` if there is no such attribute, or if it contains something
    /// else or several texts.
    ///
    /// # Errors
    ///
    /// As [`attribute`](Self::attribute).
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        let texts = self.texts(name)?.unwrap_or_default();
        Ok(<[String; 1]>::try_from(texts).ok().map(|[text]| text))
    }

    /// Returns the numbers of an attribute; `None` if there is no such attribute, or if it contains something
    /// else.
    ///
    /// # Errors
    ///
    /// As [`attribute`](Self::attribute).
    pub fn numbers(&self, name: &str) -> Result<Option<Vec<f64>>> {
        let Some(value) = self.attribute(name)? else { return Ok(None) };
        let bytes = value.data?;
        let numbers = Decoder::new(&value.element, &bytes).map(|datum| datum.map(|datum| datum.to_f64()));
        numbers.collect()
    }

    /// Returns the integers of an attribute; `None` if there is no such attribute, or if it contains
    /// something else.
    ///
    /// # Errors
    ///
    /// As [`attribute`](Self::attribute).
    pub fn integers(&self, name: &str) -> Result<Option<Vec<i128>>> {
        let Some(value) = self.attribute(name)? else { return Ok(None) };
        let bytes = value.data?;
        let numbers = Decoder::new(&value.element, &bytes).map(|datum| datum.map(|datum| datum.to_i128()));
        numbers.collect()
    }

    /// Returns the number of an attribute, if it contains a single number.
    ///
    /// # Errors
    ///
    /// As [`attribute`](Self::attribute).
    pub fn number(&self, name: &str) -> Result<Option<f64>> {
        Ok(self.numbers(name)?.and_then(|numbers| numbers.first().copied()))
    }

    /// Returns the texts of a small array; `None` if it does not contain texts.
    ///
    /// # Errors
    ///
    /// An error if its elements cannot be read.
    pub fn element_texts(&self) -> Result<Option<Vec<String>>> {
        match self.small()? {
            Some((element, bytes)) => texts(&element, &bytes),
            None => match self.object()? {
                Object::Value(sciformats::Value::Text(text)) => Ok(Some(vec![text])),
                _ => Ok(None),
            },
        }
    }

    /// Returns the numbers of a small array; `None` if it does not contain numbers.
    ///
    /// # Errors
    ///
    /// An error if its elements cannot be read.
    pub fn element_numbers(&self) -> Result<Option<Vec<f64>>> {
        let Some((element, bytes)) = self.small()? else { return Ok(None) };
        Decoder::new(&element, &bytes).map(|datum| datum.map(|datum| datum.to_f64())).collect()
    }

    /// Returns the elements of an array that is small enough to be read immediately.
    fn small(&self) -> Result<Option<(ElementType, Vec<u8>)>> {
        let Some(info) = self.info()? else { return Ok(None) };
        let Some(shape) = info.shape.as_ref().filter(|_| info.elements().is_some_and(|count| count <= SMALL))
        else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        self.file().read(self.id, &Slab::all(shape)?, &mut bytes)?;
        Ok(Some((info.element, bytes)))
    }

    /// Returns the objects that an attribute refers to, as one list per element.
    ///
    /// # Errors
    ///
    /// An error if it contains no references or cannot be read.
    pub(crate) fn references(&self, name: &str) -> Result<Vec<Vec<ObjectId>>> {
        let Some(details) = self.file().source().details() else { return self.paths(name) };
        if self.tree.lacks(details, self.id, name) {
            return Ok(Vec::new());
        }
        details.references(self.id, &Name::from(name))
    }

    /// Returns the objects that the paths in an attribute lead to, as one list per element.
    fn paths(&self, name: &str) -> Result<Vec<Vec<ObjectId>>> {
        let found = self.referenced(name)?.into_iter();
        Ok(found.map(|objects| objects.into_iter().map(|object| object.id).collect()).collect())
    }

    /// As [`references`](Self::references), with the paths of the objects, for which the tree is searched.
    pub(crate) fn referenced(&self, name: &str) -> Result<Vec<Vec<Self>>> {
        let Some(value) = self.attribute(name)? else { return Ok(Vec::new()) };
        let bytes = value.data?;
        let mut all = Vec::new();
        for datum in Decoder::new(&value.element, &bytes) {
            let mut objects = Vec::new();
            let datum = datum?;
            let paths = if let Datum::List(paths) = datum { paths } else { vec![datum] };
            for path in paths {
                let Datum::Text(path) = path else { continue };
                objects.extend(self.at(&Name::from(path).shown())?);
            }
            all.push(objects);
        }
        Ok(all)
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
