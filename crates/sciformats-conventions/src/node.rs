//! An object of a file with its path, and its attributes as conventions ask for them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sciformats::{
    ArrayInfo, AttributeValue, Datum, Decoder, ElementType, Error, File, Kind, Name, Object, ObjectId,
    Result, Slab, Target, walk,
};

/// Elements of a small array that are read to look at a file: names of columns, a version, a header.
const SMALL: u64 = 1 << 20;

/// A file that conventions look at, and what was found out about it.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) file: Arc<File>,
    /// The names of objects in groups that were listed.
    names: Mutex<HashMap<ObjectId, Arc<HashMap<ObjectId, Name>>>>,
}

impl Tree {
    pub(crate) fn new(file: Arc<File>) -> Arc<Self> {
        Arc::new(Self { file, names: Mutex::default() })
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

/// The texts among the elements of an attribute or array; `None` where an element is something else.
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
        let path =
            format!("/{}", path.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/"));
        Ok(Self { tree: Arc::clone(tree), path, id })
    }

    /// An object that is known already.
    pub(crate) fn known(tree: &Arc<Tree>, path: &str, id: ObjectId) -> Self {
        Self { tree: Arc::clone(tree), path: path.to_owned(), id }
    }

    /// The file.
    pub fn file(&self) -> &Arc<File> {
        &self.tree.file
    }

    /// The path that led to it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The last part of the path; empty for the root.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The object's id in the file.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// The object.
    ///
    /// # Errors
    /// If nothing can be said of it.
    pub fn object(&self) -> Result<Object> {
        self.file().source().object(self.id)
    }

    /// What kind of thing it is.
    ///
    /// # Errors
    /// As [`object`](Self::object).
    pub fn kind(&self) -> Result<Kind> {
        Ok(self.object()?.kind())
    }

    /// What is known of it as an array; `None` if it is none.
    ///
    /// # Errors
    /// As [`object`](Self::object), and what is wrong with a damaged array.
    pub fn info(&self) -> Result<Option<ArrayInfo>> {
        match self.object()? {
            Object::Array(info) => Ok(Some(*info)),
            Object::Damaged { kind: Kind::Array, error } => Err(error),
            _ => Ok(None),
        }
    }

    /// An object by its path from here; `None` if there is none.
    ///
    /// # Errors
    /// If what leads there cannot be read.
    pub fn child(&self, path: &str) -> Result<Option<Self>> {
        self.at(&walk::join(&self.path, &Name::from(path)))
    }

    /// An object by its path from the root; `None` if there is none.
    ///
    /// # Errors
    /// If what leads there cannot be read.
    pub fn at(&self, path: &str) -> Result<Option<Self>> {
        match Self::new(&self.tree, path) {
            Ok(node) => Ok(Some(node)),
            Err(Error::NotFound { .. } | Error::Missing { .. } | Error::Forbidden { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The root of the file.
    pub fn root(&self) -> Self {
        Self { tree: Arc::clone(&self.tree), path: "/".into(), id: self.file().source().root() }
    }

    /// The group that the path leads through last; `None` for the root.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn parent(&self) -> Result<Option<Self>> {
        match self.path.rsplit_once('/') {
            Some((parent, name)) if !name.is_empty() => self.at(if parent.is_empty() { "/" } else { parent }),
            _ => Ok(None),
        }
    }

    /// The members of a group that can be reached, in the order in which they were made where that is kept.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn children(&self) -> Result<Vec<Self>> {
        self.few(usize::MAX)
    }

    /// The first members of a group that can be reached: a group may have any number of them.
    pub(crate) fn few(&self, count: usize) -> Result<Vec<Self>> {
        let mut children = Vec::new();
        for name in self.names(count)? {
            if children.len() >= count {
                break;
            }
            children.extend(self.reached(&name)?);
        }
        Ok(children)
    }

    /// The names of members, in the order in which they were made where that is kept; of others no more than `count` and those
    /// that cannot be reached.
    pub(crate) fn names(&self, count: usize) -> Result<Vec<Name>> {
        let source = self.file().source();
        let created = match source.details() {
            Some(details) => details.created(self.id)?,
            None => None,
        };
        if let Some(names) = created {
            return Ok(names);
        }
        let mut names = Vec::new();
        let mut reached = 0;
        for member in source.members(self.id)? {
            let member = member?;
            reached += usize::from(matches!(member.target, Target::Object(_)));
            names.push(member.name);
            if reached >= count {
                break;
            }
        }
        Ok(names)
    }

    /// The member of a name, if it can be reached.
    fn reached(&self, name: &Name) -> Result<Option<Self>> {
        let path = walk::join(&self.path, name);
        let id = match self.file().source().member(self.id, name)? {
            Some(Target::Object(id)) => id,
            // A link that leads nowhere, whatever the reason, is no member that can be reached.
            Some(Target::Soft(_) | Target::External { .. }) => match self.at(&path) {
                Ok(Some(node)) => node.id,
                Ok(None) | Err(_) => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(Self { tree: Arc::clone(&self.tree), path, id }))
    }

    /// The member of this group that is an object, by a hard link.
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

    /// An attribute; `None` if there is none of that name.
    ///
    /// # Errors
    /// If the attributes cannot be searched, or the value cannot be read.
    pub fn attribute(&self, name: &str) -> Result<Option<AttributeValue>> {
        let (source, name) = (self.file().source(), Name::from(name));
        let found = match source.details() {
            Some(details) => details.attribute(self.id, &name)?,
            None => {
                source.attributes(self.id)?.filter_map(Result::ok).find(|attribute| attribute.name == name)
            }
        };
        found.map(|attribute| attribute.value).transpose()
    }

    /// Whether there is an attribute of that name.
    ///
    /// # Errors
    /// As [`attribute`](Self::attribute).
    pub fn has(&self, name: &str) -> Result<bool> {
        Ok(self.attribute(name)?.is_some())
    }

    /// The names of the attributes, in the order in which they were made where that is kept.
    ///
    /// # Errors
    /// If they cannot be listed.
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

    /// The texts of an attribute; `None` if there is no such attribute, or it holds something else.
    ///
    /// # Errors
    /// As [`attribute`](Self::attribute).
    pub fn texts(&self, name: &str) -> Result<Option<Vec<String>>> {
        let Some(value) = self.attribute(name)? else { return Ok(None) };
        if value.shape.is_none() {
            return Ok(None);
        }
        texts(&value.element, &value.data?)
    }

    /// The text of an attribute; `None` if there is no such attribute, or it holds something else or several texts.
    ///
    /// # Errors
    /// As [`attribute`](Self::attribute).
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        let texts = self.texts(name)?.unwrap_or_default();
        Ok(<[String; 1]>::try_from(texts).ok().map(|[text]| text))
    }

    /// The numbers of an attribute; `None` if there is no such attribute, or it holds something else.
    ///
    /// # Errors
    /// As [`attribute`](Self::attribute).
    pub fn numbers(&self, name: &str) -> Result<Option<Vec<f64>>> {
        let Some(value) = self.attribute(name)? else { return Ok(None) };
        let bytes = value.data?;
        let numbers = Decoder::new(&value.element, &bytes).map(|datum| datum.map(|datum| datum.to_f64()));
        numbers.collect()
    }

    /// The whole numbers of an attribute; `None` if there is no such attribute, or it holds something else.
    ///
    /// # Errors
    /// As [`attribute`](Self::attribute).
    pub fn integers(&self, name: &str) -> Result<Option<Vec<i128>>> {
        let Some(value) = self.attribute(name)? else { return Ok(None) };
        let bytes = value.data?;
        let numbers = Decoder::new(&value.element, &bytes).map(|datum| datum.map(|datum| datum.to_i128()));
        numbers.collect()
    }

    /// The number of an attribute, if it holds one.
    ///
    /// # Errors
    /// As [`attribute`](Self::attribute).
    pub fn number(&self, name: &str) -> Result<Option<f64>> {
        Ok(self.numbers(name)?.and_then(|numbers| numbers.first().copied()))
    }

    /// The texts of a small array; `None` if this is none of texts.
    ///
    /// # Errors
    /// If its elements cannot be read.
    pub fn element_texts(&self) -> Result<Option<Vec<String>>> {
        match self.small()? {
            Some((element, bytes)) => texts(&element, &bytes),
            None => match self.object()? {
                Object::Value(sciformats::Value::Text(text)) => Ok(Some(vec![text])),
                _ => Ok(None),
            },
        }
    }

    /// The numbers of a small array; `None` if this is none of numbers.
    ///
    /// # Errors
    /// If its elements cannot be read.
    pub fn element_numbers(&self) -> Result<Option<Vec<f64>>> {
        let Some((element, bytes)) = self.small()? else { return Ok(None) };
        Decoder::new(&element, &bytes).map(|datum| datum.map(|datum| datum.to_f64())).collect()
    }

    /// The elements of an array that is small enough to be looked at in passing.
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

    /// The objects that an attribute refers to, a list for each of its elements.
    ///
    /// # Errors
    /// If it holds no references or cannot be read.
    pub(crate) fn references(&self, name: &str) -> Result<Vec<Vec<ObjectId>>> {
        match self.file().source().details() {
            Some(details) => details.references(self.id, &Name::from(name)),
            None => self.paths(name),
        }
    }

    /// The objects that the paths in an attribute lead to, a list for each of its elements.
    fn paths(&self, name: &str) -> Result<Vec<Vec<ObjectId>>> {
        let Some(value) = self.attribute(name)? else { return Ok(Vec::new()) };
        let bytes = value.data?;
        let mut all = Vec::new();
        for datum in Decoder::new(&value.element, &bytes) {
            let mut objects = Vec::new();
            let datum = datum?;
            let paths = if let Datum::List(paths) = datum { paths } else { vec![datum] };
            for path in paths {
                let Datum::Text(path) = path else { continue };
                objects.extend(self.at(&Name::from(path).shown())?.map(|object| object.id));
            }
            all.push(objects);
        }
        Ok(all)
    }

    /// The bytes that every text of this array, or of one of its attributes, takes in the file, if all take as many.
    pub(crate) fn text_width(&self, attribute: Option<&str>) -> Result<Option<u64>> {
        match self.file().source().details() {
            Some(details) => details.text_width(self.id, attribute.map(Name::from).as_ref()),
            None => Ok(None),
        }
    }

    /// The tag of a node of a tree that has tags.
    pub(crate) fn tag(&self) -> Option<String> {
        self.file().source().details().and_then(|details| details.tag(self.id))
    }
}
