//! Files behind HTTP servers.
//!
//! Every request asks for one range and pins the version of the file: what was replaced between two reads is an error,
//! never a mixture. What a server may answer, and what becomes of it:
//!
//! | answer | what becomes of it |
//! |---|---|
//! | 206 with the range that was asked for | its body; where that ends early, the rest is asked for |
//! | 206 with another range, size or version | an error |
//! | 206 with a content encoding | an error: it would be a range of the encoded bytes |
//! | 200 | at opening the whole file, if it is small; else an error |
//! | 301, 302, 303, 307, 308 | the next request goes there; where it led is kept, and asked for again when it has expired |
//! | 401, 403, 404, 410 | an error |
//! | 408, 425, 429, 500, 502, 503, 504 | another try later, when `Retry-After` says so or after a wait that doubles |
//! | 412, or 416 of a range inside the file | an error: the file was replaced |

mod answer;
mod client;
mod object;

pub use answer::Version;
pub(crate) use object::Http;
