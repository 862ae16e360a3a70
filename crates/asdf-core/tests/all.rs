//! The integration tests, in one program, because each program is linked with everything.

mod core_types;
mod cost;
mod examples;
mod far;
mod files;
mod fixtures;
mod kept;
mod kill;
mod numbers;
mod rivals;
mod types;
mod yaml;
