//! A frame, which is the state of the whole system.

use std::collections::BTreeMap;

use sciformats_core::{Error, ReadAt, Result, WriteAt};

use super::log;
use super::source::{Sink, Source};
use super::{Bonds, Configuration, Constraints, Particles, Quantity, Reals};

/// The complete state of a system. What the file leaves out is filled in when the frame is read.
///
/// ```
/// use gsd_rs::hoomd::Frame;
///
/// let mut frame = Frame::new(2);
/// frame.configuration.step = 5000;
/// frame.particles.types = vec!["A".into(), "B".into()];
/// frame.particles.typeid = vec![0, 1].into();
/// frame.particles.position = vec![0.0f32, 0.0, 0.0, 1.0, 1.0, 1.0].into();
/// frame.log.insert("energy".into(), (-1.5).into());
/// assert_eq!(frame.log["energy"].as_f64(), Some(-1.5));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// The step, the dimensions and the box.
    pub configuration: Configuration,
    /// The particles.
    pub particles: Particles,
    /// Bonds between two particles.
    pub bonds: Bonds<2>,
    /// Angles between three particles.
    pub angles: Bonds<3>,
    /// Dihedrals of four particles.
    pub dihedrals: Bonds<4>,
    /// Impropers of four particles.
    pub impropers: Bonds<4>,
    /// Distance constraints between two particles.
    pub constraints: Constraints,
    /// Special pairs of particles.
    pub pairs: Bonds<2>,
    /// Logged quantities, by their names without `log/`.
    pub log: BTreeMap<String, Quantity>,
}

impl Frame {
    /// Returns a frame of `n` particles, with the defaults of the schema for everything.
    ///
    /// ```
    /// use gsd_rs::hoomd::Frame;
    ///
    /// let frame = Frame::new(2);
    /// assert_eq!(frame.particles.mass.to_f64(), [1.0, 1.0]);
    /// assert_eq!((&frame.particles.types[..], &frame.particles.typeid[..]), (&["A".to_string()][..], &[0, 0][..]));
    /// ```
    pub fn new(n: u32) -> Self {
        Self { particles: Particles::new(n), ..Self::default() }
    }

    /// Returns the same frame in another periodic box: lengths `lx`, `ly`, `lz` and tilts `xy`, `xz`, `yz`.
    ///
    /// ```
    /// use gsd_rs::hoomd::Frame;
    ///
    /// let frame = Frame::new(2).with_box([10.0f32, 10.0, 20.0, 0.0, 0.0, 0.0]);
    /// assert_eq!(frame.configuration.periodic_box.get(2), Some(20.0));
    /// ```
    #[must_use]
    pub fn with_box(mut self, periodic_box: impl Into<Reals>) -> Self {
        self.configuration.periodic_box = periodic_box.into();
        self
    }

    pub(crate) fn load(source: &Source<'_>) -> Result<Self> {
        Ok(Self {
            configuration: Configuration::load(source)?,
            particles: Particles::load(source)?,
            bonds: Bonds::load(source, "bonds")?,
            angles: Bonds::load(source, "angles")?,
            dihedrals: Bonds::load(source, "dihedrals")?,
            impropers: Bonds::load(source, "impropers")?,
            constraints: Constraints::load(source)?,
            pairs: Bonds::load(source, "pairs")?,
            log: log::load(source)?,
        })
    }

    pub(crate) fn store<S: ReadAt + WriteAt>(&self, sink: &mut Sink<'_, S>) -> Result<()> {
        self.configuration.store(sink)?;
        self.particles.store(sink)?;
        self.bonds.store(sink, "bonds")?;
        self.angles.store(sink, "angles")?;
        self.dihedrals.store(sink, "dihedrals")?;
        self.impropers.store(sink, "impropers")?;
        self.constraints.store(sink)?;
        self.pairs.store(sink, "pairs")?;
        log::store(&self.log, sink)?;
        if sink.stored == 0 {
            // A frame without chunks at the end of a file would not exist.
            sink.store(false, |writer| writer.write("configuration/step", 1, &[self.configuration.step]))?;
        }
        Ok(())
    }

    /// Checks the rules that concern several lists. The lengths of the lists are checked when they are written.
    pub(crate) fn validate(&self, doubles: bool) -> Result<()> {
        let particles = self.particles.n;
        self.particles.validate()?;
        self.bonds.validate("bonds", particles)?;
        self.angles.validate("angles", particles)?;
        self.dihedrals.validate("dihedrals", particles)?;
        self.impropers.validate("impropers", particles)?;
        self.constraints.validate(particles)?;
        self.pairs.validate("pairs", particles)?;
        if !matches!(self.configuration.dimensions, 2 | 3) {
            let problem = format!("are {}, but must be 2 or 3", self.configuration.dimensions);
            return Err(Error::usage("dimensions", problem));
        }
        let own = [&self.configuration.periodic_box, &self.constraints.value];
        if !doubles && own.into_iter().chain(self.particles.reals()).any(|reals| reals.as_f64().is_some()) {
            return Err(Error::usage(
                "values",
                "have double precision, which needs version 2.0 of the schema",
            ));
        }
        Ok(())
    }
}
