//! `AnnData` files: data frames with categories, sparse and dense matrices.
//!
//! Source: <https://anndata.readthedocs.io/en/stable/fileformat-prose.html>, with the versions of encodings that anndata
//! 0.8 and later write.

use std::collections::BTreeMap;
use std::path::Path;

use sciformats::hdf5_pure::{DatasetBuilder, GroupWriter, Store, Writer};
use sciformats::{Error, Result};

use super::counted;

/// A file of `AnnData` that is being written. Whatever is not written is empty.
///
/// ```no_run
/// use sciformats_conventions::write::AnnData;
///
/// let mut file = AnnData::create("cells.h5ad")?;
/// // The rows of a sparse matrix: where each begins, and the columns and values of its elements.
/// file.csr("X", [3, 2], (&[0, 1, 1, 3], &[1, 0, 1], &[5.0f32, 1.0, 7.0]))?;
/// let mut cells = file.frame("obs", &["c1", "c2", "c3"])?;
/// cells.categories("cell_type", &["T cell", "B cell"], &[Some(0), Some(1), None])?;
/// cells.column("depth", &[0.5, 1.5, 2.5])?;
/// file.frame("var", &["CD3E", "MS4A1"])?;
/// file.finish()?;
/// # Ok::<(), sciformats_conventions::sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct AnnData {
    writer: Writer,
    level: u32,
    /// The paths of everything that was written.
    paths: Vec<String>,
    /// The path of each data frame, and the names of its columns.
    frames: BTreeMap<String, Vec<String>>,
}

/// A data frame that is being written, column by column. It needs no columns besides the names of its rows.
#[derive(Debug)]
pub struct Frame<'w> {
    group: GroupWriter<'w>,
    level: u32,
    rows: usize,
    columns: &'w mut Vec<String>,
}

/// The groups that every file has.
const MAPPINGS: [&str; 6] = ["layers", "obsm", "obsp", "uns", "varm", "varp"];

/// Compresses an array, unless the level is 0.
fn compressed(array: DatasetBuilder<'_>, level: u32) -> DatasetBuilder<'_> {
    if level == 0 { array } else { array.shuffle().deflate(level) }
}

/// Marks a group with an encoding.
fn encoded(group: &mut GroupWriter<'_>, kind: &str, version: &str) -> Result<()> {
    group.attribute("encoding-type", kind)?.attribute("encoding-version", version)?;
    Ok(())
}

impl AnnData {
    /// Starts a new file, which appears at `path` when it is [finished](Self::finish). There must not be a file yet.
    ///
    /// # Errors
    ///
    /// `Io` if the file exists or cannot be created.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::over(Writer::create(path)?)
    }

    /// As [`create`](Self::create), but replaces an existing file when the new one is
    /// [finished](Self::finish).
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if a writer has the existing file open; `Io` if the file cannot be created.
    pub fn overwrite(path: impl AsRef<Path>) -> Result<Self> {
        Self::over(Writer::overwrite(path)?)
    }

    fn over(mut writer: Writer) -> Result<Self> {
        writer.root().attribute("encoding-type", "anndata")?.attribute("encoding-version", "0.1.0")?;
        Ok(Self { writer, level: 0, paths: Vec::new(), frames: BTreeMap::new() })
    }

    /// Compresses everything that is written from now on by zlib, with a level from 1 to 9; 0 does not compress. Writing with a
    /// larger level fails with `Usage`.
    ///
    /// ```no_run
    /// use sciformats_conventions::write::AnnData;
    ///
    /// let mut file = AnnData::create("cells.h5ad")?.with_level(4);
    /// file.dense("X", &[2, 3], &[0.0f32; 6])?;
    /// # Ok::<(), sciformats_conventions::sciformats::Error>(())
    /// ```
    #[must_use]
    pub fn with_level(self, level: u32) -> Self {
        Self { level, ..self }
    }

    /// Starts a data frame with the names of its rows: `obs` and `var`, or one below `uns` or `obsm`.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the path exists already.
    pub fn frame(&mut self, path: &str, index: &[&str]) -> Result<Frame<'_>> {
        self.frame_with_index(path, ("_index", index))
    }

    /// As [`frame`](Self::frame), where the names of the rows have a name themselves, which no column has.
    ///
    /// ```no_run
    /// use sciformats_conventions::write::AnnData;
    ///
    /// let mut file = AnnData::create("cells.h5ad")?;
    /// file.frame_with_index("obs", ("barcode", &["AAAC", "AAAG"]))?.column("depth", &[0.5, 1.5])?;
    /// # Ok::<(), sciformats_conventions::sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`frame`](Self::frame).
    pub fn frame_with_index(&mut self, path: &str, (name, index): (&str, &[&str])) -> Result<Frame<'_>> {
        self.mapping(path)?;
        let mut group = self.writer.group(path)?;
        encoded(&mut group, "dataframe", "0.2.0")?;
        group.attribute("_index", name)?;
        let columns = self.frames.entry(path.to_owned()).or_default();
        let mut frame = Frame { group, level: self.level, rows: index.len(), columns };
        frame.array(name, "string-array", index)?;
        Ok(frame)
    }

    /// Writes a sparse matrix by its rows (CSR): where each row begins and the last one ends, and the columns and the
    /// values of its elements.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the parts contradict each other or the shape.
    pub fn csr<T: Store>(
        &mut self,
        path: &str,
        shape: [u64; 2],
        parts: (&[i64], &[i64], &[T]),
    ) -> Result<()> {
        self.sparse(path, shape, parts, "csr_matrix")
    }

    /// Writes a sparse matrix by its columns (CSC): where each column begins and the last one ends, and the rows and
    /// the values of its elements.
    ///
    /// # Errors
    ///
    /// As [`csr`](Self::csr).
    pub fn csc<T: Store>(
        &mut self,
        path: &str,
        shape: [u64; 2],
        parts: (&[i64], &[i64], &[T]),
    ) -> Result<()> {
        self.sparse(path, shape, parts, "csc_matrix")
    }

    fn sparse<T: Store>(
        &mut self,
        path: &str,
        shape: [u64; 2],
        (starts, indices, values): (&[i64], &[i64], &[T]),
        kind: &str,
    ) -> Result<()> {
        let [rows, columns] = shape;
        let (lines, width) = if kind == "csr_matrix" { (rows, columns) } else { (columns, rows) };
        let wrong = |what: &str| Err(Error::usage("sparse matrix", format!("{path} {what}")));
        if lines.checked_add(1) != Some(starts.len() as u64) {
            return wrong("needs one start per row (of CSR) or column (of CSC), and the end of the last one");
        }
        let ends = (starts.first().copied(), starts.last().copied());
        if !starts.is_sorted() || ends != (Some(0), i64::try_from(indices.len()).ok()) {
            return wrong("has starts that are not in order from 0 to the number of elements");
        }
        if values.len() != indices.len() {
            return wrong("has another number of values than of indices");
        }
        if indices.iter().any(|&index| u64::try_from(index).map_or(true, |index| index >= width)) {
            return wrong("has an element outside of its shape");
        }
        let side = |length: u64| i64::try_from(length).map_err(|_| Error::usage("shape", "is too large"));
        let shape = [side(rows)?, side(columns)?];
        self.mapping(path)?;
        let mut group = self.writer.group(path)?;
        encoded(&mut group, kind, "0.1.0")?;
        group.attribute("shape", shape)?;
        compressed(group.dataset("data"), self.level).write(values)?;
        compressed(group.dataset("indices"), self.level).write(indices)?;
        compressed(group.dataset("indptr"), self.level).write(starts)?;
        Ok(())
    }

    /// Writes a matrix with all of its elements, in C order.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the number of values does not match the shape.
    pub fn dense<T: Store>(&mut self, path: &str, shape: &[u64], values: &[T]) -> Result<()> {
        counted(path, shape, values.len())?;
        self.mapping(path)?;
        let dataset = self.writer.dataset(path).shape(shape).attribute("encoding-type", "array");
        // A single value has no chunks, which compression needs.
        let dataset = if shape.is_empty() { dataset } else { compressed(dataset, self.level) };
        dataset.attribute("encoding-version", "0.2.0").write(values).map(drop)
    }

    /// Creates the group that contains a path, which must be new.
    fn mapping(&mut self, path: &str) -> Result<()> {
        let path = path.trim_matches('/');
        if self.paths.iter().any(|known| known == path) {
            return Err(Error::usage("path", format!("{path} exists already")));
        }
        self.paths.push(path.to_owned());
        let Some((parent, _)) = path.rsplit_once('/') else { return Ok(()) };
        if self.paths.iter().any(|known| known == parent) {
            return Ok(());
        }
        self.mapping(parent)?;
        encoded(&mut self.writer.group(parent)?, "dict", "0.1.0")
    }

    /// Returns the writer of the file, for whatever else it contains.
    pub fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// Writes the order of the columns of each frame and the groups that are missing, and completes the file.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if `obs` or `var` is missing; otherwise the error of writing.
    pub fn finish(mut self) -> Result<()> {
        for name in ["obs", "var"] {
            if !self.paths.iter().any(|known| known == name) {
                return Err(Error::usage("AnnData", format!("needs the data frame {name}")));
            }
        }
        for (path, columns) in &self.frames {
            let names: Vec<&str> = columns.iter().map(String::as_str).collect();
            self.writer.group(path)?.attribute("column-order", names)?;
        }
        for name in MAPPINGS {
            if !self.paths.iter().any(|known| known == name) {
                encoded(&mut self.writer.group(name)?, "dict", "0.1.0")?;
            }
        }
        self.writer.finish().map(drop)
    }
}

impl Frame<'_> {
    fn array<T: Store>(&mut self, name: &str, kind: &str, values: &[T]) -> Result<()> {
        if values.len() != self.rows {
            let (rows, found) = (self.rows, values.len());
            return Err(Error::usage(
                "column",
                format!("{name} has {found} values, and the frame {rows} rows"),
            ));
        }
        let dataset = compressed(self.group.dataset(name), self.level).attribute("encoding-type", kind);
        dataset.attribute("encoding-version", "0.2.0").write(values).map(drop)
    }

    /// Adds a column of numbers or truth values.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if it has another number of rows, or if the name exists already.
    pub fn column<T: Store>(&mut self, name: &str, values: &[T]) -> Result<&mut Self> {
        self.array(name, "array", values)?;
        self.columns.push(name.to_owned());
        Ok(self)
    }

    /// Adds a column of texts.
    ///
    /// # Errors
    ///
    /// As [`column`](Self::column).
    pub fn texts(&mut self, name: &str, values: &[&str]) -> Result<&mut Self> {
        self.array(name, "string-array", values)?;
        self.columns.push(name.to_owned());
        Ok(self)
    }

    /// Adds a column of categories: their names, and the index of the name for each row; `None` is a missing value.
    ///
    /// # Errors
    ///
    /// As [`column`](Self::column); [`Error::Usage`] if there is no category with an index.
    pub fn categories(&mut self, name: &str, names: &[&str], codes: &[Option<usize>]) -> Result<&mut Self> {
        self.categorical(name, names, codes, false)
    }

    /// Adds a column of categories whose order has a meaning, such as low, medium and high.
    ///
    /// # Errors
    ///
    /// As [`categories`](Self::categories).
    pub fn ordered_categories(
        &mut self,
        name: &str,
        names: &[&str],
        codes: &[Option<usize>],
    ) -> Result<&mut Self> {
        self.categorical(name, names, codes, true)
    }

    fn categorical(
        &mut self,
        name: &str,
        names: &[&str],
        codes: &[Option<usize>],
        ordered: bool,
    ) -> Result<&mut Self> {
        if codes.len() != self.rows || codes.iter().flatten().any(|&code| code >= names.len()) {
            return Err(Error::usage(
                "categories",
                format!("{name} has other rows, or a code without a name"),
            ));
        }
        let stored =
            codes.iter().map(|code| code.map_or(Ok(-1), i32::try_from)).collect::<Result<Vec<_>, _>>();
        let stored = stored.map_err(|_| Error::usage("categories", format!("{name} has too many")))?;
        let mut group = self.group.group(name)?;
        encoded(&mut group, "categorical", "0.2.0")?;
        group.attribute("ordered", ordered)?;
        // pandas uses the smallest type that has room.
        let codes = compressed(group.dataset("codes"), self.level).attribute("encoding-type", "array");
        let codes = codes.attribute("encoding-version", "0.2.0");
        if names.len() <= 127 {
            codes.write(&stored.iter().map(|&code| i8::try_from(code).unwrap_or(-1)).collect::<Vec<_>>())?;
        } else {
            codes.write(&stored)?;
        }
        let texts = compressed(group.dataset("categories"), self.level);
        let texts = texts.attribute("encoding-type", "string-array");
        texts.attribute("encoding-version", "0.2.0").write(names)?;
        self.columns.push(name.to_owned());
        Ok(self)
    }

    /// Adds a column of which values are missing: `nullable-integer`, `nullable-boolean` or `nullable-string-array`.
    /// Missing values are those for which `missing` is true, whatever is in their place.
    ///
    /// # Errors
    ///
    /// As [`column`](Self::column).
    pub fn nullable<T: Store>(
        &mut self,
        name: &str,
        kind: &str,
        values: &[T],
        missing: &[bool],
    ) -> Result<&mut Self> {
        if values.len() != self.rows || missing.len() != self.rows {
            return Err(Error::usage("column", format!("{name} has another number of rows than the frame")));
        }
        let mut group = self.group.group(name)?;
        encoded(&mut group, kind, "0.1.0")?;
        let inner = if kind == "nullable-string-array" { "string-array" } else { "array" };
        if inner == "string-array" {
            group.attribute("na-value", "NA")?;
        }
        let part = compressed(group.dataset("values"), self.level).attribute("encoding-type", inner);
        part.attribute("encoding-version", "0.2.0").write(values)?;
        let part = compressed(group.dataset("mask"), self.level).attribute("encoding-type", "array");
        part.attribute("encoding-version", "0.2.0").write(missing)?;
        self.columns.push(name.to_owned());
        Ok(self)
    }
}
