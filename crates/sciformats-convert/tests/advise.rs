//! Advice is held against what comes true: the file is repacked as planned, and its size and the cost of reading it are compared
//! with the prediction. The options that plans use do what they say.

#![cfg(feature = "hdf5")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use hdf5_pure::options::Bound;
use hdf5_pure::structure::Layout;
use hdf5_pure::{CreateOptions, Writer};
use sciformats::{Error, hdf5_pure};
use sciformats_convert::advise::{Advice, Options, Profile, Weight, advise};
use sciformats_convert::repack::rewrite;
use sciformats_convert::sink::{Rounding, Rule, WriteOptions};
use sciformats_core::storage::FileStorage;

/// A weather-like field that compresses, with noise in the low bits.
fn field(n: usize) -> Vec<f32> {
    let mut seed = 1u32;
    (0..n)
        .map(|i| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            280.0 + (i as f32 / 700.0).sin() * 8.0 + (seed >> 20) as f32 / 4096.0
        })
        .collect()
}

/// Numbers from -0.5 to 0.5 that tell nothing about each other.
fn noise() -> impl FnMut() -> f64 {
    let mut state = 7u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (state ^ state >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }
}

/// A file whose time has one element in a chunk, and whose field has one time in a chunk.
fn strewn(path: &Path, bound: Bound) {
    let mut made = Writer::overwrite_with(path, &CreateOptions::default().with_bound(bound)).unwrap();
    let (times, y, x) = (1500, 40, 50);
    let mut tas = made
        .dataset("tas")
        .shape([times, y, x])
        .max_shape([None, Some(y), Some(x)])
        .chunks([1, y, x])
        .deflate(1)
        .create::<f32>()
        .unwrap();
    tas.write_all(&field((times * y * x) as usize)).unwrap();
    tas.attribute("units", "K").unwrap();
    let time: Vec<f64> = (0..times).map(|t| t as f64).collect();
    made.dataset("time").shape([times]).max_shape([None]).chunks([1]).write(&time).unwrap();
    made.dataset("lat").write(&[1.0f64; 40]).unwrap();
    made.finish().unwrap();
}

fn advice(path: &Path, profile: Profile) -> Advice {
    let file = Arc::new(sciformats::open(path).unwrap());
    advise(&file, &|| Ok(Arc::new(FileStorage::open(path)?)), &Options::of(profile)).unwrap()
}

fn near(a: u64, b: u64, share: f64) -> bool {
    (a as f64 - b as f64).abs() <= share * b as f64
}

#[test]
fn what_is_predicted_comes_true() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old.h5"), dir.path().join("new.h5"));
    for (bound, profile) in
        [(Bound::V110, Profile::Cloud), (Bound::Earliest, Profile::Cmip7), (Bound::V110, Profile::Local)]
    {
        strewn(&old, bound);
        let before = advice(&old, profile);
        let plan = before.plan.unwrap();
        let file = Arc::new(sciformats::open(&old).unwrap());
        rewrite(&file, &new, &plan.options, None).unwrap();
        let after = advice(&new, profile);
        // Samples are smaller than the new chunks, in which a filter finds a little more.
        assert!(near(plan.size, after.size, 0.05), "{profile:?}: {} became {}", plan.size, after.size);
        assert_eq!(before.accesses.len(), after.accesses.len());
        for (planned, real) in before.accesses.iter().zip(&after.accesses) {
            let then = planned.then.unwrap();
            assert_eq!(planned.name, real.name);
            assert_eq!(
                (then.chunks, then.decoded, then.wanted),
                (real.now.chunks, real.now.decoded, real.now.wanted)
            );
            assert!(
                then.requests.abs_diff(real.now.requests) <= 1 + real.now.requests / 10,
                "{profile:?} {}: {then:?}, {:?}",
                planned.name,
                real.now
            );
            assert!(
                near(then.bytes, real.now.bytes, 0.1),
                "{profile:?} {}: {then:?}, {:?}",
                planned.name,
                real.now
            );
        }
        if profile != Profile::Local {
            assert!(!before.structures.unwrap().is_first());
            assert!(after.structures.unwrap().is_first(), "{profile:?}: {:?}", after.structures);
            assert!(after.structures.unwrap().end <= plan.structures + 100);
        }
        // A second look finds nothing to fail.
        assert!(after.suits(), "{profile:?}: {:?}", after.findings);
        let same = |name| {
            file.array(name).unwrap().read::<f64>().unwrap()
                == sciformats::open(&new).unwrap().array(name).unwrap().read::<f64>().unwrap()
        };
        assert!(same("/tas") && same("/time") && same("/lat"));
    }
}

#[test]
fn rules_are_weighed_by_the_profile() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.h5");
    strewn(&path, Bound::V110);
    let rules = |profile| {
        let advice = advice(&path, profile);
        let failing = advice.findings.iter().filter(|finding| finding.weight == Weight::Failure);
        failing.map(|finding| (finding.rule, finding.path.clone())).collect::<Vec<_>>()
    };
    let cmip7 = rules(Profile::Cmip7);
    for rule in [("cmip7-time", "/time"), ("cmip7-data", "/tas"), ("cmip7-metadata", "/")] {
        assert!(cmip7.contains(&(rule.0, rule.1.into())), "{cmip7:?}");
    }
    assert!(rules(Profile::Cloud).contains(&("tiny-chunks", "/time".into())));
    assert!(rules(Profile::Archive).iter().any(|(rule, _)| *rule == "no-checksum"));
    assert_eq!(rules(Profile::Local), []);
}

#[test]
fn other_formats_are_replayed_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("u.npy");
    let options = WriteOptions::default();
    let mut sink = sciformats_convert::sink::overwrite(&path, sciformats::Format::Npy, &options).unwrap();
    let u = sciformats::memory::array::<f32>(&[1000, 1000], &vec![1.5; 1_000_000]);
    sink.add(sciformats_convert::sink::Place::Root, sciformats_convert::sink::New::Array(u.into())).unwrap();
    sink.finish().unwrap();
    let advice = advice(&path, Profile::Cloud);
    let cost = |name: &str| advice.accesses.iter().find(|access| access.name == name).unwrap().now;
    assert!(advice.suits() && advice.plan.is_none());
    assert_eq!((cost("first").wanted, cost("all").wanted), (4, 4_000_000));
    assert!(cost("all").bytes >= 4_000_000 && cost("open").requests == 1);
}

#[test]
fn structures_come_first_in_any_file() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old.h5"), dir.path().join("new.h5"));
    for (bound, page) in [
        (Bound::Earliest, None),
        (Bound::V110, None),
        (Bound::V110, Some(4096)),
        (Bound::V110, Some(1 << 20)),
    ] {
        strewn(&old, bound);
        let mut options = WriteOptions::default().with_metadata_first(true);
        options.page_size = page;
        rewrite(&Arc::new(sciformats::open(&old).unwrap()), &new, &options, None).unwrap();
        let file = hdf5_pure::File::open(&new).unwrap();
        file.check_space().unwrap();
        assert_eq!(file.file_space().and_then(|info| info.page_size), page);
        let mut first = u64::MAX;
        for name in ["tas", "time"] {
            let dataset = file.dataset(name).unwrap();
            dataset
                .for_each_chunk(&dataset.all().unwrap(), &mut |chunk| {
                    first = first.min(chunk.address.0);
                    Ok(ControlFlow::Continue(()))
                })
                .unwrap();
            let Layout::Chunked(chunked) = dataset.layout().unwrap().clone() else {
                panic!("{name} has no chunks")
            };
            assert!(chunked.address.unwrap().0 < first && dataset.address().0 < first, "{bound:?} {page:?}");
        }
        let advice = advice(&new, Profile::Cloud);
        assert!(advice.structures.unwrap().is_first(), "{bound:?} {page:?}: {:?}", advice.structures);
    }
}

#[test]
fn single_datasets_have_rules_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old.h5"), dir.path().join("new.h5"));
    strewn(&old, Bound::V110);
    let rule = Rule {
        chunks: Some(vec![1500, 10, 10]),
        filter: Some("zlib".into()),
        level: Some(3),
        ..Rule::of("/t?s")
    };
    let options = WriteOptions::default().with_rule(rule);
    rewrite(&Arc::new(sciformats::open(&old).unwrap()), &new, &options, None).unwrap();
    let (a, b) = (sciformats::open(&old).unwrap(), sciformats::open(&new).unwrap());
    assert_eq!(b.array("/tas").unwrap().info().chunks, Some(vec![1500, 10, 10]));
    assert_eq!(b.array("/time").unwrap().info().chunks, Some(vec![1]));
    assert_eq!(
        a.array("/tas").unwrap().read::<f32>().unwrap(),
        b.array("/tas").unwrap().read::<f32>().unwrap()
    );
    let wrong = WriteOptions::default().with_page_size(100);
    let result = rewrite(&Arc::new(sciformats::open(&old).unwrap()), &new, &wrong, None);
    assert!(matches!(result, Err(Error::Usage { argument: "file space", .. })), "{result:?}");
}

#[test]
fn numbers_are_rounded_within_their_bound() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old.h5"), dir.path().join("new.h5"));
    let mut u = field(40_000);
    (u[7], u[9], u[11]) = (1e20, f32::NAN, f32::INFINITY);
    let mut made = Writer::overwrite(&old).unwrap();
    let mut dataset = made.dataset("u").shape([40_000]).chunks([4000]).deflate(4).create::<f32>().unwrap();
    dataset.write_all(&u).unwrap();
    dataset.attribute("_FillValue", 1e20f32).unwrap();
    made.dataset("x").attribute("CLASS", "DIMENSION_SCALE").write(&[0.123_456_789f64, 2.0]).unwrap();
    made.dataset("n").write(&[1i32, 2]).unwrap();
    made.finish().unwrap();
    let file = Arc::new(sciformats::open(&old).unwrap());
    for rounding in [Rounding::Bits(7), Rounding::Digits(3)] {
        rewrite(&file, &new, &WriteOptions::default().with_rounding(rounding), None).unwrap();
        let rounded = sciformats::open(&new).unwrap();
        let v = rounded.array("/u").unwrap().read::<f32>().unwrap();
        let mut changed = 0;
        for (a, b) in u.iter().zip(&v).filter(|(a, _)| a.is_finite()) {
            assert!(
                f64::from(a - b).abs() <= rounding.relative_error() * f64::from(a.abs()),
                "{a} became {b}"
            );
            changed += u32::from(a != b);
        }
        assert!(changed > 30_000 && v[7] == 1e20 && v[9].is_nan() && v[11].is_infinite());
        assert_eq!(rounded.array("/x").unwrap().read::<f64>().unwrap(), [0.123_456_789, 2.0]);
        let told = hdf5_pure::File::open(&new).unwrap();
        let name = rounding.attribute();
        let value = told.dataset("u").unwrap().attr::<i32>(name).unwrap().unwrap();
        assert_eq!(Rounding::told(name, value), Some(rounding));
        assert_eq!(told.dataset("x").unwrap().attr::<i32>(name).unwrap(), None);
        assert!(std::fs::metadata(&new).unwrap().len() < std::fs::metadata(&old).unwrap().len() / 2);
    }
    let none = WriteOptions::default().with_rounding(Rounding::Bits(0));
    assert!(matches!(rewrite(&file, &new, &none, None), Err(Error::Usage { argument: "rounding", .. })));
}

#[test]
fn bits_are_found_by_information_and_what_is_missing_stays_missing() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old.h5"), dir.path().join("new.h5"));
    // A smooth field with noise of a thousandth, in which the rows differ more than the columns.
    let mut random = noise();
    let mut number = |i: u32, size: f64| {
        300.0 + 20.0 * (f64::from(i % 200) * 0.02).sin() + 5.0 * f64::from(i / 200 % 7) + size * random()
    };
    let mut tas: Vec<f32> = (0..60_000).map(|i| number(i, 0.3) as f32).collect();
    let mut exact: Vec<f64> = (0..60_000).map(|i| number(i, 0.003)).collect();
    for at in (0..60_000).step_by(97) {
        tas[at] = [1e20, f32::NAN, -999.0][at % 3];
        exact[at] = -999.0;
    }
    let mut random = noise();
    let free: Vec<f64> = (0..60_000).map(|_| 1.5 + random()).collect();
    let mut made = Writer::overwrite(&old).unwrap();
    let mut dataset =
        made.dataset("tas").shape([300, 200]).chunks([50, 200]).deflate(4).create::<f32>().unwrap();
    dataset.write_all(&tas).unwrap();
    dataset.attribute("_FillValue", 1e20f32).unwrap();
    dataset.attribute("missing_value", -999.0f64).unwrap();
    let mut dataset = made.dataset("exact").shape([300, 200]).create::<f64>().unwrap();
    dataset.write_all(&exact).unwrap();
    dataset.attribute("missing_value", -999.0f64).unwrap();
    made.dataset("free").write(&free).unwrap();
    made.dataset("few").write(&tas[..500]).unwrap();
    made.finish().unwrap();
    let file = Arc::new(sciformats::open(&old).unwrap());
    rewrite(&file, &new, &WriteOptions::default().with_rounding(Rounding::Information(9900)), None).unwrap();
    let told = hdf5_pure::File::open(&new).unwrap();
    let bits = |path: &str| told.dataset(path).unwrap().attr::<i32>(Rounding::Bits(1).attribute()).unwrap();
    let (narrow, wide) = (bits("tas").unwrap(), bits("exact").unwrap());
    // A noise of 0.3 in 256 to 512 begins in bit 11, and one that is a hundred times smaller some seven bits later.
    assert!((6..=11).contains(&narrow) && (5..=9).contains(&(wide - narrow)), "{narrow} and {wide} bits");
    assert_eq!((bits("free"), bits("few")), (None, None));
    let rounded = sciformats::open(&new).unwrap();
    let (u, v) = (
        rounded.array("/tas").unwrap().read::<f32>().unwrap(),
        rounded.array("/exact").unwrap().read::<f64>().unwrap(),
    );
    let missing = |x: f32| x.is_nan() || x == 1e20 || x == -999.0;
    let bound = |bits: i32| 0.5f64.powi(bits + 1);
    for (a, b) in tas.iter().zip(&u) {
        assert!(missing(*a) == missing(*b) && (!missing(*a) || a.to_bits() == b.to_bits()), "{a} became {b}");
        assert!(
            missing(*a) || f64::from(a - b).abs() <= f64::from(a.abs()) * bound(narrow),
            "{a} became {b}"
        );
    }
    for (a, b) in exact.iter().zip(&v) {
        assert!((*a == -999.0) == (*b == -999.0) && (a - b).abs() <= a.abs() * bound(wide), "{a} became {b}");
    }
    assert_eq!(rounded.array("/free").unwrap().read::<f64>().unwrap(), free);
    assert!(std::fs::metadata(&new).unwrap().len() < std::fs::metadata(&old).unwrap().len());
    // A comparison permits the bounds of which attributes tell, and no more.
    let options = sciformats_convert::compare::Options::exact()
        .with_ignore(Rounding::ATTRIBUTES.map(|name| format!("*@{name}")).iter().map(String::as_str));
    let compare = |options| {
        let mut paths = Vec::new();
        sciformats_convert::compare::compare(&file, &rounded, &options, &mut |difference| {
            paths.push(difference.path);
            std::ops::ControlFlow::Continue(())
        });
        paths
    };
    assert_eq!(compare(options.clone()), ["/exact", "/tas"]);
    assert!(compare(options.with_rounded(true)).is_empty());
}

#[test]
fn advice_tells_what_rounding_would_gain_and_plans_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("noisy.h5");
    let mut random = noise();
    let u: Vec<f32> =
        (0..400_000).map(|i| (300.0 + 20.0 * (f64::from(i) * 1e-3).sin() + random()) as f32).collect();
    let mut made = Writer::overwrite(&path).unwrap();
    made.dataset("u").shape([400_000]).chunks([100_000]).deflate(4).write(&u).unwrap();
    made.finish().unwrap();
    let advice = advice(&path, Profile::Cloud);
    let finding = advice.findings.iter().find(|finding| finding.rule == "rounding").unwrap();
    assert!(finding.path == "/u" && finding.what.contains("bits of the significand"), "{finding:?}");
    assert!(advice.plan.is_none_or(|plan| plan.options.rounding.is_none()));
}

#[test]
fn chunks_that_turn_round_pass_through_a_scratch_file() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old.h5"), dir.path().join("new.h5"));
    strewn(&old, Bound::V110);
    let limits = sciformats::Limits::default().with_memory(2 << 20);
    let file = Arc::new(
        sciformats::open_with(&old, &sciformats::OpenOptions::default().with_limits(limits)).unwrap(),
    );
    let options =
        WriteOptions::default().with_rule(Rule { chunks: Some(vec![1500, 5, 5]), ..Rule::of("/tas") });
    rewrite(&file, &new, &options, None).unwrap();
    let (a, b) = (sciformats::open(&old).unwrap(), sciformats::open(&new).unwrap());
    assert_eq!(
        a.array("/tas").unwrap().read::<f32>().unwrap(),
        b.array("/tas").unwrap().read::<f32>().unwrap()
    );
    // Nothing is left of the scratch file, and no chunk was stored twice.
    let names: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let sciformats::Object::Array(measured) = b.source().measured(b.resolve("/tas").unwrap()).unwrap() else {
        panic!("/tas is no array")
    };
    let stored = measured.stored.unwrap();
    assert!(b.size() < stored + stored / 10 + (64 << 10), "{} of {stored}", b.size());
}

#[test]
fn chunks_that_are_missing_stay_missing_in_other_shapes() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old.h5"), dir.path().join("new.h5"));
    let mut made = Writer::overwrite(&old).unwrap();
    let mut u = made.dataset("u").shape([1000, 1000]).chunks([10, 10]).fill(7.0f32).create::<f32>().unwrap();
    u.write_chunk_values(&[0, 0], &[1.0f32; 100]).unwrap();
    u.write_chunk_values(&[55, 20], &[2.0f32; 100]).unwrap();
    made.finish().unwrap();
    let file = Arc::new(sciformats::open(&old).unwrap());
    rewrite(&file, &new, &WriteOptions::default().with_chunks([25, 40]), None).unwrap();
    let new = hdf5_pure::File::open(&new).unwrap().dataset("u").unwrap();
    assert_eq!(new.read::<f32>().unwrap(), file.array("/u").unwrap().read::<f32>().unwrap());
    let places: Vec<_> = new.chunks().unwrap().into_iter().map(|chunk| chunk.unwrap().scaled).collect();
    assert_eq!(places, [vec![0, 0], vec![22, 5]]);
}

/// Repacks as planned, and returns the advice on the new file.
fn followed(old: &Path, profile: Profile) -> (Advice, Advice) {
    let new = old.with_extension("new.h5");
    let before = advice(old, profile);
    if let Some(plan) = &before.plan {
        let file = Arc::new(sciformats::open(old).unwrap());
        rewrite(&file, &new, &plan.options, None).unwrap();
    } else {
        std::fs::copy(old, &new).unwrap();
    }
    (before, advice(&new, profile))
}

#[test]
fn a_file_that_follows_advice_suits_the_profile() {
    let dir = tempfile::tempdir().unwrap();
    let old = dir.path().join("old.h5");
    let fails = |advice: &Advice, rule: &str| {
        advice.findings.iter().any(|finding| finding.rule == rule && finding.weight == Weight::Failure)
    };
    // Checksums stay.
    let mut made = Writer::overwrite_with(&old, &CreateOptions::default()).unwrap();
    let checked = made.dataset("x").shape([400, 1600]).chunks([400, 4]).fletcher32();
    checked.write(&field(400 * 1600)).unwrap();
    made.finish().unwrap();
    let (before, after) = followed(&old, Profile::Archive);
    assert!(before.datasets[0].planned_filter.is_some() && !fails(&before, "no-checksum"));
    assert!(after.suits(), "{:?}", after.findings);

    // Elements without chunks get good ones together with a filter.
    for profile in Profile::ALL {
        let mut made = Writer::overwrite_with(&old, &CreateOptions::default()).unwrap();
        let numbers: Vec<i64> = (0..300_000).map(|i| i % 97).collect();
        made.dataset("i").write(&numbers).unwrap();
        made.dataset("map").shape([3000, 500]).contiguous().write(&field(3000 * 500)).unwrap();
        made.dataset("few").write(&[0.0f64; 10]).unwrap();
        made.finish().unwrap();
        let (before, after) = followed(&old, profile);
        for facts in &before.datasets {
            let filtered = facts.planned_filter.is_some();
            assert_eq!(filtered, facts.path != "/few", "{profile:?} {}", facts.path);
            assert!(!filtered || facts.planned_chunks.is_some(), "{profile:?} {}", facts.path);
        }
        assert!(!fails(&after, "tiny-chunks") && !fails(&after, "cmip7-metadata"), "{:?}", after.findings);
        if profile == Profile::Cmip7 {
            assert!(before.plan.unwrap().options.metadata_first);
        }
    }
}

#[test]
fn a_file_without_a_path_has_a_plan_too() {
    let dir = tempfile::tempdir().unwrap();
    let old = dir.path().join("old.h5");
    strewn(&old, Bound::V110);
    let bytes = std::fs::read(&old).unwrap();
    let file = Arc::new(sciformats::File::from_bytes(bytes.clone()).unwrap());
    let far = advise(&file, &|| Ok(Arc::new(bytes.clone())), &Options::of(Profile::Cloud)).unwrap();
    let near = advice(&old, Profile::Cloud);
    assert_eq!(far.plan.unwrap().arguments, near.plan.unwrap().arguments);
}

#[test]
fn the_plan_for_an_archive_leads_to_checksums() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    strewn(&path("strewn.h5"), Bound::V110);
    let mut made = Writer::create(path("whole.h5")).unwrap();
    made.dataset("tas").shape([500, 1000]).write(&field(500_000)).unwrap();
    made.finish().unwrap();
    for old in ["strewn.h5", "whole.h5"].map(path) {
        let before = advice(&old, Profile::Archive);
        assert!(before.findings.iter().any(|finding| finding.rule == "no-checksum"));
        let (plan, new) = (before.plan.unwrap(), path("new.h5"));
        rewrite(&Arc::new(sciformats::open(&old).unwrap()), &new, &plan.options, None).unwrap();
        let after = advice(&new, Profile::Archive);
        assert!(after.suits(), "{:?}", after.findings);
        assert!(near(plan.size, after.size, 0.05), "{} became {}", plan.size, after.size);
    }
}

#[test]
fn filters_without_a_shuffle_that_stay_are_predicted_without_one() {
    let dir = tempfile::tempdir().unwrap();
    let old = dir.path().join("old.h5");
    let mut made = Writer::overwrite_with(&old, &CreateOptions::default()).unwrap();
    // Few different numbers, which deflate finds again as long as their bytes stay together.
    let mut random = noise();
    let words: Vec<f64> = (0..32).map(|_| random()).collect();
    let word = |number: f64| words.iter().copied().nth(((number + 0.5) * 32.0) as usize).unwrap_or(0.0);
    let values: Vec<f64> = (0..600 * 2000).map(|_| word(random())).collect();
    made.dataset("u").shape([600, 2000]).chunks([1, 2000]).deflate(4).write(&values).unwrap();
    made.finish().unwrap();
    let (before, after) = followed(&old, Profile::Cloud);
    let plan = before.plan.unwrap();
    assert!(
        before.datasets.iter().all(|known| known.planned_filter.is_none() && known.planned_chunks.is_some())
    );
    // The chunks of the old file are smaller than the new ones, in which a filter finds more.
    assert!(near(plan.size, after.size, 0.25), "{} became {}", plan.size, after.size);
}
