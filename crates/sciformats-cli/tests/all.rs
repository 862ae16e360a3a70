//! The integration tests, in one program, because each program is linked with everything.
//!
//! Beside it are those that edit files in place, in programs of their own: a process that another thread is about to replace
//! by the program has inherited what is open, such as the lock of a file, or the script that is to be the editor.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

mod convert;
mod cut_while_read;
mod every_file;
mod export;
mod external;
mod inside;
mod interrupt;
mod meaning;
mod plot;
mod program;
mod readme;
mod references;
mod repack_killed;
mod rescue;
mod screens;
mod serve;
mod view;
mod watch;
