//! Which hives' bees wait for which others', so that no circle of waits comes about. See `docs/waits.md`.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::crew::{Awaited, NOBODY, is_circle};
use crate::process::ProcessLock;

/// Those that live, by number.
static HIVES: ProcessLock<Hives> = ProcessLock::new(Hives { last: NOBODY, living: BTreeMap::new() });

/// All of them.
struct Hives {
    /// The number given out last.
    last: u64,
    living: BTreeMap<u64, Arc<Entry>>,
}

/// What is known of one.
struct Entry {
    number: u64,
    awaited: Awaited,
}

thread_local! {
    /// The hive that the calling thread is a bee of, if it is one: for good, also when its other thread-locals have
    /// gone.
    static OWN: Cell<u64> = const { Cell::new(NOBODY) };
    /// Its entry, at hand without the lock.
    static ENTRY: OnceCell<Arc<Entry>> = const { OnceCell::new() };
}

/// A hive among those that may be waited for.
pub(crate) struct Waits(Arc<Entry>);

impl Waits {
    /// Of a new hive.
    pub(crate) fn new() -> Self {
        Self(HIVES.with(|hives| {
            hives.last += 1;
            let entry = Arc::new(Entry { number: hives.last, awaited: Awaited::new() });
            hives.living.insert(entry.number, Arc::clone(&entry));
            entry
        }))
    }

    /// Notes that the calling thread is a bee of this hive, and will be nothing else.
    pub(crate) fn enlist(&self) {
        OWN.set(self.0.number);
        let _ = ENTRY.try_with(|entry| entry.set(Arc::clone(&self.0)));
    }

    /// Whether the calling thread is a bee of this hive.
    pub(crate) fn is_own(&self) -> bool {
        OWN.get() == self.0.number
    }

    /// Notes that the calling thread, which has the hive's turn, may come to wait for some of its bees, as long as the
    /// guard lives: for whichever takes a task of its.
    pub(crate) fn mark(&self) -> Option<Waiting<'_>> {
        let own = OWN.get();
        (own != NOBODY).then(|| Waiting { awaited: &self.0.awaited, before: self.0.awaited.mark(own) })
    }

    /// Calls `wait`, in which the calling thread waits for bees of this hive: it has the turn, or drops the hive. None,
    /// and it does not, if they may be waiting for the calling thread.
    pub(crate) fn unless_in_a_circle<R>(&self, wait: impl FnOnce() -> R) -> Option<R> {
        let own = OWN.get();
        // Nobody's bee: bees wait for it only where it has their hive's turn, and then nobody else waits for those.
        if own == NOBODY {
            return Some(wait());
        }
        let awaited = &self.0.awaited;
        let _waiting = Waiting { awaited, before: awaited.mark_and_look(own) };
        (!self.closes_a_circle(own)).then(wait)
    }

    fn closes_a_circle(&self, own: u64) -> bool {
        if own == self.0.number {
            return true;
        }
        let is_free = ENTRY.try_with(|entry| entry.get().is_some_and(|entry| entry.awaited.by() == NOBODY));
        if is_free.unwrap_or(false) {
            return false;
        }
        HIVES.with(|hives| {
            let by = |hive| hives.living.get(&hive).map_or(NOBODY, |entry| entry.awaited.by());
            is_circle(own, self.0.number, hives.living.len(), by)
        })
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        // What is removed is dropped outside of the lock.
        let _entry = HIVES.with(|hives| hives.living.remove(&self.0.number));
    }
}

/// A wait that is noted.
pub(crate) struct Waiting<'w> {
    awaited: &'w Awaited,
    before: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.awaited.mark(self.before);
    }
}
