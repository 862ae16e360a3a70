//! The integration tests, in one program, because each program is linked with everything.

mod batches;
mod files;
mod hostile;
mod narrowed;
mod objects;
mod sql;
