//! The integration tests, in one program, because each program is linked with everything.

mod again;
mod blosc2;
mod damage;
mod others;
mod repair;
