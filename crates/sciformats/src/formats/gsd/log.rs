//! The quantities that HOOMD logs, over all frames: chunks named `log/…`, and the time step of each frame.
//!
//! If a frame does not store a quantity, the value of frame 0 holds. If frame 0 does not have it either,
//! there is no value.
//!
//! | chunks of a quantity | elements of its column |
//! |---|---|
//! | text in all frames | `Text` |
//! | one type and shape in all frames | the type; an `Array` of it, if a frame has several |
//! | one type and number of columns, and not in all frames or with varying rows | `Vlen`; empty if there is no value |
//! | anything else | `Text` with the values as they are shown |
//!
//! If a text may be missing, the column is a `Vlen` of at most one text.

use std::collections::{BTreeMap, HashMap};

use gsd_rs::{Chunk, Reader};
use sciformats_core::arith::{add, fit, mul, present};
use sciformats_core::bound;
use sciformats_core::{Error, Slab};

use crate::Result;
use crate::model::{ArrayInfo, Decoder, ElementType, Name};

/// The start of the names of logged chunks.
pub(super) const PREFIX: &str = "log/";
/// The chunk with the time step, which is a u64. It is 0 if frame 0 has none.
const STEP: &str = "configuration/step";

/// How the chunks of a column become elements.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// The bytes are copied; all elements have one shape.
    Fixed { element: ElementType, shape: Vec<u64> },
    /// The number of rows, followed by their bytes.
    Rows(ElementType),
    /// Text.
    Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    name: String,
    form: Form,
    /// Whether some frames have no value.
    gaps: bool,
}

impl Column {
    /// Returns the type of its value in one frame.
    fn element(&self) -> ElementType {
        match &self.form {
            Form::Fixed { element, shape } if shape.is_empty() => element.clone(),
            Form::Fixed { element, shape } => {
                ElementType::Array { element: Box::new(element.clone()), shape: shape.clone() }
            }
            Form::Rows(row) => ElementType::Vlen(Box::new(row.clone())),
            Form::Text if self.gaps => ElementType::Vlen(Box::new(ElementType::Text)),
            Form::Text => ElementType::Text,
        }
    }

    /// Appends its value in one frame.
    fn write(&self, reader: &Reader, chunk: Option<&Chunk<'_>>, out: &mut Vec<u8>) -> Result<()> {
        let Some(chunk) = chunk else {
            if !self.gaps {
                return Err(Error::not_found("chunk", self.name.as_str()));
            }
            // There is no text, there are no rows, or the time step is 0.
            out.extend(0u64.to_le_bytes());
            return Ok(());
        };
        match &self.form {
            Form::Fixed { .. } => out.extend_from_slice(&reader.read_bytes(chunk, 0..chunk.n)?),
            Form::Rows(_) => {
                out.extend(chunk.n.to_le_bytes());
                out.extend_from_slice(&reader.read_bytes(chunk, 0..chunk.n)?);
            }
            Form::Text => {
                if self.gaps {
                    out.extend(1u64.to_le_bytes());
                }
                let text = shown(reader, chunk)?;
                out.extend((text.len() as u64).to_le_bytes());
                out.extend_from_slice(text.as_bytes());
            }
        }
        Ok(())
    }
}

/// Returns a chunk as text: its own text, or its values.
fn shown(reader: &Reader, chunk: &Chunk<'_>) -> Result<String> {
    if chunk.element == gsd_rs::ElementType::Character {
        return reader.text(chunk).map(std::borrow::Cow::into_owned);
    }
    let bytes = reader.read_bytes(chunk, 0..chunk.n)?;
    let list = value(known(chunk)?, shape(chunk));
    Decoder::new(&list, &bytes).next().map_or(Ok("[]".into()), |datum| datum.map(|datum| datum.to_string()))
}

/// Returns the dimensions of a value; a single number has none.
fn shape(chunk: &Chunk<'_>) -> Vec<u64> {
    if (chunk.n, chunk.m) == (1, 1) { Vec::new() } else { super::shape(chunk) }
}

fn value(element: ElementType, shape: Vec<u64>) -> ElementType {
    if shape.is_empty() { element } else { ElementType::Array { element: Box::new(element), shape } }
}

fn known(chunk: &Chunk<'_>) -> Result<ElementType> {
    let unknown = || Error::unsupported(format!("element type {}", chunk.element.code()));
    super::element(chunk.element).ok_or_else(unknown)
}

/// What the chunks of a quantity have in common.
#[derive(Debug)]
struct Tally<'a> {
    first: Chunk<'a>,
    /// The last frame that has the quantity.
    last: u64,
    frames: u64,
    /// Whether all chunks have the type and shape of the first one, or at least its type and columns.
    same_shape: bool,
    same_row: bool,
}

impl<'a> Tally<'a> {
    fn new(first: Chunk<'a>) -> Self {
        Self { first, last: first.frame, frames: 1, same_shape: true, same_row: true }
    }

    fn add(&mut self, chunk: &Chunk<'_>) {
        // If two chunks in a frame have the same name, the first one counts.
        if chunk.frame == self.last {
            return;
        }
        self.last = chunk.frame;
        self.frames = bound::sum(self.frames, 1);
        self.same_row &= (chunk.element, chunk.m) == (self.first.element, self.first.m);
        self.same_shape &= self.same_row && chunk.n == self.first.n;
    }

    fn column(&self, frames: u64) -> Result<Column> {
        let first = &self.first;
        let gaps = first.frame > 0 && self.frames < frames;
        let element = known(first)?;
        let step = first.name == STEP && (&element, first.n, first.m) == (&ElementType::UInt(8), 1, 1);
        let form = if first.element == gsd_rs::ElementType::Character || !self.same_row {
            Form::Text
        } else if self.same_shape && (step || !gaps) {
            Form::Fixed { element, shape: shape(first) }
        } else {
            Form::Rows(if first.m == 1 { element } else { value(element, vec![first.m.into()]) })
        };
        Ok(Column { name: first.name.into(), form, gaps })
    }
}

/// The logged quantities of a file.
#[derive(Debug)]
pub(super) struct Log {
    frames: u64,
    columns: Vec<Column>,
    positions: HashMap<String, u32>,
}

impl Log {
    /// Reads every entry of the index, but no data.
    pub(super) fn new(reader: &Reader, frames: u64) -> Result<Self> {
        let mut tallies: BTreeMap<&str, Tally<'_>> = BTreeMap::new();
        for chunk in reader.all_chunks() {
            let chunk = chunk?;
            if chunk.name != STEP && !chunk.name.starts_with(PREFIX) {
                continue;
            }
            // Reading no rows checks the type, the size and the position.
            reader.read_bytes(&chunk, 0..0)?;
            match tallies.get_mut(chunk.name) {
                Some(tally) => tally.add(&chunk),
                None => drop(tallies.insert(chunk.name, Tally::new(chunk))),
            }
        }
        let columns: Vec<Column> =
            tallies.values().map(|tally| tally.column(frames)).collect::<Result<_>>()?;
        let positions = (0u32..).zip(&columns).map(|(i, column)| (column.name.clone(), i)).collect();
        Ok(Self { frames, columns, positions })
    }

    /// Returns whether nothing is logged; the time step alone does not count.
    pub(super) fn is_empty(&self) -> bool {
        !self.columns.iter().any(|column| column.name.starts_with(PREFIX))
    }

    /// Returns the position of the quantity with this name, which includes the prefix.
    pub(super) fn position(&self, name: &str) -> Option<u32> {
        self.positions.get(name).copied()
    }

    fn column(&self, position: u32) -> Result<&Column> {
        let column = usize::try_from(position).ok().and_then(|i| self.columns.get(i));
        column.ok_or_else(|| Error::not_found("logged quantity", position.to_string()))
    }

    /// Describes all quantities as compounds, or one of them as an array.
    pub(super) fn info(&self, position: Option<u32>) -> Result<ArrayInfo> {
        let Some(position) = position else {
            let columns = self.columns.iter().map(|column| (Name::from(&*column.name), column.element()));
            let frame = (Name::from("frame"), ElementType::UInt(8));
            let fields = std::iter::once(frame).chain(columns).collect();
            return Ok(ArrayInfo::new(ElementType::Compound(fields), [self.frames]));
        };
        let column = self.column(position)?;
        Ok(match &column.form {
            Form::Fixed { element, shape } => {
                let shape: Vec<u64> = std::iter::once(self.frames).chain(shape.iter().copied()).collect();
                ArrayInfo::new(element.clone(), shape)
            }
            _ => ArrayInfo::new(column.element(), [self.frames]),
        })
    }

    /// Appends the selected elements of all quantities, or of one.
    pub(super) fn read(
        &self,
        reader: &Reader,
        position: Option<u32>,
        slab: &Slab,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let Some((rows, inner)) = slab.ranges().split_first() else { return Ok(()) };
        let inner = Slab::new(slab.of().get(1..).unwrap_or_default(), inner.to_vec())?;
        let limits = &reader.options().limits;
        let all = self.initial(reader)?;
        for i in 0..rows.count {
            let frame = add(rows.start, mul(rows.step, i)?)?;
            match position {
                None => self.row(reader, frame, &all, out)?,
                Some(position) => self.value(reader, (frame, position), &all, &inner, out)?,
            }
            limits.memory("bytes of the selected elements", out.len() as u64)?;
        }
        Ok(())
    }

    /// Returns the chunks of frame 0, by column.
    fn initial<'a>(&self, reader: &'a Reader) -> Result<Vec<Option<Chunk<'a>>>> {
        self.chunks(reader, 0, vec![None; self.columns.len()])
    }

    /// Returns the chunks of a frame, by column, or those of `default` if the frame does not have them.
    fn chunks<'a>(
        &self,
        reader: &'a Reader,
        frame: u64,
        default: Vec<Option<Chunk<'a>>>,
    ) -> Result<Vec<Option<Chunk<'a>>>> {
        let mut chunks = default;
        for chunk in reader.chunks(frame) {
            let chunk = chunk?;
            let place = self.position(chunk.name).and_then(|i| chunks.get_mut(usize::try_from(i).ok()?));
            if let Some(place) = place
                && place.as_ref().is_none_or(|known| known.frame != frame)
            {
                *place = Some(chunk);
            }
        }
        Ok(chunks)
    }

    fn row(
        &self,
        reader: &Reader,
        frame: u64,
        initial: &[Option<Chunk<'_>>],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.extend(frame.to_le_bytes());
        let chunks = self.chunks(reader, frame, initial.to_vec())?;
        self.columns
            .iter()
            .zip(&chunks)
            .try_for_each(|(column, chunk)| column.write(reader, chunk.as_ref(), out))
    }

    fn value(
        &self,
        reader: &Reader,
        (frame, position): (u64, u32),
        initial: &[Option<Chunk<'_>>],
        inner: &Slab,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let column = self.column(position)?;
        let default = || initial.get(usize::try_from(position).ok()?).copied().flatten();
        let chunk = reader.find(frame, &column.name)?.or_else(default);
        let Form::Fixed { element, .. } = &column.form else {
            return column.write(reader, chunk.as_ref(), out);
        };
        let size = fit(present(element.size(), "bytes of a logged element")?, "bytes of a logged element")?;
        let mut bytes = Vec::new();
        column.write(reader, chunk.as_ref(), &mut bytes)?;
        super::super::gather(&bytes, size, inner, out)
    }
}

#[cfg(test)]
mod tests {
    use gsd_rs::{CreateOptions, Version, Writer};

    use crate::{ElementType, File};

    /// A trajectory of four frames. The step and `a` stand in all of them, `late` from frame 2 on, `list` with other
    /// rows in frame 1, `mixed` as another type in frame 3, `once` and `tensor` in frame 0, `note` in frame 1.
    fn trajectory(schema: &str) -> File {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.gsd");
        let options = CreateOptions::new("test", schema, Version::new(1, 4));
        let mut writer = Writer::create(&path, &options).unwrap();
        for frame in 0..4u32 {
            if frame > 0 {
                writer.write("configuration/step", 1, &[u64::from(frame) * 10]).unwrap();
            }
            writer.write("log/a", 1, &[f64::from(frame) / 2.0]).unwrap();
            writer.write("particles/mass", 1, &[1.0f32]).unwrap();
            match frame {
                0 => {
                    writer.write("log/b/once", 1, &[7u8]).unwrap();
                    writer.write("log/tensor", 2, &[1i16, 2, 3, 4]).unwrap();
                    writer.write("log/list", 2, &[1u8, 2]).unwrap();
                    writer.write("log/mixed", 1, &[1u8]).unwrap();
                }
                1 => {
                    writer.write("log/list", 2, &[1u8, 2, 3, 4]).unwrap();
                    writer.write_text("log/note", "µ, \"x\"").unwrap();
                }
                _ => writer.write("log/late", 1, &[frame]).unwrap(),
            }
            if frame == 3 {
                writer.write("log/mixed", 1, &[0.5f32, 1.0]).unwrap();
            }
            writer.end_frame().unwrap();
        }
        writer.finish().unwrap();
        File::open(&path).unwrap()
    }

    /// The elements at `path` as text.
    fn shown(file: &File, path: &str, slice: &str) -> Vec<String> {
        let array = file.array(path).unwrap();
        let selection = crate::Selection::parse(slice, array.shape()).unwrap();
        let mut shown = Vec::new();
        array
            .for_each(&selection, &mut |datum| {
                shown.push(datum.to_string());
                Ok(std::ops::ControlFlow::Continue(()))
            })
            .unwrap();
        shown
    }

    #[test]
    fn quantities_over_all_frames() {
        let file = trajectory("hoomd");
        let a = file.array("/log/a").unwrap();
        assert_eq!((a.element(), a.shape()), (&ElementType::F64, &[4][..]));
        assert_eq!(a.read::<f64>().unwrap(), [0.0, 0.5, 1.0, 1.5]);
        assert_eq!(shown(&file, "/log/a", "::-2"), ["1.5", "0.5"]);
        // What only frame 0 has holds for all.
        assert_eq!(shown(&file, "log/b/once", ":"), ["7"; 4]);
        let tensor = file.array("/log/tensor").unwrap();
        assert_eq!(tensor.shape(), [4, 2, 2]);
        assert_eq!(shown(&file, "/log/tensor", "1:3, 1, ::-1"), ["4", "3", "4", "3"]);
        // Types of columns with gaps, with varying rows, with varying types.
        for (name, element, elements) in [
            ("late", "sequence(uint32)", ["[]", "[]", "[2]", "[3]"]),
            ("list", "sequence(uint8[2])", ["[[1, 2]]", "[[1, 2], [3, 4]]", "[[1, 2]]", "[[1, 2]]"]),
            ("mixed", "string", ["1", "1", "1", "[0.5, 1.0]"]),
        ] {
            let path = format!("/log/{name}");
            assert_eq!(file.array(&path).unwrap().element().to_string(), element);
            assert_eq!(shown(&file, &path, ":"), elements, "{name}");
        }
        assert_eq!(file.array("/log/note").unwrap().element().to_string(), "sequence(string)");
        for path in ["/log/none", "/log/b", "/logs", "/log/configuration/step"] {
            assert!(file.array(path).is_err(), "{path}");
        }
    }

    #[test]
    fn one_compound_a_frame() {
        let file = trajectory("hoomd");
        let log = file.array("/log").unwrap();
        let ElementType::Compound(fields) = log.element() else { panic!("{}", log.element()) };
        let names: Vec<String> = fields.iter().map(|(name, _)| name.to_string()).collect();
        let expected = ["late", "list", "mixed", "note", "tensor"].map(|name| format!("log/{name}"));
        assert_eq!(names[..4], ["frame", "configuration/step", "log/a", "log/b/once"]);
        assert_eq!(names[4..], expected);
        let rows = shown(&file, "/log", ":");
        assert_eq!(rows.len(), 4);
        // The step of frame 0 is not stored: it is 0, as the schema says.
        assert!(
            rows[0].contains("frame: 0, configuration/step: 0, log/a: 0.0, log/b/once: 7"),
            "{}",
            rows[0]
        );
        assert!(
            rows[3].contains("frame: 3, configuration/step: 30, log/a: 1.5, log/b/once: 7"),
            "{}",
            rows[3]
        );
        assert_eq!(shown(&file, "/log", "2"), [rows[2].clone()]);
    }

    #[test]
    fn other_schemas_have_no_log() {
        let file = trajectory("other");
        assert!(file.resolve("/log").is_err() && file.resolve("/log/a").is_err());
        assert!(file.source().measures().unwrap().iter().all(|(key, _)| *key != "view"));
    }
}
