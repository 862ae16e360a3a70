//! Files behind HTTP servers.
//!
//! Every request asks for one range of the version that was opened, so a file that is replaced between two
//! reads causes an error, and never a mixture. These answers are handled:
//!
//! | answer | what happens |
//! |---|---|
//! | 206 with the requested range | the body is used; if it ends early, the rest is requested |
//! | 206 with another range, size or version | an error |
//! | 206 with a content encoding | an error, because it would be a range of the encoded bytes |
//! | 200 | at opening, the whole file is used if it is small; otherwise an error |
//! | 301, 302, 303, 307, 308 | the redirect is followed; its target is kept, and is requested again when it has expired |
//! | 401, 403, 404, 410 | an error |
//! | 408, 425, 429, 500, 502, 503, 504 | another attempt is made later, as `Retry-After` says or after a wait that doubles |
//! | 412, or 416 of a range inside the file | an error, because the file was replaced |

mod answer;
mod client;
mod gate;
mod object;

pub use answer::Version;
#[cfg(feature = "cloud")]
pub(crate) use answer::is_identity;
#[cfg(feature = "cloud")]
pub(crate) use client::{LONGEST_WAIT, SLOWEST, agent, encryption, explained, is_busy, replaced};
#[cfg(feature = "cloud")]
pub(crate) use gate::Gate;
pub(crate) use object::Http;
#[cfg(feature = "cloud")]
pub(crate) use object::side_by_side;
