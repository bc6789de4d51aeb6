//! Fibonacci numbers and sums over trees on the heap.

use crate::kernels::join::Join;

/// The n-th Fibonacci number, a join for each call that has two to make.
pub(crate) fn fib<J: Join>(by: &mut J, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    by.join(move |by| fib(by, n - 1), move |by| fib(by, n - 2))
}

/// The number of joins in that recursion.
pub(crate) fn joins_of_fib(n: u64) -> u64 {
    fib_by_adding(n + 1) - 1
}

/// The n-th Fibonacci number, to check with.
pub(crate) fn fib_by_adding(n: u64) -> u64 {
    (0..n).fold((0, 1), |(this, next), _| (next, this + next)).0
}

/// A binary tree on the heap. `c/rival.hpp` has the same type.
#[repr(C)]
pub(crate) struct Tree {
    pub(crate) value: u64,
    pub(crate) left: Option<Box<Self>>,
    pub(crate) right: Option<Box<Self>>,
}

impl Tree {
    /// A full tree of so many layers; the values are the nodes' numbers, 1 the root's.
    pub(crate) fn full(layers: u32) -> Self {
        Self::below(1, layers, &|value| [2 * value, 2 * value + 1])
    }

    /// A list of so many nodes, each of which has a full tree of so many layers as its right child. The values are 1.
    pub(crate) fn comb(teeth: u32, layers: u32) -> Self {
        let tooth = || Some(Box::new(Self::below(1, layers, &|_| [1, 1])));
        let end = Self { value: 1, left: None, right: tooth() };
        (1..teeth).fold(end, |rest, _| Self { value: 1, left: Some(Box::new(rest)), right: tooth() })
    }

    /// A full tree, its root's value and those of each node's children by its own.
    fn below(value: u64, layers: u32, children: &impl Fn(u64) -> [u64; 2]) -> Self {
        let child = |value| (layers > 1).then(|| Box::new(Self::below(value, layers - 1, children)));
        let [left, right] = children(value).map(child);
        Self { value, left, right }
    }
}

/// The sum of all values, a join a node.
pub(crate) fn sum<J: Join>(by: &mut J, tree: &Tree) -> u64 {
    let (left, right) = (tree.left.as_deref(), tree.right.as_deref());
    tree.value + by.join(move |by| sum_below(by, left), move |by| sum_below(by, right))
}

fn sum_below(by: &mut impl Join, child: Option<&Tree>) -> u64 {
    child.map_or(0, |child| sum(by, child))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::join::InOrder;

    #[test]
    fn fibonacci_numbers() {
        let numbers: Vec<_> = (0..10).map(|n| fib(&mut InOrder, n)).collect();
        assert_eq!(numbers, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]);
        assert!((0..20).all(|n| fib(&mut InOrder, n) == fib_by_adding(n)));
        assert_eq!((joins_of_fib(1), joins_of_fib(2), joins_of_fib(3)), (0, 1, 2));
        assert_eq!(joins_of_fib(30), 1_346_268);
    }

    #[test]
    fn a_tree_of_ten_layers_has_1023_nodes() {
        assert_eq!(sum(&mut InOrder, &Tree::full(10)), 1023 * 1024 / 2);
    }

    #[test]
    fn a_comb_of_three_teeth_of_two_layers_has_12_nodes() {
        assert_eq!(sum(&mut InOrder, &Tree::comb(3, 2)), 12);
    }
}
