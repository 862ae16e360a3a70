//! The integration tests, in one program, because each program is linked with everything.

mod again;
mod blosc2;
mod chunks;
mod damage;
mod indexes;
mod kept;
mod others;
mod repair;
mod sweep;
