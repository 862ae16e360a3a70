//! HDF5 through the facade, beside the format crate itself: what the common view costs.

use std::hint::black_box;
use std::path::Path;

use harness::{Case, Outcome, Watch};

use crate::{expect, prepare, text};

/// The format crate alone.
const ALONE: &str = "hdf5-pure alone";
/// The facade may take so much of the format crate's time.
const GOAL: f64 = 1.05;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, files, file) in [
        ("through the facade: 1 GiB contiguous", "contiguous", "contiguous.h5"),
        ("through the facade: 512 MiB gzip and shuffle", "gzip", "gzip.h5"),
        ("through the facade: 256 MiB in plain chunks", "plain", "plain.h5"),
    ] {
        let case = Case::new(name, GOAL).prepare(move |folder| prepare(folder, files));
        cases.push(
            case.ours(move |folder, watch| facade::<f32>(folder, file, watch))
                .rust(ALONE, move |folder, watch| alone::<f32>(folder, file, watch)),
        );
    }
    for index in ["btree1", "fixed", "extensible", "btree2"] {
        let name = text(format_args!("through the facade: 200,000 chunks, {index}"));
        let file = text(format_args!("small-{index}.h5"));
        let case = Case::new(name, GOAL).prepare(|folder| prepare(folder, "small"));
        cases.push(
            case.ours(move |folder, watch| facade::<i32>(folder, file, watch))
                .rust(ALONE, move |folder, watch| alone::<i32>(folder, file, watch)),
        );
    }
    for age in ["old", "new"] {
        let name = text(format_args!("through the facade: list 100,000 objects, {age}"));
        let file = text(format_args!("objects-{age}.h5"));
        let case = Case::new(name, GOAL).prepare(|folder| prepare(folder, "objects"));
        cases.push(
            case.ours(move |folder, watch| list(folder, file, watch))
                .rust(ALONE, move |folder, watch| list_alone(folder, file, watch)),
        );
    }
    cases
}

fn facade<T: sciformats::Element>(folder: &Path, name: &str, watch: &mut Watch) -> Outcome {
    let file = sciformats::open(folder.join(name))?;
    let array = file.array("/d")?;
    expect(!black_box(watch.time(|| array.read::<T>())?).is_empty())
}

fn alone<T: hdf5_pure::Element>(folder: &Path, name: &str, watch: &mut Watch) -> Outcome {
    let dataset = hdf5_pure::File::open(folder.join(name))?.dataset("d")?;
    expect(!black_box(watch.time(|| dataset.read::<T>())?).is_empty())
}

fn list(folder: &Path, name: &str, watch: &mut Watch) -> Outcome {
    let count = watch.time(|| -> sciformats::Result<usize> {
        let file = sciformats::open(folder.join(name))?;
        let source = file.source();
        source.members(source.root())?.try_fold(0, |count, member| member.map(|_| count + 1))
    })?;
    expect(count == 100_000)
}

fn list_alone(folder: &Path, name: &str, watch: &mut Watch) -> Outcome {
    let count = watch.time(|| -> Result<usize, hdf5_pure::Error> {
        let links = hdf5_pure::File::open(folder.join(name))?.root()?.links()?;
        links.into_iter().try_fold(0, |count, link| link.map(|_| count + 1).map_err(|broken| broken.error))
    })?;
    expect(count == 100_000)
}
