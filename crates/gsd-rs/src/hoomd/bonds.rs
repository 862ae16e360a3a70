//! `bonds/…`, `angles/…`, `dihedrals/…`, `impropers/…`, `pairs/…` and `constraints/…`: groups of particles.

use sciformats_core::{Error, ReadAt, Result, WriteAt};

use super::particles::check_types;
use super::source::{Shape, Sink, Source};
use super::{List, Reals};

/// Groups of `M` particles each, which have a type.
///
/// ```
/// use gsd_rs::hoomd::{Bonds, Frame};
///
/// // A molecule of water: the oxygen is particle 0.
/// let mut frame = Frame::new(3);
/// frame.bonds =
///     Bonds { types: vec!["O-H".into()], typeid: vec![0, 0].into(), group: vec![[0, 1], [0, 2]].into() };
/// frame.angles = Bonds { types: vec!["H-O-H".into()], typeid: vec![0].into(), group: vec![[1, 0, 2]].into() };
/// assert_eq!(frame.bonds.group[1], [0, 2]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bonds<const M: usize> {
    /// The names of the types.
    pub types: Vec<String>,
    /// The type of each group: a position in `types`.
    pub typeid: List<u32>,
    /// The particles of each group.
    pub group: List<[u32; M]>,
}

const ZERO: Shape = Shape { columns: 1, default: &[0.0] };

fn columns(m: usize) -> Shape {
    Shape { columns: u32::try_from(m).unwrap_or(u32::MAX), default: &[0.0] } // a bound: groups have few members
}

/// Returns the shape and the default of a property of numbers.
pub(crate) fn shape(group: &str, property: &str) -> Option<Shape> {
    let members = match group {
        "bonds" | "pairs" | "constraints" => 2,
        "angles" => 3,
        "dihedrals" | "impropers" => 4,
        _ => return None,
    };
    match property {
        "group" => Some(columns(members)),
        "typeid" if group != "constraints" => Some(ZERO),
        "value" if group == "constraints" => Some(ZERO),
        _ => None,
    }
}

fn size(group: &str, groups: usize) -> Result<u32> {
    u32::try_from(groups).map_err(|_| Error::usage("group", format!("of {group} has 2^32 rows or more")))
}

impl<const M: usize> Bonds<M> {
    pub(crate) fn load(source: &Source<'_>, group: &str) -> Result<Self> {
        let n = source.count(&format!("{group}/N"))?;
        Ok(Self {
            types: source.texts(&format!("{group}/types"), &[])?,
            typeid: source.rows(&format!("{group}/typeid"), ZERO, n)?,
            group: source.rows(&format!("{group}/group"), columns(M), n)?,
        })
    }

    pub(crate) fn store<S: ReadAt + WriteAt>(&self, sink: &mut Sink<'_, S>, group: &str) -> Result<()> {
        let n = size(group, self.group.len())?;
        sink.count(&format!("{group}/N"), n)?;
        sink.texts(&format!("{group}/types"), &[], &self.types)?;
        sink.rows(&format!("{group}/typeid"), ZERO, n, &self.typeid)?;
        sink.rows(&format!("{group}/group"), columns(M), n, &self.group)
    }

    pub(crate) fn validate(&self, group: &'static str, particles: u32) -> Result<()> {
        check_types(group, &self.types, &self.typeid)?;
        check_members(group, self.group.as_flattened(), particles)
    }
}

/// Pairs of particles at a fixed distance.
///
/// ```
/// use gsd_rs::hoomd::{Constraints, Frame};
///
/// let mut frame = Frame::new(2);
/// frame.constraints = Constraints { value: vec![0.96f64].into(), group: vec![[0, 1]].into() };
/// assert_eq!(frame.constraints.value.get(0), Some(0.96));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constraints {
    /// The distance of each pair.
    pub value: Reals,
    /// The two particles of each pair.
    pub group: List<[u32; 2]>,
}

impl Constraints {
    pub(crate) fn load(source: &Source<'_>) -> Result<Self> {
        let n = source.count("constraints/N")?;
        Ok(Self {
            value: source.rows("constraints/value", ZERO, n)?,
            group: source.rows("constraints/group", columns(2), n)?,
        })
    }

    pub(crate) fn store<S: ReadAt + WriteAt>(&self, sink: &mut Sink<'_, S>) -> Result<()> {
        let n = size("constraints", self.group.len())?;
        sink.count("constraints/N", n)?;
        sink.rows("constraints/value", ZERO, n, &self.value)?;
        sink.rows("constraints/group", columns(2), n, &self.group)
    }

    pub(crate) fn validate(&self, particles: u32) -> Result<()> {
        check_members("constraints", self.group.as_flattened(), particles)
    }
}

fn check_members(group: &str, members: &[u32], particles: u32) -> Result<()> {
    match members.iter().find(|&&member| member >= particles) {
        Some(member) => {
            let problem =
                format!("of {group} contains particle {member}, but there are only {particles} particles");
            Err(Error::usage("group", problem))
        }
        None => Ok(()),
    }
}
