//! Counts how the cases have ended, and collects the failures.

use std::collections::BTreeMap;
use std::fmt;

#[derive(Default)]
pub(crate) struct Summary {
    /// How many cases ended in which way.
    endings: BTreeMap<String, usize>,
    /// The cases that failed.
    pub(crate) failures: Vec<Failure>,
    /// How many processes failed at their end, after all their cases had passed.
    failed_at_end: usize,
}

/// A case that failed.
pub(crate) struct Failure {
    pub(crate) case: String,
    pub(crate) how: String,
    /// It is a fault even if it does not appear again: the process has died, or a sanitizer has reported something.
    pub(crate) is_firm: bool,
}

impl Summary {
    pub(crate) fn passed(&mut self, ending: &str) {
        *self.endings.entry(ending.to_owned()).or_default() += 1;
    }

    /// Prints the failure at once, because there may be more, and slow ones.
    pub(crate) fn failed(&mut self, failure: Failure) {
        println!("FAILED {}: {}", failure.case, failure.how);
        self.failures.push(failure);
    }

    /// Records that a process failed after its last case.
    pub(crate) fn failed_at_end(&mut self, case: &str, how: String) {
        self.failed_at_end += 1;
        self.failed(Failure {
            case: case.to_owned(),
            how: format!("and those before it have passed, but the process {how}"),
            is_firm: true,
        });
    }

    pub(crate) fn cases(&self) -> usize {
        self.endings.values().sum::<usize>() + self.failures.len() - self.failed_at_end
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (ending, count) in &self.endings {
            writeln!(f, "{count:>9} {ending}")?;
        }
        let failed = self.failures.len();
        write!(f, "{} passed, {failed} failed", self.cases() - failed)
    }
}
