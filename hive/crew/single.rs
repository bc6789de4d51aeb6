//! Which member does what only one of the team shall do: the first that comes.

use crossbeam_utils::CachePadded;

use super::Member;
use crate::sync::{AtomicU64, Ordering};

/// The key of what was given away last.
pub(super) struct Single(CachePadded<AtomicU64>);

impl Single {
    pub(super) fn new() -> Self {
        Self(CachePadded::new(AtomicU64::new(0)))
    }
}

impl Member<'_> {
    /// Whether this member is the first of its team to ask, since the barrier that it has passed last.
    #[inline]
    pub(crate) fn is_first(&self) -> bool {
        if self.team() == 1 {
            return true;
        }
        // All members ask between the same two barriers, so all come with the same key, and with another one than the time before.
        let key = self.phase_key();
        let word = &self.crew().single.0;
        // Relaxed: decides who is first and hands nothing over; the barrier at the end does.
        let last = word.load(Ordering::Relaxed);
        last != key && word.compare_exchange(last, key, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}
