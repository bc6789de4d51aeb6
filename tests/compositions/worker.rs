//! The child process that runs cases: it reads their names, prints which case begins, and prints how each has ended.

use std::io::{BufRead, Write, stdin, stdout};
use std::process::exit;

use super::super::common::sys;
use super::case::Case;
use super::hive_pool::HivePool;
use super::origin;
use super::panic_hook;

/// The beginnings of the lines that are meant for the parent: before the name of a case, its ending, or what was wrong.
pub(crate) const CASE_BEGINS: &str = "@begins ";
pub(crate) const CASE_ENDS: &str = "@ends ";
pub(crate) const CASE_FAILS: &str = "@fails ";

/// Runs the cases whose names come in as lines. The process ends after a case that fails, because its hives may then be
/// in any state.
pub(crate) fn run() -> ! {
    sys::end_with_parent();
    panic_hook::install();
    let mut pool = HivePool::default();
    // The test harness has begun a line, which must be ended first.
    println!();
    for name in stdin().lock().lines() {
        let name = name.expect("the parent's names");
        let case: Case = name.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        send_line(CASE_BEGINS, &name);
        match origin::run(&case, &mut pool) {
            Ok(ending) => send_line(CASE_ENDS, &ending.to_string()),
            Err(fault) => {
                send_line(CASE_FAILS, &fault);
                exit(1);
            }
        }
    }
    exit(0)
}

fn send_line(mark: &str, what: &str) {
    let mut out = stdout().lock();
    writeln!(out, "{mark}{}", what.replace('\n', " ")).and_then(|()| out.flush()).expect("the parent listens");
}
