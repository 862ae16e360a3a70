//! The origin of a file: the standard's types `software`, `history_entry` and `extension_metadata`.
//!
//! | key of the root | what it contains |
//! |---|---|
//! | `asdf_library` | the [`Software`] that wrote the file |
//! | `history` | since standard 1.2 a mapping with `extensions` ([`Extension`]) and `entries` ([`HistoryEntry`]), before a list of entries |

use std::time::{SystemTime, UNIX_EPOCH};

use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, Result};

use crate::document::Document;
use crate::reader::Asdf;
use crate::spec::header_line::Version;
use crate::yaml::{ASDF_PREFIX, CollectionStyle, NodeId, Timestamp, Tree, Value};

/// A program or a library (`core/software`).
///
/// ```
/// use asdf_core::{Document, HistoryEntry, Software};
///
/// let software = Software { homepage: Some("https://example.org".into()), ..Software::new("pipeline", "2.1") };
/// let mut document = Document::new();
/// document.add_history(&HistoryEntry { software: vec![software], ..HistoryEntry::now("dark subtracted") })?;
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Software {
    /// Its name.
    pub name: String,
    /// Its version in any form.
    pub version: String,
    /// Its author.
    pub author: Option<String>,
    /// The address of a page about it.
    pub homepage: Option<String>,
}

/// Something that was done to a file (`core/history_entry`).
///
/// ```
/// use asdf_core::{Asdf, Document, HistoryEntry, Software};
///
/// let software = vec![Software::new("pipeline", "2.1")];
/// let entry = HistoryEntry { software, ..HistoryEntry::now("dark subtracted") };
/// let mut document = Document::new();
/// document.add_history(&entry)?;
/// assert_eq!(Asdf::from_bytes(document.to_bytes()?)?.history()?, [entry]);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HistoryEntry {
    /// What was done.
    pub description: String,
    /// When it was done.
    pub time: Option<Timestamp>,
    /// The programs that did it.
    pub software: Vec<Software>,
}

/// An extension that wrote some of a file's tags (`core/extension_metadata`).
///
/// ```
/// use asdf_core::{Asdf, Document, Extension, Software};
///
/// let extension = Extension {
///     class: "survey.SurveyExtension".into(),
///     uri: Some("asdf://example.org/survey/extensions/survey-1.0.0".into()),
///     software: Some(Software::new("survey", "1.0.2")),
///     ..Extension::default()
/// };
/// let mut document = Document::new();
/// document.add_extension(&extension)?;
/// assert_eq!(Asdf::from_bytes(document.to_bytes()?)?.extensions()?, [extension]);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Extension {
    /// The full name of the class that implements it.
    pub class: String,
    /// The URI of the extension.
    pub uri: Option<String>,
    /// The package that contains the class.
    pub software: Option<Software>,
    /// The package that lists the tags of the extension.
    pub manifest_software: Option<Software>,
}

fn fault(tree: &Tree, node: NodeId, structure: &'static str, field: &'static str) -> Error {
    Fault::new(field, FaultKind::Rule("is missing, or is not text")).at(structure, tree.node(node).offset)
}

/// Returns the text under a key, even if it looks like a number, as a version may.
fn text(tree: &Tree, node: NodeId, key: &str) -> Option<String> {
    let child = tree.child(node, key)?;
    match tree.value(child) {
        Ok(Some(Value::Null)) => None,
        _ => tree.node(child).text().map(str::to_owned),
    }
}

/// Adds a mapping of the texts and nodes that exist.
fn mapping(tree: &mut Tree, tag: &str, pairs: Vec<(&'static str, Option<NodeId>)>) -> NodeId {
    let pairs = pairs.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let entries = pairs.map(|(key, value)| (tree.add_str(key), value)).collect();
    let node = tree.add_mapping(entries, CollectionStyle::Block);
    tree.set_tag(node, format!("{ASDF_PREFIX}core/{tag}"));
    node
}

impl Software {
    /// Creates a program from its name and version.
    ///
    /// ```
    /// use asdf_core::Software;
    ///
    /// let software = Software::new("pipeline", "2.1");
    /// assert_eq!((software.version.as_str(), software.author), ("2.1", None));
    /// ```
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), author: None, homepage: None }
    }

    /// Returns this library, as it is recorded in the files that it creates.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, Software};
    ///
    /// let file = Asdf::from_bytes(Document::new().to_bytes()?)?;
    /// assert_eq!(file.library()?, Some(Software::this_library()));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn this_library() -> Self {
        Self {
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            author: Some("The sciformats developers".into()),
            homepage: Some(env!("CARGO_PKG_REPOSITORY").into()),
        }
    }

    /// Reads a node.
    ///
    /// ```
    /// use asdf_core::{Software, Tree};
    ///
    /// let tree = Tree::parse("{name: pipeline, version: 2.1}\n")?;
    /// assert_eq!(Software::from_node(&tree, tree.root())?, Software::new("pipeline", "2.1"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the name or the version is missing.
    pub fn from_node(tree: &Tree, node: NodeId) -> Result<Self> {
        let required = |key| text(tree, node, key).ok_or_else(|| fault(tree, node, "software", key));
        Ok(Self {
            name: required("name")?,
            version: required("version")?,
            author: text(tree, node, "author"),
            homepage: text(tree, node, "homepage"),
        })
    }

    /// Adds it to a tree.
    ///
    /// ```
    /// use asdf_core::{Document, Software};
    ///
    /// let mut document = Document::new();
    /// let node = Software::new("pipeline", "2.1").to_node(document.tree_mut());
    /// document.tree_mut().put("asdf_library", node)?; // sign it as one's own
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn to_node(&self, tree: &mut Tree) -> NodeId {
        let pairs = vec![
            ("author", self.author.as_ref().map(|text| tree.add_str(text.as_str()))),
            ("homepage", self.homepage.as_ref().map(|text| tree.add_str(text.as_str()))),
            ("name", Some(tree.add_str(self.name.as_str()))),
            ("version", Some(tree.add_str(self.version.as_str()))),
        ];
        let node = mapping(tree, "software-1.0.0", pairs);
        tree.set_style(node, CollectionStyle::Flow);
        node
    }
}

impl HistoryEntry {
    /// Creates an entry with the present time.
    ///
    /// ```
    /// use asdf_core::HistoryEntry;
    ///
    /// let entry = HistoryEntry::now("dark subtracted");
    /// assert!(entry.time.is_some_and(|time| time.year > 2000));
    /// ```
    pub fn now(description: impl Into<String>) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            description: description.into(),
            time: Timestamp::from_unix(since.as_secs()),
            software: Vec::new(),
        }
    }

    /// Reads a node.
    ///
    /// ```
    /// use asdf_core::{HistoryEntry, Tree};
    ///
    /// let tree = Tree::parse("{description: dark subtracted, time: 2024-05-17 20:15:00}\n")?;
    /// let entry = HistoryEntry::from_node(&tree, tree.root())?;
    /// assert_eq!(entry.time.map(|time| time.to_string()), Some("2024-05-17T20:15:00".into()));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the description is missing, or if the time or the software is invalid.
    pub fn from_node(tree: &Tree, node: NodeId) -> Result<Self> {
        let wrong = || {
            let kind = FaultKind::Rule("is not a date or time");
            Fault::new("time", kind).at("history entry", tree.node(node).offset)
        };
        let time = match tree.child(node, "time").map(|time| tree.value(time)).transpose()?.flatten() {
            Some(Value::Timestamp(time)) => Some(time),
            None | Some(Value::Null) => None,
            // The schema says that the time is a string.
            Some(Value::Str(text)) => Some(Timestamp::parse(&text).ok_or_else(wrong)?),
            Some(_) => return Err(wrong()),
        };
        let software = match tree.child(node, "software") {
            None => Vec::new(),
            Some(list) => {
                let one = std::slice::from_ref(&list);
                let items = tree.items(list).unwrap_or(one).iter();
                items.map(|&item| Software::from_node(tree, item)).collect::<Result<_>>()?
            }
        };
        let description = text(tree, node, "description");
        let description = description.ok_or_else(|| fault(tree, node, "history entry", "description"))?;
        Ok(Self { description, time, software })
    }

    /// Adds it to a tree.
    ///
    /// ```
    /// use asdf_core::{HistoryEntry, Tree};
    ///
    /// let entry = HistoryEntry::now("dark subtracted");
    /// let mut tree = Tree::new();
    /// let node = entry.to_node(&mut tree);
    /// assert_eq!(HistoryEntry::from_node(&tree, node)?, entry);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn to_node(&self, tree: &mut Tree) -> NodeId {
        let software: Vec<NodeId> = self.software.iter().map(|software| software.to_node(tree)).collect();
        let software = match software.as_slice() {
            [] => None,
            [one] => Some(*one),
            _ => Some(tree.add_sequence(software, CollectionStyle::Block)),
        };
        let pairs = vec![
            ("description", Some(tree.add_str(self.description.as_str()))),
            ("software", software),
            ("time", self.time.map(|time| tree.add_value(&Value::Timestamp(time)))),
        ];
        mapping(tree, "history_entry-1.0.0", pairs)
    }
}

impl Extension {
    /// Reads a node.
    ///
    /// ```
    /// use asdf_core::{Extension, Tree};
    ///
    /// let tree = Tree::parse("{extension_class: survey.SurveyExtension}\n")?;
    /// assert_eq!(Extension::from_node(&tree, tree.root())?.class, "survey.SurveyExtension");
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the class is missing, or if the software is invalid.
    pub fn from_node(tree: &Tree, node: NodeId) -> Result<Self> {
        let software = |keys: [&str; 2]| {
            let found = keys.iter().find_map(|key| tree.child(node, key));
            found.map(|node| Software::from_node(tree, node)).transpose()
        };
        let class = text(tree, node, "extension_class");
        Ok(Self {
            class: class.ok_or_else(|| fault(tree, node, "extension metadata", "extension_class"))?,
            uri: text(tree, node, "extension_uri"),
            // The newer name of the key takes precedence.
            software: software(["software", "package"])?,
            manifest_software: software(["manifest_software", "manifest_package"])?,
        })
    }

    /// Adds it to a tree.
    ///
    /// ```
    /// use asdf_core::{Extension, Tree};
    ///
    /// let mut tree = Tree::new();
    /// let node = Extension { class: "survey.SurveyExtension".into(), ..Extension::default() }.to_node(&mut tree);
    /// assert_eq!(tree.asdf_tag(node), Some("core/extension_metadata-1.0.0"));
    /// ```
    pub fn to_node(&self, tree: &mut Tree) -> NodeId {
        let pairs = vec![
            ("extension_class", Some(tree.add_str(self.class.as_str()))),
            ("extension_uri", self.uri.as_ref().map(|text| tree.add_str(text.as_str()))),
            ("manifest_software", self.manifest_software.as_ref().map(|software| software.to_node(tree))),
            ("software", self.software.as_ref().map(|software| software.to_node(tree))),
        ];
        mapping(tree, "extension_metadata-1.0.0", pairs)
    }
}

/// Returns the items of a list in `history`. Before standard 1.2, `history` itself is the list of entries.
fn history<'t>(tree: &'t Tree, key: &str) -> &'t [NodeId] {
    let Some(history) = tree.child(tree.root(), "history") else { return &[] };
    let list = match tree.items(history) {
        Some(entries) if key == "entries" => Some(entries),
        Some(_) => None,
        None => tree.child(history, key).and_then(|list| tree.items(list)),
    };
    list.unwrap_or_default()
}

impl Asdf {
    /// Returns the software that wrote the file, or `None` if it is not recorded.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document};
    ///
    /// let file = Asdf::from_bytes(Document::new().to_bytes()?)?;
    /// assert_eq!(file.library()?.map(|library| library.name), Some("asdf-core".into()));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Software::from_node`].
    pub fn library(&self) -> Result<Option<Software>> {
        let node = self.tree().child(self.tree().root(), "asdf_library");
        node.map(|node| Software::from_node(self.tree(), node)).transpose()
    }

    /// Returns what was done to the file, beginning with the oldest entry.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, HistoryEntry};
    ///
    /// let mut document = Document::new();
    /// document.add_history(&HistoryEntry::now("dark subtracted"))?;
    /// document.add_history(&HistoryEntry::now("flat field divided out"))?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let done: Vec<String> = file.history()?.into_iter().map(|entry| entry.description).collect();
    /// assert_eq!(done, ["dark subtracted", "flat field divided out"]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`HistoryEntry::from_node`].
    pub fn history(&self) -> Result<Vec<HistoryEntry>> {
        let entries = history(self.tree(), "entries").iter();
        entries.map(|&node| HistoryEntry::from_node(self.tree(), node)).collect()
    }

    /// Returns the extensions that wrote tags of the file.
    ///
    /// ```no_run
    /// use asdf_core::Asdf;
    ///
    /// for extension in Asdf::open("image.asdf")?.extensions()? {
    ///     println!("{} {:?}", extension.class, extension.software);
    /// }
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Extension::from_node`].
    pub fn extensions(&self) -> Result<Vec<Extension>> {
        let entries = history(self.tree(), "extensions").iter();
        entries.map(|&node| Extension::from_node(self.tree(), node)).collect()
    }
}

impl Document {
    /// Adds an entry to the file's history.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, HistoryEntry};
    ///
    /// let mut document = Document::new();
    /// document.add_history(&HistoryEntry::now("flat field divided out"))?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.history()?[0].description, "flat field divided out");
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if `history` of the file has another form.
    pub fn add_history(&mut self, entry: &HistoryEntry) -> Result<NodeId> {
        let node = entry.to_node(&mut self.tree);
        self.add_to_history("entries", node)
    }

    /// Adds an extension to the list of those that wrote tags of the file.
    ///
    /// ```
    /// use asdf_core::{Document, Extension, Version};
    ///
    /// let extension = Extension { class: "survey.SurveyExtension".into(), ..Extension::default() };
    /// Document::new().add_extension(&extension)?;
    /// assert!(Document::with_standard(Version::new(1, 1, 0)).add_extension(&extension).is_err());
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the standard is older than 1.2, which introduced extensions; and those of [`add_history`](Self::add_history).
    pub fn add_extension(&mut self, extension: &Extension) -> Result<NodeId> {
        let standard = self.standard();
        if standard < Version::new(1, 2, 0) {
            return Err(Error::usage(
                "extension",
                format!("does not exist in version {standard} of the standard"),
            ));
        }
        let node = extension.to_node(&mut self.tree);
        self.add_to_history("extensions", node)
    }

    fn add_to_history(&mut self, key: &str, node: NodeId) -> Result<NodeId> {
        let root = self.tree.root();
        let old = self.tree.child(root, "history");
        let is_list = old.is_some_and(|old| self.tree.items(old).is_some());
        let path = match is_list || old.is_none() && self.standard() < Version::new(1, 2, 0) {
            true => "history".to_owned(),
            false => format!("history/{key}"),
        };
        let list = match self.tree.get(&path) {
            Some(list) => list,
            None => {
                let list = self.tree.add_sequence(Vec::new(), CollectionStyle::Block);
                self.tree.put(&path, list)?;
                list
            }
        };
        self.tree.push(list, node)?;
        Ok(node)
    }
}
