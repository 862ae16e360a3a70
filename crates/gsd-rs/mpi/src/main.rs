//! MPI ranks write the positions of a frame together: rank 0 reserves the chunk, each rank fills its rows, and rank 0
//! commits the frame when all are done.
//!
//! ```sh
//! cargo build --release && mpirun -n 4 target/release/gsd-rs-mpi ranks.gsd
//! ```
//!
//! Needs an MPI library and libclang (Debian: `openmpi-bin`, `libopenmpi-dev`, `libclang-dev`). `cargo xtask mpi` does
//! this, and has the file checked by the reference library.

use gsd_rs::{CreateOptions, ElementType, Error, Reader, Region, RegionWriter, Result, Version, Writer};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Root};

const FRAMES: u64 = 10;
/// The number of rows of each rank.
const ROWS: u64 = 50_000;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).ok_or_else(|| Error::usage("arguments", "must name a file"))?;
    let universe = mpi::initialize().ok_or_else(|| Error::unsupported("a second MPI universe"))?;
    let world = universe.world();
    let result = write(&world, &path).and_then(|()| {
        world.barrier_all();
        verify(&world, &path)
    });
    if let Err(error) = &result {
        // Otherwise the other ranks would wait for this one forever.
        eprintln!("rank {}: {error}", world.rank());
        world.abort(1);
    }
    result
}

/// Waits for all ranks.
trait Barrier {
    fn barrier_all(&self);
}

impl Barrier for SimpleCommunicator {
    fn barrier_all(&self) {
        mpi::traits::CommunicatorCollectives::barrier(self);
    }
}

fn write(world: &SimpleCommunicator, path: &str) -> Result<()> {
    let (rank, ranks) = (world.rank() as u64, world.size() as u64);
    let mut writer = match rank {
        0 => Some(Writer::overwrite(path, &CreateOptions::new("ranks", "none", Version::new(1, 0)))?),
        _ => None,
    };
    for frame in 0..FRAMES {
        let mut location = 0;
        if let Some(writer) = &mut writer {
            writer.write("step", 1, &[frame])?;
            location = writer.reserve::<f32>("position", ranks * ROWS, 3)?.location;
        }
        world.process_at_rank(0).broadcast_into(&mut location);
        let region = Region { location, n: ranks * ROWS, m: 3, element: ElementType::F32 };
        let mut part = RegionWriter::open(path, region)?;
        part.write(rank * ROWS, &positions(frame, rank))?;
        // Ranks may run on other machines. The sync of the committing rank does not include their caches.
        part.sync()?;
        world.barrier_all();
        if let Some(writer) = &mut writer {
            writer.end_frame()?;
            writer.flush()?;
        }
    }
    writer.map_or(Ok(()), Writer::finish)
}

fn positions(frame: u64, rank: u64) -> Vec<f32> {
    (0..3 * ROWS).map(|i| (i + 7 * rank + 1000 * frame) as f32).collect()
}

/// Lets each rank read what the next rank wrote.
fn verify(world: &SimpleCommunicator, path: &str) -> Result<()> {
    let (rank, ranks) = (world.rank() as u64, world.size() as u64);
    let next = (rank + 1) % ranks;
    let reader = Reader::open(path)?;
    for frame in 0..FRAMES {
        let chunk = reader.find(frame, "position")?.ok_or_else(|| Error::not_found("chunk", "position"))?;
        let rows = reader.read_rows::<f32>(&chunk, next * ROWS..(next + 1) * ROWS)?;
        if *rows != positions(frame, next) {
            return Err(Error::usage("frame", format!("{frame} does not contain the values of rank {next}")));
        }
    }
    let steps: Vec<u64> = (0..reader.frames())
        .map(|frame| {
            let chunk = reader.find(frame, "step")?.ok_or_else(|| Error::not_found("chunk", "step"))?;
            Ok(reader.read(&chunk)?.iter().sum())
        })
        .collect::<Result<_>>()?;
    if !steps.iter().copied().eq(0..FRAMES) {
        return Err(Error::usage("frames", format!("have wrong steps: {steps:?}")));
    }
    // The line is printed in one call, because the ranks share the standard output.
    println!("rank {rank} of {ranks}: the {FRAMES} × {ROWS} rows of rank {next} are right");
    Ok(())
}
