//! What several tests use.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// So many seconds a test waits for what must come before it takes it for a hang. They are counted one by one, so that
/// an hour for which a virtual machine was halted counts as one second.
const HANG: usize = 120;

/// What is received in that time.
fn receive<T>(receiver: &Receiver<T>) -> Result<T, RecvTimeoutError> {
    let second = || receiver.recv_timeout(Duration::from_secs(1));
    let received = (0..HANG).map(|_| second()).find(|received| !matches!(received, Err(RecvTimeoutError::Timeout)));
    received.unwrap_or(Err(RecvTimeoutError::Timeout))
}

/// A pool of so many threads.
pub(crate) fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
}

/// What comes next.
pub(crate) fn next<T>(receiver: &Receiver<T>) -> T {
    receive(receiver).expect("it comes")
}

/// Waits until every sender is gone: until everything has ended that holds one.
pub(crate) fn wait_for_all<T>(receiver: &Receiver<T>) -> Vec<T> {
    let mut all = Vec::new();
    loop {
        match receive(receiver) {
            Ok(value) => all.push(value),
            Err(RecvTimeoutError::Disconnected) => return all,
            Err(RecvTimeoutError::Timeout) => panic!("a sender is never dropped"),
        }
    }
}
