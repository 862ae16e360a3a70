//! The filters of HDF5 beside the libraries in C and C++ that others use for them.
//!
//! Where a library can be called alone, one stream is decoded or encoded as a whole, with the parameters of our side, and both sides return
//! new memory. The other rows are filters of libhdf5, or plug-ins of it, in files that are in memory: chunks of a megabyte are read into
//! memory that is in use, or are filtered one by one and appended to a file. Streams and files that are decoded are those of the library.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};

use harness::{Bench, Case, Outcome, Watch};
use hdf5_pure::filters::Registry;
use hdf5_pure::structure::{FilterDescription, Pipeline};
use hdf5_pure::{File, OpenOptions};
use sciformats_filters::{Chunk, Element, find};

const PEER: &str = "C library";
/// The goals: to decode as fast, and to encode with nine tenths of the speed.
const DECODE: f64 = 1.0;
const ENCODE: f64 = 1.0 / 0.9;
/// How much larger than those of the library our streams may be.
const SIZE: f64 = 1.02;
/// The bytes of a chunk of a file.
const CHUNK: usize = 1 << 20;

/// A row.
#[derive(Clone, Copy)]
struct Row {
    /// What is filtered, and how, which the Python side knows by this name.
    key: &'static str,
    library: &'static str,
    how: How,
    /// Whether both sides must give the same values. Decoders of JPEG and rules of rounding differ a little, which the conformance run
    /// looks at.
    is_compared: bool,
    /// How large our streams may be.
    sizes: Sizes,
}

#[derive(Clone, Copy, PartialEq)]
enum Sizes {
    /// Larger than those of the library by a fiftieth.
    Equal,
    /// As large as they are, because the library searches for other matches.
    Any,
}

#[derive(Clone, Copy)]
enum How {
    /// A stream by itself: the number of the filter, and the stored values.
    Alone(u16, &'static [u32]),
    /// The same, with the values that fit the elements, for those that a caller gives.
    Fitted(u16, &'static [u32], Element, &'static [u64]),
    /// The chunks of a file.
    InFile,
}

use How::{Alone, Fitted, InFile};

const COUNTS: &[u64] = &[2048, 2048];
const HALF: &[u64] = &[1024, 2048];
const FLOAT: Element = Element::float(4);

const fn row(key: &'static str, library: &'static str, how: How) -> Row {
    Row { key, library, how, is_compared: true, sizes: Sizes::Equal }
}

const fn matches(key: &'static str, library: &'static str, how: How) -> Row {
    Row { sizes: Sizes::Any, ..row(key, library, how) }
}

/// The halves of 0.01 as a double.
const ACCURACY: &[u32] = &[3, 0, 0x47ae_147b, 0x3f84_7ae1];
/// The same of a rate of eight bits.
const RATE: &[u32] = &[1, 0, 0, 0x4020_0000];

const ROWS: &[Row] = &[
    row("szip, prediction", "libaec", Alone(4, &[169, 32, 16, 1024])),
    row("szip, entropy", "libaec", Alone(4, &[141, 32, 16, 1024])),
    matches("LZF, records", "liblzf", Alone(32000, &[])),
    matches("LZF, shuffled counts", "liblzf", Alone(32000, &[])),
    matches("LZO, records", "lzokay", Alone(305, &[1, 10, 0])),
    matches("LZO, shuffled counts", "lzokay", Alone(305, &[1, 10, 0])),
    matches("Snappy, records", "snappy", Alone(32003, &[])),
    matches("Snappy, shuffled counts", "snappy", Alone(32003, &[])),
    matches("LZ4, records", "lz4", Alone(32004, &[])),
    matches("LZ4, shuffled counts", "lz4", Alone(32004, &[])),
    row("bzip2, records", "bzip2", Alone(307, &[9])),
    row("bzip2, shuffled counts", "bzip2", Alone(307, &[9])),
    row("zstd, records", "zstd", Alone(32015, &[3])),
    row("zstd, shuffled counts", "zstd", Alone(32015, &[3])),
    matches("deflate, records", "zlib", Alone(1, &[6])),
    matches("deflate, shuffled counts", "zlib", Alone(1, &[6])),
    row("zfp, rate", "zfp", Fitted(32013, RATE, FLOAT, HALF)),
    row("zfp, precision", "zfp", Fitted(32013, &[2, 0, 16], FLOAT, HALF)),
    row("zfp, accuracy", "zfp", Fitted(32013, ACCURACY, FLOAT, HALF)),
    row("zfp, reversible", "zfp", Fitted(32013, &[5], FLOAT, HALF)),
    row("JPEG-LS, 16 bits", "CharLS", Fitted(32018, &[], Element::unsigned(2), COUNTS)),
    row("JPEG-LS, 8 bits", "CharLS", Fitted(32018, &[], Element::unsigned(1), COUNTS)),
    Row { is_compared: false, ..row("JPEG, grey", "libjpeg-turbo", Alone(32019, &[90, 2048, 2048, 0])) },
    Row { is_compared: false, ..row("JPEG, colours", "libjpeg-turbo", Alone(32019, &[90, 2048, 1024, 1])) },
    row("CBF byte offsets", "fabio", Alone(32006, &[0x70, 0, 1, 0, 4, 1, 0, 2048, 1024, 1])),
    Row { is_compared: false, ..row("BitRound", "NetCDF's code", Fitted(32032, &[10], FLOAT, HALF)) },
    row("BitGroom", "NetCDF's code", Fitted(32022, &[3], FLOAT, HALF)),
    Row { is_compared: false, ..row("Granular BitRound", "NetCDF's code", Fitted(32023, &[3], FLOAT, HALF)) },
    row("shuffle, 2 bytes", "libhdf5", InFile),
    row("shuffle, 4 bytes", "libhdf5", InFile),
    row("Fletcher-32", "libhdf5", InFile),
    row("N-bit", "libhdf5", InFile),
    row("scale-offset, integers", "libhdf5", InFile),
    row("scale-offset, decimals", "libhdf5", InFile),
    row("bitshuffle, 2 bytes", "bitshuffle", InFile),
    row("bitshuffle and LZ4", "bitshuffle", InFile),
    row("bitshuffle and zstd", "bitshuffle", InFile),
    row("VBZ", "plug-in", InFile),
    row("VBZ without zstd", "plug-in", InFile),
];

fn main() -> ExitCode {
    let mut bench = Bench::new("filters", "python/filters.py").by_processor();
    for row in ROWS {
        if row.decodes() {
            bench = bench.case(row.case("decode", DECODE).ours(|folder, watch| row.decode(folder, watch)));
        }
    }
    for row in ROWS {
        if row.encodes() {
            bench = bench.case(row.case("encode", ENCODE).ours(|folder, watch| row.encode(folder, watch)));
        }
    }
    bench.main()
}

/// A filter with its values, the stored bytes, the elements, and memory for them.
struct Kept {
    registry: Registry,
    pipeline: Pipeline,
    file: Option<hdf5_pure::Dataset>,
    stored: Vec<u8>,
    data: Vec<u8>,
    /// What the library decodes, which is compared once.
    plain: Vec<u8>,
    is_compared: bool,
    out: Vec<u8>,
}

/// What a row has made, kept between its rounds; a worker has one row.
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

impl Row {
    fn case(&self, verb: &str, goal: f64) -> Case {
        // The name lives as long as the program.
        let name: &'static str = format!("{verb} {}", self.key).leak();
        let (key, table) = (self.key, if verb == "decode" { "decoding" } else { "encoding" });
        Case::new(name, goal)
            .cell(table, format!("{key} ({})", self.library), "")
            .prepare(move |folder| prepare(folder, key))
            .python(PEER)
    }

    /// Returns the filter of `sciformats-filters`, if the row is of one.
    fn filter(&self) -> Option<&'static dyn sciformats_filters::Filter> {
        match self.how {
            Alone(id, _) | Fitted(id, ..) => find(id),
            InFile => None,
        }
    }

    fn decodes(&self) -> bool {
        self.filter().is_none_or(|filter| !filter.is_identity())
    }

    fn encodes(&self) -> bool {
        self.filter().is_none_or(sciformats_filters::Filter::writes)
    }

    fn pipeline(&self, folder: &Path) -> Outcome<(Pipeline, Option<hdf5_pure::Dataset>)> {
        let (id, values) = match self.how {
            Alone(id, values) => (id, values.to_vec()),
            Fitted(id, asked, element, shape) => {
                let filter = find(id).ok_or("the filter is not in this build")?;
                (id, filter.configure(asked, &Chunk { element, shape }).map_err(|fault| fault.to_string())?)
            }
            InFile => {
                let options = OpenOptions::default()
                    .with_registry(sciformats_filters::hdf5::registry())
                    .with_threads(1);
                let file = File::from_storage(std::fs::read(self.path(folder, "file"))?, &options)?;
                let dataset = file.dataset("d")?;
                return Ok((dataset.filters()?.clone(), Some(dataset)));
            }
        };
        let filter = FilterDescription { id, name: None, optional: false, values };
        Ok((Pipeline { filters: vec![filter] }, None))
    }

    fn path(&self, folder: &Path, what: &str) -> PathBuf {
        folder.join(format!("{what} {}", self.key))
    }

    /// Calls `work` with what the row needs, which is read in its first round.
    fn kept(&self, folder: &Path, work: impl FnOnce(&mut Kept) -> Outcome) -> Outcome {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none() {
            // The allocator keeps memory for itself that is no larger than what was once given back, as it does on the other side.
            drop(std::hint::black_box(vec![1u8; 31 << 20]));
            let (pipeline, file) = self.pipeline(folder)?;
            let data = std::fs::read(self.path(folder, "data"))?;
            *kept = Some(Kept {
                registry: sciformats_filters::hdf5::registry(),
                pipeline,
                file,
                // A filter that only rounds has no stream of its own.
                stored: std::fs::read(self.path(folder, "coded")).unwrap_or_default(),
                plain: std::fs::read(self.path(folder, "plain"))?,
                is_compared: false,
                out: vec![1; data.len()],
                data,
            });
        }
        kept.as_mut().map_or_else(|| Err("nothing was kept".into()), work)
    }

    fn decode(&self, folder: &Path, watch: &mut Watch) -> Outcome {
        self.kept(folder, |kept| {
            let new;
            let found = if let Some(dataset) = &kept.file {
                let all = dataset.all()?;
                watch.time(|| dataset.read_raw_into(&all, &mut kept.out))?;
                &kept.out
            } else {
                new = watch.time(|| kept.registry.undo(&kept.pipeline, 0, &kept.stored, kept.data.len()))?;
                &new
            };
            if !std::mem::replace(&mut kept.is_compared, true) {
                self.compare(found, &kept.plain)?;
            }
            Ok(())
        })
    }

    fn compare(&self, ours: &[u8], theirs: &[u8]) -> Outcome {
        let equal = if self.is_compared { ours == theirs } else { ours.len() == theirs.len() };
        if equal { Ok(()) } else { Err("other values".into()) }
    }

    fn encode(&self, folder: &Path, watch: &mut Watch) -> Outcome {
        self.kept(folder, |kept| {
            let size = if kept.file.is_some() {
                watch.time(|| -> Outcome<usize> {
                    let mut file = Vec::new();
                    for chunk in kept.data.chunks(CHUNK) {
                        file.extend(kept.registry.apply(&kept.pipeline, chunk.to_vec())?.0);
                    }
                    Ok(file.len())
                })?
            } else {
                let data = kept.data.clone();
                let (stored, _) = watch.time(|| kept.registry.apply(&kept.pipeline, data))?;
                if !std::mem::replace(&mut kept.is_compared, true) {
                    if self.decodes() {
                        let back = kept.registry.undo(&kept.pipeline, 0, &stored, kept.data.len())?;
                        self.compare(&back, &kept.plain)?;
                    } else {
                        self.compare(&stored, &kept.plain)?;
                    }
                }
                stored.len()
            };
            self.compare_sizes(size, folder)
        })
    }

    /// Compares the size of our stream with that of the library, if it has been asked already.
    fn compare_sizes(&self, ours: usize, folder: &Path) -> Outcome {
        let Ok(theirs) = std::fs::read_to_string(self.path(folder, "size")) else { return Ok(()) };
        let share = ours as f64 / theirs.trim().parse::<f64>()?;
        eprintln!("{}: {share:.3} of the size", self.key);
        match self.sizes {
            Sizes::Equal if share > SIZE => Err(format!("{share:.3} of the size of {}", self.library).into()),
            _ => Ok(()),
        }
    }
}

/// Has the Python side write the data, and the streams or the file of the library.
fn prepare(folder: &Path, key: &str) -> Outcome {
    if folder.join(format!("data {key}")).exists() {
        return Ok(());
    }
    let python = std::env::var_os("SCIFORMATS_PYTHON").ok_or("SCIFORMATS_PYTHON is not set")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/filters.py");
    let status = Command::new(python).arg(script).args(["prepare", key]).arg(folder).status()?;
    if status.success() { Ok(()) } else { Err(format!("the data of {key} could not be written").into()) }
}
