//! Where decoded bytes go, and copies of what was decoded before.

use super::{LONGEST, ROOM, STEP};
use crate::bound::{product, sum};

/// Where decoded bytes go.
pub(super) trait Output {
    fn bytes(&mut self) -> &mut [u8];

    /// Makes room for what a step of a fast loop may write from `at` on, if this is possible. No more than `max` bytes are needed.
    fn make_room(&mut self, at: usize, max: usize);
}

impl Output for Vec<u8> {
    fn bytes(&mut self) -> &mut [u8] {
        self
    }

    fn make_room(&mut self, at: usize, max: usize) {
        if at + ROOM > self.len() {
            let more = product(self.len(), 2).min(sum(max, ROOM));
            self.resize(more.max(at + ROOM), 0);
        }
    }
}

impl Output for &mut [u8] {
    fn bytes(&mut self) -> &mut [u8] {
        self
    }

    fn make_room(&mut self, _: usize, _: usize) {}
}

/// Copies `length` bytes from `source` to `at`, which is after it; what is copied may be copied again. Up to a step more is
/// written.
#[inline(never)]
pub(super) fn repeat(out: &mut [u8], source: usize, at: usize, length: usize) -> Option<()> {
    let distance = at.checked_sub(source)?;
    if distance >= length {
        let (before, rest) = out.split_at_mut_checked(at)?;
        rest.get_mut(..length)?.copy_from_slice(before.get(source..)?.get(..length)?);
        return Some(());
    }
    if distance == 1 {
        let byte = *out.get(source)?;
        out.get_mut(at..)?.get_mut(..length)?.fill(byte);
        return Some(());
    }
    if length > LONGEST {
        // What is there already is a whole number of patterns, so that twice as much can be copied each time.
        let whole = out.get_mut(..at.checked_add(length)?)?;
        let (mut done, mut known) = (0, distance);
        while done < length {
            let more = known.min(length - done);
            whole.copy_within(source..source + more, at + done);
            done += more;
            known += more;
        }
        return Some(());
    }
    if distance >= STEP {
        for done in (0..length).step_by(STEP) {
            let step = *out.get(source + done..)?.first_chunk::<STEP>()?;
            *out.get_mut(at + done..)?.first_chunk_mut()? = step;
        }
        return Some(());
    }
    let (before, rest) = out.split_at_mut_checked(at)?;
    let pattern = before.get(source..)?;
    let mut step = [0; STEP];
    for (to, from) in step.iter_mut().zip(pattern.iter().cycle()) {
        *to = *from;
    }
    // Only whole patterns are kept of a step.
    let stride = STEP - STEP.checked_rem(distance)?;
    for done in (0..length).step_by(stride) {
        *rest.get_mut(done..)?.first_chunk_mut()? = step;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_every_distance_and_length() {
        for distance in 1..40 {
            for length in (3..=258).chain([516, 1290]) {
                let mut out: Vec<u8> =
                    (0..distance as u8).chain(std::iter::repeat_n(0, length + ROOM)).collect();
                repeat(&mut out, 0, distance, length).unwrap();
                let good = (0..distance + length).all(|at| usize::from(out[at]) == at % distance);
                assert!(good, "{length} bytes at {distance}");
            }
        }
    }
}
