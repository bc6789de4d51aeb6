//! What several tests use.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// So long a test waits for what must come before it takes it for a hang.
const HANG: Duration = Duration::from_secs(120);

/// A pool of so many threads.
pub(crate) fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
}

/// What comes next.
pub(crate) fn next<T>(receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(HANG).expect("it comes")
}

/// Waits until every sender is gone: until everything has ended that holds one.
pub(crate) fn wait_for_all<T>(receiver: &Receiver<T>) -> Vec<T> {
    let mut all = Vec::new();
    loop {
        match receiver.recv_timeout(HANG) {
            Ok(value) => all.push(value),
            Err(RecvTimeoutError::Disconnected) => return all,
            Err(RecvTimeoutError::Timeout) => panic!("a sender is never dropped"),
        }
    }
}
