//! How the cases have ended, all together.

use std::collections::BTreeMap;
use std::fmt;

#[derive(Default)]
pub(crate) struct Summary {
    /// How many ended in which way.
    endings: BTreeMap<String, usize>,
    /// The cases that failed, and how.
    pub(crate) failures: Vec<(String, String)>,
}

impl Summary {
    pub(crate) fn passed(&mut self, ending: &str) {
        *self.endings.entry(ending.to_owned()).or_default() += 1;
    }

    /// Tells of it at once: there may be more, and slow ones.
    pub(crate) fn failed(&mut self, case: String, how: String) {
        println!("FAILED {case}: {how}");
        self.failures.push((case, how));
    }

    pub(crate) fn cases(&self) -> usize {
        self.endings.values().sum::<usize>() + self.failures.len()
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
