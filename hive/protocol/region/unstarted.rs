//! A region that its queen has begun alone, and may have to start on the workers yet: what her `RegionContext` refers
//! to meanwhile. `late_start.rs` makes it, and does the rest.

use std::cell::Cell;

use crate::sync::Deadline;

/// A region that its queen has begun alone. It lies on her stack, and only her thread uses it.
pub(crate) struct Unstarted {
    /// Until when she goes on alone.
    pub(crate) deadline: Deadline,
    /// Whether some worker was asleep as the region was started. None: it has not been started.
    pub(crate) some_asleep: Cell<Option<bool>>,
    /// The address of the `LateOrder` by which it is started.
    pub(crate) order: *const (),
}

impl Unstarted {
    /// Whether the region has been started on the workers.
    pub(crate) fn is_started(&self) -> bool {
        self.some_asleep.get().is_some()
    }
}
