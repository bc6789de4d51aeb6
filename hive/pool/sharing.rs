//! What the length of the queen's part says of a whole loop depends on how its bees share the indices.

/// How the bees of a loop share its indices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each has a part of its own, and these are about equally long.
    EqualParts,
    /// Who comes sooner, or is faster, gets more.
    AsTheyCome,
}
