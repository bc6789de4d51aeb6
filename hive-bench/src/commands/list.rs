//! `--list`: what can be measured here.

use crate::catalog::{Case, RuntimeId};
use crate::runtimes;
use crate::system::exit::Outcome;

/// Prints it.
pub(crate) fn main() -> Outcome {
    println!("cases");
    for case in Case::ALL {
        println!("  {:<15} {}", case.name(), case.help());
    }
    println!("runtimes");
    for &runtime in RuntimeId::ALL {
        let absent = runtimes::availability(runtime).err();
        let absent = absent.map_or_else(String::new, |reason| format!(" (absent: {reason})"));
        println!("  {:<15} {}{absent}", runtime.name(), runtime.help());
    }
    Ok(())
}
