//! Panics that no case has asked for, heard by the panic hook, on whichever thread, also those that somebody catches; and what the panic handlers hear of.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::tasks::{NO_BROADCAST, NO_SUCH_BEE};

/// Texts of panics that are documented. (The cases' own do not call the hook.)
pub(crate) const DOCUMENTED: [&str; 2] = [NO_BROADCAST, NO_SUCH_BEE];

static UNPLANNED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The panics of the cases' own that were for the panic handlers, and have got there.
static PLANNED_REPORTS: AtomicUsize = AtomicUsize::new(0);

/// Listens from here on.
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

/// Something has happened that nobody wanted.
pub(crate) fn record_unplanned(what: String) {
    UNPLANNED.lock().unwrap_or_else(PoisonError::into_inner).push(what);
}

pub(crate) fn count_planned() {
    PLANNED_REPORTS.fetch_add(1, Ordering::Release);
}

pub(crate) fn planned_reports() -> usize {
    PLANNED_REPORTS.load(Ordering::Acquire)
}

/// Forgets all, for the next case. Returns what nobody wanted.
pub(crate) fn take_unplanned() -> Vec<String> {
    PLANNED_REPORTS.store(0, Ordering::Relaxed);
    std::mem::take(&mut UNPLANNED.lock().unwrap_or_else(PoisonError::into_inner))
}
