//! Reads a fixture of each format where there are neither files nor threads, and compares it with its content manifest.

use std::error::Error;

use sha2::{Digest, Sha256};

/// What a format's reader gives: the elements as little-endian bytes.
type Elements = Result<Vec<u8>, Box<dyn Error>>;

/// A fixture, its content manifest, the path of an array in it, and how to read that.
struct Case {
    file: &'static [u8],
    manifest: &'static str,
    path: &'static str,
    read: fn(Vec<u8>) -> Elements,
}

macro_rules! case {
    ($folder:literal, $file:literal, $path:literal, $read:expr) => {
        Case {
            file: include_bytes!(concat!("../../fixtures/", $folder, "/", $file)),
            manifest: include_str!(concat!("../../fixtures/", $folder, "/expected/", $file, ".jsonl")),
            path: $path,
            read: $read,
        }
    };
}

/// One of each format; the elements of most are stored with the most significant byte first.
const CASES: [Case; 5] = [
    case!("hdf5", "types-latest.h5", "/n_be_f8", hdf5),
    case!("asdf", "types-big.asdf", "/float64", asdf),
    case!("blosc2", "grid.b2nd", "/", blosc2),
    case!("gsd", "types.gsd", "/frames/0/f64", gsd),
    case!("rawarray", "f4-big-endian.ra", "/", rawarray),
];

fn hdf5(bytes: Vec<u8>) -> Elements {
    let values: Vec<f64> = hdf5_pure::File::from_bytes(bytes)?.dataset("/n_be_f8")?.read()?;
    Ok(values.into_iter().flat_map(f64::to_le_bytes).collect())
}

fn asdf(bytes: Vec<u8>) -> Elements {
    let values: Vec<f64> = asdf_core::Asdf::from_bytes(bytes)?.array("float64")?.read()?;
    Ok(values.into_iter().flat_map(f64::to_le_bytes).collect())
}

fn blosc2(bytes: Vec<u8>) -> Elements {
    Ok(cframe::Array::from_schunk(cframe::SChunk::from_bytes(bytes)?)?.read_bytes()?)
}

fn gsd(bytes: Vec<u8>) -> Elements {
    let reader = gsd_rs::Reader::from_bytes(bytes)?;
    let chunk = reader.find(0, "f64")?.ok_or("there is no such chunk")?;
    Ok(reader.read::<f64>(&chunk)?.iter().copied().flat_map(f64::to_le_bytes).collect())
}

fn rawarray(bytes: Vec<u8>) -> Elements {
    let values: Vec<f32> = rawarray::Reader::from_bytes(bytes)?.read()?;
    Ok(values.into_iter().flat_map(f32::to_le_bytes).collect())
}

/// Whether the array's elements are those of which the manifest gives the hash.
fn agrees(case: &Case) -> Result<bool, Box<dyn Error>> {
    let about = format!("{{\"path\":\"{}\",\"kind\":\"array\"", case.path);
    let line =
        case.manifest.lines().find(|line| line.starts_with(&about)).ok_or("no line about the array")?;
    let (_, hash) = line.split_once("\"sha256\":\"").ok_or("no hash")?;
    let digest = Sha256::digest((case.read)(case.file.to_vec())?);
    let found: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(hash.starts_with(&found))
}

/// One bit for each format that is read as its manifest says, the first of [`CASES`] being the lowest.
// SAFETY: no other function of this name is linked.
#[unsafe(no_mangle)]
pub extern "C" fn read_as_expected() -> u32 {
    CASES.iter().rev().fold(0, |bits, case| bits << 1 | u32::from(agrees(case).unwrap_or(false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_read_as_expected() {
        for case in &CASES {
            assert!(agrees(case).unwrap(), "{}", case.path);
        }
        assert_eq!(read_as_expected(), (1 << CASES.len()) - 1);
    }

    #[test]
    fn other_bytes_are_not_as_expected() {
        let [case, ..] = CASES;
        assert!(!agrees(&Case { read: |_| Ok(vec![0]), ..case }).unwrap());
        assert!(agrees(&Case { path: "/nothing", ..CASES[0] }).is_err());
    }
}
