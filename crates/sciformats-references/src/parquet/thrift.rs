//! The compact protocol of Thrift, as far as the metadata of Parquet needs it.
//!
//! A structure is a list of fields and a zero byte. A field is one byte, with the difference to the number of the field
//! before in the upper four bits and the type in the lower ones, followed by the value. Integers are zigzag-encoded varints.

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Appends a number with seven bits per byte, the lowest first.
pub(super) fn varint(mut number: u64, out: &mut Vec<u8>) {
    while let Some(more) = number.checked_shr(7).filter(|more| *more > 0) {
        out.push((number & 0x7f) as u8 | 0x80);
        number = more;
    }
    out.push((number & 0x7f) as u8);
}

/// Appends the fields of a structure in the order of their numbers.
pub(super) struct Struct<'a> {
    out: &'a mut Vec<u8>,
    last: u8,
}

impl<'a> Struct<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, last: 0 }
    }

    fn field(&mut self, number: u8, kind: u8) {
        // The numbers of Parquet are small, and their differences are less than 15.
        self.out.push(number.wrapping_sub(self.last) << 4 | kind);
        self.last = number;
    }

    pub(super) fn i32(&mut self, number: u8, value: u32) -> &mut Self {
        self.field(number, I32);
        varint(u64::from(value) << 1, self.out);
        self
    }

    pub(super) fn i64(&mut self, number: u8, value: u64) -> &mut Self {
        self.field(number, I64);
        varint(value << 1, self.out);
        self
    }

    pub(super) fn text(&mut self, number: u8, value: &str) -> &mut Self {
        self.field(number, BINARY);
        text(value, self.out);
        self
    }

    pub(super) fn part(&mut self, number: u8, write: impl FnOnce(&mut Struct<'_>)) -> &mut Self {
        self.field(number, STRUCT);
        structure(self.out, write);
        self
    }

    /// A list of structures.
    pub(super) fn parts<T>(
        &mut self,
        number: u8,
        all: &[T],
        mut write: impl FnMut(&T, &mut Struct<'_>),
    ) -> &mut Self {
        self.list(number, STRUCT, all.len());
        all.iter().for_each(|one| structure(self.out, |part| write(one, part)));
        self
    }

    pub(super) fn i32s(&mut self, number: u8, all: &[u32]) -> &mut Self {
        self.list(number, I32, all.len());
        all.iter().for_each(|one| varint(u64::from(*one) << 1, self.out));
        self
    }

    pub(super) fn texts(&mut self, number: u8, all: &[&str]) -> &mut Self {
        self.list(number, BINARY, all.len());
        all.iter().for_each(|one| text(one, self.out));
        self
    }

    fn list(&mut self, number: u8, kind: u8, count: usize) {
        self.field(number, LIST);
        match u8::try_from(count).ok().filter(|count| *count < 15) {
            Some(count) => self.out.push(count << 4 | kind),
            None => {
                self.out.push(0xf0 | kind);
                varint(count as u64, self.out);
            }
        }
    }
}

/// Appends a structure.
pub(super) fn structure(out: &mut Vec<u8>, write: impl FnOnce(&mut Struct<'_>)) {
    write(&mut Struct::new(out));
    out.push(0);
}

fn text(value: &str, out: &mut Vec<u8>) {
    varint(value.len() as u64, out);
    out.extend_from_slice(value.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_the_protocol_has_them() {
        let mut out = Vec::new();
        structure(&mut out, |fields| {
            fields.i32(1, 2).i64(3, 300).text(4, "ab").parts(5, &[7u32], |one, part| _ = part.i32(1, *one));
        });
        #[rustfmt::skip]
        let expected = [
            0x15, 4,                // field 1, i32: 2, zigzag
            0x26, 0xd8, 4,          // field 3, i64: 300, zigzag, in 7 bits each
            0x18, 2, b'a', b'b',    // field 4, binary
            0x19, 0x1c, 0x15, 14, 0, // field 5, a list of one structure with field 1
            0,
        ];
        assert_eq!(out, expected);
    }
}
