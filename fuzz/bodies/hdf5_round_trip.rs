//! Any tree that is written is read again: every link, every element, every attribute. What an editor then changes is as
//! meant, and no byte of the file belongs to two structures. The steps and the model are those of the crate's own test.

/// Bytes that are used. They make about five steps, so that there are many runs; tests of the crate make long ones.
const MOST: usize = 24;

/// One run.
pub(crate) fn run(data: &[u8]) {
    crate::arbitrary::run(&data[..data.len().min(MOST)]);
}
