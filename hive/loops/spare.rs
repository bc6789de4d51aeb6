//! Boards for loops that are a region of their own: the calling thread keeps one of each kind for the next, so that such a loop allocates nothing.

use std::cell::Cell;

use super::board::{Board, Kind};

thread_local! {
    static SPARE_SHARES: Cell<Option<Spare>> = const { Cell::new(None) };
    static SPARE_QUEUE: Cell<Option<Spare>> = const { Cell::new(None) };
}

/// A board that no region uses, every word of which has been through the same rounds.
pub(super) struct Spare {
    board: Box<Board>,
    /// The last round.
    round: u16,
}

/// A board for a team of `team`, and the round to run on it.
pub(super) fn take(kind: Kind, team: u32) -> (Box<Board>, u16) {
    let spare = with(kind, Cell::take).flatten().filter(|spare| spare.board.members() == team as usize);
    let Spare { board, round } = spare.unwrap_or_else(|| Spare { board: Box::new(Board::new(team)), round: 0 });
    (board, round.wrapping_add(1))
}

/// Keeps a board whose team has been through `round`. A thread that is ending keeps none.
pub(super) fn keep(kind: Kind, board: Box<Board>, round: u16) {
    with(kind, |spare| spare.set(Some(Spare { board, round })));
}

/// None: the thread is ending, and what it had is gone already.
fn with<R>(kind: Kind, use_it: impl FnOnce(&Cell<Option<Spare>>) -> R) -> Option<R> {
    let kept = match kind {
        Kind::Shares => &SPARE_SHARES,
        Kind::Queue => &SPARE_QUEUE,
    };
    kept.try_with(use_it).ok()
}
