//! The count of the threads that run loops of a hive alone (`lone_loops.rs`). Each of them takes a CPU from the team,
//! and so a loop that begins meanwhile has less to gain from it.

use std::sync::atomic::{AtomicU32, Ordering};

use crossbeam_utils::CachePadded;

use crate::on_drop::on_drop;

/// How many threads run loops alone at present.
pub(crate) struct LoneCallers(CachePadded<AtomicU32>);

impl LoneCallers {
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicU32::new(0)))
    }

    /// How many there are.
    #[inline(always)]
    pub(crate) fn count(&self) -> u32 {
        // Relaxed, here and below: a hint.
        self.0.load(Ordering::Relaxed)
    }

    /// Counts the calling thread until the guard is dropped.
    pub(crate) fn count_caller(&self) -> impl Drop + use<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        on_drop(|| _ = self.0.fetch_sub(1, Ordering::Relaxed))
    }
}
