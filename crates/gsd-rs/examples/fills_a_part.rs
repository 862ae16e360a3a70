//! Fills one quarter of a reserved chunk with numbers, each of which is its own index: `fills_a_part FILE PART LOCATION N M`.
//!
//! `tests/design/writes.rs` starts four of these processes.

use gsd_rs::{ElementType, Error, Region, RegionWriter, Result};

fn main() -> Result<()> {
    let usage = || Error::usage("arguments", "must be FILE PART LOCATION N M");
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or_else(usage)?;
    let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let [part, location, n, m] = numbers[..] else { return Err(usage()) };
    let region = Region { location, n, m: u32::try_from(m).map_err(|_| usage())?, element: ElementType::F64 };
    let rows = n / 4;
    let values: Vec<f64> = (part * rows * m..(part + 1) * rows * m).map(|i| i as f64).collect();
    RegionWriter::open(path, region)?.write(part * rows, &values)
}
