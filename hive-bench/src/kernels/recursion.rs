//! Work by recursive join, down to the last leaf: written once, for every runtime that can join two closures, and once
//! more for those in C++ (`c/recursions.hpp`).

use crate::kernels::field::{self, Board};
use crate::kernels::join::Join;
use crate::kernels::joins::{self, Tree};
use crate::kernels::search::{self, Node};

/// The recursions, each of which ends in a number. `c/rival.hpp` has the same type.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) enum Recursion<'t> {
    /// This Fibonacci number.
    Fib(u64),
    /// The sum over the tree, so many times, added up.
    Sums { tree: &'t Tree, times: u64 },
    /// The nodes from this one down.
    Search(Node),
    /// How many ways there are to place so many queens on a board of as many columns.
    Queens(u8),
    /// The sum of the numbers of so many leaves, a power of ten.
    Skynet(u64),
}

impl Recursion<'_> {
    /// The number, by somebody's joins.
    pub(crate) fn by(self, by: &mut impl Join) -> u64 {
        match self {
            Self::Fib(n) => joins::fib(by, n),
            Self::Sums { tree, times } => (0..times).map(|_| joins::sum(by, tree)).sum(),
            Self::Search(root) => search::count(by, root),
            Self::Queens(columns) => field::queens(by, Board::new(columns)),
            Self::Skynet(leaves) => field::skynet(by, 0, leaves),
        }
    }
}
