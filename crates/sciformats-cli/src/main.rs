//! The `sciformats` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(sciformats_cli::run(std::env::args_os()))
}
