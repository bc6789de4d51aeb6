//! Recursions by which runtimes for tasks are compared elsewhere, at the same sizes: solutions of the n queens'
//! problem, each placed queen on a board of its own, and skynet, a tree with ten children a node whose leaves are
//! numbered.

use std::ops::Range;

use crate::kernels::join::Join;

/// The most columns of a board.
const COLUMNS: usize = 16;
/// The children of each node of skynet that is no leaf.
const CHILDREN: u64 = 10;

/// Some rows of a board with a queen in each, none of which another one can take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Board {
    columns: u8,
    rows: u8,
    /// The column of each row's queen.
    queens: [u8; COLUMNS],
}

impl Board {
    pub(crate) const fn new(columns: u8) -> Self {
        assert!(columns as usize <= COLUMNS);
        Self { columns, rows: 0, queens: [0; COLUMNS] }
    }

    /// With one more row, if no other queen can take that one.
    fn with(mut self, column: u8) -> Option<Self> {
        let placed = self.queens[..self.rows.into()].iter().rev();
        let is_safe = (1..).zip(placed).all(|(rows, other)| *other != column && other.abs_diff(column) != rows);
        is_safe.then(|| {
            self.queens[usize::from(self.rows)] = column;
            self.rows += 1;
            self
        })
    }
}

/// How many ways there are to fill the board.
pub(crate) fn queens<J: Join>(by: &mut J, board: Board) -> u64 {
    if board.rows == board.columns {
        return 1;
    }
    let (mut safe, mut count) = ([0; COLUMNS], 0);
    for column in (0..board.columns).filter(|column| board.with(*column).is_some()) {
        safe[count] = column;
        count += 1;
    }
    if count == 0 { 0 } else { queens_in(by, board, safe, 0..count) }
}

/// The same with the next queen in some of the columns: a join for each half of them.
fn queens_in<J: Join>(by: &mut J, board: Board, safe: [u8; COLUMNS], some: Range<usize>) -> u64 {
    if some.len() == 1 {
        return board.with(safe[some.start]).map_or(0, |board| queens(by, board));
    }
    let middle = usize::midpoint(some.start, some.end);
    by.join(
        move |by| queens_in(by, board, safe, some.start..middle),
        move |by| queens_in(by, board, safe, middle..some.end),
    )
}

/// The sum of the numbers of so many leaves from the first one on.
pub(crate) fn skynet<J: Join>(by: &mut J, first: u64, leaves: u64) -> u64 {
    if leaves < CHILDREN { first } else { children(by, first, leaves / CHILDREN, CHILDREN) }
}

/// The same below some nodes of so many leaves each: a join for each half of them.
fn children<J: Join>(by: &mut J, first: u64, leaves_each: u64, nodes: u64) -> u64 {
    if nodes == 1 {
        return skynet(by, first, leaves_each);
    }
    let left = nodes / 2;
    let middle = first + left * leaves_each;
    by.join(move |by| children(by, first, leaves_each, left), move |by| children(by, middle, leaves_each, nodes - left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::join::InOrder;

    #[test]
    fn queens_are_placed_in_all_ways() {
        let ways: Vec<_> = (1..=9).map(|columns| queens(&mut InOrder, Board::new(columns))).collect();
        assert_eq!(ways, [1, 0, 0, 2, 10, 4, 40, 92, 352]);
    }

    #[test]
    fn skynet_adds_up_its_leaves() {
        assert_eq!(skynet(&mut InOrder, 0, 1), 0);
        assert_eq!(skynet(&mut InOrder, 0, 1000), 999 * 1000 / 2);
    }
}
