//! Counts the requests that opening a remote file and reading one of its arrays take.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use asdf_core::{Asdf, Document, NewArray, OpenOptions};
use sciformats_core::storage::{Planned, Purpose, Stored};

/// Returns elements of an array that has this number.
fn values(number: usize) -> Vec<u32> {
    (0..20_000u32).map(|i| i.wrapping_mul(2_654_435_761) ^ number as u32).collect()
}

fn made(arrays: usize) -> Vec<u8> {
    let mut document = Document::new();
    for number in 0..arrays {
        let array = NewArray::new(&values(number), &[20_000]).unwrap();
        document.set_array(&format!("run {number:03}"), array).unwrap();
    }
    document.to_bytes().unwrap()
}

/// Returns a file whose ends were fetched when it was opened, as those of remote files are.
fn far(bytes: &[u8]) -> Planned<Stored<Vec<u8>>> {
    let storage = Planned::new(Stored(bytes.to_vec()));
    let (front, back) = (bytes.len().min(1 << 20), bytes.len().saturating_sub(64 << 10));
    storage.supply(0, &bytes[..front], Purpose::Structure);
    storage.supply_known(back as u64, bytes[back..].to_vec());
    storage
}

#[test]
fn one_array_of_many_takes_two_requests() {
    let bytes = made(200);
    let storage = far(&bytes);
    let file = Asdf::from_storage(storage.clone(), &OpenOptions::default()).unwrap();
    // The last block, at whose end the index begins.
    assert_eq!((storage.statistics().batches, storage.statistics().requests), (1, 1));
    assert_eq!(file.array("run 077").unwrap().read::<u32>().unwrap(), values(77));
    assert_eq!((storage.statistics().batches, storage.statistics().requests), (2, 2));
}

#[test]
fn files_without_an_index_and_with_a_wrong_one_are_read_too() {
    let whole = made(30);
    let index = whole.windows(6).rposition(|window| window == b"#ASDF ").unwrap();
    let mut wrong = whole.clone();
    let digit = wrong.len() - 6 - wrong.iter().rev().skip(6).position(u8::is_ascii_digit).unwrap() - 1;
    wrong[digit] = if wrong[digit] == b'1' { b'2' } else { b'1' };
    for bytes in [whole[..index].to_vec(), wrong, made(1), made(2)] {
        let file = Asdf::from_storage(far(&bytes), &OpenOptions::default()).unwrap();
        let near = Asdf::from_bytes(bytes).unwrap();
        assert_eq!(file.block_count(), near.block_count());
        let name = format!("run {:03}", near.block_count() - 1);
        assert_eq!(file.array(&name).unwrap().read::<u32>().unwrap(), values(near.block_count() - 1));
    }
}
