//! Sparse matrices: for each row or column, the positions and the values of the stored elements.

use std::sync::Arc;

use sciformats::{ArrayInfo, Datum, Decoder, ElementType, Error, File, Range, Result, Slab};
use sciformats_core::bound;

use crate::decoding::Decoding;
use crate::fields;
use crate::node::Node;
use crate::values::Values;

/// Which elements are adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Major {
    /// The elements of a row: compressed sparse rows (CSR).
    Rows,
    /// The elements of a column: compressed sparse columns (CSC).
    Columns,
}

/// A matrix of which only some elements are stored; the others are 0.
///
/// ```no_run
/// use sciformats_conventions::Dataset;
///
/// let counts = Dataset::open("cells.h5ad")?.sparse("/X")?;
/// let [cells, genes] = counts.shape;
/// println!("{cells} × {genes}, {} stored", counts.stored()?);
/// let first = counts.dense(0, 1)?; // a cell: as many numbers as there are genes
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SparseMatrix {
    /// The path of the object that contains it.
    pub path: String,
    /// The number of rows and columns.
    pub shape: [u64; 2],
    /// Which elements are adjacent.
    pub major: Major,
    data: Option<Node>,
    /// `None` if no element is stored.
    indices: Option<Node>,
    starts: Node,
    elements: Box<Elements>,
}

/// What the elements are.
#[derive(Clone, Debug)]
struct Elements {
    /// Their type, if none is stored.
    without: ElementType,
    /// How stored ones become values.
    decoding: Decoding,
}

/// The stored elements of some rows or columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The position of each row (of CSR) or column (of CSC) in `indices` and `values`, and the end of the
    /// last one.
    pub starts: Vec<u64>,
    /// The column (of CSR) or row (of CSC) of each element.
    pub indices: Vec<u64>,
    /// The elements.
    pub values: Values,
}

/// The number of rows or columns that are read at once.
const LINES: u64 = 256;

/// Returns the position of an index in a range, if the range contains it.
fn within(range: &Range, index: u64) -> Option<u64> {
    let far = index.checked_sub(range.start)?;
    let place = far.checked_div(range.step.max(1))?;
    (far.is_multiple_of(range.step.max(1)) && place < range.count).then_some(place)
}

/// Adds an element to the one at its place, which is nearly always 0.
fn add(element: &ElementType, there: &mut [u8], part: &[u8]) -> Result<()> {
    if there.iter().all(|&byte| byte == 0) {
        there.copy_from_slice(part);
        return Ok(());
    }
    let one = |bytes| Decoder::new(element, bytes).next().transpose();
    let sum = match (one(there)?, one(part)?) {
        (Some(Datum::Float(a, _)), Some(Datum::Float(b, _))) if *element == ElementType::F32 => {
            // The sum has the type of the elements.
            ((a + b) as f32).to_le_bytes().to_vec()
        }
        (Some(Datum::Float(a, _)), Some(Datum::Float(b, _))) if *element == ElementType::F64 => {
            (a + b).to_le_bytes().to_vec()
        }
        (Some(a), Some(b)) => match (a.to_i128(), b.to_i128()) {
            // Sums that exceed the type wrap, as in other programs.
            (Some(a), Some(b)) => a.wrapping_add(b).to_le_bytes().get(..there.len()).unwrap_or(part).to_vec(),
            _ => part.to_vec(),
        },
        _ => part.to_vec(),
    };
    there.copy_from_slice(&sum);
    Ok(())
}

fn length(info: Option<&ArrayInfo>) -> Option<u64> {
    match info?.shape.as_deref() {
        Some(&[length]) => Some(length),
        _ => None,
    }
}

impl SparseMatrix {
    /// Creates a matrix from its parts; without `data`, every stored element is 1, and without `indices`, there is none.
    pub(crate) fn new(
        (path, shape): (&str, [u64; 2]),
        major: Major,
        (data, indices, starts): (Option<Node>, Option<Node>, Node),
    ) -> Self {
        let elements = Box::new(Elements { without: ElementType::Bool, decoding: Decoding::Stored });
        Self { path: path.to_owned(), shape, major, data, indices, starts, elements }
    }

    /// Sets how stored elements become values, and the type of the elements if none is stored.
    #[must_use]
    pub(crate) fn decoded(self, decoding: Decoding, without: ElementType) -> Self {
        Self { elements: Box::new(Elements { without, decoding }), ..self }
    }

    /// Returns the number of rows (of CSR) or columns (of CSC).
    pub fn lines(&self) -> u64 {
        let [rows, columns] = self.shape;
        if self.major == Major::Rows { rows } else { columns }
    }

    /// Returns the number of elements in each of them.
    fn width(&self) -> u64 {
        let [rows, columns] = self.shape;
        if self.major == Major::Rows { columns } else { rows }
    }

    /// Returns the number of stored elements.
    ///
    /// # Errors
    ///
    /// An error if the list of indices is damaged.
    pub fn stored(&self) -> Result<u64> {
        let Some(indices) = &self.indices else { return Ok(0) };
        length(indices.info()?.as_ref()).ok_or_else(|| self.wrong("has no list of indices"))
    }

    fn wrong(&self, what: &str) -> Error {
        Error::usage("sparse matrix", format!("{} {what}", self.path))
    }

    fn whole(&self, node: &Node, range: Range) -> Result<Vec<u64>> {
        let info = node.info()?;
        let length = length(info.as_ref()).ok_or_else(|| self.wrong("has parts that are not lists"))?;
        let array = node.file().array(node.path())?;
        array.read_slab::<u64>(&Slab::new(&[length], [range])?)
    }

    /// Reads the stored elements of `count` rows (of CSR) or columns (of CSC), starting at `first`.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if there are not so many, or if the parts of the matrix contradict each other;
    /// otherwise the error of reading them.
    pub fn read(&self, first: u64, count: u64) -> Result<Stored> {
        let bound = first.checked_add(count).filter(|&end| end <= self.lines());
        let more = bound
            .and_then(|_| count.checked_add(1))
            .ok_or_else(|| self.wrong("has fewer rows or columns than requested"))?;
        let mut starts = self.whole(&self.starts, Range::new(first, more))?;
        let ends = starts.first().copied().zip(starts.last().copied());
        let (begin, end) = ends.ok_or_else(|| self.wrong("has no starts of its lines"))?;
        let sorted = starts.is_sorted();
        let stored = end.checked_sub(begin).filter(|_| sorted);
        let stored = stored.ok_or_else(|| self.wrong("has a row or column that ends before it begins"))?;
        let indices = match &self.indices {
            Some(indices) => self.whole(indices, Range::new(begin, stored))?,
            None if stored == 0 => Vec::new(),
            None => return Err(self.wrong("has no list of indices")),
        };
        if indices.iter().any(|&index| index >= self.width()) {
            return Err(self.wrong("has an element outside of its shape"));
        }
        starts.iter_mut().for_each(|start| *start -= begin);
        let values = match &self.data {
            Some(node) => {
                let info = node.info()?.ok_or_else(|| self.wrong("has no list of elements"))?;
                let length = length(Some(&info)).ok_or_else(|| self.wrong("has no list of elements"))?;
                let mut bytes = Vec::new();
                node.file().read(
                    node.id(),
                    &Slab::new(&[length], [Range::new(begin, stored)])?,
                    &mut bytes,
                )?;
                self.elements.decoding.decode(&info.element, bytes)?
            }
            None if indices.is_empty() => Values::plain(self.elements.without.clone(), Vec::new()),
            None => Values::plain(ElementType::Bool, vec![1; indices.len()]),
        };
        Ok(Stored { starts, indices, values })
    }

    /// Returns the file that contains it.
    pub(crate) fn file(&self) -> &Arc<File> {
        self.starts.file()
    }

    /// Returns the type of its elements.
    pub(crate) fn element(&self) -> Result<ElementType> {
        match &self.data {
            Some(node) => {
                let info = node.info()?.ok_or_else(|| self.wrong("has no list of elements"))?;
                let element = self.elements.decoding.element(&info.element);
                let sized = element.size().is_some_and(|size| size > 0);
                sized.then_some(element).ok_or_else(|| self.wrong("has elements without a fixed size"))
            }
            None => Ok(self.elements.without.clone()),
        }
    }

    /// Returns the canonical bytes of all elements of a selection, including those that are not stored.
    pub(crate) fn dense_slab(&self, slab: &Slab) -> Result<Vec<u8>> {
        let &[rows, columns] = slab.ranges() else {
            return Err(self.wrong("has two dimensions"));
        };
        let element = self.element()?;
        let size = element.size().unwrap_or(1);
        let bytes = slab.len().saturating_mul(size); // a bound: more than any limit
        let limits = self.file().limits();
        let mut out = vec![0; limits.memory("bytes of the elements to read", bytes)?];
        let (lines, across) = if self.major == Major::Rows { (rows, columns) } else { (columns, rows) };
        // A few rows or columns are read at a time, because the stored elements of all of them may not fit in
        // memory.
        let at_once = if lines.step == 1 { LINES } else { 1 };
        let mut done = 0;
        while done < lines.count {
            let count = at_once.min(lines.count - done);
            let first = done.checked_mul(lines.step).and_then(|far| far.checked_add(lines.start));
            let stored = self
                .read(first.ok_or_else(|| self.wrong("has fewer rows or columns than requested"))?, count)?;
            let Values::Plain { bytes, .. } = &stored.values else {
                return Err(self.wrong("has elements that are not numbers"));
            };
            let parts = fields::split(&element, bytes)?;
            for (line, ends) in (done..).zip(stored.starts.windows(2)) {
                let &[from, to] = ends else { continue };
                for at in from..to {
                    let at = usize::try_from(at).map_err(|_| self.wrong("is too large for this machine"))?;
                    let (Some(&index), Some(part)) = (stored.indices.get(at), parts.get(at)) else {
                        continue;
                    };
                    let Some(place) = within(&across, index) else { continue };
                    let (row, column) = if self.major == Major::Rows { (line, place) } else { (place, line) };
                    let place = row.checked_mul(columns.count).and_then(|start| start.checked_add(column));
                    let start = place.and_then(|place| usize::try_from(place.checked_mul(size)?).ok());
                    let there = start.and_then(|start| out.get_mut(start..)?.get_mut(..part.len()));
                    add(
                        &element,
                        there.ok_or_else(|| self.wrong("has an element outside of its shape"))?,
                        part,
                    )?;
                }
            }
            done += count;
        }
        Ok(out)
    }

    /// Returns the mean of each column over the rows of each group, for example of each gene over the cells of each type.
    /// `groups` are the group of each row, such as [`into_categories`](Values::into_categories) returns them, and `None` for a
    /// row that belongs to none; `count` is the number of groups. A few rows or columns at a time are in memory. The mean of
    /// no rows is not a number.
    ///
    /// ```no_run
    /// use sciformats_conventions::Dataset;
    ///
    /// let cells = Dataset::open("cells.h5ad")?;
    /// let (types, names) = cells.table("/obs")?.read("cell_type")?.into_categories()?;
    /// for (name, means) in names.iter().zip(cells.sparse("/X")?.means(&types, names.len())?) {
    ///     println!("{name}: {means:?}");
    /// }
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if there is not one group per row, or if a row belongs to a group that does not exist; as
    /// [`read`](Self::read); and if the means exceed the memory limit.
    pub fn means(&self, groups: &[Option<usize>], count: usize) -> Result<Vec<Vec<f64>>> {
        let [rows, columns] = self.shape;
        if groups.len() as u64 != rows {
            return Err(self.wrong(&format!("has {rows} rows, but {} are in groups", groups.len())));
        }
        let bytes = (count as u64).saturating_mul(columns).saturating_mul(8); // a bound: more than any limit
        self.file().limits().memory("bytes of the means", bytes)?;
        let mut means = vec![vec![0.0; bound::addressable(columns)]; count];
        let mut rows_of = vec![0.0; count];
        for &group in groups.iter().flatten() {
            let rows = rows_of.get_mut(group);
            *rows
                .ok_or_else(|| self.wrong(&format!("has no group {group}, because there are {count}")))? +=
                1.0;
        }
        let mut first = 0;
        while first < self.lines() {
            let lines = LINES.min(self.lines() - first);
            let stored = self.read(first, lines)?;
            let numbers = stored.values.numbers()?;
            for (line, ends) in (first..).zip(stored.starts.windows(2)) {
                let &[from, to] = ends else { continue };
                let elements = bound::addressable(from)..bound::addressable(to);
                let elements = stored.indices.get(elements.clone()).zip(numbers.get(elements));
                let (indices, numbers) =
                    elements.ok_or_else(|| self.wrong("has fewer elements than indices"))?;
                for (&index, number) in indices.iter().zip(numbers) {
                    let (row, column) = if self.major == Major::Rows { (line, index) } else { (index, line) };
                    let group = groups.get(bound::addressable(row)).copied().flatten();
                    let sum =
                        group.and_then(|group| means.get_mut(group)?.get_mut(bound::addressable(column)));
                    if let Some(sum) = sum {
                        *sum += number;
                    }
                }
            }
            first += lines;
        }
        for (means, rows) in means.iter_mut().zip(rows_of) {
            means.iter_mut().for_each(|mean| *mean /= rows);
        }
        Ok(means)
    }

    /// Reads all elements of `count` rows (of CSR) or columns (of CSC), starting at `first`, in C order,
    /// including those that are not stored.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), and if they exceed the memory limit.
    pub fn dense(&self, first: u64, count: u64) -> Result<Vec<f64>> {
        let elements = count.checked_mul(self.width()).and_then(|all| all.checked_mul(8));
        let limits = self.file().limits();
        let elements = elements.unwrap_or(u64::MAX); // a bound
        let bytes = limits.memory("bytes of the elements to read", elements)?;
        let stored = self.read(first, count)?;
        let mut out = vec![0.0; bytes / 8];
        let numbers = stored.values.numbers()?;
        let width = bound::addressable(self.width());
        for (line, ends) in stored.starts.windows(2).enumerate() {
            let &[from, to] = ends else { continue };
            for at in from..to {
                let at = bound::addressable(at);
                let index = stored.indices.get(at).and_then(|&index| usize::try_from(index).ok());
                let place = index.and_then(|index| line.checked_mul(width)?.checked_add(index));
                if let (Some(place), Some(&number)) =
                    (place.and_then(|place| out.get_mut(place)), numbers.get(at))
                {
                    *place += number;
                }
            }
        }
        Ok(out)
    }
}
