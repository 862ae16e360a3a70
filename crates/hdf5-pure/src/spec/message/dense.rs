//! The common part of the link info message and the attribute info message: where the links of a group, or the attributes of an
//! object, are if they are stored densely.

use nom::Parser;
use nom::combinator::cond;
use nom::number::complete::u8 as byte;
use sciformats_core::Result;
use sciformats_core::fault::{FaultKind, Parsed, checked, field};

use super::super::{Address, Sizes, address, put_address, version};

/// Where links or attributes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dense<I> {
    /// The next creation index, if creation order is tracked.
    pub(crate) max_creation_index: Option<I>,
    /// The address of the heap that contains them.
    pub(crate) heap: Option<Address>,
    /// The address of the B-tree that finds them by the hashes of their names.
    pub(crate) by_name: Option<Address>,
    /// The address of the B-tree that finds them by creation order. The outer option is `None` if creation order is not indexed.
    pub(crate) by_creation_order: Option<Option<Address>>,
}

impl<I> Dense<I> {
    /// Parses the message. `index` parses a creation index, and `names` are the names of the fields that contain the two trees.
    pub(super) fn parse_with<'a>(
        i: &'a [u8],
        sizes: Sizes,
        index: impl Fn(&'a [u8]) -> Parsed<'a, I>,
        names: [&'static str; 2],
    ) -> Parsed<'a, Self> {
        let (i, _) = version(0)(i)?;
        let (i, flags) = checked("flags", byte, |&flags| {
            (flags > 3).then_some(FaultKind::Undefined { found: flags.into() })
        })(i)?;
        let (i, max_creation_index) =
            cond(flags & 1 != 0, field("maximum creation index", index)).parse(i)?;
        let (i, heap) = field("fractal heap address", address(sizes))(i)?;
        let (i, by_name) = field(names[0], address(sizes))(i)?;
        let (i, by_creation_order) = cond(flags & 2 != 0, field(names[1], address(sizes))).parse(i)?;
        Ok((i, Self { max_creation_index, heap, by_name, by_creation_order }))
    }

    /// Appends the message to `out`; `index` contains the bytes of the next creation index, if there is one.
    pub(super) fn encode_with(
        &self,
        out: &mut Vec<u8>,
        sizes: Sizes,
        index: Option<&impl AsRef<[u8]>>,
    ) -> Result<()> {
        out.extend([0, u8::from(index.is_some()) | u8::from(self.by_creation_order.is_some()) << 1]);
        out.extend(index.into_iter().flat_map(AsRef::as_ref));
        put_address(out, self.heap, sizes)?;
        put_address(out, self.by_name, sizes)?;
        if let Some(tree) = self.by_creation_order {
            put_address(out, tree, sizes)?;
        }
        Ok(())
    }
}
