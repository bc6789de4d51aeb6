//! Of several tasks that panic the first counts.

use std::sync::PoisonError;

use crate::protocol::region::panics::{Payload, drop_ignoring_panics};
use crate::sync::Mutex;

/// The first panic of those who share this.
#[derive(Default)]
pub(crate) struct FirstPanic(Mutex<Option<Payload>>);

impl FirstPanic {
    /// Keeps the panic if it is the first.
    pub(crate) fn record(&self, panic: Payload) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            *first = Some(panic);
        } else {
            drop(first);
            drop_ignoring_panics(panic);
        }
    }

    /// The panic that was kept, if there is one, taken out.
    pub(crate) fn take(&self) -> Option<Payload> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn into_inner(self) -> Option<Payload> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
