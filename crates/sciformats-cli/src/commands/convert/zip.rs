//! Zip archives (APPNOTE 6.3) of members that are stored without compression, as `numpy.savez` writes them.
//!
//! The size of a member is known at its end only. It stands behind the member and in the directory at the end of
//! the archive, with eight bytes each, so that members may have any size.

use std::io::{self, Write};

/// An archive that is being written.
pub(super) struct Zip<W> {
    out: W,
    at: u64,
    members: Vec<Member>,
}

/// A member that is complete.
struct Member {
    name: String,
    start: u64,
    size: u64,
    checksum: u32,
}

/// The version of the format that has sizes of eight bytes.
const VERSION: u16 = 45;
/// The flags: sizes stand behind the member, and names are UTF-8.
const FLAGS: u16 = 1 << 3 | 1 << 11;
/// The first day that the format knows. The clock is not used, so that the same contents become the same bytes.
const DAY: u16 = 1 << 5 | 1;
/// The place of a size or an offset that follows with eight bytes.
const ELSEWHERE: u32 = u32::MAX;

/// The checksums of single bytes.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
};

/// Fields in the order in which they are stored.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn two(mut self, numbers: &[u16]) -> Self {
        numbers.iter().for_each(|number| self.0.extend(number.to_le_bytes()));
        self
    }

    fn four(mut self, numbers: &[u32]) -> Self {
        numbers.iter().for_each(|number| self.0.extend(number.to_le_bytes()));
        self
    }

    fn eight(mut self, numbers: &[u64]) -> Self {
        numbers.iter().for_each(|number| self.0.extend(number.to_le_bytes()));
        self
    }

    fn text(mut self, text: &str) -> Self {
        self.0.extend(text.as_bytes());
        self
    }
}

/// A writer that counts what passes and keeps its checksum.
struct Counted<'a, W> {
    out: &'a mut W,
    size: u64,
    sum: u32,
}

impl<W: Write> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        for byte in bytes.iter().take(written) {
            let [low, ..] = (self.sum ^ u32::from(*byte)).to_le_bytes();
            self.sum = self.sum >> 8 ^ TABLE.get(usize::from(low)).copied().unwrap_or_default();
        }
        self.size = self.size.saturating_add(written as u64); // a bound: no file is that long
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Zip<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, at: 0, members: Vec::new() }
    }

    fn put(&mut self, fields: &Fields) -> io::Result<()> {
        self.out.write_all(&fields.0)?;
        self.at = self.at.saturating_add(fields.0.len() as u64); // a bound: no file is that long
        Ok(())
    }

    /// Adds a member, whose contents `fill` writes.
    pub(super) fn member<E: From<io::Error>>(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.at;
        let length = u16::try_from(name.len())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a name is too long for an archive"))?;
        let header = Fields::default()
            .four(&[0x0403_4B50])
            .two(&[VERSION, FLAGS, 0, 0, DAY])
            .four(&[0, ELSEWHERE, ELSEWHERE])
            .two(&[length, 20])
            .text(name)
            .two(&[1, 16])
            .eight(&[0, 0]);
        self.put(&header)?;
        let mut counted = Counted { out: &mut self.out, size: 0, sum: u32::MAX };
        fill(&mut counted)?;
        let (size, checksum) = (counted.size, !counted.sum);
        self.at = self.at.saturating_add(size); // a bound: no file is that long
        self.put(&Fields::default().four(&[0x0807_4B50, checksum]).eight(&[size, size]))?;
        self.members.push(Member { name: name.to_owned(), start, size, checksum });
        Ok(())
    }

    /// Writes the directory, and returns the output.
    pub(super) fn finish(mut self) -> io::Result<W> {
        let start = self.at;
        for member in std::mem::take(&mut self.members) {
            let length = u16::try_from(member.name.len()).unwrap_or(u16::MAX); // a bound: it was checked before
            let entry = Fields::default()
                .four(&[0x0201_4B50])
                .two(&[VERSION, VERSION, FLAGS, 0, 0, DAY])
                .four(&[member.checksum, ELSEWHERE, ELSEWHERE])
                .two(&[length, 28, 0, 0, 0])
                .four(&[0, ELSEWHERE])
                .text(&member.name)
                .two(&[1, 24])
                .eight(&[member.size, member.size, member.start]);
            self.put(&entry)?;
            self.members.push(member);
        }
        let (count, end) = (self.members.len() as u64, self.at);
        let size = end - start;
        let last = Fields::default()
            .four(&[0x0606_4B50])
            .eight(&[44])
            .two(&[VERSION, VERSION])
            .four(&[0, 0])
            .eight(&[count, count, size, start])
            .four(&[0x0706_4B50, 0])
            .eight(&[end])
            .four(&[1, 0x0605_4B50])
            .two(&[0, 0, u16::MAX, u16::MAX])
            .four(&[ELSEWHERE, ELSEWHERE])
            .two(&[0]);
        self.put(&last)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_follow_each_other() {
        let mut zip = Zip::new(Vec::new());
        zip.member("a.npy", |out| out.write_all(b"123456789")).unwrap();
        zip.member("b.npy", |_| Ok::<_, io::Error>(())).unwrap();
        let bytes = zip.finish().unwrap();
        let at = |at: usize, count: usize| &bytes[at..at + count];
        assert_eq!(at(0, 4), b"PK\x03\x04");
        assert_eq!(at(30, 5), b"a.npy");
        // The checksum of these digits is known.
        assert_eq!(at(55, 9), b"123456789");
        assert_eq!(at(64, 8), [0x50, 0x4B, 7, 8, 0x26, 0x39, 0xF4, 0xCB]);
        assert_eq!(at(72, 16), [9, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(at(88, 4), b"PK\x03\x04");
        assert_eq!(bytes[bytes.len() - 22..][..4], *b"PK\x05\x06");
        let longest = zip_of(&"x".repeat(70_000));
        assert_eq!(longest.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    fn zip_of(name: &str) -> io::Result<()> {
        Zip::new(Vec::new()).member(name, |_| Ok(()))
    }
}
