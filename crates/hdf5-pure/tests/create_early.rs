//! Checks that a file has the same contents whether its datasets wait in memory until the end or are written early.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::description::describe;
use crate::recorded::Recorded;
use hdf5_pure::filters::Filters;
use hdf5_pure::options::{Bound, FileSpace};
use hdf5_pure::structure::{CreationOrder, CreationProperties};
use hdf5_pure::values::Committed;
use hdf5_pure::{ChunkIndex, CreateOptions, Datatype, Editor, File, ObjectId, Result, Writer};

const BOUNDS: [Bound; 4] = [Bound::Earliest, Bound::V18, Bound::V110, Bound::V200];

/// Compares the file that `make` creates with all datasets in memory with those that it creates with fewer of them in memory.
fn alike(options: &CreateOptions, make: impl Fn(&mut Writer) -> Result<()>) {
    let file = |held: usize| {
        let mut file = Writer::in_memory(&options.clone().with_held(held)).unwrap();
        make(&mut file).unwrap();
        file.into_bytes().unwrap()
    };
    let usual = file(usize::MAX);
    let expected = describe(&File::from_bytes(usual).unwrap());
    for held in [0, 3000, 10_000] {
        let bytes = file(held);
        assert_eq!(describe(&File::from_bytes(bytes.clone()).unwrap()), expected, "{options:?} {held}");
        assert_eq!(bytes, file(held), "equal calls give equal bytes");
        // No byte belongs to two structures, and the file can be edited.
        let mut editor = Editor::in_storage(Box::new(Recorded::new(bytes)), &Default::default()).unwrap();
        editor.unaccounted().unwrap();
        editor.dataset("one more").write(&[1]).unwrap();
        editor.commit().unwrap();
    }
}

fn each(make: impl Fn(&mut Writer) -> Result<()>) {
    for bound in BOUNDS {
        for tracked in [false, true] {
            alike(&CreateOptions::default().with_bound(bound).with_track_order(tracked), &make);
        }
    }
    let paged = FileSpace::Paged { size: 512, tracked: true };
    alike(&CreateOptions::default().with_file_space(paged).with_user_block(vec![7; 512]), &make);
}

fn some(file: &mut Writer, n: i32) -> Result<Vec<ObjectId>> {
    (0..n).map(|i| file.dataset(&format!("group/dataset {i}")).attribute("i", i).write(&[i; 3])).collect()
}

#[test]
fn attributes_that_come_later() {
    each(|file| {
        let all = some(file, 30)?;
        for k in 0..14 {
            for &id in &all {
                file.attribute(id, &format!("attribute {k}"), "a text of some length")?;
            }
        }
        for &id in all.iter().step_by(3) {
            file.attribute(id, "i", "no number any more")?;
            file.comment(id, "changed")?;
        }
        Ok(())
    });
}

#[test]
fn elements_that_come_later() {
    each(|file| {
        let mut all = Vec::new();
        for i in 0..20u16 {
            let made = file.dataset(&format!("{i}"));
            let made = match i % 5 {
                0 => made.shape([0]).max_shape([None]).chunks([8]).shuffle().lzf(),
                1 => made.shape([0]).max_shape([None]).chunks([8]).fill(7u16),
                2 => made.shape([40]).chunks([16]).lzf(),
                3 => made.shape([40]).compact(),
                _ => made.shape([40]).fill(5u16),
            };
            all.push(made.create::<u16>()?.id());
        }
        for round in 0..5u16 {
            for (i, &id) in all.iter().enumerate() {
                let mut dataset = file.open_id(id)?;
                match i % 5 {
                    0 | 1 => {
                        dataset.append(&[round; 11])?;
                    }
                    _ => {
                        let place = hdf5_pure::Range::new(u64::from(round) * 7, 7);
                        let slab = hdf5_pure::Slab::new(&[40], [place])?;
                        dataset.write_slab(&slab, &[round; 7])?;
                    }
                }
            }
            file.dataset(&format!("between/{round}")).write(&[round])?;
        }
        file.open_id(all[0])?.resize(&[20])?;
        file.open_id(all[1])?.resize(&[70])?;
        Ok(())
    });
}

#[test]
fn links_that_come_and_go() {
    each(|file| {
        let all = some(file, 30)?;
        for (i, &id) in all.iter().enumerate() {
            match i % 5 {
                0 => drop(file.root().hard_link(&format!("more/{i}"), id)?),
                1 => drop(file.root().unlink(&format!("group/dataset {i}"))?),
                2 => drop(file.root().move_link(&format!("group/dataset {i}"), &format!("moved {i}"))?),
                3 => drop(file.root().soft_link(&format!("group/soft {i}"), "/group/dataset 4")?),
                _ => {}
            }
        }
        file.root().hard_link("again", all[1])?;
        // The members of a group are removed with it, except those with another link.
        let kept = file.dataset("gone/kept").write(&[1])?;
        file.dataset("gone/lost").write(&[2])?;
        file.root().hard_link("kept", kept)?;
        some(file, 0)?;
        file.root().unlink("gone")?;
        assert!(file.dataset("group/dataset 4").write(&[1]).is_err(), "the name is taken");
        assert!(file.group("group/dataset 4").is_err(), "it is not a group");
        Ok(())
    });
}

#[test]
fn datatypes_and_references() {
    each(|file| {
        let kind = file.root().commit("kind", &Datatype::unsigned(2).big_endian())?;
        let unused = file.commit_unlinked(&Datatype::float32())?;
        let used = file.commit_unlinked(&Datatype::float64())?;
        let gone = file.dataset("gone").committed(unused).shape([1]).create_encoded()?.id();
        let mut all = Vec::new();
        for i in 0..20 {
            let made = file.dataset(&format!("{i}")).committed(if i % 2 == 0 { kind } else { used });
            let made = made.attribute("of kind", Committed { datatype: kind, value: i });
            all.push(made.shape([2]).create_encoded()?.id());
        }
        for (i, &id) in all.iter().enumerate() {
            file.attribute(id, "later", Committed { datatype: kind, value: 3 })?;
            if i % 3 == 0 {
                file.attribute(id, "of kind", 1)?;
            }
            assert!(file.dataset(&format!("wrong {i}")).committed(id).shape([1]).create_encoded().is_err());
        }
        file.attribute(gone, "of kind", Committed { datatype: kind, value: 1 })?;
        file.root().unlink("gone")?;
        let reference = file.reference(all[3])?;
        assert_eq!(file.reference(all[3])?, reference);
        Ok(())
    });
}

#[test]
fn chunks_of_every_index() {
    for bound in [Bound::V110, Bound::V200] {
        alike(&CreateOptions::default().with_bound(bound), |file| {
            let indexes = [
                (ChunkIndex::Single, [Some(6), Some(6)], [6, 6]),
                (ChunkIndex::Implicit, [Some(20), Some(20)], [4, 4]),
                (ChunkIndex::FixedArray, [Some(20), Some(20)], [4, 4]),
                (ChunkIndex::ExtensibleArray, [None, Some(20)], [4, 4]),
                (ChunkIndex::BtreeV2, [None, None], [4, 4]),
            ];
            let mut all = Vec::new();
            for (i, (index, most, chunk)) in indexes.into_iter().enumerate() {
                let made = file.dataset(&format!("{i}")).shape([6, 6]).max_shape(most).chunks(chunk);
                all.push(made.index(index).create::<u32>()?.write_all(&(0..36).collect::<Vec<u32>>())?.id());
                let made = file.dataset(&format!("edges {i}")).shape([6, 6]).chunks(chunk).lzf();
                made.unfiltered_edges().write(&[i as u32; 36])?;
                let made = file.dataset(&format!("scaled {i}")).shape([6, 6]).chunks(chunk);
                let made = made.filters(Filters::new().scale_offset());
                all.push(made.write(&[i as u32; 36])?);
            }
            for &id in &all {
                file.attribute(id, "later", 1)?;
                let slab = hdf5_pure::Slab::new(&[6, 6], [hdf5_pure::Range::new(1, 4); 2])?;
                file.open_id(id)?.write_slab(&slab, &[9u32; 16])?;
            }
            for (i, (_, most, _)) in
                indexes.into_iter().enumerate().filter(|(_, (_, most, _))| most[0].is_none())
            {
                assert!(most[0].is_none());
                file.open_id(all[2 * i])?.resize(&[18, 15])?;
            }
            Ok(())
        });
    }
}

#[test]
fn properties_scales_and_strings() {
    each(|file| {
        let hours = file.dataset("hours").write(&[0.0, 6.0, 12.0])?;
        file.make_scale(hours, "time of day")?;
        let all = some(file, 20)?;
        for &id in &all {
            file.attach_scale(id, 0, hours)?;
        }
        let mut texts = Vec::new();
        for i in 0..10 {
            let made = file.dataset(&format!("texts {i}")).attribute("text", format!("number {i}"));
            texts.push(made.write(&["a", "some text", ""])?);
        }
        file.dataset("rows").write(&[vec![1, 2], vec![], vec![3]])?;
        let mut properties = CreationProperties::default();
        properties.header_version = 2;
        properties.attribute_order = CreationOrder::Indexed;
        properties.attribute_phase_change = Some((2, 1));
        for &id in &texts {
            file.creation_properties(id, &properties)?;
            file.attribute(id, "b", 1)?;
            file.attribute(id, "a", 2)?;
        }
        for &id in &texts {
            file.attribute(id, "0", 3)?;
        }
        Ok(())
    });
}
