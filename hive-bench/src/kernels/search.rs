//! A search of an unbalanced tree, after the idea of the benchmark UTS: the size of a subtree is unknown until it has
//! been searched, so threads have to steal work all the time. The tree is not in memory: the hash of a node determines
//! its children. `c/search.h` has the same tree once more.

use crate::kernels::join::Join;

/// Where the tree begins: with this it has 1,390,125 nodes in nine generations below the root, a quarter of them below
/// one of the root's children.
const ROOT: u64 = 18;
const CHILDREN_OF_ROOT: u32 = 32;

/// A node of the tree.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) hash: u64,
    /// How many generations there may be below it.
    pub(crate) depth: u32,
}

impl Node {
    pub(crate) const fn root(depth: u32) -> Self {
        Self { hash: ROOT, depth }
    }

    /// How many it has: 0, 4, 8, ..., each half as often as the one before, so four on average. The root has 32.
    pub(crate) const fn children(self) -> u32 {
        match (self.depth, self.hash) {
            (0, _) => 0,
            (_, ROOT) => CHILDREN_OF_ROOT,
            (_, hash) => 4 * hash.trailing_ones(),
        }
    }

    pub(crate) const fn child(self, number: u32) -> Self {
        Self { hash: mix(self.hash, number), depth: self.depth - 1 }
    }
}

/// The child of this number: a step of splitmix64, which takes a few instructions and gives all children different
/// hashes.
const fn mix(hash: u64, number: u32) -> u64 {
    let mixed = hash.wrapping_add((number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// How many nodes there are from this one down, itself among them.
pub(crate) fn count<J: Join>(by: &mut J, node: Node) -> u64 {
    match node.children() {
        0 => 1,
        children => 1 + count_children(by, node, 0, children),
    }
}

/// The same below some of a node's children: a join for each half of them.
fn count_children<J: Join>(by: &mut J, node: Node, first: u32, end: u32) -> u64 {
    if end - first == 1 {
        return count(by, node.child(first));
    }
    let middle = u32::midpoint(first, end);
    by.join(move |by| count_children(by, node, first, middle), move |by| count_children(by, node, middle, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::join::InOrder;

    #[test]
    fn the_tree_is_large_and_unbalanced() {
        let root = Node::root(9);
        let shares: Vec<_> = (0..root.children()).map(|number| count(&mut InOrder, root.child(number))).collect();
        let all = count(&mut InOrder, root);
        assert_eq!(all, 1 + shares.iter().sum::<u64>());
        assert_eq!(all, 1_390_125);
        let (smallest, largest) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        assert!(*smallest == 1 && *largest > all / 5, "{shares:?}");
    }
}
