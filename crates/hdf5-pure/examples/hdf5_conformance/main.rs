//! Our side of the conformance run.
//!
//! | arguments | what it does |
//! |---|---|
//! | `check DIR` | reads the files that h5py wrote |
//! | `write DIR` | writes files for h5py |
//! | `edit FILE`, `edit-again FILE` | changes files that h5py created |
//! | `edit-empty FILE` | removes everything from a file |
//! | `edit-many FILE SCRIPT` | makes the small edits that a script describes |
//! | `filter FILE OUT` | writes the datasets of a file to a new file, with the filters that their attributes list |
//! | `chunk-edits FILE` | edits datasets as its input describes |
//! | `revisions FILE` | lists the revisions that an onion file keeps of a file |
//! | `revision FILE NUMBER OUT` | writes the bytes of a revision |
//!
//! Element k of a numeric array is (k * 31 + 7) % 251 as an integer, or a quarter of this number as a float. Every array is
//! read as a whole, by rows, and by a slab with steps; the manifests compare everything else. An array `X_as_T` has the
//! elements that the C library returns when it reads array `X` as numbers of the type `T`.

mod chunks;
mod conversions;
mod data;
mod edit;
mod many;
mod odd;
mod write;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hdf5_pure::options::External;
use hdf5_pure::structure::Class;
use hdf5_pure::walk::Found;
use hdf5_pure::{Dataset, ElementType, Error, File, Node, OpenOptions, Range, Slab};
use serde_json::json;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder] => {
            let made = std::fs::create_dir_all(folder).map_err(Into::into);
            match made
                .and_then(|()| write::write(Path::new(folder)).map_err(Box::<dyn std::error::Error>::from))
            {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => report(&*error),
            }
        }
        ["edit", file] => ended(edit::edit(Path::new(file))),
        ["edit-again", file] => ended(edit::edit_again(Path::new(file))),
        ["edit-many", file, script] => ended(many::run(Path::new(file), Path::new(script))),
        ["edit-empty", file] => ended(edit::empty(Path::new(file))),
        ["filter", file, out] => ended(odd::filter(Path::new(file), Path::new(out))),
        ["chunk-edits", file] => ended(chunks::edit(Path::new(file))),
        ["revisions", file] => ended(revisions(Path::new(file))),
        ["revision", file, number, out] => ended(revision(Path::new(file), number, Path::new(out))),
        ["check", folder] => match files(Path::new(folder)) {
            Ok(files) => {
                files.iter().for_each(|path| check(path));
                ExitCode::SUCCESS
            }
            Err(_) => ExitCode::FAILURE,
        },
        ref other => match data::run(other) {
            Some(Ok(())) => ExitCode::SUCCESS,
            Some(Err(error)) => report(&error),
            None => ExitCode::from(2),
        },
    }
}

#[allow(clippy::print_stdout)]
fn revisions(file: &Path) -> hdf5_pure::Result<()> {
    let all = hdf5_pure::Revisions::open(file)?.list()?;
    let all: Vec<_> = all
        .into_iter()
        .map(|one| json!({"number": one.number, "parent": one.parent, "length": one.length, "comment": one.comment}))
        .collect();
    println!("{}", json!(all));
    Ok(())
}

fn revision(file: &Path, number: &str, out: &Path) -> hdf5_pure::Result<()> {
    let number = number.parse().map_err(|_| Error::usage("NUMBER", "is not a number"))?;
    let storage = hdf5_pure::Revisions::open(file)?.storage(number)?;
    let bytes = storage.read_at(0, usize::try_from(storage.size()).unwrap_or(usize::MAX))?;
    std::fs::write(out, bytes).map_err(|error| Error::io("write", error))
}

fn ended(result: hdf5_pure::Result<()>) -> ExitCode {
    result.map_or_else(|error| report(&error), |()| ExitCode::SUCCESS)
}

#[allow(clippy::print_stderr)]
fn report(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("{error}");
    ExitCode::FAILURE
}

fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "h5") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The number of arrays that were compared, or what is wrong with the file.
type Outcome = Result<usize, String>;

#[allow(clippy::print_stdout)]
fn check(path: &Path) {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let group = name.split('_').next().unwrap_or(name);
    let case = format!("{group}: {name}");
    let line = match compare(path) {
        Ok(_) => json!({"case": case, "ok": true}),
        Err(why) => json!({"case": case, "ok": false, "why": why}),
    };
    println!("{line}");
}

fn compare(path: &Path) -> Outcome {
    let options = OpenOptions::default().with_external(External::SameFolder);
    let text = |error: Error| error.to_string();
    let file = File::open_with(path, &options).map_err(text)?;
    let mut compared = 0;
    for visited in file.walk() {
        let path = String::from_utf8_lossy(&visited.path).into_owned();
        let about = |error: Error| format!("{path}: {error}");
        match visited.what {
            Found::Broken(error) => return Err(about(error)),
            Found::Object(address) => {
                if let Node::Dataset(dataset) = file.object_at(address).map_err(about)? {
                    compared += array(&dataset, &path).map_err(|why| format!("{path}: {why}"))?;
                    compared += conversions::check(&file, &dataset, &path)?;
                }
                for attribute in file.attributes_at(address).map_err(about)? {
                    attribute.canonical().map_err(about)?;
                }
            }
            _ => {}
        }
    }
    Ok(compared)
}

/// Returns the value of element `k` of the array `name`, or `None` if the formula does not apply to this array.
fn expected(name: &str, k: u64, float: bool, signed_byte: bool) -> Option<f64> {
    const OTHERS: [&str; 14] = [
        "conversion",
        "follows",
        "sparse",
        "grown",
        "shrunk",
        "unwritten",
        "stacked",
        "strided",
        "beside",
        "scalar",
        "vlen",
        "zeros",
        "noise",
        "nbit",
    ];
    if OTHERS.iter().any(|other| name.contains(other)) || name.starts_with("part") {
        return None;
    }
    let number = ((k * 31 + 7) % 251) as f64;
    Some(match (float, signed_byte) {
        (true, _) => number / 4.0,
        (_, true) => number - 125.0,
        _ => number,
    })
}

fn array(dataset: &Dataset, path: &str) -> Outcome {
    let text = |error: Error| error.to_string();
    let name = path.rsplit('/').next().unwrap_or(path);
    let element = dataset.datatype().element_type().map_err(text)?;
    let (float, byte) = match element {
        ElementType::Float(_) => (true, false),
        ElementType::Integer { signed, size } => (false, signed && size == 1),
        _ => return Ok(0),
    };
    let Some(shape) = dataset.dataspace().extent().filter(|shape| !shape.contains(&0)) else { return Ok(0) };
    if expected(name, 0, float, byte).is_none()
        || !matches!(dataset.datatype().class, Class::FixedPoint(_) | Class::FloatingPoint(_))
    {
        return Ok(0);
    }
    let all = dataset.all().map_err(text)?;
    let steps: Vec<Range> = shape
        .iter()
        .map(|&n| Range { start: n.min(3) - 1, count: (n - (n.min(3) - 1)).div_ceil(3), step: 3 })
        .collect();
    let stepped = Slab::new(shape, steps).map_err(text)?;
    let rows: Vec<Slab> = all.pieces(all.len().div_ceil(3)).collect();
    for slab in rows.iter().chain([&all, &stepped]) {
        let found: Vec<f64> = dataset.read_slab(slab).map_err(text)?;
        let indices = slab.runs().flat_map(|run| (0..run.len).map(move |i| run.from + i * run.step));
        for (value, k) in found.iter().zip(indices) {
            if expected(name, k, float, byte) != Some(*value) {
                return Err(format!("element {k} is {value}"));
            }
        }
        if found.len() as u64 != slab.len() {
            return Err(format!("{} elements of {}", found.len(), slab.len()));
        }
    }
    Ok(1)
}
