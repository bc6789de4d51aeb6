//! How a run ends when something is wrong: at once, with a message, whatever catches panics meanwhile.

use std::panic::{self, PanicHookInfo};
use std::process::exit;

/// The exit status of a run in which a model failed.
pub(crate) const REJECTED_EXIT_CODE: i32 = 9;

/// The first word of the line that says why.
pub(crate) const REJECTED_PREFIX: &str = "REJECTED:";

/// What bees are told who wait at a barrier that another left out, and who look at what may no longer be there; and what regions end with in which something was left undone.
const EXPECTED: [&str; 4] = [
    "call barrier() equally often",
    "must not itself wait for the bees",
    "was cut short",
    "gone on without having met",
];

/// Makes every panic the end of the process, except those that are expected. (Panics that the models throw themselves do not call the hook.)
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

/// Ends the run.
pub(crate) fn fail(reason: &str) -> ! {
    eprintln!("{REJECTED_PREFIX} {}", reason.split_whitespace().collect::<Vec<_>>().join(" "));
    exit(REJECTED_EXIT_CODE)
}
