//! `particles/…`: the particles and their properties.

use sciformats_core::{Error, ReadAt, Result, WriteAt, bound};

use super::source::{Shape, Sink, Source};
use super::values::Values;
use super::{List, Reals};

/// The particles. All lists have one row per particle.
///
/// ```
/// use gsd_rs::hoomd::Frame;
///
/// let mut frame = Frame::new(3);
/// let particles = &mut frame.particles;
/// particles.types = vec!["O".into(), "H".into()];
/// particles.typeid = vec![0, 1, 1].into();
/// particles.mass = vec![15.999f64, 1.008, 1.008].into();
/// let names: Vec<&str> = particles.typeid.iter().map(|&id| particles.types[id as usize].as_str()).collect();
/// assert_eq!(names, ["O", "H", "H"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Particles {
    /// The number of particles.
    pub n: u32,
    /// The names of the types.
    pub types: Vec<String>,
    /// The type of each particle: a position in `types`.
    pub typeid: List<u32>,
    /// For each type, a JSON object that describes its shape for drawing. It is not interpreted here.
    pub type_shapes: Vec<String>,
    /// The masses.
    pub mass: Reals,
    /// The charges.
    pub charge: Reals,
    /// The diameters.
    pub diameter: Reals,
    /// The rigid body to which each particle belongs, or -1.
    pub body: List<i32>,
    /// The moments of inertia, 3 per particle, in the particle's own frame of reference.
    pub moment_inertia: Reals,
    /// The positions, 3 per particle, inside the box.
    pub position: Reals,
    /// The orientations, which are quaternions of 4 numbers. The scalar is the first.
    pub orientation: Reals,
    /// The velocities, 3 per particle.
    pub velocity: Reals,
    /// The angular momenta, which are quaternions of 4 numbers.
    pub angmom: Reals,
    /// How often each particle has left the box, 3 per particle.
    pub image: List<i32>,
}

const ONE: Shape = Shape { columns: 1, default: &[1.0] };
const ZERO: Shape = Shape { columns: 1, default: &[0.0] };
const MINUS_ONE: Shape = Shape { columns: 1, default: &[-1.0] };
const VECTOR: Shape = Shape { columns: 3, default: &[0.0] };
const QUATERNION: Shape = Shape { columns: 4, default: &[0.0] };
const UNIT_QUATERNION: Shape = Shape { columns: 4, default: &[1.0, 0.0, 0.0, 0.0] };

/// Returns the shape and the default of a property of numbers.
pub(crate) fn shape(property: &str) -> Option<Shape> {
    Some(match property {
        "mass" | "diameter" => ONE,
        "typeid" | "charge" => ZERO,
        "body" => MINUS_ONE,
        "moment_inertia" | "position" | "velocity" | "image" => VECTOR,
        "orientation" => UNIT_QUATERNION,
        "angmom" => QUATERNION,
        _ => return None,
    })
}

impl Default for Particles {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Particles {
    /// Creates `n` particles with the defaults of the schema.
    ///
    /// ```
    /// use gsd_rs::hoomd::Particles;
    ///
    /// let particles = Particles::new(2);
    /// assert_eq!(particles.orientation.to_f64(), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    /// assert_eq!(particles.body[..], [-1, -1]);
    /// ```
    pub fn new(n: u32) -> Self {
        let rows = bound::addressable(n.into());
        let zeros = |columns| Reals::filled(&[0.0].repeat(columns), rows);
        Self {
            n,
            types: vec!["A".into()],
            typeid: List::filled(ZERO.default, rows),
            type_shapes: vec!["{}".into()],
            mass: Reals::filled(ONE.default, rows),
            charge: zeros(1),
            diameter: Reals::filled(ONE.default, rows),
            body: List::filled(MINUS_ONE.default, rows),
            moment_inertia: zeros(3),
            position: zeros(3),
            orientation: Reals::filled(UNIT_QUATERNION.default, rows),
            velocity: zeros(3),
            angmom: zeros(4),
            image: vec![0; bound::product(rows, 3)].into(),
        }
    }

    pub(crate) fn load(source: &Source<'_>) -> Result<Self> {
        let n = source.count("particles/N")?;
        Ok(Self {
            n,
            types: source.texts("particles/types", &["A"])?,
            typeid: source.rows("particles/typeid", ZERO, n)?,
            type_shapes: source.texts("particles/type_shapes", &["{}"])?,
            mass: source.rows("particles/mass", ONE, n)?,
            charge: source.rows("particles/charge", ZERO, n)?,
            diameter: source.rows("particles/diameter", ONE, n)?,
            body: source.rows("particles/body", MINUS_ONE, n)?,
            moment_inertia: source.rows("particles/moment_inertia", VECTOR, n)?,
            position: source.rows("particles/position", VECTOR, n)?,
            orientation: source.rows("particles/orientation", UNIT_QUATERNION, n)?,
            velocity: source.rows("particles/velocity", VECTOR, n)?,
            angmom: source.rows("particles/angmom", QUATERNION, n)?,
            image: source.rows("particles/image", VECTOR, n)?,
        })
    }

    pub(crate) fn store<S: ReadAt + WriteAt>(&self, sink: &mut Sink<'_, S>) -> Result<()> {
        let n = self.n;
        sink.count("particles/N", n)?;
        sink.texts("particles/types", &["A"], &self.types)?;
        sink.rows("particles/typeid", ZERO, n, &self.typeid)?;
        sink.texts("particles/type_shapes", &["{}"], &self.type_shapes)?;
        sink.rows("particles/mass", ONE, n, &self.mass)?;
        sink.rows("particles/charge", ZERO, n, &self.charge)?;
        sink.rows("particles/diameter", ONE, n, &self.diameter)?;
        sink.rows("particles/body", MINUS_ONE, n, &self.body)?;
        sink.rows("particles/moment_inertia", VECTOR, n, &self.moment_inertia)?;
        sink.rows("particles/position", VECTOR, n, &self.position)?;
        sink.rows("particles/orientation", UNIT_QUATERNION, n, &self.orientation)?;
        sink.rows("particles/velocity", VECTOR, n, &self.velocity)?;
        sink.rows("particles/angmom", QUATERNION, n, &self.angmom)?;
        sink.rows("particles/image", VECTOR, n, &self.image)
    }

    /// Checks the rules of the schema that concern several lists.
    pub(crate) fn validate(&self) -> Result<()> {
        check_types("particles", &self.types, &self.typeid)?;
        match self.type_shapes.iter().find(|text| !(text.starts_with('{') && text.ends_with('}'))) {
            Some(text) => {
                Err(Error::usage("type_shapes", format!("contains {text:?}, which is not a JSON object")))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn reals(&self) -> impl Iterator<Item = &Reals> {
        [
            &self.mass,
            &self.charge,
            &self.diameter,
            &self.moment_inertia,
            &self.position,
            &self.orientation,
            &self.velocity,
            &self.angmom,
        ]
        .into_iter()
    }
}

/// Checks that each typeid names one of the types.
pub(crate) fn check_types(group: &str, types: &[String], typeid: &[u32]) -> Result<()> {
    match typeid.iter().find(|&&id| u64::from(id) >= types.len() as u64) {
        Some(id) => {
            let problem = format!("of {group} contains {id}, but there are only {} types", types.len());
            Err(Error::usage("typeid", problem))
        }
        None => Ok(()),
    }
}
