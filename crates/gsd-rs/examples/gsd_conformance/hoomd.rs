//! The cases of the HOOMD schema.

use std::path::Path;

use gsd_rs::Result;
use gsd_rs::hoomd::{
    Bonds, Column, Constraints, Data, Frame, Particles, Quantity, Reals, Trajectory, TrajectoryWriter,
};

use crate::{Verdict, equal, say};

/// Returns a frame in which everything differs from the defaults.
fn full(n: u32, seed: u32, double: bool) -> Frame {
    fn bonds<const M: usize>(rows: u32, seed: u32, n: u32) -> Bonds<M> {
        Bonds {
            types: vec!["x".into(), "a longer name".into()],
            typeid: (0..rows).map(|i| (i + seed) % 2).collect(),
            group: (0..rows).map(|i| std::array::from_fn(|j| (i + j as u32 + seed) % n)).collect(),
        }
    }
    let reals = |columns: u32, offset: u32| -> Reals {
        let values = (0..n * columns).map(|i| f64::from((i * 7 + offset + seed * 100) % 1000) / 8.0 + 2.0);
        in_precision(values, double)
    };
    let mut frame = Frame::new(n);
    frame.configuration.step = 1 << 40 | u64::from(seed);
    frame.configuration.dimensions = 2;
    // The lengths are exact in single precision, because the other side converts the box to it.
    let lengths = [1.5f32, 2.5, 3.5, 0.25, 0.5, seed as f32];
    frame.configuration.periodic_box =
        if double { lengths.map(f64::from).to_vec().into() } else { lengths.to_vec().into() };
    let p = &mut frame.particles;
    p.types = vec!["A".into(), "long type name".into(), format!("type {seed}")];
    p.type_shapes = vec![r#"{"type": "Sphere", "diameter": 2.0}"#.into(), "{}".into(), "{}".into()];
    p.typeid = (0..n).map(|i| (i + seed) % 3).collect();
    (p.mass, p.charge, p.diameter) = (reals(1, 1), reals(1, 2), reals(1, 3));
    (p.moment_inertia, p.position, p.velocity) = (reals(3, 4), reals(3, 5), reals(3, 6));
    (p.orientation, p.angmom) = (reals(4, 7), reals(4, 8));
    p.body = (0..n).map(|i| (i + seed) as i32 - 3).collect();
    p.image = (0..3 * n).map(|i| (i + seed) as i32 - 9).collect();
    frame.bonds = bonds(3, seed, n);
    frame.angles = bonds(2, seed, n);
    frame.dihedrals = bonds(4, seed, n);
    frame.impropers = bonds(1, seed, n);
    frame.pairs = bonds(5, seed, n);
    frame.constraints = Constraints { value: reals(1, 9), group: vec![[0, seed % n]; n as usize].into() };
    frame
}

fn in_precision(values: impl Iterator<Item = f64>, double: bool) -> Reals {
    if double {
        values.map(|value| value + 1e-12).collect::<Vec<_>>().into()
    } else {
        values.map(|value| value as f32).collect::<Vec<_>>().into()
    }
}

/// Returns a complete frame 0, a frame with other positions, and a frame with another number of particles and without bonds.
fn partial() -> Vec<Frame> {
    let first = full(5, 1, false);
    let mut second = first.clone();
    second.configuration.step = 77;
    second.particles.position = full(5, 2, false).particles.position;
    let mut third = Frame { configuration: first.configuration.clone(), ..Frame::new(6) };
    third.particles = Particles {
        types: first.particles.types.clone(),
        type_shapes: first.particles.type_shapes.clone(),
        ..Particles::new(6)
    };
    let types = || vec!["x".into(), "a longer name".into()];
    third.bonds.types = types();
    third.angles.types = types();
    third.dihedrals.types = types();
    third.impropers.types = types();
    third.pairs.types = types();
    vec![first, second, third]
}

fn logged(seed: u32) -> Frame {
    let mut frame = Frame::new(2);
    frame.configuration.step = u64::from(seed) * 10;
    let vector = (0..6).map(|k| f64::from(seed * 6 + k) / 4.0).collect();
    frame.log.insert("energy".into(), (f64::from(seed) / 8.0).into());
    frame.log.insert("vector".into(), Quantity::new(3, Data::F64(vector)).unwrap_or_else(|_| 0.0.into()));
    frame.log.insert("particles/count".into(), vec![seed, seed + 1].into());
    frame.log.insert("note".into(), format!("frame {seed}").as_str().into());
    frame
}

const CASES: [&str; 5] = ["hoomd-single", "hoomd-double", "hoomd-defaults", "hoomd-partial", "hoomd-log"];

fn frames(case: &str) -> Vec<Frame> {
    let sizes = [(5, 1), (5, 2), (7, 3), (5, 4)];
    match case {
        "hoomd-single" => sizes.map(|(n, seed)| full(n, seed, false)).into(),
        "hoomd-double" => sizes.map(|(n, seed)| full(n, seed, true)).into(),
        "hoomd-partial" => partial(),
        "hoomd-log" => (0..10).map(logged).collect(),
        _ => (1..4)
            .map(|n| {
                let mut frame = Frame::new(n);
                frame.configuration.step = n.into();
                frame
            })
            .collect(),
    }
}

pub(crate) fn write(folder: &Path) -> Result<()> {
    for case in CASES {
        let mut writer = TrajectoryWriter::create(folder.join(format!("{case}.gsd")), "conformance")?;
        frames(case).iter().try_for_each(|frame| writer.append(frame))?;
        writer.finish()?;
    }
    Ok(())
}

pub(crate) fn check(folder: &Path) {
    for case in CASES {
        let trajectory = match Trajectory::open(folder.join(format!("{case}.gsd"))) {
            Ok(trajectory) => trajectory,
            Err(error) => {
                say(case, "open", Err(error.to_string()));
                continue;
            }
        };
        let expected = frames(case);
        say(case, "number of frames", equal("it", &trajectory.len(), &(expected.len() as u64)));
        for (i, frame) in expected.iter().enumerate() {
            let verdict = match trajectory.frame(i as u64) {
                Ok(found) => compare(&found, frame),
                Err(error) => Err(error.to_string()),
            };
            say(case, &format!("frame {i}"), verdict);
        }
        if case == "hoomd-log" {
            say(case, "columns", columns(&trajectory));
        }
    }
}

fn compare(found: &Frame, expected: &Frame) -> Verdict {
    equal("configuration", &found.configuration, &expected.configuration)?;
    let (a, b) = (&found.particles, &expected.particles);
    equal("N", &a.n, &b.n)?;
    equal("types", &a.types, &b.types)?;
    equal("type_shapes", &a.type_shapes, &b.type_shapes)?;
    equal("typeid", &a.typeid, &b.typeid)?;
    equal("mass", &a.mass, &b.mass)?;
    equal("charge", &a.charge, &b.charge)?;
    equal("diameter", &a.diameter, &b.diameter)?;
    equal("body", &a.body, &b.body)?;
    equal("moment_inertia", &a.moment_inertia, &b.moment_inertia)?;
    equal("position", &a.position, &b.position)?;
    equal("orientation", &a.orientation, &b.orientation)?;
    equal("velocity", &a.velocity, &b.velocity)?;
    equal("angmom", &a.angmom, &b.angmom)?;
    equal("image", &a.image, &b.image)?;
    equal("bonds", &found.bonds, &expected.bonds)?;
    equal("angles", &found.angles, &expected.angles)?;
    equal("dihedrals", &found.dihedrals, &expected.dihedrals)?;
    equal("impropers", &found.impropers, &expected.impropers)?;
    equal("constraints", &found.constraints, &expected.constraints)?;
    equal("pairs", &found.pairs, &expected.pairs)?;
    equal("log", &found.log, &expected.log)
}

fn columns(trajectory: &Trajectory) -> Verdict {
    let columns = trajectory.read_log().map_err(|e| e.to_string())?;
    let energy: Vec<f64> = (0..10).map(|i| f64::from(i) / 8.0).collect();
    let vector: Vec<f64> = (0..60).map(|k| f64::from(k) / 4.0).collect();
    let regular = |rows, columns, data| Some(Column::Regular { rows, columns, data });
    equal("energy", &columns.get("energy").cloned(), &regular(1, 1, Data::F64(energy)))?;
    equal("vector", &columns.get("vector").cloned(), &regular(2, 3, Data::F64(vector)))?;
    equal("steps", &trajectory.steps().map_err(|e| e.to_string())?, &(0..10).map(|i| i * 10).collect())?;
    match columns.get("note") {
        Some(Column::Varying(notes)) => {
            let found: Vec<_> = notes.iter().map(|note| note.as_ref().and_then(Quantity::as_text)).collect();
            let expected: Vec<String> = (0..10).map(|i| format!("frame {i}")).collect();
            equal("note", &found, &expected.iter().map(|text| Some(text.as_str())).collect())
        }
        _ => Err("note is no column of texts".into()),
    }
}
