//! The integration tests, in one program, because each program is linked with everything.
//! Those that need a program of their own, for its memory or for its features, are beside it.

mod crash;
mod examples;
mod reading;
mod rivals;
mod typed;
