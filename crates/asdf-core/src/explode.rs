//! The exploded form, in which the tree is one file and each block is another (ASDF standard, "Exploded form").

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sciformats_core::storage::Replacement;
use sciformats_core::{Error, Result};

use crate::document::{BlockData, Document, Referred};
use crate::options::{percent_decoded, scheme};
use crate::reader::Asdf;
use crate::spec::block_header::STREAMED;

/// The number of blocks that are complete before they take their places. Each of them is an open file.
const MAX_WAITING: usize = 256;

/// A block that becomes a file.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Part {
    /// A block of the document by its index.
    Own(usize),
    /// The first block of another file, by its name.
    Other(String),
}

impl Document {
    /// Writes the tree to `path`, and each block to which an array refers to a file beside it: `NAME0000.asdf`, `NAME0001.asdf`
    /// and so on. Returns the paths of the blocks. The document itself is unchanged.
    ///
    /// Blocks that are in other files already are copied too, because a relative name would lead to another place from `path`. The
    /// options with which the document was opened decide which files may be opened. Names with a scheme, such as `https`, and
    /// absolute paths stay, and so do all names in a document that was not opened.
    ///
    /// Files of these names are replaced, but not before up to 256 new ones and the tree are complete. So, if there are no more
    /// blocks than that, an older set stays whole if a new one cannot be written. An older set is never mixed with a new one: before
    /// the first of its blocks is replaced, this document takes the place of its tree as one file with all its own blocks, which remains if
    /// the process is killed or a later file cannot be written.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, External, NewArray, OpenOptions};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("image.asdf");
    /// let mut document = Document::new();
    /// document.set_array("image", NewArray::new(&[1u16, 2], &[2])?)?;
    /// assert_eq!(document.explode(&path)?, [path.with_file_name("image0000.asdf")]);
    ///
    /// let options = OpenOptions::default().with_external(External::SameFolder);
    /// assert_eq!(Asdf::open_with(&path, &options)?.array("image")?.read::<u16>()?, [1, 2]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if `path` has no file name, or if an array is already in another file of the name that a block would get; `Forbidden` if
    /// another file may not be opened; and those of [`save`](Self::save).
    pub fn explode(&self, path: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
        let path = path.as_ref();
        let stem =
            path.file_stem().ok_or_else(|| Error::usage("path", "has no file name"))?.to_string_lossy();
        if let Some(origin) = &self.origin {
            origin.check_first()?;
            origin.check_last()?;
        }
        let mut main = Self::from_parts(self)?;
        // The blocks in the order of their files, and the number of the file of each.
        let (mut parts, mut numbers) = (Vec::new(), HashMap::new());
        for (array, source) in self.sources() {
            let Some(part) = self.part_of(&source) else { continue };
            let number = *numbers.entry(part.clone()).or_insert(parts.len());
            if number == parts.len() {
                parts.push(part);
            }
            let node = main.tree.add_str(uri(&part_name(&stem, number)));
            main.tree.insert(array, "source", node)?;
        }
        let names: Vec<String> = (0..parts.len()).map(|number| part_name(&stem, number)).collect();
        self.check_names(&names)?;
        // New files are complete before the first of them takes the place of an old one, which may be part of an older set.
        let tree = main.saved(path)?;
        let is_older = path.exists() && names.iter().any(|name| path.with_file_name(name).exists());
        let mut whole = if is_older { Some(self.saved(path)?) } else { None };
        let mut put = |parts: &mut Vec<Replacement>| {
            let durability = self.options().durability;
            let whole = whole.take().filter(|_| !parts.is_empty());
            whole.map_or(Ok(()), |whole| whole.finish(durability))?;
            parts.drain(..).try_for_each(|part| part.finish(durability))
        };
        let (mut paths, mut waiting) = (Vec::new(), Vec::new());
        for (part, name) in parts.into_iter().zip(names) {
            let place = path.with_file_name(name);
            waiting.push(self.part(&part)?.saved(&place)?);
            paths.push(place);
            if waiting.len() >= MAX_WAITING {
                put(&mut waiting)?;
            }
        }
        put(&mut waiting)?;
        tree.finish(self.options().durability)?;
        Ok(paths)
    }

    /// Checks that no block gets a file of the name of one in which an array is already.
    fn check_names(&self, names: &[String]) -> Result<()> {
        let others: HashSet<String> = self.other_files().iter().filter_map(|uri| name_of(uri)).collect();
        match names.iter().find(|name| others.contains(*name)) {
            None => Ok(()),
            Some(name) => {
                let problem = format!(
                    "would put a block into {name}, but an array is in a file of this name already (`implode` takes it in)"
                );
                Err(Error::usage("path", problem))
            }
        }
    }

    /// Returns the same document without blocks.
    fn from_parts(other: &Self) -> Result<Self> {
        let mut main = Self::with_standard(other.standard());
        main.header = other.header.clone();
        main.tree = other.tree.clone();
        main.given = other.text_to_give()?;
        *main.options_mut() = *other.options();
        Ok(main)
    }

    /// Returns which block becomes the file of an array; `None` if there is none, or if the name of its file stays as it is.
    fn part_of(&self, source: &Referred) -> Option<Part> {
        let Referred::Elsewhere(uri) = source else { return self.block_of(source).map(Part::Own) };
        let name = uri.split('#').next().unwrap_or_default();
        match name.is_empty() {
            true => self.block_at(0).map(Part::Own),
            false => {
                let moves = scheme(name).is_none() && !name.starts_with('/') && self.origin.is_some();
                moves.then(|| Part::Other(name.to_owned()))
            }
        }
    }

    /// Returns a file of one block.
    fn part(&self, of: &Part) -> Result<Self> {
        let mut part = Self::with_standard(self.standard());
        *part.options_mut() = *self.options();
        let index = match (of, &self.origin) {
            (Part::Own(index), _) => *index,
            (Part::Other(name), Some(origin)) => {
                part.blocks.push(encoded(&*origin.external(name)?, 0)?);
                return Ok(part);
            }
            (Part::Other(name), None) => return Err(Error::not_found("external file", name.clone())),
        };
        let block = match (self.blocks.get(index), &self.origin) {
            (Some(BlockData::Stored(stored)), Some(origin)) => encoded(origin, *stored)?,
            (Some(BlockData::Recoded { stored, compression, level }), Some(origin)) => {
                origin.check_block(*stored)?;
                let data = Arc::new(origin.block(*stored)?.data()?.into_owned());
                BlockData::New { data, compression: *compression, level: *level }
            }
            (Some(other), _) => other.clone(),
            (None, _) => return Err(Error::not_found("block", index.to_string())),
        };
        part.blocks.push(block);
        Ok(part)
    }

    /// Returns the other files to which arrays of this one refer, without duplicates.
    ///
    /// ```
    /// use asdf_core::{Document, NewArray};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("image.asdf");
    /// # let mut document = Document::new();
    /// # document.set_array("image", NewArray::new(&[1u16, 2], &[2])?)?;
    /// # document.explode(&path)?;
    /// assert_eq!(Document::open(&path)?.other_files(), ["image0000.asdf"]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn other_files(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (_, source) in self.sources() {
            let Referred::Elsewhere(uri) = source else { continue };
            let name = uri.split('#').next().unwrap_or_default();
            if !name.is_empty() && names.iter().all(|known| known != name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Copies the blocks of other files to which arrays refer into this document. The options with which the document was opened
    /// decide which files may be opened. Returns the number of blocks that were added.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, External, NewArray, OpenOptions};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("image.asdf");
    /// # let mut document = Document::new();
    /// # document.set_array("image", NewArray::new(&[1u16, 2], &[2])?)?;
    /// # document.explode(&path)?;
    /// let options = OpenOptions::default().with_external(External::SameFolder);
    /// let mut document = Document::open_with(&path, &options)?;
    /// assert_eq!(document.implode()?, 1);
    /// let file = Asdf::from_bytes(document.to_bytes()?)?; // all in one
    /// assert_eq!(file.array("image")?.read::<u16>()?, [1, 2]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if a file may not be opened, or if the document was not opened from a file; and those of [`Asdf::open`].
    pub fn implode(&mut self) -> Result<usize> {
        let mut known: Vec<(String, usize)> = Vec::new();
        for (array, source) in self.sources() {
            let Referred::Elsewhere(uri) = source else { continue };
            let name = uri.split('#').next().unwrap_or_default().to_owned();
            let index = match known.iter().find(|(other, _)| *other == name) {
                Some((_, index)) => *index,
                None if name.is_empty() => 0,
                None => {
                    let origin = self
                        .origin
                        .as_ref()
                        .ok_or_else(|| Error::usage("document", "was not opened from a file"))?;
                    let block = encoded(&*origin.external(&name)?, 0)?;
                    let index = self.push_block(block);
                    known.push((name, index));
                    index
                }
            };
            let node = self.tree.add_plain(index.to_string());
            self.tree.insert(array, "source", node)?;
        }
        Ok(known.len())
    }
}

/// Returns a block of a file as it is stored there.
fn encoded(file: &Asdf, index: usize) -> Result<BlockData> {
    let block = file.block(index)?;
    let mut header = block.entry().header;
    let stored = Arc::new(block.stored()?.into_owned());
    if header.is_streamed() {
        header.flags &= !STREAMED;
        header.data_size = stored.len() as u64;
        header.checksum = crate::codec::md5(&stored);
    }
    Ok(BlockData::Encoded { header: Box::new(header), stored })
}

/// Returns the name of the file of a block.
fn part_name(stem: &str, number: usize) -> String {
    format!("{stem}{number:04}.asdf")
}

/// Returns the name of a file as the URI of a file beside another. Characters that have a meaning in URIs are escaped.
fn uri(name: &str) -> String {
    let mut uri = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '-' | '.' | '_' | '~' => uri.push(letter),
            _ if letter.is_ascii() && !letter.is_ascii_alphanumeric() => {
                uri.push_str(&format!("%{:02X}", u32::from(letter)));
            }
            _ => uri.push(letter),
        }
    }
    uri
}

/// Returns the name of the file to which a URI refers, without its folder.
fn name_of(uri: &str) -> Option<String> {
    let path = percent_decoded(uri);
    Path::new(&path).file_name().and_then(|name| name.to_str()).map(str::to_owned)
}
