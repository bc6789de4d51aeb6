//! Warnings that are given once in a process, although each of its hives may have the same reason for them.

use std::collections::BTreeSet;

use crate::sys::process::ProcessLock;
use crate::sys::stderr::write_message;

/// Writes a warning, once in a process, even if several of its hives give it.
pub(crate) fn warn_once(warning: &str) {
    static GIVEN_WARNINGS: ProcessLock<BTreeSet<String>> = ProcessLock::new(BTreeSet::new());
    if GIVEN_WARNINGS.with(|given| given.insert(warning.to_owned())) {
        write_message(&format!("hive: {warning}\n"));
    }
}
