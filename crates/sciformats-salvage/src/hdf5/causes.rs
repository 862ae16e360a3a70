//! Names the kinds of damage, each with its evidence.

use hdf5_pure::structure::SIGNATURE;
use sciformats_core::{ReadAt, Result, bound};

use super::Work;
use super::base::is_usual;
use crate::report::Cause;

/// The signature after a transfer as text: the bytes, and what happened to them.
const TEXT: [(&[u8], &str); 4] = [
    (b"\x89HDF\n\x1a\n", "each CR LF became LF"),
    (b"\x89HDF\r\r\n\x1a\r\n", "each LF became CR LF"),
    (b"\x89HDF\r\x1a\r", "each LF became CR"),
    (b"\x09HDF\r\n\x1a\n", "the highest bit of each byte was removed"),
];

/// Returns what is remarkable about the length of a file that was cut off.
pub(crate) fn round_length(size: u64) -> &'static str {
    match size {
        size if size == (1 << 31) - 1 => ", which is the limit of 2 GiB",
        size if size.is_power_of_two() => ", which is a power of two",
        size if size % 512 == 0 => ", which is a multiple of 512",
        _ => "",
    }
}

/// Returns whether a file was transferred as text.
pub(super) fn is_text(source: &dyn ReadAt) -> bool {
    let len = bound::addressable(source.size()).min(SIGNATURE.len() * 2);
    let Ok(head) = source.read_at(0, len) else { return false };
    TEXT.iter().any(|(bytes, _)| head.starts_with(bytes))
}

impl Work {
    /// Returns the kinds of damage that the superblock and the length of the file show.
    pub(super) fn causes(&self) -> Result<Vec<Cause>> {
        let mut causes = Vec::new();
        let mut cause = |kind, evidence: String| causes.push(Cause { kind, evidence });
        let size = self.source.size();
        let head = self.source.read_at(0, usize::try_from(size.min(64)).unwrap_or(0))?;
        let Some(superblock) = &self.superblock else {
            match TEXT.iter().find(|(bytes, _)| head.starts_with(bytes)) {
                Some((_, what)) => {
                    cause("transferred as text", format!("the signature shows that {what}"));
                }
                None if head.starts_with(&SIGNATURE) => {
                    cause(
                        "damaged superblock",
                        "the signature is right, and the fields after it are not".into(),
                    );
                }
                None => {
                    let (found, base) = (self.carved.len(), self.base);
                    let from = match (self.adrift, base) {
                        (Some(_), _) => "; nothing tells from where addresses count".to_owned(),
                        (None, 0) => String::new(),
                        (None, _) => format!("; their addresses count from {base}"),
                    };
                    cause(
                        "overwritten head",
                        format!(
                            "no signature is at 0, 512, 1024 and so on, and {found} structures of HDF5 follow{from}"
                        ),
                    );
                }
            }
            return Ok(causes);
        };
        if !is_usual(self.base) {
            let why = format!("the superblock is at {}, and none can be there", self.base);
            cause("bytes before the file", why);
        } else if superblock.base != self.base {
            cause(
                "shifted user block",
                format!("the superblock is at {}, and its base address is {}", self.base, superblock.base),
            );
        }
        let end = bound::sum(bound::left(superblock.end_of_file, superblock.base), self.base);
        if size < end {
            let even = round_length(size);
            cause("cut off", format!("the file has {size} bytes{even}, and the superblock declares {end}"));
        }
        let written = superblock.version >= 3 && superblock.consistency_flags & 5 != 0;
        if written {
            let flags = superblock.consistency_flags;
            cause("writer did not close the file", format!("the status flags of the superblock are {flags}"));
        }
        if size > end
            && !self
                .scan
                .zeros
                .iter()
                .any(|&(start, stop)| start <= end.next_multiple_of(512) && stop == size)
        {
            let kind = if written { "stale end of file" } else { "writer killed, or stale end of file" };
            cause(kind, format!("the file has {size} bytes, and the superblock declares {end}"));
        }
        Ok(causes)
    }

    /// Adds the kinds of damage that only show when everything was read.
    pub(super) fn late_causes(&self, causes: &mut Vec<Cause>) {
        let lost = || {
            let nodes = self.tree.nodes.values();
            let broken = nodes.flat_map(|node| {
                node.broken.iter().cloned().chain(node.header.lost.iter().map(ToString::to_string))
            });
            self.tree.lost.iter().map(|(_, _, why)| why.clone()).chain(broken)
        };
        let checksums = lost().filter(|why| why.contains("checksum")).count();
        let corrected = self.corrected.len();
        let evidence = match (checksums, corrected) {
            (0, 0) => None,
            (0, _) => Some(format!(
                "a bit was flipped in each of {corrected} structures, which their checksums show"
            )),
            (_, 0) => Some(format!("{checksums} structures do not have the checksum that they store")),
            (..) => Some(format!(
                "{checksums} structures do not have the checksum that they store; in {corrected} more, a bit was flipped"
            )),
        };
        causes.extend(evidence.map(|evidence| Cause { kind: "changed bytes", evidence }));
        let holes = self
            .tree
            .lost
            .iter()
            .filter(|&&(_, at, _)| {
                let offset = self.carver.offset(hdf5_pure::Address(at));
                self.scan.zeros.iter().any(|&(start, end)| start <= offset && offset < end)
            })
            .count();
        if holes > 0 {
            let evidence = format!("{holes} addresses that links name lie in sectors of zeros");
            causes.push(Cause { kind: "holes", evidence });
        }
        let mut last = (0, 0);
        let mut overlaps = 0u64;
        for (&start, &(end, _)) in &self.reached {
            if start < last.1 && (start, end) != last && end > last.1 {
                overlaps += 1;
            }
            if end > last.1 {
                last = (start, end);
            }
        }
        if overlaps > 0 {
            let evidence = format!("{overlaps} structures overlap others");
            causes.push(Cause { kind: "two writers", evidence });
        }
    }
}
