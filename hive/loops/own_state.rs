//! The loop states that a `Loop` has for itself, and a check when it is dropped.

use std::sync::OnceLock;

use crate::loops::loop_state::LoopState;
use crate::protocol::region::region_context::RegionContext;
use crate::region::nesting;

/// The words that a loop has for itself, made by the bee that first needs them. They are a list: each hive that runs
/// the loop has words of its own, since several may run it at the same time, and new ones when it has grown. One hive
/// needs no more, as it runs one region of several bees at a time.
#[derive(Default)]
pub(crate) struct OwnState(OnceLock<Box<StateOfHive>>);

/// One entry of the list.
struct StateOfHive {
    /// The unique number of the hive's team.
    team: u64,
    state: LoopState,
    /// The rest of the list.
    next: OnceLock<Box<StateOfHive>>,
}

impl OwnState {
    /// The words for the region of `context`. All bees of a region find the same: the first entry of their hive that is
    /// for so many bees.
    pub(crate) fn of_region(&self, context: &RegionContext<'_>) -> &LoopState {
        let (team, bees) = (context.team.unique_number(), context.bees);
        // Large enough for the whole team of the hive, of which this region may be using only a part.
        let state = || LoopState::new(bees.max(context.team.bees()));
        let mut place = &self.0;
        loop {
            let entry = place.get_or_init(|| Box::new(StateOfHive { team, state: state(), next: OnceLock::new() }));
            if entry.team == team && bees as usize <= entry.state.bees() {
                return &entry.state;
            }
            place = &entry.next;
        }
    }
}

impl Drop for StateOfHive {
    /// Drops the rest of the list one by one. Each entry's drop inside of that of the one before would overflow the
    /// stack where the list is long.
    #[inline]
    fn drop(&mut self) {
        let mut rest = self.next.take();
        while let Some(mut entry) = rest {
            rest = entry.next.take();
        }
    }
}

impl Drop for OwnState {
    /// # Panics
    /// If one bee of a region has run a loop that it drops in the same region, and no other bee has. Then that bee has
    /// made the loop for itself, and has run all of its indices; the other bees did the same with theirs.
    #[inline]
    fn drop(&mut self) {
        if let Some(entry) = self.0.get() {
            assert_shared(entry);
        }
    }
}

/// The check that the drop of a loop makes.
#[cold]
fn assert_shared(first: &StateOfHive) {
    let mut entries = std::iter::successors(Some(first), |entry| entry.next.get().map(|next| &**next));
    let is_private = |entry: &StateOfHive| entry.state.region_of_only_user().is_some_and(nesting::is_in_region);
    assert!(
        std::thread::panicking() || !entries.any(is_private),
        "a bee has made a Loop inside of a region, and has run all indices of it, as each other bee that did so; \
         bee.for_range shares out a loop whose indices are known inside of the region only, and for_each takes a Loop \
         that was made outside of it"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As of a loop that so many hives have run.
    #[test]
    fn a_long_list_is_dropped_on_a_small_stack() {
        const ENTRIES: u64 = 5_000;
        let mut list = OwnState::default();
        for team in 0..ENTRIES {
            let next = list.0.take().map_or_else(OnceLock::new, OnceLock::from);
            list.0 = OnceLock::from(Box::new(StateOfHive { team, state: LoopState::new(1), next }));
        }
        std::thread::Builder::new().stack_size(64 << 10).spawn(move || drop(list)).unwrap().join().unwrap();
    }
}
