//! The loop state that a `Loop` has for itself, and a check when it is dropped.

use std::sync::OnceLock;

use crate::loops::loop_state::LoopState;
use crate::region::nesting;

/// The words that a loop has for itself.
pub(crate) struct OwnState(pub(crate) OnceLock<Box<LoopState>>);

impl Drop for OwnState {
    /// # Panics
    /// If one bee of a region has run a loop that it drops in the same region, and no other bee has. Then that bee has
    /// made the loop for itself, and has run all of its indices; the other bees did the same with theirs.
    #[inline]
    fn drop(&mut self) {
        if let Some(state) = self.0.get() {
            assert_shared(state);
        }
    }
}

/// The check that the drop of a loop makes.
#[cold]
fn assert_shared(state: &LoopState) {
    let is_private = || state.region_of_only_user().is_some_and(nesting::is_in_region);
    assert!(
        std::thread::panicking() || !is_private(),
        "a bee has made a Loop inside of a region, and has run all indices of it, as each other bee that did so; \
         bee.for_range shares out a loop whose indices are known inside of the region only, and for_each takes a Loop \
         that was made outside of it"
    );
}
