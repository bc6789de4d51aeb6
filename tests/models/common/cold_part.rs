//! How long the queen's own part of a region takes, in the place of `hive/observe/cold_part.rs`: a model has no clock,
//! and says beforehand whether all parts are long.

use std::cell::Cell;

thread_local! {
    /// Whether parts take longer than it takes to wake a worker. All threads of a model are on one thread of the
    /// system.
    static PARTS_ARE_LONG: Cell<bool> = const { Cell::new(false) };
}

/// Says whether parts are long, until the next call.
#[allow(dead_code, reason = "only loom's models ask for it")]
pub(crate) fn set_parts_are_long(are_long: bool) {
    PARTS_ARE_LONG.set(are_long);
}

/// Nothing is recorded.
pub(crate) struct ColdPart;

impl ColdPart {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn begin_if(&self, is_cold: bool) -> ColdPartTimer {
        ColdPartTimer { is_cold }
    }
}

pub(crate) struct ColdPartTimer {
    is_cold: bool,
}

impl ColdPartTimer {
    pub(crate) fn end_is_late(self) -> bool {
        self.is_cold && PARTS_ARE_LONG.get()
    }
}
