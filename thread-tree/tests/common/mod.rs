//! What several tests use.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::any::Any;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::thread::{self, ThreadId};
use std::time::Duration;

use thread_tree::ThreadTreeCtx;

/// So long a test waits for what must end before it takes it for a hang.
const HANG: Duration = Duration::from_secs(120);

/// Runs `test` on a thread of its own, and ends the process if that hangs.
pub(crate) fn must_end(test: impl FnOnce() + Send + 'static) {
    let (ended, has_ended) = channel::<()>();
    let thread = thread::spawn(move || {
        let _ended = ended;
        test();
    });
    if has_ended.recv_timeout(HANG) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        eprintln!("this test hangs");
        std::process::abort();
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// The threads of the leaves of a tree, from left to right.
pub(crate) fn leaves(place: ThreadTreeCtx<'_>) -> Vec<ThreadId> {
    if !place.is_parallel() {
        return vec![thread::current().id()];
    }
    let (mut left, right) = place.join(leaves, leaves);
    left.extend(right);
    left
}

/// How many threads these are.
pub(crate) fn distinct(threads: &[ThreadId]) -> usize {
    threads.iter().collect::<HashSet<_>>().len()
}

/// Adds up a range, dividing it as often as the tree allows and `extra` times more.
pub(crate) fn sum(place: ThreadTreeCtx<'_>, data: &[u64], extra: usize) -> u64 {
    if !place.is_parallel() && extra == 0 {
        return data.iter().sum();
    }
    let left_over = if place.is_parallel() { extra } else { extra - 1 };
    let (low, high) = data.split_at(data.len() / 2);
    let (low, high) = place.join(|it| sum(it, low, left_over), |it| sum(it, high, left_over));
    low + high
}

/// The panic of `work`.
pub(crate) fn panic_of<R>(work: impl FnOnce() -> R) -> Box<dyn Any + Send> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(_) => panic!("it has not panicked"),
        Err(panic) => panic,
    }
}

/// The text of a panic.
pub(crate) fn text_of<R>(work: impl FnOnce() -> R) -> String {
    let panic = panic_of(work);
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap()
}
