//! Records, through the panic hook, panics that no case has asked for, on any thread and even if they are caught; and
//! counts what the panic handlers are told.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::tasks::{NO_BROADCAST, NO_SUCH_BEE};

/// The texts of panics that are documented. The cases' own panics do not call the hook.
pub(crate) const DOCUMENTED: [&str; 2] = [NO_BROADCAST, NO_SUCH_BEE];

static UNPLANNED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// How many panics of the cases' own have reached the panic handlers.
static PLANNED_REPORTS: AtomicUsize = AtomicUsize::new(0);

/// Installs the hook.
pub(crate) fn install() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or("without a message");
        if !DOCUMENTED.iter().any(|known| message.contains(known)) {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            record_unplanned(format!("a panic at {place}: {message}"));
            report(panic);
        }
    }));
}

/// Records something that should not have happened.
pub(crate) fn record_unplanned(what: String) {
    UNPLANNED.lock().unwrap_or_else(PoisonError::into_inner).push(what);
}

pub(crate) fn count_planned() {
    // Release: pairs with the Acquire in the function below, so that what ran before the panic is visible.
    PLANNED_REPORTS.fetch_add(1, Ordering::Release);
}

pub(crate) fn planned_reports() -> usize {
    // Acquire: pairs with the Release above.
    PLANNED_REPORTS.load(Ordering::Acquire)
}

/// Clears the record for the next case. Returns what should not have happened.
pub(crate) fn take_unplanned() -> Vec<String> {
    PLANNED_REPORTS.store(0, Ordering::Relaxed);
    std::mem::take(&mut UNPLANNED.lock().unwrap_or_else(PoisonError::into_inner))
}
