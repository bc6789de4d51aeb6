//! A cache of loop states for loops that are a region of their own, such as `Hive::par_for`. `Loop::take_words` takes a
//! state from here, and `Loop::put_words_back` puts it back. Each thread keeps one state of each kind, so that a loop
//! which follows another like it allocates nothing. See "A loop that is a region of its own" in `docs/loops.md`.

use std::cell::Cell;

use crate::loops::loop_state::{DispatchKind, LoopState};

thread_local! {
    /// One for each `DispatchKind`.
    static CACHED: [Cell<Option<CachedState>>; 2] = const { [const { Cell::new(None) }; 2] };
}

/// A loop state that can be used again and again, for one round in each region. Before and after it, all words that its
/// kind of loop uses are in the same round, which is over.
pub(crate) struct CachedState {
    pub(super) state: Box<LoopState>,
    /// In the cache: the last round that was run with it. In a loop: the round that is run.
    pub(super) round: u16,
}

/// Takes a loop state for a team of `bees` bees, from the cache if it has one of that size, for its next round.
#[inline]
pub(crate) fn take(kind: DispatchKind, bees: u32) -> CachedState {
    let cached = with_cell(kind, Cell::take).flatten().filter(|cached| cached.state.bees() == bees as usize);
    let CachedState { state, round } =
        cached.unwrap_or_else(|| CachedState { state: Box::new(LoopState::new(bees)), round: 0 });
    CachedState { state, round: round.wrapping_add(1) }
}

/// Keeps the state for the calling thread's next loop. If the thread is already ending, the state is dropped instead.
pub(crate) fn put(kind: DispatchKind, state: CachedState) {
    with_cell(kind, |cell| cell.set(Some(state)));
}

/// Calls `f` with the calling thread's cell for this kind. None: the thread is ending and has dropped its cells.
fn with_cell<R>(kind: DispatchKind, f: impl FnOnce(&Cell<Option<CachedState>>) -> R) -> Option<R> {
    CACHED.try_with(|cells| f(&cells[kind as usize])).ok()
}
