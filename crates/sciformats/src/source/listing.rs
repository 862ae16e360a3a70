//! Iterates over the members of a group, one by one, or with those that are alike taken together.

use std::iter::Peekable;

use super::Source;
use crate::Result;
use crate::model::{Name, ObjectId, Target};
use sciformats_core::bound;

/// A member of a group.
///
/// ```
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let source = file.source();
/// for member in source.members(source.root())? {
///     let member = member?;
///     println!("{} {:?}", member.name, member.target);
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct Member {
    /// The name, which is unique in the group.
    pub name: Name,
    /// The target of the member.
    pub target: Target,
}

/// The members of a group, in byte order of their names. After an error the iteration ends.
pub type Members<'a> = Box<dyn Iterator<Item = Result<Member>> + 'a>;

/// A member of a group in a listing for people.
///
/// ```
/// use sciformats::Format;
/// use sciformats::memory::{Memory, array};
/// use sciformats::source::Source;
///
/// let mut tree = Memory::new(Format::Gsd);
/// for name in ["9", "10", "11"] {
///     tree.array(tree.root(), name, array::<f32>(&[3], &[0.5; 3]));
/// }
/// let alike: Result<Vec<bool>, _> = tree.listing(tree.root())?.map(|listed| listed.map(|l| l.alike)).collect();
/// assert_eq!(alike?, [false, true, true]); // 9, 10, 11
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct Listed {
    /// The member.
    pub member: Member,
    /// Whether the member is like the previous one. Its name is then the next number, and below both members
    /// the names, kinds, types, shapes, sizes, filters and attributes are the same. Only the values of
    /// elements and the fact `offset` of an array may differ. No other hard link leads to anything below
    /// them.
    pub alike: bool,
}

/// The members of a group in the order that people expect. After an error the iteration ends.
pub type Listing<'a> = Box<dyn Iterator<Item = Result<Listed>> + 'a>;

/// Consecutive members of a group that are alike; often there is only one.
///
/// ```
/// use sciformats::Format;
/// use sciformats::memory::{Memory, array};
/// use sciformats::source::Runs;
///
/// let mut tree = Memory::new(Format::Gsd);
/// for i in 0..100 {
///     tree.array(tree.root(), &i.to_string(), array::<f32>(&[3], &[0.5; 3]));
/// }
/// for run in Runs::new(&tree, tree.root())? {
///     let run = run?;
///     assert_eq!((run.first.name, run.last, run.count), ("0".into(), Some("99".into()), 100));
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct Run {
    /// The first member.
    pub first: Member,
    /// The name of the last member, if there is more than one.
    pub last: Option<Name>,
    /// The number of members.
    pub count: u64,
}

/// The members of a group, with those that are alike taken together.
///
/// ```no_run
/// use sciformats::source::Runs;
///
/// let file = sciformats::open("run.gsd")?;
/// for run in Runs::new(file.source(), file.resolve("/frames")?)? {
///     let run = run?;
///     println!("{} and {} like it", run.first.name, run.count - 1);
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
pub struct Runs<'a>(Peekable<Listing<'a>>);

impl<'a> Runs<'a> {
    /// Lists the members of `group`.
    ///
    /// ```
    /// use sciformats::source::Runs;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// assert_eq!(Runs::new(file.source(), file.resolve("/fields")?)?.count(), 1);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Source::listing`].
    pub fn new(source: &'a dyn Source, group: ObjectId) -> Result<Self> {
        source.listing(group).map(|listing| Self(listing.peekable()))
    }
}

impl Iterator for Runs<'_> {
    type Item = Result<Run>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = match self.0.next()? {
            Ok(listed) => listed.member,
            Err(error) => return Some(Err(error)),
        };
        let mut run = Run { first, last: None, count: 1 };
        while let Some(Ok(next)) = self.0.next_if(|next| next.as_ref().is_ok_and(|next| next.alike)) {
            run.last = Some(next.member.name);
            run.count = bound::sum(run.count, 1);
        }
        Some(Ok(run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::memory::{Memory, array};

    fn ranges(memory: &Memory, group: ObjectId) -> Vec<String> {
        let runs = Runs::new(memory, group).unwrap();
        let shown = runs.map(|run| {
            let run = run.unwrap();
            let last = run.last.map(|last| format!("…{last}")).unwrap_or_default();
            format!("{}{last} {}", run.first.name, run.count)
        });
        shown.collect()
    }

    #[test]
    fn numbers_in_their_order_and_equal_ones_together() {
        let mut memory = Memory::new(Format::Gsd);
        let frames = memory.group(memory.root(), "frames");
        for i in 0..12u8 {
            let frame = memory.group(frames, &i.to_string());
            let rows: &[f32] = if i < 3 { &[0.0] } else { &[f32::from(i), 1.0] };
            memory.array(frame, "x", array(&[rows.len() as u64], rows));
            if i == 10 {
                memory.attribute(frame, "note", array::<u8>(&[], &[1]));
            }
        }
        assert_eq!(ranges(&memory, frames), ["0…2 3", "3…9 7", "10 1", "11 1"]);
        assert_eq!(ranges(&memory, memory.root()), ["frames 1"]);
    }

    #[test]
    fn what_only_looks_alike_stays_apart() {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        // Not one after the other.
        let x = memory.array(root, "1", array::<u8>(&[], &[1]));
        memory.array(root, "3", array::<u8>(&[], &[1]));
        // Equal but for its type; then a link to an array that has another name.
        memory.array(root, "4", array::<i8>(&[], &[1]));
        memory.hard_link(root, "5", x);
        memory.damage(root, "6");
        memory.damage(root, "7");
        // Groups that share an array.
        for name in ["10", "11"] {
            let group = memory.group(root, name);
            memory.hard_link(group, "x", x);
        }
        assert_eq!(ranges(&memory, root), ["1 1", "3 1", "4 1", "5 1", "6 1", "7 1", "10 1", "11 1"]);
        // One name that is no number, and all stand in byte order.
        memory.value(root, "a", 1u8);
        assert_eq!(ranges(&memory, root).first().map(String::as_str), Some("1 1"));
        assert_eq!(ranges(&memory, root).get(1).map(String::as_str), Some("10 1"));
    }
}
