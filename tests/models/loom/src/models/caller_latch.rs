//! Models of the latch of a thread that has handed a task over to a pool and waits for its end.
//!
//! It is described in `hive/protocol/tasks/caller_latch.rs`. The models have no hive: the task runs on a thread of its
//! own.

use std::sync::Arc;

use loom::thread;

use super::Model;
use crate::data::Datum;
use crate::exploration;
use crate::protocol::tasks::caller_latch::CallerLatch;
use crate::sync::Semaphore;

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("caller_latch", "the caller sleeps without having polled", || wait(Some(0))),
    Model::exhaustive("caller_latch_polled", "the caller polls twice, and sleeps if that was too soon", || {
        wait(Some(2))
    }),
    Model::exhaustive("caller_latch_spin", "the caller polls until the task has ended", || wait(None)),
];

/// What lies on the caller's stack.
struct Frame {
    latch: CallerLatch,
    semaphore: Semaphore,
    /// What the task returns.
    result: Datum,
    /// Read by whoever uses the frame, and written by the caller when it has gone on.
    is_gone: Datum,
}

/// The caller waits for a task: it polls so often, or for ever, and then sleeps.
fn wait(polls: Option<u32>) {
    let latch = CallerLatch::default();
    let (semaphore, result, is_gone) = (Semaphore::new(), Datum::new(0), Datum::new(0));
    let frame = Arc::new(Frame { latch, semaphore, result, is_gone });
    exploration::explore();
    let task = thread::spawn({
        let frame = Arc::clone(&frame);
        move || {
            frame.result.set(1);
            assert_eq!(frame.is_gone.get(), 0);
            if frame.latch.set() {
                assert_eq!(frame.is_gone.get(), 0, "the frame is gone before its semaphore is posted");
                frame.semaphore.post();
            }
        }
    });
    sleep_after_polls(&frame, polls);
    assert_eq!(frame.result.get(), 1, "what was done before the latch was set");
    frame.is_gone.set(1);
    task.join().expect("ends");
}

fn sleep_after_polls(frame: &Frame, polls: Option<u32>) {
    let mut left = polls;
    while left != Some(0) {
        if frame.latch.is_set() {
            return;
        }
        left = left.map(|polls| polls - 1);
        if polls.is_none() {
            thread::yield_now();
        }
    }
    if frame.latch.begin_sleep() {
        frame.semaphore.wait();
    }
}
