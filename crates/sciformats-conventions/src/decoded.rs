//! Presents the meaning of an object as a file with one array, so that commands, converters and plots can
//! read it.

use std::ops::ControlFlow;
use std::sync::Arc;

use sciformats::source::{Derived, Fact, Members, Structure};
use sciformats::{
    ArrayInfo, ElementType, Error, File, Format, Name, Object, ObjectId, Result, Slab, Source, Target,
};

use crate::convention::Meaning;
use crate::decoding::Decoding;
use crate::sparse::SparseMatrix;
use crate::table::{Column, Table};
use crate::values::{Values, push_text};
use crate::variable::{Flags, Variable};

/// The readers that values are intended for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum For {
    /// For people: flags appear by name, and integers become texts if some of them are missing.
    People,
    /// For programs: flags and integers are numbers.
    Programs,
}

/// A meaning that is read like an array.
#[derive(Debug)]
struct Decoded {
    file: Arc<File>,
    info: ArrayInfo,
    what: What,
}

#[derive(Debug)]
enum What {
    Variable(Variable),
    /// A variable whose values are shown by name.
    Labels(Variable, Flags),
    Table(Table, For),
    Sparse(SparseMatrix),
}

impl Meaning {
    /// Returns whether the values are the elements of one array as they are stored.
    pub fn is_stored(&self) -> bool {
        match self {
            Self::Variable(variable) => variable.is_stored(),
            Self::Table(table) => table.is_stored(),
            Self::Sparse(_) => false,
        }
    }

    /// Returns a file with one array at `/` that contains the values. Missing numbers are NaN; dates,
    /// categories and characters are texts; a table is a list of records; a sparse matrix has all of its
    /// elements. The values are read when they are requested.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array, texts};
    /// use sciformats::{File, Format};
    /// use sciformats_conventions::{Dataset, For};
    ///
    /// let mut tree = Memory::new(Format::Hdf5);
    /// tree.attribute(tree.root(), "Conventions", texts(&[], &["CF-1.11"]));
    /// let tas = tree.array(tree.root(), "tas", array::<i16>(&[2], &[100, -1]));
    /// tree.attribute(tas, "scale_factor", array::<f64>(&[], &[0.5]));
    /// tree.attribute(tas, "_FillValue", array::<i16>(&[], &[-1]));
    /// let data = Dataset::new(File::from(tree));
    /// let kelvin = data.meaning("/tas")?.expect("an array means something").into_file(For::People)?;
    /// let values: Vec<f64> = kelvin.array("/")?.read()?;
    /// assert!(values[0] == 50.0 && values[1].is_nan());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An error if the description of its parts cannot be read.
    pub fn into_file(self, whom: For) -> Result<File> {
        let decoded = match self {
            Self::Variable(variable) => of_variable(*variable, whom),
            Self::Table(table) => of_table(table, whom)?,
            Self::Sparse(matrix) => of_sparse(matrix)?,
        };
        let (options, size) = (decoded.file.options().clone(), decoded.file.size());
        Ok(File::from(decoded).with_options(options).with_size(size))
    }
}

fn of_variable(variable: Variable, whom: For) -> Decoded {
    let file = Arc::clone(variable.node().file());
    let mut info = ArrayInfo::new(variable.element(), variable.shape());
    if variable.is_in_order() {
        info.chunks.clone_from(&variable.stored().chunks);
    }
    info.stored = variable.stored().stored;
    let flags = variable.flags.clone().filter(|_| whom == For::People);
    let Some(flags) = flags else { return Decoded { file, info, what: What::Variable(variable) } };
    match named_values(&variable, &flags) {
        Some(element) => {
            info.element = element;
            Decoded { file, info, what: What::Variable(variable) }
        }
        None => {
            info.element = ElementType::Text;
            Decoded { file, info, what: What::Labels(variable, flags) }
        }
    }
}

/// Returns the enumeration for flags that are integers with one meaning each.
fn named_values(variable: &Variable, flags: &Flags) -> Option<ElementType> {
    let base = variable.stored().element.clone();
    let whole = matches!(base, ElementType::Int(_) | ElementType::UInt(_));
    if !whole || variable.decoding != Decoding::Stored || flags.masks.is_some() {
        return None;
    }
    let members = flags.values.as_ref()?.iter().zip(&flags.meanings);
    let members = members.map(|(value, meaning)| (Name::from(meaning.as_str()), *value)).collect();
    Some(ElementType::Enum { base: Box::new(base), members })
}

fn of_table(table: Table, whom: For) -> Result<Decoded> {
    let file = table.file().ok_or_else(|| Error::usage("table", format!("{} has no columns", table.path)))?;
    let field = |column: &Column, name: &str| (Name::from(name), column.element_for(whom));
    let index = table.index.iter().map(|column| match column.name.as_str() {
        // Only the index can be without a name; an empty text is the name of a column like any other.
        "" => field(column, "index"),
        name => field(column, name),
    });
    let fields = index.chain(table.columns.iter().map(|column| field(column, &column.name)));
    let info = ArrayInfo::new(ElementType::Compound(fields.collect()), [table.rows]);
    Ok(Decoded { file, info, what: What::Table(table, whom) })
}

fn of_sparse(matrix: SparseMatrix) -> Result<Decoded> {
    let info = ArrayInfo::new(matrix.element()?, matrix.shape);
    Ok(Decoded { file: Arc::clone(matrix.file()), info, what: What::Sparse(matrix) })
}

fn labelled(values: &Values, flags: &Flags) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for value in values.numbers()? {
        // Flags are integers, and few, so each is exact as a float.
        let text = if value.is_nan() { String::new() } else { flags.label(value as i128) };
        push_text(&mut bytes, &text);
    }
    Ok(bytes)
}

impl Source for Decoded {
    fn format(&self) -> Format {
        self.file.format()
    }

    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    fn root(&self) -> ObjectId {
        ObjectId(0)
    }

    fn object(&self, _id: ObjectId) -> Result<Object> {
        Ok(Object::Array(Box::new(self.info.clone())))
    }

    fn members(&self, _group: ObjectId) -> Result<Members<'_>> {
        Err(Error::usage("object", "is not a group"))
    }

    fn member(&self, _group: ObjectId, _name: &Name) -> Result<Option<Target>> {
        Ok(None)
    }

    fn read(&self, _array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        let bytes = match &self.what {
            What::Variable(variable) => variable.read_slab(slab)?.into_canonical()?.1,
            What::Labels(variable, flags) => labelled(&variable.read_slab(slab)?, flags)?,
            What::Table(table, whom) => table.records(slab, *whom)?,
            What::Sparse(matrix) => matrix.dense_slab(slab)?,
        };
        if out.is_empty() {
            *out = bytes;
        } else {
            out.extend_from_slice(&bytes);
        }
        Ok(())
    }

    fn derived(&self, _array: ObjectId) -> Option<Derived<'_>> {
        match &self.what {
            What::Variable(variable) => variable.derived(),
            _ => None,
        }
    }

    fn is_being_written(&self) -> bool {
        self.file.source().is_being_written()
    }

    fn take_missing(&self) -> Vec<Error> {
        self.file.source().take_missing()
    }

    fn structures(&self, _visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sciformats::Selection;
    use sciformats::memory::{Memory, array, texts};

    use super::*;
    use crate::Dataset;

    fn shown(data: &Dataset, path: &str, whom: For, slice: &str) -> (String, Vec<String>) {
        let file = data.meaning(path).unwrap().unwrap().into_file(whom).unwrap();
        let array = file.array("/").unwrap();
        let selection = Selection::parse(slice, array.shape()).unwrap();
        let mut values = Vec::new();
        let each = array.for_each(&selection, &mut |datum| {
            values.push(datum.to_string());
            Ok(ControlFlow::Continue(()))
        });
        assert!(each.is_ok(), "{each:?}");
        (crate::type_name(array.element()), values)
    }

    fn climate() -> Memory {
        let mut tree = Memory::new(Format::Hdf5);
        let root = tree.root();
        tree.attribute(root, "Conventions", texts(&[], &["CF-1.11"]));
        let time = tree.array(root, "time", array::<i32>(&[3], &[0, 1, 2]));
        tree.attribute(time, "units", texts(&[], &["days since 2001-07-01"]));
        let sky = tree.array(root, "sky", array::<i8>(&[3], &[0, 1, 7]));
        tree.attribute(sky, "flag_values", array::<i8>(&[2], &[0, 1]));
        tree.attribute(sky, "flag_meanings", texts(&[], &["clear cloudy"]));
        let bits = tree.array(root, "bits", array::<u8>(&[3], &[1, 3, 0]));
        tree.attribute(bits, "flag_masks", array::<u8>(&[2], &[1, 2]));
        tree.attribute(bits, "flag_meanings", texts(&[], &["land ice"]));
        let state = tree.array(root, "state", array::<i8>(&[4], &[0, -56, -57, -1]));
        tree.attribute(state, "_Unsigned", texts(&[], &["true"]));
        tree.attribute(state, "_FillValue", array::<i8>(&[], &[-1]));
        tree.attribute(state, "flag_values", array::<i8>(&[2], &[0, -56]));
        tree.attribute(state, "flag_meanings", texts(&[], &["good lost"]));
        tree
    }

    #[test]
    fn times_and_flags() {
        let mut tree = climate();
        // A link that cannot be followed says nothing of the others.
        tree.external_link(tree.root(), "elsewhere", "b.h5", "/x");
        let data = Dataset::new(File::from(tree));
        let (kind, values) = shown(&data, "/time", For::People, "::-1");
        assert_eq!((kind.as_str(), values[0].as_str()), ("string", "2001-07-03T00:00:00"));
        let (kind, values) = shown(&data, "/sky", For::People, "");
        assert_eq!(
            (kind.as_str(), values),
            ("enum(int8)", vec!["clear".into(), "cloudy".into(), "7".into()])
        );
        assert_eq!(shown(&data, "/sky", For::Programs, "1:").1, ["1", "7"]);
        assert_eq!(shown(&data, "/bits", For::People, "").1, ["land", "land ice", "0"]);
        // Flags of unsigned numbers are unsigned, and a missing flag has no name.
        assert_eq!(shown(&data, "/state", For::People, "").1, ["good", "lost", "199", ""]);
        assert_eq!(shown(&data, "/state", For::Programs, ":3").1, ["0.0", "200.0", "199.0"]);
    }

    fn cells() -> Memory {
        let mut tree = Memory::new(Format::Hdf5);
        let root = tree.root();
        tree.attribute(root, "encoding-type", texts(&[], &["anndata"]));
        let obs = tree.group(root, "obs");
        tree.attribute(obs, "encoding-type", texts(&[], &["dataframe"]));
        tree.attribute(obs, "_index", texts(&[], &["cell"]));
        tree.attribute(obs, "column-order", texts(&[3], &["kind", "count", "few"]));
        tree.array(obs, "cell", texts(&[4], &["a", "b", "c", "d"]));
        tree.array(obs, "count", array::<f32>(&[4], &[0.5, 1.5, f32::NAN, 3.5]));
        let kind = tree.group(obs, "kind");
        tree.attribute(kind, "encoding-type", texts(&[], &["categorical"]));
        tree.array(kind, "codes", array::<i8>(&[4], &[0, 1, -1, 0]));
        tree.array(kind, "categories", texts(&[2], &["T", "B cell"]));
        let few = tree.group(obs, "few");
        tree.attribute(few, "encoding-type", texts(&[], &["nullable-integer"]));
        tree.array(few, "values", array::<i64>(&[4], &[7, 0, 9, 1]));
        tree.array(few, "mask", array::<u8>(&[4], &[0, 1, 0, 0]));
        let x = tree.group(root, "X");
        tree.attribute(x, "encoding-type", texts(&[], &["csr_matrix"]));
        tree.attribute(x, "shape", array::<i64>(&[2], &[4, 3]));
        tree.array(x, "data", array::<f32>(&[4], &[1.0, 0.1, 2.0, 5.0]));
        tree.array(x, "indices", array::<i32>(&[4], &[2, 0, 0, 1]));
        tree.array(x, "indptr", array::<i32>(&[5], &[0, 1, 3, 3, 4]));
        tree
    }

    #[test]
    fn tables_are_records() {
        let data = Dataset::new(File::from(cells()));
        let (kind, rows) = shown(&data, "/obs", For::People, "");
        assert_eq!(kind, "{cell: string, kind: string, count: float32, few: string}");
        assert_eq!(rows[0], r#"{cell: "a", kind: "T", count: 0.5, few: "7"}"#);
        assert_eq!(rows[1], r#"{cell: "b", kind: "B cell", count: 1.5, few: ""}"#);
        assert_eq!(rows[2], r#"{cell: "c", kind: "", count: nan, few: "9"}"#);
        let (kind, rows) = shown(&data, "/obs", For::Programs, "3::-2");
        assert!(kind.ends_with("few: float64}"), "{kind}");
        assert_eq!((rows[0].as_str(), rows.len()), (r#"{cell: "d", kind: "T", count: 3.5, few: 1.0}"#, 2));
        assert!(rows[1].ends_with("few: nan}"), "{rows:?}");
    }

    #[test]
    fn sparse_matrices_have_all_elements() {
        let data = Dataset::new(File::from(cells()));
        let (kind, values) = shown(&data, "/X", For::People, "");
        assert_eq!(kind, "float32");
        let rows: Vec<String> = values.chunks(3).map(|row| row.join(" ")).collect();
        // Two elements at one place are their sum.
        assert_eq!(rows, ["0.0 0.0 1.0", "2.1 0.0 0.0", "0.0 0.0 0.0", "0.0 5.0 0.0"]);
        assert_eq!(shown(&data, "/X", For::People, "::-3, 1:").1, ["5.0", "0.0", "0.0", "1.0"]);
    }
}
