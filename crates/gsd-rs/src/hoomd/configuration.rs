//! `configuration/…`: the step and the box.

use sciformats_core::arith::present;
use sciformats_core::{ReadAt, Result, WriteAt};

use super::source::{Shape, Sink, Source};
use super::{List, Reals};

/// Values that concern the whole system.
///
/// ```
/// use gsd_rs::hoomd::Frame;
///
/// let mut frame = Frame::new(2);
/// frame.configuration.step = 5000;
/// frame.configuration.periodic_box = vec![10.0f64, 10.0, 20.0, 0.0, 0.0, 0.0].into();
/// let lengths: Vec<f64> = frame.configuration.periodic_box.iter().take(3).collect();
/// assert_eq!(lengths.iter().product::<f64>(), 2000.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The time step.
    pub step: u64,
    /// The number of dimensions: 2 or 3.
    pub dimensions: u8,
    /// The periodic box: lengths `lx`, `ly`, `lz` and tilts `xy`, `xz`, `yz`.
    pub periodic_box: Reals,
}

const BOX: Shape = Shape { columns: 6, default: &[1.0, 1.0, 1.0, 0.0, 0.0, 0.0] };
const STEP: Shape = Shape { columns: 1, default: &[0.0] };
const DIMENSIONS: Shape = Shape { columns: 1, default: &[3.0] };

/// Returns the shape and the default of a value.
pub(crate) fn shape(value: &str) -> Option<Shape> {
    match value {
        "step" => Some(STEP),
        "dimensions" => Some(DIMENSIONS),
        "box" => Some(BOX),
        _ => None,
    }
}

impl Default for Configuration {
    fn default() -> Self {
        Self { step: 0, dimensions: 3, periodic_box: vec![1.0f32, 1.0, 1.0, 0.0, 0.0, 0.0].into() }
    }
}

impl Configuration {
    pub(crate) fn load(source: &Source<'_>) -> Result<Self> {
        let dimensions: List<u8> = source.fixed("configuration/dimensions", DIMENSIONS)?;
        Ok(Self {
            step: step(source)?,
            dimensions: present(dimensions.first().copied(), "number of dimensions")?,
            periodic_box: source.fixed("configuration/box", BOX)?,
        })
    }

    pub(crate) fn store<S: ReadAt + WriteAt>(&self, sink: &mut Sink<'_, S>) -> Result<()> {
        sink.fixed("configuration/step", STEP, &List::from(vec![self.step]))?;
        sink.fixed("configuration/dimensions", DIMENSIONS, &List::from(vec![self.dimensions]))?;
        sink.fixed("configuration/box", BOX, &self.periodic_box)
    }
}

/// Returns the time step of a frame.
pub(crate) fn step(source: &Source<'_>) -> Result<u64> {
    let step = source.fixed::<List<u64>>("configuration/step", STEP)?;
    present(step.first().copied(), "value of the step")
}
