//! Keeps the first panic of several tasks, for scopes (`scope.rs`) and for threads that wait for tasks (`blocking.rs`).
//! These continue it when all their tasks have ended.

use crate::protocol::region::panics::{Payload, drop_ignoring_panics};
use crate::sync::Mutex;

/// The payload of the first panic, if a task has panicked. Shared by all tasks of one group.
#[derive(Default)]
pub(crate) struct FirstPanic(Mutex<Option<Payload>>);

impl FirstPanic {
    /// Keeps the panic if it is the first, and drops it otherwise.
    pub(crate) fn record(&self, panic: Payload) {
        let mut first = self.0.lock();
        if first.is_none() {
            *first = Some(panic);
        } else {
            // The drop of a payload is the program's code, so the lock is released before it.
            drop(first);
            drop_ignoring_panics(panic);
        }
    }

    /// Takes out the panic that was kept, if there is one.
    pub(crate) fn take(&self) -> Option<Payload> {
        self.0.lock().take()
    }
}
