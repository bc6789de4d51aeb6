//! `--list`: what can be measured here.

use std::fmt::Write;

use crate::catalog::{Case, RuntimeId};
use crate::runtimes;
use crate::system::exit::Outcome;

/// Prints it.
pub(crate) fn main() -> Outcome {
    print!("{}", all());
    Ok(())
}

fn all() -> String {
    let mut text = "cases\n".to_owned();
    for case in Case::ALL {
        let _ = writeln!(text, "  {:<15} {}", case.name(), case.help());
    }
    text.push_str("runtimes\n");
    for &runtime in RuntimeId::ALL {
        let absent = runtimes::availability(runtime).err();
        let absent = absent.map_or_else(String::new, |reason| format!(" (absent: {reason})"));
        let _ = writeln!(text, "  {:<15} {}{absent}", runtime.name(), runtime.help());
    }
    text
}
