//! HDF5 against the C library called from C, h5py, and crates: writing.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use harness::{Case, Outcome, Watch};
use hdf5_pure::options::{Bound, Durability, Flush};
use hdf5_pure::{CreateOptions, Editor, Range, Slab, Writer};

use crate::{expect, text};

/// Rows that are written again and again: 64 MiB of numbers that compress as measurements do.
const ROWS: u64 = 1024;
const COLUMNS: u64 = 16384;
const OBJECTS: i32 = 100_000;
const STRINGS: usize = 1_000_000;

/// A case whose implementations all write the same rows.
fn case(name: &'static str, goal: f64) -> Case {
    Case::new(name, goal).fresh().prepare(prepare)
}

/// The cases, each with the peers whose time the goal is a share of; then those with the crates, where being as fast is
/// the goal.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |case: Case| cases.push(case.python("libhdf5").python("h5py"));
    add(case("write 1 GiB contiguous", 0.95).ours(contiguous));
    for (threads, goal) in [(1, 0.8), (2, 0.42)] {
        let plural = if threads > 1 { "s" } else { "" };
        let name = text(format_args!("write 128 MiB gzip and shuffle, {threads} thread{plural}"));
        add(case(name, goal).ours(move |folder, watch| gzip(folder, threads, watch)));
    }
    for (age, bound) in [("old", Bound::Earliest), ("new", Bound::V110)] {
        let name = text(format_args!("write 100,000 objects, {age}"));
        add(case(name, 0.25).ours(move |folder, watch| objects(folder, bound, watch)));
    }
    add(case("append 100,000 slabs", 0.3).ours(append));
    add(case("write 1,000,000 strings", 0.4).ours(strings));
    cases.push(durable(case("write 4 MiB that survive a loss of power", 3.0)));
    cases.push(commits(case("append a row and commit, 50 times", 1.0)));
    cases
}

/// What commits of an edit cost that survive more or less.
fn commits(case: Case) -> Case {
    case.ours(|folder, watch| committed(folder, Flush::Ordered, watch))
        .rust("ours, durable at once", |folder, watch| committed(folder, Flush::Durable, watch))
        .rust("ours, not surviving a loss of power", |folder, watch| committed(folder, Flush::None, watch))
}

/// What it costs to survive more than the end of the process; the C library leaves it to its caller.
fn durable(case: Case) -> Case {
    case.ours(|folder, watch| small(folder, Durability::Power, watch))
        .rust("ours, not surviving it", |folder, watch| small(folder, Durability::Process, watch))
        .python("libhdf5")
}

pub(crate) fn cases_with_crates() -> Vec<Case> {
    vec![
        contiguous_crates(case("write, crates: 1 GiB contiguous", 1.0)).ours(contiguous),
        gzip_crates(case("write, crates: 128 MiB gzip and shuffle", 1.0))
            .ours(|folder, watch| gzip(folder, 2, watch)),
        objects_crates(case("write, crates: 100,000 objects", 1.0))
            .ours(|folder, watch| objects(folder, Bound::V110, watch)),
        append_crates(case("write, crates: append 100,000 slabs", 1.0)).ours(append),
        strings_crates(case("write, crates: 1,000,000 strings", 1.0)).ours(strings),
    ]
}

/// Writes the rows, which all implementations read.
fn prepare(folder: &Path) -> Outcome {
    let path = folder.join("rows.raw");
    if path.exists() {
        return Ok(());
    }
    let mut state = 1u64;
    let rows = (0..ROWS * COLUMNS).flat_map(|i| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((i >> 6) * 4 + (state >> 60)) as f32).to_le_bytes()
    });
    Ok(std::fs::write(path, rows.collect::<Vec<u8>>())?)
}

fn rows(folder: &Path) -> Outcome<&'static [f32]> {
    static ROWS: OnceLock<Vec<f32>> = OnceLock::new();
    if let Some(rows) = ROWS.get() {
        return Ok(rows);
    }
    let mut file = std::fs::File::open(folder.join("rows.raw"))?;
    let mut rows = Vec::with_capacity(file.metadata()?.len() as usize / 4);
    // In pieces: the memory that is measured holds the rows once.
    let mut piece = vec![0; 1 << 20];
    while rows.len() < rows.capacity() {
        file.read_exact(&mut piece)?;
        rows.extend(piece.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
    }
    Ok(ROWS.get_or_init(|| rows))
}

/// A file that is not there.
fn target(folder: &Path, name: &str) -> Outcome<PathBuf> {
    let path = folder.join(format!("write-{name}.h5"));
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(path),
    }
}

/// As large as what the C library wrote, or a fiftieth larger at most: levels of zlib-rs and of zlib differ a little.
fn sized_alike(ours: &Path, folder: &Path) -> Outcome {
    match std::fs::metadata(folder.join("write-libhdf5-gzip.h5")) {
        Ok(theirs) => {
            let (ours, theirs) = (std::fs::metadata(ours)?.len(), theirs.len());
            eprintln!("{ours} bytes, libhdf5 {theirs}: {:.4}", ours as f64 / theirs as f64);
            expect(ours <= theirs + theirs / 50)
        }
        // It comes after the first round.
        Err(_) => Ok(()),
    }
}

fn contiguous(folder: &Path, watch: &mut Watch) -> Outcome {
    let (rows, path) = (rows(folder)?, target(folder, "ours")?);
    watch.time(|| -> Outcome {
        let mut file = Writer::overwrite(path)?;
        let shape = [16 * ROWS, COLUMNS];
        let mut dataset = file.dataset("d").shape(shape).contiguous().create::<f32>()?;
        for piece in 0..16 {
            dataset.write_slab(
                &Slab::new(&shape, [Range::new(piece * ROWS, ROWS), Range::all(COLUMNS)])?,
                rows,
            )?;
        }
        Ok(file.finish()?)
    })
}

fn gzip(folder: &Path, threads: usize, watch: &mut Watch) -> Outcome {
    let (rows, path) = (rows(folder)?, target(folder, "ours")?);
    watch.time(|| -> Outcome {
        let mut file = Writer::overwrite_with(&path, &CreateOptions::default().with_threads(threads))?;
        let shape = [2 * ROWS, COLUMNS];
        let dataset = file.dataset("d").shape(shape).chunks([256, 256]).shuffle().deflate(4);
        let mut dataset = dataset.create::<f32>()?;
        for piece in 0..8 {
            let part = piece as usize % 4 * rows.len() / 4;
            let slab = Slab::new(&shape, [Range::new(piece * 256, 256), Range::all(COLUMNS)])?;
            dataset.write_slab(&slab, &rows[part..part + rows.len() / 4])?;
        }
        Ok(file.finish()?)
    })?;
    sized_alike(&path, folder)
}

fn objects(folder: &Path, bound: Bound, watch: &mut Watch) -> Outcome {
    let path = target(folder, "ours")?;
    watch.time(|| -> Outcome {
        let mut file = Writer::overwrite_with(path, &CreateOptions::default().with_bound(bound))?;
        for i in 0..OBJECTS {
            file.dataset(&format!("{i:06}")).attribute("n", i).write_scalar(i)?;
        }
        Ok(file.finish()?)
    })
}

fn append(folder: &Path, watch: &mut Watch) -> Outcome {
    let path = target(folder, "ours")?;
    watch.time(|| -> Outcome {
        let mut file = Writer::overwrite(path)?;
        let dataset = file.dataset("d").shape([0, 16]).max_shape([None, Some(16)]).chunks([1024, 16]);
        let mut dataset = dataset.create::<i32>()?;
        for i in 0..OBJECTS {
            dataset.append(&[i; 16])?;
        }
        Ok(file.finish()?)
    })
}

fn texts() -> Vec<String> {
    (0..STRINGS).map(|i| format!("string number {i}")).collect()
}

fn strings(folder: &Path, watch: &mut Watch) -> Outcome {
    let (texts, path) = (texts(), target(folder, "ours")?);
    watch.time(|| -> Outcome {
        let mut file = Writer::overwrite(path)?;
        file.dataset("d").write(&texts)?;
        Ok(file.finish()?)
    })
}

fn committed(folder: &Path, flush: Flush, watch: &mut Watch) -> Outcome {
    let path = target(folder, "ours")?;
    let mut file = Writer::overwrite(&path)?;
    let dataset = file.dataset("d").shape([0, 16]).max_shape([None, Some(16)]).chunks([64, 16]);
    dataset.create::<i32>()?;
    file.finish()?;
    let mut editor = Editor::open(path)?;
    watch.time(|| -> Outcome {
        for i in 0..50 {
            editor.open_dataset("d")?.append(&[i; 16])?;
            editor.commit_with(flush)?;
        }
        Ok(())
    })
}

fn small(folder: &Path, durability: Durability, watch: &mut Watch) -> Outcome {
    let (rows, path) = (rows(folder)?, target(folder, "ours")?);
    watch.time(|| -> Outcome {
        let mut file = Writer::overwrite(path)?;
        file.dataset("d").write(&rows[..1 << 20])?;
        Ok(file.finish_with(durability)?)
    })
}

fn contiguous_crates(case: Case) -> Case {
    case.rust("hdf5-pure 0.47", |folder, watch| {
        let (rows, path) = (rows(folder)?, target(folder, "published")?);
        // It takes all elements at once.
        let all = rows.repeat(16);
        watch.time(|| -> Outcome {
            let mut file = hdf5_published::FileBuilder::new();
            file.create_dataset("d").with_f32_data(&all).with_shape(&[16 * ROWS, COLUMNS]);
            Ok(file.write(path)?)
        })
    })
    .rust("rust-hdf5 0.7.9", |folder, watch| {
        let (rows, path) = (rows(folder)?, target(folder, "rust-hdf5")?);
        watch.time(|| -> Outcome {
            let file = rust_hdf5::H5File::create(path)?;
            let dataset =
                file.new_dataset::<f32>().shape([16 * ROWS as usize, COLUMNS as usize]).create("d")?;
            for piece in 0..16 {
                dataset.write_slice(&[piece * ROWS as usize, 0], &[ROWS as usize, COLUMNS as usize], rows)?;
            }
            Ok(file.close()?)
        })
    })
}

fn gzip_crates(case: Case) -> Case {
    case.rust("hdf5-pure 0.47", |folder, watch| {
        let (rows, path) = (rows(folder)?, target(folder, "published")?);
        let all = rows.repeat(2);
        watch.time(|| -> Outcome {
            let mut file = hdf5_published::FileBuilder::new();
            let dataset = file.create_dataset("d").with_f32_data(&all).with_shape(&[2 * ROWS, COLUMNS]);
            dataset.with_chunks(&[256, 256]).with_shuffle().with_deflate(4);
            Ok(file.write(path)?)
        })
    })
    .rust("rust-hdf5 0.7.9", |folder, watch| {
        let (rows, path) = (rows(folder)?, target(folder, "rust-hdf5")?);
        watch.time(|| -> Outcome {
            let file = rust_hdf5::H5File::create(path)?;
            let dataset = file.new_dataset::<f32>().shape([2 * ROWS as usize, COLUMNS as usize]);
            let dataset = dataset.chunk(&[256, 256]).shuffle_deflate(4).create("d")?;
            for piece in 0..8 {
                let part = piece % 4 * rows.len() / 4;
                let part = &rows[part..part + rows.len() / 4];
                dataset.write_slice(&[piece * 256, 0], &[256, COLUMNS as usize], part)?;
            }
            Ok(file.close()?)
        })
    })
}

fn objects_crates(case: Case) -> Case {
    case.rust("hdf5-pure 0.47", |folder, watch| {
        let path = target(folder, "published")?;
        watch.time(|| -> Outcome {
            let mut file = hdf5_published::FileBuilder::new();
            for i in 0..OBJECTS {
                let dataset = file.create_dataset(&format!("{i:06}")).with_i32_data(&[i]).with_shape(&[]);
                dataset.set_attr("n", hdf5_published::AttrValue::I64(i.into()));
            }
            Ok(file.write(path)?)
        })
    })
    .rust("rust-hdf5 0.7.9", |folder, watch| {
        let path = target(folder, "rust-hdf5")?;
        watch.time(|| -> Outcome {
            let file = rust_hdf5::H5File::create(path)?;
            for i in 0..OBJECTS {
                let dataset = file.new_dataset::<i32>().scalar().create(&format!("{i:06}"))?;
                dataset.write_raw(&[i])?;
                dataset.new_attr::<i32>().shape(()).create("n")?.write_numeric(&i)?;
            }
            Ok(file.close()?)
        })
    })
}

fn append_crates(case: Case) -> Case {
    case.rust("rust-hdf5 0.7.9", |folder, watch| {
        let path = target(folder, "rust-hdf5")?;
        watch.time(|| -> Outcome {
            let file = rust_hdf5::H5File::create(path)?;
            let dataset = file.new_dataset::<i32>().shape([0usize, 16]).chunk(&[1024, 16]);
            let dataset = dataset.max_shape(&[None, Some(16)]).create("d")?;
            for i in 0..OBJECTS {
                dataset.append(&[i; 16])?;
            }
            Ok(file.close()?)
        })
    })
}

fn strings_crates(case: Case) -> Case {
    case.rust("hdf5-pure 0.47", |folder, watch| {
        let (texts, path) = (texts(), target(folder, "published")?);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        watch.time(|| -> Outcome {
            let mut file = hdf5_published::FileBuilder::new();
            file.create_dataset("d").with_vlen_strings(&texts);
            Ok(file.write(path)?)
        })
    })
    .rust("rust-hdf5 0.7.9", |folder, watch| {
        let (texts, path) = (texts(), target(folder, "rust-hdf5")?);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        watch.time(|| -> Outcome {
            let file = rust_hdf5::H5File::create(path)?;
            file.write_vlen_strings("d", &texts)?;
            Ok(file.close()?)
        })
    })
}
