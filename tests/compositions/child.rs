//! The process that runs cases: it reads their names, says which one begins, and how each has ended.

use std::io::{BufRead, Write, stdin, stdout};
use std::process::exit;

use super::super::common::sys;
use super::case::Case;
use super::hook;
use super::place;
use super::pool::Pool;

/// What the lines begin with that are the parent's: before the name of a case, its ending, or what was wrong.
pub(crate) const BEGINS: &str = "@begins ";
pub(crate) const ENDS: &str = "@ends ";
pub(crate) const FAILS: &str = "@fails ";

/// Runs the cases whose names come in by lines. After one that was not right the process ends: its hives may be anything.
pub(crate) fn run() -> ! {
    sys::end_with_parent();
    hook::listen();
    let mut pool = Pool::default();
    // The test harness has begun a line.
    println!();
    for name in stdin().lock().lines() {
        let name = name.expect("the parent's names");
        let case: Case = name.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        say(BEGINS, &name);
        match place::run(&case, &mut pool) {
            Ok(ending) => say(ENDS, &ending.to_string()),
            Err(fault) => {
                say(FAILS, &fault);
                exit(1);
            }
        }
    }
    exit(0)
}

fn say(mark: &str, what: &str) {
    let mut out = stdout().lock();
    writeln!(out, "{mark}{}", what.replace('\n', " ")).and_then(|()| out.flush()).expect("the parent listens");
}
