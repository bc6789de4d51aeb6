//! The thread that makes calls of a hive for async code: `Hive::run_async`. It is no bee. It calls the hive as the
//! program's own threads do, so the regions that it begins have full teams; and it is one thread, because regions of a
//! hive run one after another anyway.
//!
//! It is made by the first call and ends with the hive, which it does not keep alive: the calls do, as long as they
//! have not ended. After a call it polls for the next one for about as long as a wake-up takes, and then sleeps.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use async_task::Runnable;

use crate::sys::cpu_mask::CpuMask;
use crate::sys::part_time::COST_OF_WAKING;
use crate::sys::signal_mask;
use crate::topology::pinning;

/// Sends calls to the thread; None before the first one. When this is dropped, the thread ends.
#[derive(Default)]
pub(crate) struct AsyncCaller(Mutex<Option<Sender<Runnable>>>);

impl AsyncCaller {
    /// Makes sure that the thread is there. If it has to be made, it gets a name after `hive_name`, and the mask.
    /// `spin`: how long the hive's bees poll; the thread polls no longer.
    ///
    /// # Panics
    /// If the system makes no thread.
    pub(crate) fn ensure(&self, hive_name: &str, mask: Option<&CpuMask>, spin: Duration) {
        let mut caller = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if caller.is_none() {
            let started = start(hive_name, mask.cloned(), spin.min(COST_OF_WAKING));
            *caller = Some(started.unwrap_or_else(|error| panic!("no thread for calls of async code: {error}")));
        }
    }

    /// Queues a call. The thread is there.
    pub(crate) fn queue(&self, call: Runnable) {
        let caller = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The thread ends when the sender is dropped, and not before: a call's panic goes to whoever awaits it.
        let sent = caller.as_ref().map(|caller| caller.send(call));
        debug_assert!(matches!(sent, Some(Ok(()))), "the thread is there");
    }
}

fn start(hive_name: &str, mask: Option<CpuMask>, poll_time: Duration) -> io::Result<Sender<Runnable>> {
    let (sender, receiver) = channel();
    let thread = thread::Builder::new().name(format!("{hive_name}-caller"));
    // As for a worker: it is to run where the program's own threads may.
    let _unpinned = pinning::unbind();
    let run = move || {
        // If it cannot be set, the mask that the thread has inherited is as good as any other.
        let _ = mask.as_ref().map(pinning::adopt_mask);
        while let Some(call) = next(&receiver, poll_time) {
            call.run();
        }
    };
    signal_mask::with_signals_blocked(|| thread.spawn(run)).0?;
    Ok(sender)
}

/// The next call. None: the hive has ended.
fn next(calls: &Receiver<Runnable>, poll_time: Duration) -> Option<Runnable> {
    let begin = Instant::now();
    while begin.elapsed() < poll_time {
        match calls.try_recv() {
            Ok(call) => return Some(call),
            Err(TryRecvError::Disconnected) => return None,
            // Who makes the next call may be on this CPU.
            Err(TryRecvError::Empty) => thread::yield_now(),
        }
    }
    calls.recv().ok()
}
