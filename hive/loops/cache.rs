//! Boards for loops that are a region of their own: the calling thread keeps one of each kind for the next, so that such a loop allocates nothing.

use std::cell::Cell;

use crate::loops::loop_state::{DispatchKind, LoopState};

thread_local! {
    static CACHED_RANGES: Cell<Option<CachedState>> = const { Cell::new(None) };
    static CACHED_QUEUE: Cell<Option<CachedState>> = const { Cell::new(None) };
}

/// A board that no region uses, every word of which has been through the same rounds.
pub(crate) struct CachedState {
    state: Box<LoopState>,
    /// The last round.
    round: u16,
}

/// A board for a team of `team`, and the round to run on it.
pub(crate) fn take(kind: DispatchKind, bees: u32) -> (Box<LoopState>, u16) {
    let cached = with_cell(kind, Cell::take).flatten().filter(|cached| cached.state.bees() == bees as usize);
    let CachedState { state, round } =
        cached.unwrap_or_else(|| CachedState { state: Box::new(LoopState::new(bees)), round: 0 });
    (state, round.wrapping_add(1))
}

/// Keeps a board whose team has been through `barriers_passed`. A thread that is ending keeps none.
pub(crate) fn put(kind: DispatchKind, state: Box<LoopState>, round: u16) {
    with_cell(kind, |cell| cell.set(Some(CachedState { state, round })));
}

/// None: the thread is ending, and what it had is gone already.
fn with_cell<R>(kind: DispatchKind, f: impl FnOnce(&Cell<Option<CachedState>>) -> R) -> Option<R> {
    let cell = match kind {
        DispatchKind::Ranges => &CACHED_RANGES,
        DispatchKind::Queue => &CACHED_QUEUE,
    };
    cell.try_with(f).ok()
}
