//! HOOMD trajectories: the schema `hoomd`, versions 1.0 to 2.0, on top of the file layer.
//!
//! A [`Frame`] is the state of a system: configuration, particles, bonds of several kinds, constraints, and logged quantities.
//! If a frame does not store a value, the value of frame 0 counts. If frame 0 does not store it either, or has another number of
//! particles (or bonds), the default of the schema counts.
//!
//! | chunk | type | N × M | default |
//! |---|---|---|---|
//! | `configuration/step` | u64 | 1 | 0 |
//! | `configuration/dimensions` | u8 | 1 | 3 |
//! | `configuration/box` | float | 6 | 1 1 1 0 0 0 |
//! | `particles/N` | u32 | 1 | 0 |
//! | `particles/types` | i8 | types × longest + 1 | `A` |
//! | `particles/type_shapes` | i8 | types × longest + 1 | `{}` |
//! | `particles/typeid` | u32 | N | 0 |
//! | `particles/mass`, `diameter` | float | N | 1 |
//! | `particles/charge` | float | N | 0 |
//! | `particles/body` | i32 | N | -1 |
//! | `particles/moment_inertia`, `position`, `velocity` | float | N × 3 | 0 |
//! | `particles/orientation` | float | N × 4 | 1 0 0 0 |
//! | `particles/angmom` | float | N × 4 | 0 |
//! | `particles/image` | i32 | N × 3 | 0 |
//! | `bonds/N`, `pairs`, `angles`, `dihedrals`, `impropers` | u32 | 1 | 0 |
//! | … `/types` | i8 | types × longest + 1 | none |
//! | … `/typeid` | u32 | N | 0 |
//! | … `/group` | u32 (i32 in older files) | N × 2, 2, 3, 4, 4 | 0 |
//! | `constraints/N` | u32 | 1 | 0 |
//! | `constraints/value` | float | N | 0 |
//! | `constraints/group` | u32 (i32 in older files) | N × 2 | 0 |
//! | `log/…` | any | any | – |
//!
//! Floats are f32, or since version 2.0 also f64. Values of chunks that the schema no longer contains (`state/…`) are read with
//! the file layer; see [`Trajectory::reader`].
//!
//! ```
//! # fn main() -> gsd_rs::Result<()> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("trajectory.gsd");
//! use gsd_rs::hoomd::{Frame, Trajectory, TrajectoryWriter};
//!
//! let mut writer = TrajectoryWriter::create(&path, "my program")?;
//! for step in 0..5u32 {
//!     let mut frame = Frame::new(2);
//!     frame.configuration.step = step.into();
//!     frame.particles.position = vec![0.0f32, 0.0, 0.0, 1.0, 1.0, step as f32].into();
//!     frame.log.insert("energy".into(), f64::from(step).into());
//!     writer.append(&frame)?;
//! }
//! writer.finish()?;
//!
//! let trajectory = Trajectory::open(&path)?;
//! let frame = trajectory.frame(3)?;
//! assert_eq!(frame.particles.position.as_f32(), Some(&[0.0, 0.0, 0.0, 1.0, 1.0, 3.0][..]));
//! assert_eq!(frame.particles.mass.to_f64(), [1.0, 1.0]); // the default
//! assert_eq!(trajectory.log_column("energy")?.to_f64().as_deref(), Some(&[0.0, 1.0, 2.0, 3.0, 4.0][..]));
//! # Ok(()) }
//! ```

mod append;
mod bonds;
mod configuration;
mod frame;
mod list;
mod log;
mod particles;
mod property;
mod reals;
mod source;
mod trajectory;
mod values;

pub use append::TrajectoryWriter;
pub use bonds::{Bonds, Constraints};
pub use configuration::Configuration;
pub use frame::Frame;
pub use list::List;
pub use log::{Column, Data, Quantity};
pub use particles::Particles;
pub use property::Property;
pub use reals::Reals;
pub use trajectory::Trajectory;
