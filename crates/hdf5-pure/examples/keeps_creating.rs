//! Writes a file again and again, each time with the next number, until it is killed: `keeps_creating FILE`.
//!
//! `tests/create.rs` starts and kills this program.

use hdf5_pure::{Error, Result, Writer};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or_else(|| Error::usage("arguments", "must name a file"))?;
    for state in 0u64.. {
        let mut file = Writer::overwrite(&path)?;
        for i in 0..10 {
            let dataset = file.dataset(&format!("d{i}")).max_shape([None]).chunks([64]).lzf();
            dataset.attribute("state", state).write(&vec![state; 500])?;
        }
        file.finish()?;
    }
    Ok(())
}
