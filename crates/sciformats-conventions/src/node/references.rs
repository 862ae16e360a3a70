//! The objects that attributes refer to.

use sciformats::{Datum, Decoder, Name, ObjectId, Result};

use super::Node;

impl Node {
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
}
