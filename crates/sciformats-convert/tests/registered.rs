//! Registers a format that is defined here, and opens, walks, reads, describes and converts a file of it like any other.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sciformats::source::{Attributes, Fact, Member, Members, Source, Structure};
use sciformats::walk::{Found, breadth_first};
use sciformats::{
    ArrayInfo, Attribute, AttributeValue, Conversion, ElementType, Error, File, Format, Name, Object,
    ObjectId, OpenOptions, ReadAt, Registered, Result, Slab, Target,
};
use sciformats_convert::{manifest, verify};

const MAGIC: &[u8] = b"columns\n";
const COLUMNS: Format = Format::Other("columns");

/// A file of columns of numbers: after the magic, the number of columns and the number of rows as little-endian `u32`; then for
/// each column a name of eight bytes, and its numbers as binary64.
struct Columns {
    storage: Arc<dyn ReadAt>,
    names: Vec<Name>,
    rows: u64,
    /// The number of times that elements were requested.
    calls: Arc<AtomicUsize>,
}

impl Columns {
    fn open(storage: Arc<dyn ReadAt>, calls: Arc<AtomicUsize>) -> Result<Self> {
        let word = |at| storage.read_at(at, 4).map(|bytes| u32::from_le_bytes((*bytes).try_into().unwrap()));
        let (count, rows) = (word(8)?, u64::from(word(12)?));
        let mut names = Vec::new();
        for column in 0..u64::from(count) {
            let name = storage.read_at(16 + column * (8 + 8 * rows), 8)?;
            names.push(Name::from(name.trim_ascii_end()));
        }
        Ok(Self { storage, names, rows, calls })
    }

    fn registered(calls: &Arc<AtomicUsize>) -> Registered {
        let calls = Arc::clone(calls);
        Registered::new(
            "columns",
            |storage| Ok(storage.size() >= 8 && *storage.read_at(0, 8)? == *MAGIC),
            move |opening| Ok(Box::new(Self::open(opening.storage, Arc::clone(&calls))?)),
        )
    }

    /// Returns the number of a column. The group is object 0, and columns are counted from 1.
    fn column(&self, ObjectId(id): ObjectId) -> Result<u64> {
        let column = id.checked_sub(1).filter(|&column| column < self.names.len() as u64);
        column.ok_or_else(|| Error::not_found("column", id.to_string()))
    }
}

impl Source for Columns {
    fn format(&self) -> Format {
        COLUMNS
    }

    fn facts(&self) -> Vec<Fact> {
        vec![("version", 1u8.into())]
    }

    fn root(&self) -> ObjectId {
        ObjectId(0)
    }

    fn object(&self, id: ObjectId) -> Result<Object> {
        if id == self.root() {
            return Ok(Object::Group);
        }
        self.column(id)?;
        Ok(Object::Array(Box::new(ArrayInfo::new(ElementType::F64, [self.rows]))))
    }

    fn members(&self, _: ObjectId) -> Result<Members<'_>> {
        let columns = (1..)
            .zip(&self.names)
            .map(|(id, name)| Ok(Member { name: name.clone(), target: Target::Object(ObjectId(id)) }));
        Ok(Box::new(columns))
    }

    fn member(&self, group: ObjectId, name: &Name) -> Result<Option<Target>> {
        let mut members = self.members(group)?.map(Result::unwrap);
        Ok(members.find(|member| member.name == *name).map(|member| member.target))
    }

    fn attributes(&self, id: ObjectId) -> Result<Attributes<'_>> {
        let value = AttributeValue { element: ElementType::UInt(1), shape: Some(vec![]), data: Ok(vec![1]) };
        let version = Attribute { name: "version".into(), value: Ok(value) };
        Ok(Box::new((id == self.root()).then_some(Ok(version)).into_iter()))
    }

    fn read(&self, array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let start = 16 + self.column(array)? * (8 + 8 * self.rows) + 8;
        for run in slab.runs() {
            for i in 0..run.len {
                out.extend_from_slice(&self.storage.read_at(start + 8 * (run.from + i * run.step), 8)?);
            }
        }
        Ok(())
    }

    fn structures(&self, _: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
        Ok(())
    }
}

fn bytes(columns: &[(&[u8; 8], &[f64])]) -> Vec<u8> {
    let rows = columns.first().map_or(0, |(_, rows)| rows.len());
    let mut bytes = MAGIC.to_vec();
    bytes.extend((columns.len() as u32).to_le_bytes());
    bytes.extend((rows as u32).to_le_bytes());
    for (name, rows) in columns {
        bytes.extend(*name);
        bytes.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
    }
    bytes
}

fn written(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("run.columns");
    std::fs::write(&path, bytes(&[(b"t       ", &[0.0, 0.5, 1.0]), (b"u       ", &[3.0, -1.0, 7.0])]))
        .unwrap();
    path
}

fn lines(file: &File) -> Vec<String> {
    let mut out = Vec::new();
    manifest::write(file, &mut out).unwrap();
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn it_is_opened_walked_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    assert!(matches!(sciformats::open(&path), Err(Error::NotThisFormat { .. })));
    let calls = Arc::new(AtomicUsize::new(0));
    let options = OpenOptions::default().with_format(Columns::registered(&calls));
    let file = sciformats::open_with(&path, &options).unwrap();
    assert_eq!((file.format(), file.path(), file.size()), (COLUMNS, Some(&*path), 80));

    let mut paths = Vec::new();
    let _ = breadth_first(file.source(), ("/", file.source().root()), file.limits(), &mut |entry| {
        assert!(matches!(entry.what, Found::Object(..)));
        paths.push(entry.path);
        ControlFlow::Continue(())
    });
    assert_eq!(paths, ["/", "/t", "/u"]);
    assert_eq!(file.array("/u").unwrap().read::<f64>().unwrap(), [3.0, -1.0, 7.0]);
    assert_eq!(file.array("/u").unwrap().read::<i8>().unwrap(), [3, -1, 7]);
    // Files of other formats are still recognized.
    let npy = sciformats::npy::to_bytes(&[1], &[7u8]).unwrap();
    assert_eq!(File::from_storage(npy, &options).unwrap().format(), Format::Npy);
}

#[test]
fn a_read_goes_down_once() {
    let values: Vec<f64> = (0..1 << 20).map(f64::from).collect();
    let calls = Arc::new(AtomicUsize::new(0));
    let options = OpenOptions::default().with_format(Columns::registered(&calls));
    let file = File::from_storage(bytes(&[(b"t       ", &values)]), &options).unwrap();
    let array = file.array("/t").unwrap();
    let asked = |read: &dyn Fn()| {
        let before = calls.load(Ordering::Relaxed);
        read();
        calls.load(Ordering::Relaxed) - before
    };
    // The array has 8 MiB, which is more than one piece.
    assert_eq!(asked(&|| assert!(array.read::<f64>().unwrap() == values)), 1);
    assert_eq!(asked(&|| assert_eq!(array.read::<i32>().unwrap().len(), values.len())), 1);
    assert_eq!(
        asked(&|| {
            let mut out = vec![0.0; values.len()];
            array.read_slab_into(&array.all().unwrap(), &mut out).unwrap();
            assert!(out == values);
            assert!(array.read_slab_into(&array.all().unwrap(), &mut out[1..]).is_err());
        }),
        1
    );
    let lossy = array.clone().with_conversion(Conversion::Lossy);
    let mut small = vec![0u8; values.len()];
    lossy.read_slab_into(&array.all().unwrap(), &mut small).unwrap();
    assert_eq!(small[..300].iter().map(|&n| u32::from(n)).sum::<u32>(), (0..256).sum::<u32>() + 44 * 255);
    assert_eq!(file.bytes_read(), (4 * 8) << 20);
}

#[test]
fn its_manifest_has_its_word_and_it_is_sound() {
    let dir = tempfile::tempdir().unwrap();
    let options = OpenOptions::default().with_format(Columns::registered(&Arc::default()));
    let file = sciformats::open_with(written(dir.path()), &options).unwrap();
    let lines = lines(&file);
    assert_eq!(lines[0], r#"{"manifest":1,"format":"columns"}"#);
    assert_eq!(lines.len(), 5);
    let summary = verify::verify(&file, &mut |finding| panic!("{}", finding.error));
    assert_eq!((summary.objects, summary.attributes, summary.bytes), (3, 1, 48));
}

#[cfg(feature = "hdf5")]
#[test]
fn it_becomes_hdf5_but_is_not_written() {
    use sciformats_convert::convert::{Options, Plan};
    use sciformats_convert::sink::{self, WriteOptions};

    let dir = tempfile::tempdir().unwrap();
    let options = OpenOptions::default().with_format(Columns::registered(&Arc::default()));
    let file = Arc::new(sciformats::open_with(written(dir.path()), &options).unwrap());
    let plan = Plan::new(&file, Format::Hdf5, &Options::default()).unwrap();
    assert!(plan.losses().is_empty(), "{:?}", plan.losses());
    let target = dir.path().join("run.h5");
    plan.write(&target, &WriteOptions::default()).unwrap();
    let written = sciformats::open(&target).unwrap();
    assert_eq!(lines(&written)[1..], lines(&file)[1..]);

    let other = Plan::new(&file, COLUMNS, &Options::default()).unwrap_err();
    assert_eq!(other.to_string(), "writing columns is not supported");
    let other = sink::overwrite(&target, COLUMNS, &WriteOptions::default()).map(drop).unwrap_err();
    assert_eq!(other.to_string(), "writing columns is not supported");
}
