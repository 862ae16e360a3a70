//! HOOMD trajectories: every chunk of the schema, inheritance, defaults, logs and validation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::ops::Bound;

use gsd_rs::hoomd::{Bonds, Column, Constraints, Data, Frame, Quantity, Reals, Trajectory, TrajectoryWriter};
use gsd_rs::{CreateOptions, Error, Limits, OpenOptions, Reader, Version, Writer};

fn blank(version: Version) -> Writer<Vec<u8>> {
    Writer::create_in(Vec::new(), &CreateOptions::new("test", "hoomd", version)).unwrap()
}

fn written(frames: &[Frame]) -> Trajectory {
    let mut writer = TrajectoryWriter::on(blank(Version::new(2, 0))).unwrap();
    frames.iter().for_each(|frame| writer.append(frame).unwrap());
    Trajectory::new(Reader::from_bytes(writer.into_bytes().unwrap()).unwrap()).unwrap()
}

fn raw(write: impl FnOnce(&mut Writer<Vec<u8>>)) -> Trajectory {
    let mut writer = blank(Version::new(1, 4));
    write(&mut writer);
    Trajectory::new(Reader::from_bytes(writer.into_bytes().unwrap()).unwrap()).unwrap()
}

/// Returns a frame in which everything differs from the defaults, and from the same frame with another `seed`.
fn full(n: u32, seed: u32, double: bool) -> Frame {
    let reals = |columns: u32, offset: u32| -> Reals {
        let values = (0..n * columns).map(|i| f64::from(i * 7 + offset + seed * 100) / 8.0 + 2.0);
        if double {
            values.map(|v| v + 1e-12).collect::<Vec<_>>().into()
        } else {
            values.map(|v| v as f32).collect::<Vec<_>>().into()
        }
    };
    fn bonds<const M: usize>(rows: u32, seed: u32, n: u32) -> Bonds<M> {
        Bonds {
            types: vec!["x".into(), "a longer name".into()],
            typeid: (0..rows).map(|i| (i + seed) % 2).collect(),
            group: (0..rows).map(|i| std::array::from_fn(|j| (i + j as u32 + seed) % n)).collect(),
        }
    }
    let mut frame = Frame::new(n);
    frame.configuration.step = 1 << 40 | u64::from(seed);
    frame.configuration.dimensions = 2;
    frame.configuration.periodic_box = match double {
        true => vec![1.1f64, 2.2, 3.3, 0.1, 0.2, f64::from(seed)].into(),
        false => vec![1.5f32, 2.5, 3.5, 0.25, 0.5, seed as f32].into(),
    };
    let p = &mut frame.particles;
    p.types = vec!["A".into(), "äöü".into(), format!("type {seed}")];
    p.type_shapes = vec![r#"{"type":"Sphere","diameter":2.0}"#.into(), "{}".into(), "{}".into()];
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
    frame.log.insert("energy".into(), f64::from(seed).into());
    frame.log.insert("note".into(), format!("step {seed}").as_str().into());
    frame.log.insert(
        "particles/force".into(),
        Quantity::new(3, Data::F32(vec![seed as f32; 3 * n as usize])).unwrap(),
    );
    frame.log.insert("flags".into(), vec![seed as u8, 1].into());
    frame
}

#[test]
fn every_chunk_of_the_schema_in_both_precisions() {
    for double in [false, true] {
        let frames = [full(5, 1, double), full(5, 2, double), full(7, 3, double), full(5, 1, double)];
        let trajectory = written(&frames);
        assert_eq!(trajectory.len(), 4);
        for (i, frame) in frames.iter().enumerate() {
            assert_eq!(&trajectory.frame(i as u64).unwrap(), frame, "frame {i}");
        }
        let all: Vec<Frame> = trajectory.frames(1..3).map(Result::unwrap).collect();
        assert_eq!(all, frames[1..3]);
        // The last frame equals the first, so only the chunk that makes the frame exist is stored.
        assert_eq!(trajectory.reader().chunks(3).count(), 1);
        assert_eq!(trajectory.reader().chunks(0).count(), 1 + 2 + 14 + 5 * 4 + 3 + 4);
    }
}

#[test]
fn a_frame_of_defaults_stores_almost_nothing() {
    let trajectory = written(&[Frame::default(), Frame::new(3), Frame::new(3)]);
    assert_eq!(trajectory.len(), 3);
    let names = |frame| trajectory.reader().chunks(frame).map(|c| c.unwrap().name).collect::<Vec<_>>();
    assert_eq!(names(0), ["configuration/step"]);
    assert_eq!(names(1), ["particles/N"]);
    let frame = trajectory.frame(1).unwrap();
    assert_eq!(frame, Frame::new(3));
    assert_eq!(frame.particles.types, ["A"]);
    assert_eq!(frame.particles.mass.as_f32(), Some(&[1.0; 3][..]));
    assert_eq!(*frame.particles.body, [-1; 3]);
    assert_eq!(frame.particles.orientation.as_f32().unwrap()[4..8], [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(frame.configuration.periodic_box.to_f64(), [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(frame.configuration.dimensions, 3);
}

#[test]
fn values_come_from_frame_0_only_for_the_same_number_of_particles() {
    let trajectory = raw(|writer| {
        writer.write("particles/N", 1, &[2u32]).unwrap();
        writer.write("particles/mass", 1, &[5.0f32, 6.0]).unwrap();
        writer.write_bytes("particles/types", gsd_rs::ElementType::I8, 3, b"Aa\0B\0\0").unwrap();
        writer.write("configuration/step", 1, &[9u64]).unwrap();
        writer.end_frame().unwrap();
        writer.write("particles/charge", 1, &[1.0f32, 2.0]).unwrap();
        writer.end_frame().unwrap();
        writer.write("particles/N", 1, &[3u32]).unwrap();
        writer.end_frame().unwrap();
    });
    let masses = |frame| trajectory.frame(frame).unwrap().particles.mass.to_f64();
    assert_eq!(masses(1), [5.0, 6.0]);
    assert_eq!(masses(2), [1.0; 3]);
    let last = trajectory.frame(2).unwrap();
    assert_eq!((last.particles.types, last.configuration.step), (vec!["Aa".into(), "B".into()], 9));
    assert_eq!(trajectory.frame(2).unwrap().particles.charge.to_f64(), [0.0; 3]);
    assert_eq!(trajectory.chunk(1, "particles/mass").unwrap().unwrap().frame, 0);
    assert_eq!(trajectory.steps().unwrap(), [9, 9, 9]);
    assert!(matches!(trajectory.frame(3), Err(Error::Usage { argument: "frame", .. })));
}

#[test]
fn logs_are_inherited_and_columns_over_frames() {
    let mut first = Frame::new(2);
    first.log.insert("text".into(), "only in frame 0".into());
    first.log.insert("energy".into(), 1.0.into());
    first.log.insert("pressure".into(), Quantity::new(3, Data::F64(vec![1.0, 2.0, 3.0])).unwrap());
    first.log.insert("varies".into(), vec![1u16].into());
    let mut second = Frame::new(2);
    second.log.insert("energy".into(), 2.0.into());
    second.log.insert("varies".into(), vec![1u16, 2].into());
    let mut third = first.clone();
    third.log.insert("pressure".into(), Quantity::new(3, Data::F64(vec![4.0, 5.0, 6.0])).unwrap());
    let trajectory = written(&[first, second, third.clone()]);

    let log = trajectory.frame(1).unwrap().log;
    assert_eq!(log["text"].as_text(), Some("only in frame 0"));
    assert_eq!(log["energy"].as_f64(), Some(2.0));
    assert_eq!(trajectory.frame(2).unwrap().log, third.log);
    assert_eq!(trajectory.log_names().collect::<Vec<_>>(), ["energy", "pressure", "text", "varies"]);

    let columns = trajectory.read_log().unwrap();
    assert_eq!(
        columns["energy"],
        Column::Regular { rows: 1, columns: 1, data: Data::F64(vec![1.0, 2.0, 1.0]) }
    );
    let pressure = vec![1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(columns["pressure"], Column::Regular { rows: 1, columns: 3, data: Data::F64(pressure) });
    let Column::Varying(texts) = &columns["text"] else { panic!("text has no regular column") };
    assert!(texts.iter().all(|text| text.as_ref().unwrap().as_text() == Some("only in frame 0")));
    let Column::Varying(varies) = &columns["varies"] else { panic!("its length varies") };
    assert_eq!(varies.iter().map(|q| q.as_ref().unwrap().rows()).collect::<Vec<_>>(), [1, 2, 1]);
    assert!(matches!(trajectory.log_column("nothing"), Err(Error::NotFound { .. })));
}

#[test]
fn a_text_logged_in_frame_0_only_is_inherited() {
    // Older writers store text as rows of bytes.
    for old in [false, true] {
        let trajectory = raw(|writer| {
            match old {
                false => writer.write_text("log/text", "said once").unwrap(),
                true => writer.write("log/text", 10, b"said once\0").unwrap(),
            }
            writer.end_frame().unwrap();
            writer.write("configuration/step", 1, &[5u64]).unwrap();
            writer.end_frame().unwrap();
        });
        let log = trajectory.frame(1).unwrap().log;
        match old {
            false => assert_eq!(log["text"].as_text(), Some("said once")),
            true => assert_eq!(log["text"].data(), &Data::U8(b"said once\0".to_vec())),
        }
    }
}

#[test]
fn a_quantity_that_frame_0_lacks_is_refused_and_read_where_others_wrote_it() {
    let mut writer = TrajectoryWriter::on(blank(Version::new(2, 0))).unwrap();
    writer.append(&Frame::new(1)).unwrap();
    let mut later = Frame::new(1);
    later.log.insert("late".into(), 1.0.into());
    assert_eq!(
        writer.append(&later).unwrap_err().to_string(),
        "log contains \"log/late\", which frame 0 lacks; log it in frame 0 too"
    );
    assert_eq!(writer.len(), 1);
    let trajectory = raw(|writer| {
        writer.write("configuration/step", 1, &[0u64]).unwrap();
        writer.end_frame().unwrap();
        writer.write("log/late", 1, &[1.5f64]).unwrap();
        writer.end_frame().unwrap();
        writer.write("configuration/step", 1, &[2u64]).unwrap();
        writer.end_frame().unwrap();
    });
    assert!(trajectory.frame(2).unwrap().log.is_empty());
    assert_eq!(trajectory.log_column("late").unwrap(), Column::Varying(vec![None, Some(1.5.into()), None]));
}

#[test]
fn frames_that_break_the_schema_are_refused_and_leave_nothing() {
    let mut writer = TrajectoryWriter::on(blank(Version::new(1, 4))).unwrap();
    let refused = |writer: &mut TrajectoryWriter<Vec<u8>>, change: &dyn Fn(&mut Frame)| {
        let mut frame = full(4, 1, false);
        change(&mut frame);
        let error = writer.append(&frame).unwrap_err();
        assert!(matches!(error, Error::Usage { .. }));
        error.to_string()
    };
    type Case<'a> = (&'a dyn Fn(&mut Frame), &'a str);
    let cases: [Case<'_>; 10] = [
        (&|f| f.particles.n = 5, "values of particles/typeid are 4 in number, expected 5 rows of 1"),
        (&|f| f.particles.typeid[2] = 3, "typeid of particles contains 3, but there are only 3 types"),
        (
            &|f| f.bonds.group[0] = [0, 4],
            "group of bonds contains particle 4, but there are only 4 particles",
        ),
        (
            &|f| f.constraints.group[0] = [9, 0],
            "group of constraints contains particle 9, but there are only 4 particles",
        ),
        (&|f| f.pairs.typeid[0] = 7, "typeid of pairs contains 7, but there are only 2 types"),
        (&|f| f.configuration.dimensions = 4, "dimensions are 4, but must be 2 or 3"),
        (
            &|f| f.configuration.periodic_box = vec![1.0f32; 3].into(),
            "values of configuration/box are 3 in number, expected 6",
        ),
        (&|f| f.particles.types[0] = "a\0".into(), "text \"a\\0\" of particles/types contains a NUL"),
        (
            &|f| f.particles.type_shapes[0] = "sphere".into(),
            "type_shapes contains \"sphere\", which is not a JSON object",
        ),
        (
            &|f| f.particles.mass = vec![1.5f64; 4].into(),
            "values have double precision, which needs version 2.0 of the schema",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(refused(&mut writer, change), expected);
    }
    let good = full(4, 2, false);
    writer.append(&good).unwrap();
    let bytes = writer.into_bytes().unwrap();
    let trajectory = Trajectory::new(Reader::from_bytes(bytes).unwrap()).unwrap();
    assert_eq!((trajectory.len(), trajectory.frame(0).unwrap()), (1, good));
}

#[test]
fn chunks_of_the_wrong_shape_or_type_are_errors_with_a_place() {
    let broken = |name: &str, write: &dyn Fn(&mut Writer<Vec<u8>>)| {
        let trajectory = raw(|writer| {
            writer.write("particles/N", 1, &[2u32]).unwrap();
            write(writer);
            writer.end_frame().unwrap();
        });
        let error = trajectory.frame(0).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{name}: {error}");
        error.to_string()
    };
    assert_eq!(
        broken("rows", &|w| w.write("particles/mass", 1, &[1.0f32; 3]).unwrap()),
        "malformed index entry at offset 0x128: N is 3, expected 2"
    );
    assert_eq!(
        broken("columns", &|w| w.write("particles/position", 2, &[1.0f32; 4]).unwrap()),
        "malformed index entry at offset 0x138: M is 2, expected 3"
    );
    assert_eq!(
        broken("type", &|w| w.write("particles/mass", 1, &[1u32; 2]).unwrap()),
        "malformed index entry at offset 0x13e: type is 3 (0x3), which is not defined"
    );
    assert_eq!(
        broken("text", &|w| w.write("particles/types", 2, &[0xFFu8, 0]).unwrap()),
        "malformed data chunk at offset 0x1504: text is not valid text"
    );
    broken("box", &|w| w.write("configuration/box", 1, &[1.0f32; 5]).unwrap());
}

#[test]
fn particles_that_are_only_declared_pass_a_limit() {
    let mut writer = blank(Version::new(1, 4));
    writer.write("particles/N", 1, &[u32::MAX]).unwrap();
    writer.end_frame().unwrap();
    let options = OpenOptions::default().with_limits(Limits::default().with_memory(1 << 20));
    let reader = Reader::from_storage(writer.into_bytes().unwrap(), &options).unwrap();
    let error = Trajectory::new(reader).unwrap().frame(0).unwrap_err();
    assert!(matches!(error, Error::LimitExceeded { .. }), "{error}");
}

#[test]
fn older_files_store_groups_as_signed_numbers() {
    let file = |members: [i32; 4]| {
        raw(|writer| {
            writer.write("bonds/N", 1, &[2u32]).unwrap();
            writer.write("bonds/group", 2, &members).unwrap();
            writer.end_frame().unwrap();
        })
    };
    assert_eq!(file([0, 1, 2, 3]).frame(0).unwrap().bonds.group[..], [[0, 1], [2, 3]]);
    let error = file([0, 1, 2, -3]).frame(0).unwrap_err().to_string();
    assert!(error.ends_with("particle is negative"), "{error}");
}

#[test]
fn sessions_append_to_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sessions.gsd");
    let frames: Vec<Frame> = (0..6).map(|seed| full(4 + seed / 3, seed, false)).collect();
    let mut writer = TrajectoryWriter::create(&path, "first").unwrap();
    writer.append(&frames[0]).unwrap();
    // The first frame is in the file at once.
    assert_eq!(Trajectory::open(&path).unwrap().frame(0).unwrap(), frames[0]);
    writer.finish().unwrap();
    for pair in frames[1..].chunks(2) {
        let mut writer = TrajectoryWriter::append_to(&path).unwrap();
        pair.iter().for_each(|frame| writer.append(frame).unwrap());
        writer.finish().unwrap();
    }
    let mut trajectory = Trajectory::open(&path).unwrap();
    let read: Vec<Frame> = trajectory.frames(0..6).map(Result::unwrap).collect();
    assert!(read == frames);
    let mut writer = TrajectoryWriter::append_to(&path).unwrap();
    writer.append(&frames[2]).unwrap();
    writer.flush().unwrap();
    assert_eq!(trajectory.refresh().unwrap(), 7);
    assert_eq!(trajectory.frame(6).unwrap(), frames[2]);
}

#[test]
fn nothing_is_inherited_from_frames_that_were_removed() {
    let mut writer = TrajectoryWriter::on(blank(Version::new(2, 0))).unwrap();
    writer.append(&full(3, 1, false)).unwrap();
    writer.append(&full(3, 2, false)).unwrap();
    writer.writer().truncate().unwrap();
    writer.append(&full(3, 1, false)).unwrap();
    let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes().unwrap()).unwrap()).unwrap();
    assert_eq!(trajectory.len(), 1);
    assert!(trajectory.frame(0).unwrap() == full(3, 1, false));
}

#[test]
fn other_schemas_are_refused() {
    let mut writer =
        Writer::create_in(Vec::new(), &CreateOptions::new("t", "other", Version::new(1, 0))).unwrap();
    writer.write("a", 1, &[1u8]).unwrap();
    writer.end_frame().unwrap();
    let reader = Reader::from_bytes(writer.into_bytes().unwrap()).unwrap();
    assert_eq!(Trajectory::new(reader).unwrap_err().to_string(), "schema \"other\" is not supported");
    let newer = Reader::from_bytes(blank(Version::new(3, 0)).into_bytes().unwrap()).unwrap();
    assert_eq!(Trajectory::new(newer).unwrap_err().to_string(), "schema hoomd 3.0 is not supported");
}

#[test]
fn a_property_over_frames_is_one_array() {
    let frames: Vec<Frame> = (0..5).map(|seed| full(4, seed, seed % 2 == 1)).collect();
    let trajectory = written(&frames);
    for (name, column) in [("position", 3u64), ("orientation", 4), ("mass", 1)] {
        let all = trajectory.property::<f64>(&format!("particles/{name}"), 1..5).unwrap();
        assert_eq!(all.shape(), [4, 4, column]);
        assert_eq!(all.frames().len(), 4);
        for (frame, values) in frames.iter().skip(1).zip(all.frames()) {
            let particles = &frame.particles;
            let expected = match name {
                "position" => &particles.position,
                "orientation" => &particles.orientation,
                _ => &particles.mass,
            };
            assert_eq!(values, expected.to_f64());
        }
    }
    let body = trajectory.property::<i32>("particles/body", 0..5).unwrap().into_values();
    assert_eq!(body, frames.iter().flat_map(|frame| frame.particles.body.to_vec()).collect::<Vec<_>>());
    let angles = trajectory.property::<u32>("angles/group", 2..3).unwrap();
    assert_eq!((angles.shape(), angles.values()), (&[1, 2, 3][..], frames[2].angles.group.as_flattened()));
    let sides = trajectory.property::<f64>("configuration/box", 3..4).unwrap();
    assert_eq!(sides.shape(), [1, 1, 6]);
    assert_eq!(sides.values(), frames[3].configuration.periodic_box.to_f64());
    assert_eq!(trajectory.property::<u8>("particles/mass", 2..2).unwrap().shape(), [0, 0, 0]);
    let position =
        |frames: (Bound<u64>, Bound<u64>)| trajectory.property::<f64>("particles/position", frames);
    let all = position((Bound::Unbounded, Bound::Unbounded)).unwrap();
    assert_eq!(all, trajectory.property("particles/position", 0..5).unwrap());
    let some = position((Bound::Excluded(0), Bound::Included(2))).unwrap();
    assert_eq!(some, trajectory.property("particles/position", 1..3).unwrap());
    assert!(matches!(position((Bound::Included(0), Bound::Included(u64::MAX))), Err(Error::Usage { .. })));
    assert_eq!(trajectory.frames(..=1).map(Result::unwrap).collect::<Vec<_>>(), frames[..2]);
}

#[test]
fn a_property_is_inherited_or_the_default() {
    let mut first = Frame::new(2);
    first.particles.charge = vec![1.0f32, -1.0].into();
    let (same, mut more) = (first.clone(), Frame::new(3));
    more.particles.charge = vec![0.0f32; 3].into();
    let trajectory = written(&[first, same, more]);
    assert_eq!(trajectory.property::<i8>("particles/charge", 0..2).unwrap().values(), [1, -1, 1, -1]);
    let default = trajectory.property::<f32>("particles/orientation", 2..3).unwrap();
    assert_eq!((default.shape(), default.values().len()), (&[1, 3, 4][..], 12));
    assert_eq!(default.values()[..5], [1.0, 0.0, 0.0, 0.0, 1.0]);
    let error = trajectory.property::<f32>("particles/charge", 0..3).unwrap_err();
    let text = "frames have 2 × 1 elements of particles/charge in frame 0, but 3 × 1 in frame 2";
    assert_eq!(error.to_string(), text);
    let Err(Error::Misfit(misfit)) = trajectory.property::<u8>("particles/charge", 0..2) else {
        panic!("-1 is no u8")
    };
    assert_eq!(misfit.index, 1);
    assert!(matches!(trajectory.property::<u8>("particles/body", 0..1), Err(Error::Misfit(_)))); // -1
    assert!(matches!(trajectory.property::<f32>("particles/spin", 0..1), Err(Error::NotFound { .. })));
    assert!(matches!(trajectory.property::<f32>("particles/charge", 2..4), Err(Error::Usage { .. })));
}

#[test]
fn a_large_property_is_read_by_several_threads() {
    let frames: Vec<Frame> = (0..7u32)
        .map(|number| {
            let mut frame = Frame::new(100_000);
            frame.particles.position = (0..300_000).map(|i| (i + number) as f32).collect::<Vec<_>>().into();
            frame
        })
        .collect();
    let trajectory = written(&frames);
    let all = trajectory.property::<f64>("particles/position", 0..7).unwrap();
    assert!(all.frames().zip(0u32..).all(|(frame, number)| {
        frame.iter().zip(0u32..).all(|(value, i)| *value == f64::from(i + number))
    }));
    let wrong = trajectory.property::<u16>("particles/position", 0..7).unwrap_err();
    assert!(matches!(wrong, Error::Misfit(ref misfit) if misfit.index == 65_536), "{wrong:?}");
}
