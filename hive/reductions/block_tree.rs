//! The fixed tree along which the blocks of a reduction are combined: two blocks to a pair, two pairs to a four, and so on, whoever does it.
//!
//! Works like a counter in binary: a node joins the one to its left as soon as that is as large, and stands where a larger one may begin.

use std::mem::needs_drop;
use std::ops::Range;

use smallvec::SmallVec;

use crate::region::no_double_panic::NoDoublePanic;

/// A node: the combined value of the blocks from `first` on, 2^`reproducibility` of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Node<T> {
    pub(crate) first: u32,
    level: u32,
    value: T,
}

impl<T> Node<T> {
    pub(crate) fn leaf(block: u32, value: T) -> Self {
        Self { first: block, level: 0, value }
    }

    /// The same node with its value in another form.
    pub(crate) fn map<U>(self, form: impl FnOnce(T) -> U) -> Node<U> {
        Node { first: self.first, level: self.level, value: form(self.value) }
    }

    /// Whether this and the node to its right are the two halves of one.
    fn pairs_with(&self, right: &Self) -> bool {
        self.level == right.level
            && self.first + (1 << self.level) == right.first
            && self.first.is_multiple_of(2 << self.level)
    }
}

impl<T: Copy> Node<Box<T>> {
    /// The same with a copy of the value itself.
    pub(crate) fn unboxed(&self) -> Node<T> {
        Node { first: self.first, level: self.level, value: *self.value }
    }
}

/// As many nodes as a contiguous run of blocks can leave, without an allocation.
const INLINE_NODES: usize = 16;

/// Values of more bytes are in boxes in a tree. Nodes lie on the stack, many of them, and not only once in a build without optimisation.
const MAX_UNBOXED_BYTES: usize = 256;

/// Whether values of this type are to be put into a tree as boxes: see [`boxed`].
pub(crate) const fn is_large<T>() -> bool {
    size_of::<T>() > MAX_UNBOXED_BYTES
}

/// `op` for values in boxes, of which one is used again for the result.
pub(crate) fn boxed<T>(op: &impl Fn(T, T) -> T) -> impl Fn(Box<T>, Box<T>) -> Box<T> {
    move |mut left, right| {
        let value = *left;
        *left = op(value, *right);
        left
    }
}

/// Nodes in the order in which they came, as far as they are not joined.
#[derive(Clone, Debug)]
pub(crate) struct Nodes<T>(SmallVec<[Node<T>; INLINE_NODES]>);

impl<T> Nodes<T> {
    pub(crate) fn new() -> Self {
        Self(SmallVec::new())
    }

    /// Adds a node, and joins what can be joined.
    pub(crate) fn push(&mut self, mut node: Node<T>, op: &impl Fn(T, T) -> T) {
        while self.0.last().is_some_and(|left| left.pairs_with(&node)) {
            let Some(left) = self.0.pop() else { break };
            node = Node { first: left.first, level: left.level + 1, value: op(left.value, node.value) };
        }
        self.0.push(node);
    }

    /// All of these, which cover blocks from the first to the last, as one value. The rest at the right, which fills no whole tree, is joined from the right. None: there are no blocks.
    pub(crate) fn combine(mut self, op: &impl Fn(T, T) -> T) -> Option<T> {
        let mut right = self.0.pop()?.value;
        while let Some(left) = self.0.pop() {
            right = op(left.value, right);
        }
        Some(right)
    }

    pub(crate) fn as_slice(&self) -> &[Node<T>] {
        &self.0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Node<T>> {
        self.0.iter()
    }
}

impl<T> Drop for Nodes<T> {
    #[inline]
    fn drop(&mut self) {
        // Those that are left when a user's closure has panicked.
        while needs_drop::<T>()
            && let Some(node) = self.0.pop()
        {
            drop(NoDoublePanic::new(node));
        }
    }
}

/// Adds what `value` is for each of some blocks.
pub(crate) fn push_blocks<T>(
    nodes: &mut Nodes<T>,
    blocks: Range<usize>,
    op: &impl Fn(T, T) -> T,
    value: impl Fn(usize) -> T,
) {
    blocks.for_each(|block| nodes.push(Node::leaf(block as u32, value(block)), op));
}

/// Joins nodes of several bees, which together cover all blocks, in whatever order.
pub(crate) fn combine_all<T>(nodes: impl Iterator<Item = Nodes<T>>, op: &impl Fn(T, T) -> T) -> Option<T> {
    let nodes = nodes.flat_map(|mut nodes| std::mem::take(&mut nodes.0));
    let mut all: SmallVec<[NoDoublePanic<Node<T>>; 2 * INLINE_NODES]> = nodes.map(NoDoublePanic::new).collect();
    all.sort_unstable_by_key(|node| node.first);
    let mut joined = Nodes::new();
    all.into_iter().for_each(|node| joined.push(node.into_inner(), op));
    joined.combine(op)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Says how it came about.
    fn join(left: String, right: String) -> String {
        format!("({left} {right})")
    }

    fn run(blocks: std::ops::Range<u32>) -> Nodes<String> {
        let mut nodes = Nodes::new();
        blocks.for_each(|block| nodes.push(Node::leaf(block, block.to_string()), &join));
        nodes
    }

    #[test]
    fn blocks_join_by_twos() {
        assert_eq!(run(0..4).combine(&join).unwrap(), "((0 1) (2 3))");
        assert_eq!(run(0..7).combine(&join).unwrap(), "(((0 1) (2 3)) ((4 5) 6))");
        assert_eq!(run(0..0).combine(&join), None);
        let nodes = run(3..9);
        assert_eq!(
            nodes.as_slice().iter().map(|node| node.value.as_str()).collect::<Vec<_>>(),
            ["3", "((4 5) (6 7))", "8"]
        );
    }

    proptest! {
        #[test]
        fn the_tree_is_the_same_whoever_joins_it(cuts in proptest::collection::vec(0u32..100, 0..8)) {
            let mut cuts = [cuts, vec![0, 100]].concat();
            cuts.sort_unstable();
            let runs = cuts.windows(2).rev().map(|cut| run(cut[0]..cut[1]));
            prop_assert_eq!(combine_all(runs, &join), run(0..100).combine(&join));
        }
    }
}
