//! Values whose drops panic.

use std::panic::{panic_any, resume_unwind};
use std::sync::Arc;

use super::task_helpers::Payload;

/// A value that panics when it is dropped, as long as it is live. The values are counted.
#[derive(Clone)]
pub(crate) struct PanicsOnDrop {
    alive: Arc<()>,
    is_live: bool,
}

impl PanicsOnDrop {
    pub(crate) fn new(alive: &Arc<()>) -> Self {
        Self { alive: Arc::clone(alive), is_live: true }
    }

    /// Returns whether it is live. Reads the whole value, so that a freed one would be noticed.
    pub(crate) fn is_armed(&self) -> bool {
        self.is_live && Arc::strong_count(&self.alive) > 1
    }

    /// Panics while this is live.
    pub(crate) fn panic<R>(&self) -> R {
        assert!(self.is_armed());
        panic_any(Payload("its own"))
    }

    pub(crate) fn disarmed(mut self) -> Self {
        self.is_live = false;
        self
    }
}

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        if self.is_live {
            resume_unwind(Box::new(Payload("the drop")));
        }
    }
}

/// Runs `work` with a counter of these values. None may be left afterwards.
#[track_caller]
pub(crate) fn with_drop_count(work: impl FnOnce(&Arc<()>)) {
    let alive = Arc::new(());
    work(&alive);
    assert_eq!(Arc::strong_count(&alive), 1, "each value is dropped once");
}
