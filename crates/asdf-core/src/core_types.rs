//! Types of the standard besides arrays, for numbers that YAML lacks.

use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, Result};

use crate::document::Document;
use crate::model::complex;
use crate::reader::Asdf;
use crate::yaml::{ASDF_PREFIX, CollectionStyle, Integer, NodeId};
use crate::{ByteOrder, NewArray, ScalarType, Storage};

impl Asdf {
    /// Returns whether a node has one of the standard's tags, of any version: `core/integer`, `core/complex`.
    ///
    /// ```
    /// use asdf_core::{Asdf, Error};
    ///
    /// let file = Asdf::from_bytes(
    ///     "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\nz: !core/complex-1.0.0 1+2j\n...\n",
    /// )?;
    /// let node = file.get("z").ok_or(Error::not_found("node", "z"))?;
    /// assert!(file.is_core(node, "core/complex") && !file.is_core(node, "core/integer"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn is_core(&self, node: NodeId, name: &str) -> bool {
        let tag = self.tree().asdf_tag(node);
        tag.and_then(|tag| tag.strip_prefix(name)).is_some_and(|rest| rest.starts_with('-'))
    }

    /// Reads the real and the imaginary part of a `core/complex`.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, Error};
    ///
    /// let mut document = Document::new();
    /// let node = document.add_complex(1.5, -2.0);
    /// document.tree_mut().put("impedance", node)?;
    ///
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let node = file.get("impedance").ok_or(Error::not_found("node", "impedance"))?;
    /// assert_eq!(file.complex_at(node)?, (1.5, -2.0));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the text is not a complex number.
    pub fn complex_at(&self, node: NodeId) -> Result<(f64, f64)> {
        let fault = || {
            let kind = FaultKind::Rule("is not a complex number");
            Fault::new("text", kind).at("complex", self.tree().node(node).offset)
        };
        self.tree().node(node).text().and_then(complex::parse).ok_or_else(fault)
    }

    /// Reads a `core/integer` from its sign and its words. Its text is ignored.
    ///
    /// ```
    /// use asdf_core::yaml::Integer;
    /// use asdf_core::{Asdf, Document, Error, Storage};
    ///
    /// let mut document = Document::new();
    /// let node = document.add_integer(&Integer::new(false, vec![0, 0, 0, 0, 1]), Storage::Inline)?; // 2^128
    /// document.tree_mut().put("states", node)?;
    ///
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let node = file.get("states").ok_or(Error::not_found("node", "states"))?;
    /// assert_eq!(file.integer_at(node)?.to_string(), "340282366920938463463374607431768211456");
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the node is not an integer; and those of [`Array::read_bytes`](crate::Array::read_bytes).
    pub fn integer_at(&self, node: NodeId) -> Result<Integer> {
        let fault = |field, rule| {
            Fault::new(field, FaultKind::Rule(rule)).at("integer", self.tree().node(node).offset)
        };
        let sign = self.tree().child(node, "sign").and_then(|sign| self.tree().node(sign).text());
        let negative = match sign {
            Some("+") => false,
            Some("-") => true,
            _ => return Err(fault("sign", "is neither `+` nor `-`")),
        };
        let words = self.tree().child(node, "words").ok_or_else(|| fault("words", "is missing"))?;
        let words = self.array_at(words)?;
        let size = match words.datatype().scalar() {
            Some(
                ScalarType::UInt8
                | ScalarType::UInt16
                | ScalarType::UInt32
                | ScalarType::UInt64
                | ScalarType::Int8
                | ScalarType::Int16
                | ScalarType::Int32
                | ScalarType::Int64,
            ) => words.datatype().size().and_then(|size| usize::try_from(size).ok()).unwrap_or(1),
            // An empty list of words has the type that an empty list gets.
            Some(_) if words.is_empty() => 1,
            _ => return Err(fault("words", "are not whole numbers")),
        };
        // Inline words may have a wider type than necessary. Each is 32 bits of the number.
        let bytes = words.read_bytes()?;
        let word = |element: &[u8]| {
            let mut wide = [0; 8];
            wide.iter_mut().zip(element).for_each(|(wide, byte)| *wide = *byte);
            u32::try_from(u64::from_le_bytes(wide)).map_err(|_| fault("words", "have more than 32 bits"))
        };
        Ok(Integer::new(negative, bytes.chunks(size).map(word).collect::<Result<Vec<_>>>()?))
    }
}

impl Document {
    /// Adds a `core/complex`.
    ///
    /// ```
    /// use asdf_core::Document;
    ///
    /// let mut document = Document::new();
    /// let node = document.add_complex(1.5, -2.0);
    /// document.tree_mut().put("impedance", node)?;
    /// assert_eq!(document.tree().node(node).text(), Some("1.5-2.0j"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn add_complex(&mut self, real: f64, imaginary: f64) -> NodeId {
        let node = self.tree_mut().add_plain(complex::text(real, imaginary));
        self.tree_mut().set_tag(node, format!("{ASDF_PREFIX}core/complex-1.0.0"));
        node
    }

    /// Adds a `core/integer`, whose words are stored in the tree or in a block.
    ///
    /// ```
    /// use asdf_core::yaml::Integer;
    /// use asdf_core::{Document, Storage};
    ///
    /// let mut document = Document::new();
    /// let node = document.add_integer(&Integer::from(-5), Storage::Inline)?;
    /// document.tree_mut().put("charge", node)?;
    /// assert_eq!(document.tree().asdf_tag(node), Some("core/integer-1.1.0"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the standard is older than 1.3, which introduced this type.
    pub fn add_integer(&mut self, value: &Integer, storage: Storage) -> Result<NodeId> {
        let standard = self.standard();
        if standard < crate::Version::new(1, 3, 0) {
            return Err(Error::usage(
                "integer",
                format!("does not exist in version {standard} of the standard"),
            ));
        }
        let bytes: Vec<u8> = value.words().iter().flat_map(|word| word.to_le_bytes()).collect();
        let words = NewArray::from_bytes(
            ScalarType::UInt32,
            ByteOrder::Little,
            &[value.words().len() as u64],
            bytes,
        )?;
        let words = self.add_array(words.with_storage(storage))?;
        let tree = self.tree_mut();
        let sign = tree.add_str(if value.is_negative() { "-" } else { "+" });
        let text = tree.add_str(value.to_string());
        let pairs = [("sign", sign), ("string", text), ("words", words)];
        let entries = pairs.map(|(key, value)| (tree.add_str(key), value)).to_vec();
        let node = tree.add_mapping(entries, CollectionStyle::Block);
        let version = if standard < crate::Version::new(1, 6, 0) { "1.0.0" } else { "1.1.0" };
        tree.set_tag(node, format!("{ASDF_PREFIX}core/integer-{version}"));
        Ok(node)
    }
}
