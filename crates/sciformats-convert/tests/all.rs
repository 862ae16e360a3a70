//! The integration tests, in one program, because each program is linked with everything.

mod advise;
mod asdf;
mod blosc2;
mod diff_table;
mod fixtures;
mod hdf5;
mod registered;
mod repack;
mod repack_blosc2;
mod repack_facts;
mod repack_plain;
mod round_trips;
