//! Objects of MATLAB's classes in files of MATLAB 7.3: `/#subsystem#/MCOS` is a cell array with their contents.
//!
//! Source: the documentation of the package `mat-io`, and files that this package writes; MATLAB does not document
//! the layout. The first cell contains the [metadata](metadata), the second one nothing, and the others properties
//! of objects. The last cell contains the properties of each class that its objects do not change; before it are one
//! more cell in version 3, and two more cells in version 4. A variable that is an object, and a property that is
//! one, contain a [reference](reference).

mod classes;
mod metadata;
mod reference;
mod strings;
mod tables;
mod times;

use std::collections::HashMap;
use std::sync::Arc;

use sciformats::{Datum, Decoder, ElementType, Error, Kind, Name, Range, Result, Slab};
use sciformats_core::{Fault, FaultKind, bound};

use super::matlab;
use crate::convention::Meaning;
use crate::node::Node;
use crate::table::{Column, Table};

use metadata::{Metadata, Slot};
use reference::{MAGIC, Reference};

/// The cell array with the contents of objects.
const PLACE: &str = "/#subsystem#/MCOS";

/// The field that marks the members of an enumeration.
const ENUMERATION: &str = "EnumerationInstanceTag";

/// The number of tables within tables that are followed.
const LEVELS: usize = 8;

/// The largest number of columns of a table, including those of the tables in it.
const COLUMNS: usize = 1 << 16;

/// What may still be read to describe one object: tables contain tables, and every one may be in several others.
#[derive(Debug)]
pub(crate) struct Budget {
    level: usize,
    columns: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { level: 0, columns: COLUMNS }
    }
}

/// The contents of all objects of a file.
#[derive(Debug)]
pub(crate) struct Subsystem {
    metadata: Metadata,
    /// The paths of the cells that contain properties.
    cells: Vec<String>,
    /// The paths of the properties of each class that its objects do not change.
    defaults: Vec<String>,
}

/// A property of an object.
#[derive(Clone, Debug)]
pub(crate) enum Property {
    /// An object of the file.
    Node(Node),
    /// The name of a member of an enumeration.
    Name(String),
    /// A number, or a truth value.
    Number(u32),
}

/// The properties of an object, by name.
type Properties = Vec<(String, Property)>;

/// Creates the error for a field of an object.
fn fault(structure: &'static str, field: &'static str, kind: FaultKind, path: &str) -> Error {
    Fault::new(field, kind).at(structure, 0).within(None, Some(path))
}

/// Returns the elements of an array as bytes, if they have a type.
fn elements(node: &Node, element: &ElementType) -> Result<Option<Vec<u8>>> {
    let Some(info) = node.info()?.filter(|info| info.element == *element) else { return Ok(None) };
    let Some(shape) = info.shape.as_deref() else { return Ok(None) };
    let overflow =
        || fault("array of an object of MATLAB", "size in bytes", FaultKind::Overflow, node.path());
    node.file().limits().memory("bytes of an object of MATLAB", info.logical().ok_or_else(overflow)?)?;
    let mut bytes = Vec::new();
    node.file().read(node.id(), &Slab::all(shape)?, &mut bytes)?;
    Ok(Some(bytes))
}

/// Returns the paths that a cell array leads to, in MATLAB's order; none if it is empty or something else.
pub(super) fn references(node: &Node) -> Result<Vec<String>> {
    let Some(info) = node.info()?.filter(|info| info.element == ElementType::Reference) else {
        return Ok(Vec::new());
    };
    let Some(shape) = info.shape.as_deref() else { return Ok(Vec::new()) };
    let overflow = || fault("cell array of MATLAB", "number of elements", FaultKind::Overflow, node.path());
    let count = info.elements().ok_or_else(overflow)?;
    node.file().limits().memory("bytes of the references to cells", bound::product(count, 64))?;
    let mut bytes = Vec::new();
    node.file().read(node.id(), &Slab::all(shape)?, &mut bytes)?;
    let mut paths = Vec::new();
    for datum in Decoder::new(&info.element, &bytes) {
        paths.push(match datum? {
            Datum::Text(path) => Name::from(path).shown().into_owned(),
            _ => String::new(),
        });
    }
    Ok(paths)
}

/// Returns the fields of a structure in MATLAB's order.
pub(super) fn fields(group: &Node) -> Result<Vec<Node>> {
    let mut children = group.children()?;
    let Some(order) = group.attribute("MATLAB_fields")? else { return Ok(children) };
    let bytes = order.data?;
    let mut places = HashMap::new();
    for (at, datum) in Decoder::new(&order.element, &bytes).enumerate() {
        let Datum::List(letters) = datum? else { break };
        let letters = letters.iter().filter_map(|letter| match letter {
            Datum::Text(text) | Datum::Bytes(text) => Some(String::from_utf8_lossy(text)),
            _ => None,
        });
        places.insert(letters.collect::<String>(), at);
    }
    children.sort_by_key(|child| {
        let place = places.get(child.name()).copied();
        (place.is_none(), place)
    });
    Ok(children)
}

impl Subsystem {
    /// Reads the metadata of all objects of a file.
    pub(crate) fn read(root: &Node) -> Result<Self> {
        let missing = |field| fault("objects of MATLAB", field, FaultKind::Rule("is missing"), PLACE);
        let place = root.at(PLACE)?.ok_or_else(|| missing("cell array"))?;
        let mut cells = references(&place)?;
        let first = cells.first().map(|path| root.at(path)).transpose()?.flatten();
        let first = first.ok_or_else(|| missing("metadata"))?;
        let bytes = elements(&first, &ElementType::UInt(1))?.ok_or_else(|| missing("metadata"))?;
        let metadata = Metadata::parse(bytes).map_err(|error| error.within(None, Some(first.path())))?;
        let after = match metadata.version {
            2 => 1,
            3 => 2,
            _ => 3,
        };
        if cells.len() < 2 + after {
            let kind = FaultKind::Mismatch { expected: 2 + after as u64, found: cells.len() as u64 };
            return Err(fault("objects of MATLAB", "number of cells", kind, PLACE));
        }
        let last = cells.last().map(|path| root.at(path)).transpose()?.flatten();
        let defaults = last.map_or(Ok(Vec::new()), |last| references(&last))?;
        cells.truncate(cells.len() - after);
        cells.drain(..2);
        Ok(Self { metadata, cells, defaults })
    }

    /// Returns the class of an object and its properties; those of its class come first.
    fn properties(&self, root: &Node, object: u32) -> Result<Properties> {
        let within = |error: Error| error.within(None, Some(PLACE));
        let (class, slots) = self.metadata.object(object).map_err(within)?;
        let mut properties: Properties = Vec::new();
        let default = usize::try_from(class).ok().and_then(|class| self.defaults.get(class));
        if let Some(group) = default.map(|path| root.at(path)).transpose()?.flatten()
            && group.kind()? == Kind::Group
        {
            for child in fields(&group)? {
                properties.push((child.name().to_owned(), Property::Node(child)));
            }
        }
        for (name, slot) in slots {
            let property = match slot {
                Slot::Name(name) => Property::Name(name),
                Slot::Number(number) => Property::Number(number),
                Slot::Cell(number) => {
                    let path = usize::try_from(number).ok().and_then(|number| self.cells.get(number));
                    let kind = FaultKind::OutOfBounds { found: number.into(), end: self.cells.len() as u64 };
                    let path =
                        path.ok_or_else(|| fault("objects of MATLAB", "number of a cell", kind, PLACE))?;
                    let lost = || fault("objects of MATLAB", "cell", FaultKind::Rule("is missing"), path);
                    Property::Node(root.at(path)?.ok_or_else(lost)?)
                }
            };
            match properties.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = property,
                None => properties.push((name, property)),
            }
        }
        Ok(properties)
    }
}

/// Returns whether an array among the contents of other objects is a reference to objects, because such an array is
/// not marked there.
pub(super) fn is_reference(node: &Node, class: &str) -> Result<bool> {
    if class != "uint32" || !node.path().starts_with("/#refs#/") {
        return Ok(false);
    }
    let Some(info) = node.info()?.filter(|info| info.element == ElementType::UInt(4)) else {
        return Ok(false);
    };
    // A column, whose dimensions are stored in reverse.
    let Some(&[1, length]) = info.shape.as_deref() else { return Ok(false) };
    if length < 5 {
        return Ok(false);
    }
    let slab = Slab::new(&[1, length], [Range::new(0, 1), Range::new(0, 1)])?;
    let mut bytes = Vec::new();
    node.file().read(node.id(), &slab, &mut bytes)?;
    Ok(bytes == MAGIC.to_le_bytes())
}

/// Returns whether a structure contains the members of an enumeration.
pub(super) fn is_enumeration(group: &Node) -> Result<bool> {
    let Some(mark) = group.child(ENUMERATION)? else { return Ok(false) };
    Ok(mark.element_numbers()?.as_deref() == Some(&[f64::from(MAGIC)]))
}

/// Returns the reference that an array contains.
fn reference(node: &Node) -> Result<Reference> {
    let bytes = elements(node, &ElementType::UInt(4))?.unwrap_or_default();
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    Reference::parse(&words).map_err(|error| error.within(None, Some(node.path())))
}

/// Returns the class of the objects that an array refers to.
pub(super) fn class_of(node: &Node) -> Result<String> {
    let class = reference(node)?.class;
    node.mcos()?.metadata.class(class).map_err(|error| error.within(None, Some(PLACE)))
}

/// Returns whether an array refers to an object of the class `string`.
pub(super) fn is_list_of_texts(node: &Node, class: &str) -> Result<bool> {
    Ok(class == "string" || (is_reference(node, class)? && class_of(node)? == "string"))
}

/// Decodes the objects that an array refers to.
pub(super) fn meaning(node: &Node, budget: &mut Budget) -> Result<Option<Meaning>> {
    if node.kind()? == Kind::Group {
        return classes::enumeration(node);
    }
    let found = reference(node)?;
    let all = node.mcos()?;
    let class = all.metadata.class(found.class).map_err(|error| error.within(None, Some(PLACE)))?;
    let root = node.root();
    if let [object] = found.objects[..]
        && object != 0
        && is_known(&class)
    {
        let of = Object { node, properties: all.properties(&root, object)?, big: all.metadata.big };
        if let Some(meaning) = of.meaning(&class, budget)? {
            return Ok(Some(meaning));
        }
    }
    if found.objects.is_empty() && is_known(&class) {
        return classes::nothing(node, &class, found.shape);
    }
    objects(node, &all, &found, budget).map(|table| Some(Meaning::Table(table)))
}

/// Returns whether the objects of a class are shown in a form of their own.
fn is_known(class: &str) -> bool {
    matches!(
        class,
        "string"
            | "datetime"
            | "duration"
            | "calendarDuration"
            | "categorical"
            | "table"
            | "timetable"
            | "containers.Map"
            | "dictionary"
    )
}

/// An object of a class that is shown in a form of its own.
struct Object<'a> {
    /// The array that refers to it.
    node: &'a Node,
    properties: Properties,
    big: bool,
}

impl Object<'_> {
    /// Returns the object of the file that a property is.
    fn node(&self, name: &str) -> Option<&Node> {
        self.properties.iter().find_map(|(known, property)| match property {
            Property::Node(node) if known == name => Some(node),
            _ => None,
        })
    }

    /// Returns the object of the file that a property must be.
    fn needed(&self, structure: &'static str, name: &'static str) -> Result<&Node> {
        let missing = || fault(structure, name, FaultKind::Rule("is missing"), self.node.path());
        self.node(name).ok_or_else(missing)
    }

    fn meaning(&self, class: &str, budget: &mut Budget) -> Result<Option<Meaning>> {
        Ok(match class {
            "string" => classes::string(self)?.map(Meaning::from),
            "datetime" => times::datetime(self)?.map(Meaning::from),
            "duration" => times::duration(self)?.map(Meaning::from),
            "calendarDuration" => times::calendar_duration(self)?.map(Meaning::from),
            "categorical" => classes::categorical(self)?.map(Meaning::from),
            "table" => tables::table(self, budget)?.map(Meaning::Table),
            "timetable" => tables::timetable(self, budget)?.map(Meaning::Table),
            "containers.Map" => tables::map(self, budget)?.map(Meaning::Table),
            _ => tables::dictionary(self, budget)?.map(Meaning::Table),
        })
    }
}

/// Decodes objects of any class as a table with a row for each of them and a column for each property.
fn objects(node: &Node, all: &Subsystem, found: &Reference, budget: &mut Budget) -> Result<Table> {
    let root = node.root();
    let mut known: HashMap<u32, Arc<HashMap<String, Property>>> = HashMap::new();
    let mut names: Vec<String> = Vec::new();
    for &object in &found.objects {
        // A deleted object has no properties.
        if object == 0 || known.contains_key(&object) {
            continue;
        }
        let properties = all.properties(&root, object)?;
        for (name, _) in &properties {
            if !names.contains(name) {
                names.push(name.clone());
                budget.column(node)?;
            }
        }
        known.insert(object, Arc::new(properties.into_iter().collect()));
    }
    let rows: Arc<[_]> = found.objects.iter().map(|object| known.get(object).cloned()).collect();
    let columns = names.into_iter().map(|name| {
        let rows = Arc::clone(&rows);
        let of = name.clone();
        let texts = move |_: &Node, (first, count): (u64, u64)| -> Result<Vec<Option<String>>> {
            let end = first.checked_add(count).and_then(|end| usize::try_from(end).ok());
            let part = usize::try_from(first).ok().zip(end).and_then(|(from, to)| rows.get(from..to));
            let part = part.ok_or_else(|| Error::usage("rows", "are not all in the table"))?;
            part.iter().map(|row| row.as_ref().and_then(|row| row.get(&of)).map_or(Ok(None), text)).collect()
        };
        Column::computed(node, texts).renamed(name)
    });
    let columns = columns.collect();
    Ok(Table {
        path: node.path().to_owned(),
        rows: rows.len() as u64,
        index: Vec::new(),
        columns,
        omitted: Vec::new(),
    })
}

/// Returns a property for people. What is too large to be shown is named with its place.
fn text(property: &Property) -> Result<Option<String>> {
    match property {
        Property::Name(name) => Ok(Some(name.clone())),
        Property::Number(number) => Ok(Some(number.to_string())),
        Property::Node(node) => matlab::contents_or_place(node),
    }
}

impl Budget {
    /// Counts a column of a table.
    fn column(&mut self, node: &Node) -> Result<()> {
        let left = self.columns.checked_sub(1);
        let many = || {
            Error::unsupported(format!(
                "the object {} of MATLAB with more than {COLUMNS} columns or properties",
                node.path()
            ))
        };
        self.columns = left.ok_or_else(many)?;
        Ok(())
    }

    /// Describes what is in a cell of a table, one level deeper.
    pub(super) fn deeper<T>(&mut self, node: &Node, of: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.level >= LEVELS {
            return Err(Error::unsupported(format!(
                "the object {} of MATLAB, which contains tables within tables on more than {LEVELS} levels",
                node.path()
            )));
        }
        self.level += 1;
        let done = of(self);
        self.level -= 1;
        done
    }
}

#[cfg(test)]
mod tests {
    use sciformats::memory::{Memory, MemoryArray, array, texts};
    use sciformats::{File, Format, ObjectId};

    use super::*;
    use crate::Dataset;

    fn of_class(tree: &mut Memory, node: ObjectId, class: &str) {
        tree.attribute(node, "MATLAB_class", texts(&[], &[class]));
    }

    fn array_of(
        tree: &mut Memory,
        group: ObjectId,
        (name, class): (&str, &str),
        array: MemoryArray,
    ) -> ObjectId {
        let node = tree.array(group, name, array);
        of_class(tree, node, class);
        node
    }

    fn cells(tree: &mut Memory, group: ObjectId, (name, class): (&str, &str), paths: &[&str]) {
        let mut found = texts(&[1, paths.len() as u64], paths);
        found.info.element = ElementType::Reference;
        array_of(tree, group, (name, class), found);
    }

    fn object(tree: &mut Memory, (name, class): (&str, &str), words: &[u32]) {
        let node = array_of(tree, tree.root(), (name, class), array::<u32>(&[1, words.len() as u64], words));
        tree.attribute(node, "MATLAB_object_decode", array::<i32>(&[], &[3]));
    }

    /// The objects of [`metadata::tests::BYTES`]: one of the class `p.C`, and a list of texts.
    fn file(metadata: &[u8]) -> Dataset {
        let mut tree = Memory::new(Format::Hdf5);
        let root = tree.root();
        let refs = tree.group(root, "#refs#");
        let length = metadata.len() as u64;
        array_of(&mut tree, refs, ("m", "uint8"), array::<u8>(&[1, length], metadata));
        let words = [1, 2, 2, 1, 1, u64::MAX, 0x61];
        array_of(&mut tree, refs, ("any", "uint64"), array::<u64>(&[7, 1], &words));
        // The property `a` of the object is the other object.
        array_of(&mut tree, refs, ("a", "uint32"), array::<u32>(&[1, 6], &[MAGIC, 2, 1, 1, 2, 2]));
        let defaults = tree.group(refs, "d");
        of_class(&mut tree, defaults, "struct");
        array_of(&mut tree, defaults, ("a", "double"), array::<f64>(&[1, 1], &[9.0]));
        array_of(&mut tree, defaults, ("kept", "double"), array::<f64>(&[1, 1], &[7.5]));
        cells(&mut tree, refs, ("last", "cell"), &["/#refs#/m", "/#refs#/d"]);
        let place = tree.group(root, "#subsystem#");
        let paths = ["m", "none", "any", "a", "none", "none", "last"].map(|name| format!("/#refs#/{name}"));
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        cells(&mut tree, place, ("MCOS", "FileWrapper__"), &paths);
        object(&mut tree, ("text", "string"), &[MAGIC, 2, 1, 1, 2, 2]);
        object(&mut tree, ("thing", "p.C"), &[MAGIC, 2, 1, 1, 1, 1]);
        object(&mut tree, ("several", "p.C"), &[MAGIC, 2, 2, 1, 1, 0, 1]);
        object(&mut tree, ("wrong", "p.C"), &[MAGIC, 2, 1, 1, 9, 1]);
        object(&mut tree, ("none", "string"), &[MAGIC, 2, 0, 0, 2]);
        object(&mut tree, ("java", "java.util.Date"), &[MAGIC, 2, 1, 1, 1, 1]);
        Dataset::new(File::from(tree))
    }

    fn column(data: &Dataset, path: &str, name: &str) -> Vec<Option<String>> {
        let table = data.table(path).unwrap();
        let column = table.columns.iter().find(|column| column.name == name).unwrap();
        column.read(0, table.rows).unwrap().cells().unwrap()
    }

    #[test]
    fn objects_and_their_properties() {
        let data = file(metadata::tests::BYTES);
        let text = data.variable("/text").unwrap();
        assert_eq!((text.shape(), text.kind_name().as_str()), (vec![2, 1], "string"));
        assert_eq!(text.read().unwrap().cells().unwrap(), [Some("a".into()), None]);
        // As it is stored, it is a reference.
        assert_eq!(data.clone().raw().variable("/text").unwrap().shape(), [1, 6]);
        let one = |text: &str| vec![Some(text.to_owned())];
        assert_eq!(column(&data, "/thing", "a"), one("a "));
        assert_eq!(column(&data, "/thing", "kept"), one("7.5"));
        assert_eq!(column(&data, "/thing", "b"), one("7"));
        assert_eq!(column(&data, "/thing", "C"), one("p"));
        assert_eq!(column(&data, "/several", "kept"), [Some("7.5".into()), None]);
        assert_eq!(data.variable("/none").unwrap().shape(), [0, 0]);
        // A property is an object too.
        assert_eq!(data.variable("/#refs#/a").unwrap().shape(), [2, 1]);
    }

    #[test]
    fn errors_say_where() {
        let data = file(metadata::tests::BYTES);
        let told = |path: &str| data.meaning(path).unwrap_err().to_string();
        assert_eq!(
            told("/wrong"),
            "malformed metadata of MATLAB's objects at offset 0x88: number of an object is 9, out of bounds (end 3)"
        );
        assert_eq!(data.meaning("/wrong").unwrap_err().object(), Some(PLACE));
        assert!(
            told("/java").starts_with("reading an object of the class java.util.Date (only Java"),
            "{}",
            told("/java")
        );
        let cut = file(&metadata::tests::BYTES[..30]);
        let told = cut.meaning("/thing").unwrap_err().to_string();
        assert!(told.ends_with("offset 0x8: end of a region is 64, out of bounds (end 30)"), "{told}");
    }

    #[test]
    fn objects_that_lead_back_to_themselves() {
        // Both objects are dates now, and the number of the one is the other, or itself.
        let mut bytes = metadata::tests::BYTES.to_vec();
        bytes[40..64].copy_from_slice(b"p\0datetime\0data\0a\0tz\0st\0");
        bytes[80..84].fill(0);
        for at in [124, 220] {
            bytes[at] = 3;
        }
        let data = file(&bytes);
        assert_eq!(class_of(&data.node("/thing").unwrap()).unwrap(), "datetime");
        let told = data.meaning("/thing").unwrap_err().to_string();
        assert!(told.ends_with("it is not an array of numbers"), "{told}");
        // A table whose column is a structure that contains this table.
        let mut tree = Memory::new(Format::Hdf5);
        let root = tree.root();
        let refs = tree.group(root, "#refs#");
        let group = tree.group(refs, "s");
        of_class(&mut tree, group, "struct");
        let words = [MAGIC, 2, 1, 1, 1, 1];
        array_of(&mut tree, group, ("again", "uint32"), array::<u32>(&[1, 6], &words));
        let mut budget = Budget { level: LEVELS, columns: 1 };
        let data = Dataset::new(File::from(tree));
        let node = data.node("/#refs#/s").unwrap();
        let told = matlab::meaning_at(&node, &mut budget).unwrap_err().to_string();
        assert!(told.contains("tables within tables on more than 8 levels"), "{told}");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(at in 0usize..272, byte: u8) {
            let mut bytes = metadata::tests::BYTES.to_vec();
            bytes[at] = byte;
            let data = file(&bytes);
            for path in ["/text", "/thing", "/several", "/none", "/#refs#/a"] {
                match data.meaning(path) {
                    Ok(Some(Meaning::Variable(variable))) => drop(variable.read()),
                    Ok(Some(Meaning::Table(table))) => {
                        table.columns.iter().for_each(|column| drop(column.read(0, table.rows)));
                    }
                    _ => {}
                }
            }
        }
    }
}
