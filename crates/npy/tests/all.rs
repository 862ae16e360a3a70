//! The integration tests, in one program, because each program is linked with everything.

mod crash;
mod editing;
mod files;
mod kill;
mod rivals;
