//! Which posts of tasks are under way, in a hive whose sleepers look for work by themselves: only then can such a sleeper say that nobody was woken for what it
//! has found.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

/// Posts begun, in the upper half, and ended, in the lower.
pub(crate) struct InFlight(CachePadded<AtomicU64>);

const ONE_BEGUN: u64 = 1 << 32;

impl InFlight {
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicU64::new(0)))
    }

    /// A post, or another step after which somebody may have to be woken. It is under way as long as the guard lives.
    pub(crate) fn begin(&self) -> impl Drop + '_ {
        struct EndOnDrop<'p>(&'p AtomicU64);
        impl Drop for EndOnDrop<'_> {
            fn drop(&mut self) {
                // SeqCst: in the one order with the looks of `holds_with_none_in_flight`.
                let ended = |now: u64| Some(now & !(ONE_BEGUN - 1) | u64::from((now as u32).wrapping_add(1)));
                let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, ended);
            }
        }
        // SeqCst: as above. It wraps off the top.
        self.0.fetch_add(ONE_BEGUN, Ordering::SeqCst);
        EndOnDrop(&self.0)
    }

    /// Whether `condition` holds while no post is under way, from before it is asked until after that.
    pub(crate) fn holds_with_none_in_flight(&self, condition: impl FnOnce() -> bool) -> bool {
        // SeqCst, both: as above.
        let before = self.0.load(Ordering::SeqCst);
        (before >> 32) as u32 == before as u32 && condition() && self.0.load(Ordering::SeqCst) == before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_condition_holds_while_a_post_is_in_flight() {
        let in_flight = InFlight::new();
        assert!(in_flight.holds_with_none_in_flight(|| true));
        assert!(!in_flight.holds_with_none_in_flight(|| false));
        let one = in_flight.begin();
        let other = in_flight.begin();
        drop(one);
        assert!(!in_flight.holds_with_none_in_flight(|| true));
        drop(other);
        assert!(in_flight.holds_with_none_in_flight(|| true));
        assert!(!in_flight.holds_with_none_in_flight(|| {
            drop(in_flight.begin());
            true
        }));
    }
}
