//! Records whose fields are the columns of a table.

use std::sync::{Arc, OnceLock};

use sciformats::{ElementType, Error, Range, Result, Slab};

use crate::fields;
use crate::node::Node;
use crate::undecoded::Layout;

/// Records whose fields are columns.
#[derive(Debug)]
pub(crate) struct Records {
    node: Node,
    fields: ElementType,
    rows: u64,
    /// The number of records that are stored together.
    chunk: Option<u64>,
    layout: OnceLock<Option<Layout>>,
}

impl Records {
    /// Returns a list of records; `None` if the array is not one.
    pub(crate) fn of(node: &Node) -> Result<Option<Arc<Self>>> {
        let Some(info) = node.info()? else { return Ok(None) };
        match (&info.element, info.shape.as_deref()) {
            (ElementType::Compound(_), Some(&[rows])) => {
                let chunk = info.chunks.and_then(|chunks| chunks.first().copied());
                let layout = OnceLock::new();
                Ok(Some(Arc::new(Self { node: node.clone(), fields: info.element, rows, chunk, layout })))
            }
            _ => Ok(None),
        }
    }

    /// Returns the names and types of the fields.
    pub(crate) fn fields(&self) -> &[(sciformats::Name, ElementType)] {
        match &self.fields {
            ElementType::Compound(fields) => fields,
            _ => &[],
        }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of records that are stored together, if they are in chunks.
    pub(super) fn chunk(&self) -> Option<u64> {
        self.chunk
    }

    /// Returns the type of the records.
    pub(crate) fn element(&self) -> &ElementType {
        &self.fields
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Returns where the fields are, if they can be read one by one.
    pub(crate) fn layout(&self) -> Option<&Layout> {
        self.layout.get_or_init(|| Layout::of(self)).as_ref()
    }
}

/// Records that were read for a column, and that the next column may need too.
pub(super) type Beside = Option<(Arc<Records>, (u64, u64), Vec<u8>)>;

impl Records {
    /// Reads a field of some rows: its type, and its canonical bytes.
    pub(super) fn read(
        self: &Arc<Self>,
        field: usize,
        (first, count): (u64, u64),
        beside: &mut Beside,
    ) -> Result<(ElementType, Vec<u8>)> {
        let known =
            beside.as_ref().is_some_and(|(of, rows, _)| Arc::ptr_eq(of, self) && *rows == (first, count));
        if !known {
            let slab = Slab::new(&[self.rows], [Range::new(first, count)])?;
            if let Some(bytes) = self.layout().and_then(|layout| layout.alone(self, field, &slab)) {
                let element = self.fields().get(field).map(|(_, element)| element.clone());
                let element =
                    element.ok_or_else(|| Error::internal("a field that the records do not have"))?;
                return Ok((element, bytes?));
            }
            let mut bytes = Vec::new();
            self.node.file().read(self.node.id(), &slab, &mut bytes)?;
            *beside = Some((Arc::clone(self), (first, count), bytes));
        }
        let bytes = beside.as_ref().map(|(_, _, bytes)| bytes.as_slice()).unwrap_or_default();
        fields::field(&self.fields, field, bytes)
    }
}
