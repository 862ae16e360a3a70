//! Edits chunked datasets as `hdf5_chunks_conform.py` requests.

use std::io::BufRead;
use std::path::Path;

use hdf5_pure::{Editor, Error, Range, Result, Slab};

/// Edits the datasets of a file. Each line of the input describes one edit:
///
/// | line | what it does |
/// |---|---|
/// | `resize NAME SIZE…` | sets the size of each dimension |
/// | `write NAME FIRST START COUNT…` | writes `FIRST`, `FIRST + 7` and so on, with starts and counts along each dimension |
/// | `commit` | commits, and makes sure that no byte belongs to two structures |
pub(crate) fn edit(path: &Path) -> Result<()> {
    let mut editor = Editor::open(path)?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| Error::io("read", error))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["resize", name, ..] => {
                editor.open_dataset(name)?.resize(&numbers(words.get(2..))?)?;
            }
            ["write", name, ..] => {
                let numbers = numbers(words.get(2..))?;
                let (first, sides) =
                    numbers.split_first().ok_or_else(|| Error::usage("line", "has no numbers"))?;
                let range = |side: &[u64]| Range::new(side[0], side[1]);
                let ranges: Vec<Range> = sides.chunks_exact(2).map(range).collect();
                let mut dataset = editor.open_dataset(name)?;
                let shape = dataset.shape().to_vec();
                let slab = Slab::new(&shape, ranges)?;
                let values: Vec<i32> = (0..slab.len()).map(|k| ((first + k * 7) % 10_007) as i32).collect();
                dataset.write_slab(&slab, &values)?;
            }
            ["commit"] => {
                editor.commit()?;
                editor.unaccounted()?;
            }
            _ => return Err(Error::usage("line", format!("{line:?} is not a known command"))),
        }
    }
    editor.close()
}

fn numbers(words: Option<&[&str]>) -> Result<Vec<u64>> {
    let number =
        |word: &&str| word.parse().map_err(|_| Error::usage("line", format!("{word} is not a number")));
    words.unwrap_or_default().iter().map(number).collect()
}
