//! Panics that no case has asked for, heard by the panic hook, on whichever thread, also those that somebody catches; and what the panic handlers hear of.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::tasks::{NO_BROADCAST, NO_SUCH_BEE};

/// Texts of panics that are documented. (The cases' own do not call the hook.)
pub(crate) const DOCUMENTED: [&str; 2] = [NO_BROADCAST, NO_SUCH_BEE];

static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The panics of the cases' own that were for the panic handlers, and have got there.
static PLANNED_HEARD: AtomicUsize = AtomicUsize::new(0);

/// Listens from here on.
pub(crate) fn listen() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or("without a message");
        if !DOCUMENTED.iter().any(|known| message.contains(known)) {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            note(format!("a panic at {place}: {message}"));
            report(panic);
        }
    }));
}

/// Something has happened that nobody wanted.
pub(crate) fn note(what: String) {
    HEARD.lock().unwrap_or_else(PoisonError::into_inner).push(what);
}

pub(crate) fn hear_planned() {
    PLANNED_HEARD.fetch_add(1, Ordering::Release);
}

pub(crate) fn planned_heard() -> usize {
    PLANNED_HEARD.load(Ordering::Acquire)
}

/// Forgets all, for the next case. Returns what nobody wanted.
pub(crate) fn heard() -> Vec<String> {
    PLANNED_HEARD.store(0, Ordering::Relaxed);
    std::mem::take(&mut HEARD.lock().unwrap_or_else(PoisonError::into_inner))
}
