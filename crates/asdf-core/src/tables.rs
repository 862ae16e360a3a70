//! Types of the standard that describe an array or a value: `table`, `column`, `constant`, `externalarray`.

use sciformats_core::endian::ByteOrder;
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, Result};

use crate::document::Document;
use crate::model::datatype::{self, Datatype};
use crate::reader::Asdf;
use crate::spec::header_line::Version;
use crate::yaml::{ASDF_PREFIX, CollectionStyle, NodeId};

/// A column of a table, which is an array with a name.
///
/// ```
/// use asdf_core::{Column, Document, NewArray};
///
/// let mut document = Document::new();
/// let data = document.add_array(NewArray::new(&[1.5, 2.5], &[2])?)?;
/// let unit = Some(document.tree_mut().add_str("mJy"));
/// let flux = Column { name: "flux".into(), data, unit, description: Some("at 1.4 GHz".into()), meta: None };
/// let node = document.add_column(&flux);
/// document.tree_mut().put("flux", node)?;
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The node of its array.
    pub data: NodeId,
    /// The node of its unit, which is a text, or a node with a tag for units.
    pub unit: Option<NodeId>,
    /// A description for people to read.
    pub description: Option<String>,
    /// The node of further metadata about it.
    pub meta: Option<NodeId>,
}

/// Columns of one length (`core/table`, `table`).
///
/// ```
/// use asdf_core::{Column, Document, NewArray, Table};
///
/// let mut document = Document::new();
/// let mut table = Table::default();
/// for (name, values) in [("flux", [1.5, 2.5]), ("error", [0.1, 0.2])] {
///     let data = document.add_array(NewArray::new(&values, &[2])?)?;
///     table.columns.push(Column { name: name.into(), data, unit: None, description: None, meta: None });
/// }
/// let node = document.add_table(&table);
/// document.tree_mut().put("catalogue", node)?;
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Table {
    /// The columns in their order.
    pub columns: Vec<Column>,
    /// The node of further metadata about the table.
    pub meta: Option<NodeId>,
}

/// An array in a file of another format (`core/externalarray`). It is never opened, because that format defines its meaning.
///
/// ```
/// use asdf_core::{Document, ExternalArray, ScalarType};
///
/// let mut document = Document::new();
/// let target = document.tree_mut().add_str("/fields/u");
/// let (uri, datatype) = ("run.h5".into(), ScalarType::Float64.into());
/// let node = document.add_external_array(&ExternalArray { uri, target, datatype, shape: vec![100, 3] })?;
/// document.tree_mut().put("u", node)?;
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalArray {
    /// The URI of the file.
    pub uri: String,
    /// The array in this file. The other format defines the form of the node.
    pub target: NodeId,
    /// The type of its elements.
    pub datatype: Datatype,
    /// Its dimensions, the slowest varying first.
    pub shape: Vec<u64>,
}

impl Asdf {
    /// Returns whether a node has a tag of this name, in any version and defined by anybody: `core/table-1.0.0` and
    /// `tag:astropy.org:astropy/table/table-1.0.0` are both a `table`.
    fn is_called(&self, node: NodeId, name: &str) -> bool {
        let last = self.tree().tag(node).and_then(|tag| tag.rsplit('/').next());
        last.and_then(|last| last.strip_prefix(name)).is_some_and(|rest| rest.starts_with('-'))
    }

    /// Returns the table that a node describes; `None` if its tag is not that of a table.
    ///
    /// ```
    /// use asdf_core::{Asdf, Error};
    ///
    /// let file = Asdf::from_bytes(
    ///     "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\n\
    ///      stars: !core/table-1.0.0\n  columns:\n  - !core/column-1.0.0 {name: flux, data: [1.5, 2.5]}\n...\n",
    /// )?;
    /// let node = file.get("stars").ok_or(Error::not_found("node", "stars"))?;
    /// for column in file.table_at(node)?.unwrap_or_default().columns {
    ///     assert_eq!((column.name.as_str(), file.array_at(column.data)?.len()), ("flux", 2));
    /// }
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if there are no columns, or if a column lacks its name or its data.
    pub fn table_at(&self, node: NodeId) -> Result<Option<Table>> {
        if !self.is_called(node, "table") {
            return Ok(None);
        }
        let tree = self.tree();
        let columns = tree.child(node, "columns").and_then(|columns| tree.items(columns));
        let columns = columns.ok_or_else(|| self.missing(node, "table", "columns"))?;
        let columns = columns.iter().map(|&column| self.column(column)).collect::<Result<_>>()?;
        Ok(Some(Table { columns, meta: tree.child(node, "meta") }))
    }

    /// Returns the column that a node describes; `None` if its tag is not that of a column.
    ///
    /// ```
    /// use asdf_core::{Asdf, Error};
    ///
    /// let file = Asdf::from_bytes(
    ///     "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\n\
    ///      flux: !core/column-1.0.0 {name: flux, data: [1.5, 2.5]}\n...\n",
    /// )?;
    /// let node = file.get("flux").ok_or(Error::not_found("node", "flux"))?;
    /// assert_eq!(file.column_at(node)?.map(|column| column.name), Some("flux".into()));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the column lacks its name or its data.
    pub fn column_at(&self, node: NodeId) -> Result<Option<Column>> {
        if self.is_called(node, "column") { self.column(node).map(Some) } else { Ok(None) }
    }

    fn column(&self, node: NodeId) -> Result<Column> {
        let tree = self.tree();
        let text = |key| tree.child(node, key).and_then(|child| tree.node(child).text()).map(str::to_owned);
        Ok(Column {
            name: text("name").ok_or_else(|| self.missing(node, "column", "name"))?,
            data: tree.child(node, "data").ok_or_else(|| self.missing(node, "column", "data"))?,
            unit: tree.child(node, "unit"),
            description: text("description"),
            meta: tree.child(node, "meta"),
        })
    }

    /// Returns the value that a `core/constant` wraps, which is the content of the same node; `None` for other nodes.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, Error};
    ///
    /// let mut document = Document::new();
    /// let node = document.set("speed_of_light", &299_792_458)?;
    /// document.mark_constant(node);
    ///
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let node = file.get("speed_of_light").ok_or(Error::not_found("node", "speed_of_light"))?;
    /// assert_eq!(file.constant_at(node), Some(node));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn constant_at(&self, node: NodeId) -> Option<NodeId> {
        self.is_core(node, "core/constant").then_some(node)
    }

    /// Returns the external array that a `core/externalarray` describes; `None` for other nodes.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, Error, ExternalArray, ScalarType};
    ///
    /// # let mut document = Document::new();
    /// # let target = document.tree_mut().add_str("/fields/u");
    /// # let (uri, datatype) = ("run.h5".into(), ScalarType::Float64.into());
    /// # let node = document.add_external_array(&ExternalArray { uri, target, datatype, shape: vec![100, 3] })?;
    /// # document.tree_mut().put("u", node)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let node = file.get("u").ok_or(Error::not_found("node", "u"))?;
    /// let array = file.external_array_at(node)?;
    /// assert_eq!(array.map(|array| (array.uri, array.shape)), Some(("run.h5".into(), vec![100, 3])));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the node lacks a part, or if a part is invalid.
    pub fn external_array_at(&self, node: NodeId) -> Result<Option<ExternalArray>> {
        if !self.is_core(node, "core/externalarray") {
            return Ok(None);
        }
        let tree = self.tree();
        let part = |key| tree.child(node, key).ok_or_else(|| self.missing(node, "externalarray", key));
        let uri = part("fileuri")?;
        let uri = tree.node(uri).text().ok_or_else(|| self.missing(node, "externalarray", "fileuri"))?;
        let shape = part("shape")?;
        let fault = || self.missing(shape, "externalarray", "shape");
        let dimension = |item: &NodeId| tree.value(*item)?.and_then(|value| value.as_int()).ok_or_else(fault);
        Ok(Some(ExternalArray {
            uri: uri.to_owned(),
            target: part("target")?,
            datatype: Datatype::from_node(tree, part("datatype")?, ByteOrder::Little)?,
            shape: tree.items(shape).ok_or_else(fault)?.iter().map(dimension).collect::<Result<_>>()?,
        }))
    }

    fn missing(&self, node: NodeId, structure: &'static str, field: &'static str) -> Error {
        let kind = FaultKind::Rule("is missing or invalid");
        Fault::new(field, kind).at(structure, self.tree().node(node).offset)
    }
}

impl Document {
    /// Adds a table of columns whose arrays are already in the tree. In files of standard 1.6, it has the tags of the standard's
    /// companion for astronomy.
    ///
    /// ```
    /// use asdf_core::{Asdf, Column, Document, NewArray, Table};
    ///
    /// let mut document = Document::new();
    /// let data = document.add_array(NewArray::new(&[1.5, 2.5], &[2])?)?;
    /// let flux = Column { name: "flux".into(), data, unit: None, description: None, meta: None };
    /// let table = document.add_table(&Table { columns: vec![flux], meta: None });
    /// document.tree_mut().put("catalogue", table)?;
    ///
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let table = file.table_at(file.get("catalogue").unwrap())?.unwrap();
    /// assert_eq!(file.array_at(table.columns[0].data)?.read::<f64>()?, [1.5, 2.5]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn add_table(&mut self, table: &Table) -> NodeId {
        let columns = table.columns.iter().map(|column| self.add_column(column)).collect();
        let columns = self.tree.add_sequence(columns, CollectionStyle::Block);
        let tag = if self.has_core_tables() { "core/table-1.0.0" } else { "table/table-1.1.0" };
        self.tagged(&[("columns", Some(columns)), ("meta", table.meta)], tag)
    }

    /// Adds a column.
    ///
    /// ```
    /// use asdf_core::{Column, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// let data = document.add_array(NewArray::new(&[1.5, 2.5], &[2])?)?;
    /// let flux = Column { name: "flux".into(), data, unit: None, description: None, meta: None };
    /// let node = document.add_column(&flux);
    /// document.tree_mut().put("flux", node)?;
    /// assert_eq!(document.tree().asdf_tag(node), Some("table/column-1.1.0"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn add_column(&mut self, column: &Column) -> NodeId {
        let description = column.description.as_ref().map(|text| self.tree.add_str(text.as_str()));
        let pairs = [
            ("name", Some(self.tree.add_str(column.name.as_str()))),
            ("data", Some(column.data)),
            ("unit", column.unit),
            ("description", description),
            ("meta", column.meta),
        ];
        let tag = if self.has_core_tables() { "core/column-1.0.0" } else { "table/column-1.1.0" };
        self.tagged(&pairs, tag)
    }

    fn has_core_tables(&self) -> bool {
        self.standard() < Version::new(1, 6, 0)
    }

    /// Adds the tag of a `core/constant` to a node.
    ///
    /// ```
    /// use asdf_core::Document;
    ///
    /// let mut document = Document::new();
    /// let node = document.set("speed_of_light", &299_792_458)?;
    /// document.mark_constant(node);
    /// assert!(document.tree().to_text()?.contains("speed_of_light: !core/constant-1.0.0 299792458"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn mark_constant(&mut self, node: NodeId) {
        self.tree.set_tag(node, format!("{ASDF_PREFIX}core/constant-1.0.0"));
    }

    /// Adds a `core/externalarray`.
    ///
    /// ```
    /// use asdf_core::{Document, ExternalArray, ScalarType};
    ///
    /// let mut document = Document::new();
    /// let target = document.tree_mut().add_str("/fields/u");
    /// let (uri, datatype) = ("run.h5".into(), ScalarType::Float64.into());
    /// let node = document.add_external_array(&ExternalArray { uri, target, datatype, shape: vec![100, 3] })?;
    /// assert_eq!(document.tree().asdf_tag(node), Some("core/externalarray-1.0.0"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the standard is older than 1.3, which introduced this type.
    pub fn add_external_array(&mut self, array: &ExternalArray) -> Result<NodeId> {
        let standard = self.standard();
        if standard < Version::new(1, 3, 0) {
            return Err(Error::usage(
                "external array",
                format!("does not exist in version {standard} of the standard"),
            ));
        }
        let pairs = [
            ("fileuri", Some(self.tree.add_str(array.uri.as_str()))),
            ("target", Some(array.target)),
            ("datatype", Some(array.datatype.to_node(&mut self.tree))),
            ("shape", Some(datatype::numbers_node(&mut self.tree, &array.shape))),
        ];
        Ok(self.tagged(&pairs, "core/externalarray-1.0.0"))
    }

    fn tagged(&mut self, pairs: &[(&str, Option<NodeId>)], name: &str) -> NodeId {
        let pairs = pairs.iter().filter_map(|(key, value)| Some((key, (*value)?)));
        let entries = pairs.map(|(key, value)| (self.tree.add_str(*key), value)).collect();
        let node = self.tree.add_mapping(entries, CollectionStyle::Block);
        self.tree.set_tag(node, format!("{ASDF_PREFIX}{name}"));
        node
    }
}
