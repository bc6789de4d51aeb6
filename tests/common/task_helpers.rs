//! What the tests of tasks share: builders, joins whose halves run on certain bees, and payloads and values whose drops
//! are observed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hive::{Builder, Hive, SleepProtocol};

use super::{Gate, assert_hive_works, panic_payload, wait_until};

/// All sleep protocols.
pub(crate) const PROTOCOLS: [SleepProtocol; 3] = [SleepProtocol::Jec, SleepProtocol::Tickle, SleepProtocol::Notify];

/// Three builders for each protocol: bees that sleep at once, bees that sleep at once but wake by themselves to look
/// for work, and bees that poll before they sleep.
pub(crate) fn builders() -> impl Iterator<Item = Builder> {
    let spins = |sleep| {
        let hive = Hive::builder().sleep(sleep);
        let sleepy = hive.clone().spin(Duration::ZERO);
        [sleepy.clone(), sleepy.poll(Some(Duration::from_micros(300))), hive]
    };
    PROTOCOLS.into_iter().flat_map(spins)
}

/// Joins `a` and `b` on two bees: `a` runs on the calling bee once `b` has begun on another. The hive needs a bee that
/// has nothing to do.
pub(crate) fn join_on_two_bees<RA: Send, RB: Send>(
    hive: &Hive,
    a: impl FnOnce() -> RA + Send,
    b: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    let (a, b) = (Mutex::new(Some(a)), Mutex::new(Some(b)));
    // Each of the two is taken out only in a join in which both run, so each runs once.
    loop {
        let (begun, ran_on_caller, caller) = (Gate::new(), Gate::new(), thread::current().id());
        let first = || {
            // A bee shares the second halves of its joins when it calls `join`, so keep calling it.
            wait_until(|| {
                hive.join(|| (), || ());
                begun.arrived() + ran_on_caller.arrived() == 1
            });
            let a = (begun.arrived() == 1).then(|| a.lock().unwrap().take().expect("it has not run yet"));
            a.map(|a| a())
        };
        let second = || {
            // While the caller waited for the other half of a join above, it may have run this half itself. Then this
            // attempt fails, and the loop begins another.
            if thread::current().id() == caller {
                ran_on_caller.arrive();
                return None;
            }
            let b = b.lock().unwrap().take().expect("it has not run yet");
            begun.arrive();
            Some(b())
        };
        if let (Some(a), Some(b)) = hive.join(first, second) {
            return (a, b);
        }
    }
}

/// The n-th Fibonacci number, computed by joins.
pub(crate) fn fib_by_joins(hive: &Hive, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = hive.join(|| fib_by_joins(hive, n - 1), || fib_by_joins(hive, n - 2));
    a + b
}

/// Checks that regions, joins and scopes on `hive` work.
#[track_caller]
pub(crate) fn assert_hive_and_tasks_work(hive: &Hive, n: usize) {
    assert_hive_works(hive, n);
    assert_eq!(fib_by_joins(hive, 12), 144);
    let count = AtomicUsize::new(0);
    hive.scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(count.into_inner(), 10);
}

/// The payload of a task's panic.
#[derive(Debug, PartialEq)]
pub(crate) struct Payload(pub(crate) &'static str);

/// The payload of the panic that reached the caller.
pub(crate) fn payload_of(body: impl FnOnce()) -> &'static str {
    panic_payload(body).downcast::<Payload>().expect("a task's own payload").0
}

/// A value that counts its drop.
pub(crate) struct DropCounter<'c>(pub(crate) &'c AtomicUsize);

impl Drop for DropCounter<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
