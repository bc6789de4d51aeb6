//! A cache of loop states for loops that are a region of their own, such as `Hive::par_for`. `Loop::run_in_region`
//! takes a state from here before the region and puts it back afterwards. Each thread keeps one state of each kind, so
//! that a loop which follows another like it allocates nothing. See "A loop that is a region of its own" in
//! `docs/loops.md`.

use std::cell::Cell;

use crate::loops::loop_state::{DispatchKind, LoopState};

thread_local! {
    static CACHED_RANGES: Cell<Option<CachedState>> = const { Cell::new(None) };
    static CACHED_QUEUE: Cell<Option<CachedState>> = const { Cell::new(None) };
}

/// A loop state that no region is using. All words that its kind of loop uses are in the same round, which is over.
pub(crate) struct CachedState {
    state: Box<LoopState>,
    /// The last round that was run with it.
    round: u16,
}

/// Takes a loop state for a team of `bees` bees, from the cache if it has one of that size. Returns it with the number
/// of the round to run next.
pub(crate) fn take(kind: DispatchKind, bees: u32) -> (Box<LoopState>, u16) {
    let cached = with_cell(kind, Cell::take).flatten().filter(|cached| cached.state.bees() == bees as usize);
    let CachedState { state, round } =
        cached.unwrap_or_else(|| CachedState { state: Box::new(LoopState::new(bees)), round: 0 });
    (state, round.wrapping_add(1))
}

/// Keeps `state` for the calling thread's next loop. The whole team has finished `round` with it. If the thread is
/// already ending, the state is dropped instead.
pub(crate) fn put(kind: DispatchKind, state: Box<LoopState>, round: u16) {
    with_cell(kind, |cell| cell.set(Some(CachedState { state, round })));
}

/// Calls `f` with the calling thread's cell for this kind. None: the thread is ending and has dropped the cell already.
fn with_cell<R>(kind: DispatchKind, f: impl FnOnce(&Cell<Option<CachedState>>) -> R) -> Option<R> {
    let cell = match kind {
        DispatchKind::Ranges => &CACHED_RANGES,
        DispatchKind::Queue => &CACHED_QUEUE,
    };
    cell.try_with(f).ok()
}
