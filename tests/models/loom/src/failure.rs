//! Ends a run in which something is wrong: at once and with a message, even where the code under test would catch a
//! panic.
//!
//! The driver reads the exit status and the message.

use std::panic::{self, PanicHookInfo};
use std::process::exit;

/// The exit status of a run in which a model failed.
pub(crate) const REJECTED_EXIT_CODE: i32 = 9;

/// The first word of the line that gives the reason.
pub(crate) const REJECTED_PREFIX: &str = "REJECTED:";

/// Parts of the messages of panics that the protocol throws on purpose: to a bee that waits at a barrier that another
/// bee left out, to a bee that reads exchanged values too late, and to the queen when a region ends in which something
/// was left undone.
const EXPECTED: [&str; 4] = [
    "call barrier() equally often",
    "must not itself wait for the bees",
    "has ended a call of",
    "gone on after a call that should have panicked",
];

/// Makes every panic end the process, except the expected ones. Panics that the models throw themselves use
/// `resume_unwind`, which does not call the hook.
pub(crate) fn install_panic_hook() {
    panic::set_hook(Box::new(|info| {
        let message = message(info);
        if !EXPECTED.iter().any(|expected| message.contains(expected)) {
            let location =
                info.location().map(|at| format!(" [{}:{}]", file_name(at.file()), at.line())).unwrap_or_default();
            fail(&format!("{message}{location}"));
        }
    }));
}

fn message(info: &PanicHookInfo<'_>) -> String {
    info.payload_as_str().unwrap_or("a panic without words").to_owned()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Prints the reason and ends the run.
pub(crate) fn fail(reason: &str) -> ! {
    eprintln!("{REJECTED_PREFIX} {}", reason.split_whitespace().collect::<Vec<_>>().join(" "));
    exit(REJECTED_EXIT_CODE)
}
