//! Writes the datasets of `hdf5_odd_conform.py` with filters, which the C library undoes.
//!
//! The attribute `filters` of a dataset lists the filters as words, such as `fletcher32 szip:nn:8`, and the attribute `chunk`
//! contains the shape of its chunks.

use std::path::Path;

use hdf5_pure::filters::{BloscCodec, BloscShuffle, Filters, SzipCoding};
use hdf5_pure::{CreateOptions, Dataset, Error, File, Result, Writer};

/// Writes all datasets of the root group of the file `from` to the new file `to`. Prints the names of those that cannot have their filters.
#[allow(clippy::print_stdout)]
pub(crate) fn filter(from: &Path, to: &Path) -> Result<()> {
    let (file, mut writer) = (File::open(from)?, Writer::create_with(to, &CreateOptions::default())?);
    for link in file.root()?.links()? {
        let name = link.map_err(|broken| broken.error)?.name.to_text().into_owned();
        match one(&file.dataset(&name)?, &name, &mut writer) {
            Err(Error::Usage { .. }) => println!("{name}"),
            other => other?,
        }
    }
    writer.finish()
}

fn one(dataset: &Dataset, name: &str, writer: &mut Writer) -> Result<()> {
    let chunk: Vec<u64> = dataset.attribute("chunk")?.read()?;
    let words = dataset.attribute("filters")?.read::<String>()?.concat();
    let mut filters = Filters::new();
    for word in words.split_whitespace() {
        filters = with(filters, &word.split(':').collect::<Vec<_>>())
            .ok_or_else(|| Error::usage("filters", format!("have an unknown word {word}")))?;
    }
    let made = writer.dataset(name).shape(dataset.shape()).datatype(dataset.datatype().clone());
    let made = made.chunks(chunk).filters(filters);
    made.write_raw(&dataset.read_raw(&dataset.all()?)?).map(drop)
}

fn with(filters: Filters, words: &[&str]) -> Option<Filters> {
    Some(match *words {
        ["shuffle"] => filters.shuffle(),
        ["fletcher32"] => filters.fletcher32(),
        ["deflate", level] => filters.deflate(level.parse().ok()?),
        ["szip", "ec", block] => filters.szip(SzipCoding::Elements, block.parse().ok()?),
        ["szip", "nn", block] => filters.szip(SzipCoding::Differences, block.parse().ok()?),
        ["nbit"] => filters.n_bit(),
        ["scaleoffset"] => filters.scale_offset(),
        ["lzf"] => filters.lzf(),
        ["lz4"] => filters.lz4(),
        ["lz4", block] => filters.custom(32004, vec![block.parse().ok()?]),
        ["bzip2", level] => filters.bzip2(level.parse().ok()?),
        ["zstd", level] => filters.zstd(level.parse().ok()?),
        ["bitshuffle"] => filters.bitshuffle(),
        ["bitshuffle", "lz4"] => filters.bitshuffle_lz4(),
        ["bitshuffle", "zstd"] => filters.bitshuffle_zstd(3),
        ["blosc", codec, level, shuffle] => filters.blosc(of(codec)?, level.parse().ok()?, way(shuffle)?),
        ["blosc2", codec, level, shuffle] => filters.blosc2(of(codec)?, level.parse().ok()?, way(shuffle)?),
        _ => return None,
    })
}

fn of(codec: &str) -> Option<BloscCodec> {
    Some(match codec {
        "blosclz" => BloscCodec::BloscLz,
        "lz4" => BloscCodec::Lz4,
        "lz4hc" => BloscCodec::Lz4Hc,
        "zlib" => BloscCodec::Zlib,
        "zstd" => BloscCodec::Zstd,
        _ => return None,
    })
}

fn way(shuffle: &str) -> Option<BloscShuffle> {
    Some(match shuffle {
        "none" => BloscShuffle::None,
        "bytes" => BloscShuffle::Bytes,
        "bits" => BloscShuffle::Bits,
        _ => return None,
    })
}
