//! The fixed tree along which the blocks of a reduction are combined: blocks in pairs, pairs in fours, and so on. Its
//! shape depends on the number of blocks alone, so the result is the same bit by bit, whichever bee combines which part
//! of it. Used by all reductions that are cut into `Cut::Blocks`.
//!
//! It is built like a binary counter: nodes come from left to right, and a new node is combined with the node to its
//! left as soon as the two are the halves of a larger node.

use std::mem::needs_drop;
use std::ops::Range;

use smallvec::SmallVec;

use crate::region::no_double_panic::NoDoublePanic;

/// A node of the tree: the combined value of 2^`level` consecutive blocks, from block `first` on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Node<T> {
    pub(crate) first: u32,
    level: u32,
    value: T,
}

impl<T> Node<T> {
    /// The node of a single block.
    pub(crate) fn leaf(block: u32, value: T) -> Self {
        Self { first: block, level: 0, value }
    }

    /// The same node with its value converted by `form`.
    pub(crate) fn map<U>(&self, form: impl FnOnce(&T) -> U) -> Node<U> {
        Node { first: self.first, level: self.level, value: form(&self.value) }
    }

    /// Whether this node and `right` are the two halves of one larger node.
    fn pairs_with(&self, right: &Self) -> bool {
        self.level == right.level
            && self.first + (1 << self.level) == right.first
            && self.first % (2 << self.level) == 0
    }
}

/// How many nodes are stored without an allocation. A contiguous run of the default number of blocks, 256, leaves at
/// most 14 nodes that cannot be combined further.
const INLINE_NODES: usize = 16;

/// Values with more bytes than this are boxed in a tree. A tree puts many nodes on the stack, and a build without
/// optimisation several copies of each.
const MAX_UNBOXED_BYTES: usize = 256;

/// Whether values of this type should be boxed in a tree: see [`boxed`].
pub(crate) const fn is_large<T>() -> bool {
    size_of::<T>() > MAX_UNBOXED_BYTES
}

/// The operation `op` for boxed values. The result reuses the left value's box.
pub(crate) fn boxed<T>(op: &impl Fn(T, T) -> T) -> impl Fn(Box<T>, Box<T>) -> Box<T> {
    move |mut left, right| {
        let value = *left;
        *left = op(value, *right);
        left
    }
}

/// The nodes of a tree from left to right, combined as far as possible.
#[derive(Clone, Debug)]
pub(crate) struct Nodes<T>(SmallVec<[Node<T>; INLINE_NODES]>);

impl<T> Nodes<T> {
    pub(crate) fn new() -> Self {
        Self(SmallVec::new())
    }

    /// Adds a node at the right, and combines it with the nodes to its left as long as they are halves of a larger
    /// node.
    pub(crate) fn push(&mut self, mut node: Node<T>, op: &impl Fn(T, T) -> T) {
        while self.0.last().is_some_and(|left| left.pairs_with(&node)) {
            let Some(left) = self.0.pop() else { break };
            node = Node { first: left.first, level: left.level + 1, value: op(left.value, node.value) };
        }
        self.0.push(node);
    }

    /// Adds the blocks with these numbers, each with the value that `leaf` returns for it.
    pub(crate) fn push_blocks(&mut self, mut blocks: Range<usize>, op: &impl Fn(T, T) -> T, leaf: impl Fn(usize) -> T) {
        while !blocks.is_empty() {
            // The largest node that begins here and ends with these blocks.
            let level = blocks.start.trailing_zeros().min(blocks.len().ilog2());
            let value = combined(blocks.start, level, op, &leaf);
            self.push(Node { first: blocks.start as u32, level, value }, op);
            blocks.start += 1 << level;
        }
    }

    /// Combines all nodes into one value. They must cover all blocks, from the first to the last. The nodes at the
    /// right end, which do not fill a larger node, are combined from right to left. None: there are no blocks.
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
}

impl<T> Drop for Nodes<T> {
    #[inline]
    fn drop(&mut self) {
        // Nodes may be left because a user's closure has panicked. `NoDoublePanic` keeps a panic of a value's own drop
        // from becoming a second one, which would end the process.
        if needs_drop::<T>() {
            while let Some(node) = self.0.pop() {
                drop(NoDoublePanic::new(node));
            }
        }
    }
}

/// The value of the node of this level that begins at block `first`.
fn combined<T>(first: usize, level: u32, op: &impl Fn(T, T) -> T, value: &impl Fn(usize) -> T) -> T {
    if level == 0 {
        return value(first);
    }
    let half = 1 << (level - 1);
    let left = NoDoublePanic::new(combined(first, level - 1, op, value));
    let right = combined(first + half, level - 1, op, value);
    op(left.into_inner(), right)
}

/// Combines the nodes of several bees into one value. Together they must cover all blocks; their order does not matter.
/// None: there are no blocks.
pub(crate) fn combine_all<T>(nodes: Vec<Nodes<T>>, op: &impl Fn(T, T) -> T) -> Option<T> {
    // Collect the nodes of all bees and put them in order.
    let nodes = nodes.into_iter().flat_map(|mut nodes| std::mem::take(&mut nodes.0));
    let mut all: SmallVec<[NoDoublePanic<Node<T>>; 2 * INLINE_NODES]> = nodes.map(NoDoublePanic::new).collect();
    sort(&mut all);
    // Build the tree over them, as if one bee had done it all.
    let mut joined = Nodes::new();
    all.into_iter().for_each(|node| joined.push(node.into_inner(), op));
    joined.combine(op)
}

/// From left to right. A program has this once for each type of values, and not for each reduction.
fn sort<T>(nodes: &mut [NoDoublePanic<Node<T>>]) {
    nodes.sort_unstable_by_key(|node| node.first);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Shows in its result how the values were combined.
    fn join(left: String, right: String) -> String {
        format!("({left} {right})")
    }

    fn run(blocks: std::ops::Range<u32>) -> Nodes<String> {
        let mut nodes = Nodes::new();
        let blocks = blocks.start as usize..blocks.end as usize;
        nodes.push_blocks(blocks, &join, |block| block.to_string());
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
            let runs = cuts.windows(2).rev().map(|cut| run(cut[0]..cut[1])).collect();
            prop_assert_eq!(combine_all(runs, &join), run(0..100).combine(&join));
        }
    }
}
