//! Writes to datasets of existing files, for tests that kill this program or follow what it writes.
//!
//! | arguments | what it does |
//! |---|---|
//! | `data-edit FILE` | the same edits to every dataset of the group `data` |
//! | `data-append FILE` | appends to the datasets `rows` and `flat` without end, and prints the rows of each commit |
//! | `swmr-write FILE ROWS STEP` | appends rows to `series`, `STEP` at a time, and waits for a line of input after each flush |
//! | `swmr-free FILE ROWS STEP` | the same without waiting |
//! | `swmr-tail FILE ROWS` | follows `series` until it has this many rows |
//!
//! Element `row, column` of a series is `row * 7 + column`.
#![allow(clippy::print_stdout, reason = "printing is the purpose of the example")]

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use hdf5_pure::structure::Dataspace;
use hdf5_pure::swmr::{SwmrWriter, Tail};
use hdf5_pure::{Editor, Error, File, Range, Result, Slab};

/// Runs the command in the arguments. Returns `None` if it is not a command of this module.
pub(crate) fn run(arguments: &[&str]) -> Option<Result<()>> {
    Some(match *arguments {
        ["data-edit", file] => edit(Path::new(file)),
        ["data-append", file] => append(Path::new(file)),
        ["swmr-write", file, rows, step] => number(rows, step).and_then(|n| write(Path::new(file), n, true)),
        ["swmr-free", file, rows, step] => number(rows, step).and_then(|n| write(Path::new(file), n, false)),
        ["swmr-tail", file, rows] => number(rows, "1").and_then(|(rows, _)| tail(Path::new(file), rows)),
        _ => return None,
    })
}

fn number(rows: &str, step: &str) -> Result<(u64, u64)> {
    rows.parse().ok().zip(step.parse().ok()).ok_or_else(|| Error::usage("arguments", "are not numbers"))
}

fn numbered(first: i32, count: u64) -> Vec<i32> {
    (first..).take(usize::try_from(count).unwrap_or(0)).collect()
}

/// Writes a slab with steps and two points, appends three rows if the dataset can grow, and changes the shape and back again.
fn edit(path: &Path) -> Result<()> {
    let mut names = Vec::new();
    for link in File::open(path)?.group("data")?.links()? {
        names.push(link.map_err(|broken| broken.error)?.name.to_text().into_owned());
    }
    let mut editor = Editor::open(path)?;
    for name in names {
        let grows = {
            let file = editor.file()?;
            let dataset = file.dataset(&format!("data/{name}"))?;
            match dataset.dataspace() {
                Dataspace::Simple { dimensions, maximum } => maximum
                    .first()
                    .zip(dimensions.first())
                    .is_some_and(|(max, &n)| max.is_none_or(|max| max > n)),
                _ => false,
            }
        };
        let mut dataset = editor.open_dataset(&format!("data/{name}"))?;
        let shape = dataset.shape().to_vec();
        let slab = Slab::new(&shape, [Range::new(2, 3).by(3), Range::new(1, 4).by(2)])?;
        dataset.write_slab(&slab, &numbered(1000, 12))?;
        dataset.write_points(&[vec![0, 0], vec![11, 9]], &[-1, -2])?;
        if grows {
            dataset.append(&numbered(2000, 30))?;
            dataset.resize(&[13, 8])?;
            dataset.resize(&[14, 10])?;
        }
    }
    editor.commit()
}

/// Appends to `rows`, which has chunks, and to `flat`, which is contiguous. After each commit both must have the same state.
fn append(path: &Path) -> Result<()> {
    let mut out = std::io::stdout();
    let mut editor = Editor::open(path)?;
    let mut row = editor.open_dataset("rows")?.shape().first().copied().unwrap_or(0);
    for round in 0u64.. {
        for _ in 0..=round % 3 {
            let values: Vec<u64> = (0..4).map(|column| row * 7 + column).collect();
            editor.open_dataset("rows")?.append(&values)?;
            row += 1;
        }
        editor.open_dataset("flat")?.write_all(&[row; 600])?;
        editor.commit()?;
        if writeln!(out, "committed {row}").is_err() {
            break;
        }
        if round % 40 == 39 {
            // Opening and closing the file may be interrupted too.
            drop(editor);
            editor = Editor::open(path)?;
        }
    }
    Ok(())
}

/// Returns the number of columns of a series, which is the product of all dimensions but the first.
fn columns(shape: &[u64]) -> u64 {
    shape.iter().skip(1).product()
}

fn write(path: &Path, (rows, step): (u64, u64), waits: bool) -> Result<()> {
    let mut file = SwmrWriter::open(path)?;
    let mut at = file.dataset("series")?.shape().first().copied().unwrap_or(0);
    let columns = columns(file.dataset("series")?.shape());
    println!("open");
    let mut line = String::new();
    let mut wait = || !waits || std::io::stdin().read_line(&mut line).is_ok_and(|len| len > 0);
    while at < rows && wait() {
        let end = rows.min(at + step);
        let values: Vec<i64> = (at..end)
            .flat_map(|row| (0..columns).map(move |column| (row * 7 + column).cast_signed()))
            .collect();
        file.dataset("series")?.append(&values)?;
        file.flush()?;
        at = end;
        println!("{at}");
    }
    file.close()
}

fn tail(path: &Path, rows: u64) -> Result<()> {
    let mut tail = Tail::new(path, "series");
    let (mut seen, mut looks) = (0u64, 0u64);
    while seen < rows {
        let Some((first, values)) = tail.wait::<i64>(Duration::from_secs(120))? else {
            let why = tail.trouble().map_or_else(String::new, |error| format!(": {error}"));
            return Err(Error::usage("tail", format!("saw {seen} rows of {rows}{why}")));
        };
        let columns = columns(tail.dataset().map(hdf5_pure::Dataset::shape).unwrap_or_default()).max(1);
        for (value, k) in values.iter().zip(first * columns..) {
            let expected = (k / columns * 7 + k % columns).cast_signed();
            if *value != expected {
                return Err(Error::usage("tail", format!("element {k} is {value}, not {expected}")));
            }
        }
        seen = tail.next_row();
        looks += 1;
    }
    println!("{seen} rows in {looks} parts");
    Ok(())
}
