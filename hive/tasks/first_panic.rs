//! Of several tasks that panic the first counts.

use std::sync::{Mutex, PoisonError};

use crate::crew::{Payload, drop_quietly};

/// The first panic of those who share this.
#[derive(Default)]
pub(super) struct FirstPanic(Mutex<Option<Payload>>);

impl FirstPanic {
    /// Keeps the panic if it is the first.
    pub(super) fn keep(&self, panic: Payload) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            *first = Some(panic);
        } else {
            drop(first);
            drop_quietly(panic);
        }
    }

    pub(super) fn into_inner(self) -> Option<Payload> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
