//! How many workers have been hired. Everybody who looks for a bee goes by this count: the queues, thieves, statistics,
//! and resizes. So nobody finds a worker for which the system has made no thread. See `docs/resize.md`.

use crate::sync::{AtomicU32, Ordering};

/// The number of the last worker that has a thread: workers 1 to this number have one. It never falls. A slot beyond it
/// may exist, because a slot is made before its thread.
pub(crate) struct Hired(AtomicU32);

impl Hired {
    /// No worker yet.
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// The number of workers hired so far.
    pub(crate) fn count(&self) -> u32 {
        // Acquire: pairs with the Release in `count_in`. A caller that learns of a worker by its number also finds its
        // slot.
        self.0.load(Ordering::Acquire)
    }

    /// Counts worker `id`, which has a thread. Called twice for each: by the thread that hires it, under the lock of
    /// `ResizeState`, before it hires the next one; and by the worker itself, before it does anything that others may
    /// have to find. Either may be first. (For the queen, `id` 0, it does nothing.)
    pub(crate) fn count_in(&self, id: u32) {
        // A worker may be late, when others have been hired already, and must not lower the number.
        let raised = |now: u32| (now < id).then_some(id);
        // Release: pairs with the Acquire in `count`; publishes the worker's slot. Every change of the number is a
        // read-modify-write, so a reader of a later number sees that slot, too. Failure is Relaxed: the worker has been
        // counted already, so there is nothing to publish.
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, raised);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bee_counted_late_lowers_nothing() {
        let hired = Hired::new();
        assert_eq!(hired.count(), 0);
        hired.count_in(1);
        hired.count_in(2);
        hired.count_in(1);
        hired.count_in(0);
        assert_eq!(hired.count(), 2);
    }
}
