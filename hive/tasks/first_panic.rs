//! Of several tasks that panic the first counts.

use std::sync::PoisonError;

use crate::crew::{Payload, drop_quietly};
use crate::sync::Mutex;

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

    /// The panic that was kept, if there is one, taken out.
    pub(super) fn take(&self) -> Option<Payload> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn into_inner(self) -> Option<Payload> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
