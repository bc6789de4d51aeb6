//! What the integration tests share: gates, a watchdog, processes of their own, what Linux says of threads, and its C calls.

#![allow(dead_code, reason = "each test file is a crate of its own and uses its own part of this")]

pub(crate) mod completion_log;
pub(crate) mod hive_sets;
pub(crate) mod kernel;
pub(crate) mod proc_threads;
pub(crate) mod process;
pub(crate) mod seccomp;
pub(crate) mod sys;
pub(crate) mod task_helpers;
pub(crate) mod trace_reader;

use std::any::Any;
use std::io::{Write, stderr};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Far more than any test needs, on a loaded machine and under a sanitizer too: who is not done by then never will be. In seconds in
/// `HIVE_TEST_TIMEOUT`, for those who look for hangs.
pub(crate) fn time_limit() -> Duration {
    let seconds =
        std::env::var("HIVE_TEST_TIMEOUT").ok().map(|limit| limit.parse().expect("HIVE_TEST_TIMEOUT: seconds"));
    let default_seconds = if std::env::var_os("HIVE_TEST_STRESS").is_some() { 1_200 } else { 240 };
    Duration::from_secs(seconds.unwrap_or(default_seconds))
}

/// Whether this is a guest of numa-vm, where each instruction may be emulated and nobody else's machine is at stake. (Outside, `tests/numa/run` takes a path from this variable.)
pub(crate) fn is_in_guest() -> bool {
    std::env::var_os("NUMA_VM").is_some_and(|value| value == "1")
}

/// Waits until `condition` holds. Whoever waits for what never comes is ended by the watchdog.
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

/// A place where threads meet that all must be running for.
#[derive(Default)]
pub(crate) struct Gate {
    arrived: AtomicUsize,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Comes, and goes on when `count` have come.
    pub(crate) fn arrive_and_wait(&self, count: usize) {
        self.arrive();
        self.wait_for(count);
    }

    /// Comes without waiting.
    pub(crate) fn arrive(&self) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
    }

    /// Waits without coming.
    pub(crate) fn wait_for(&self, count: usize) {
        wait_until(|| self.arrived() >= count);
    }

    pub(crate) fn arrived(&self) -> usize {
        self.arrived.load(Ordering::Acquire)
    }
}

/// One test of a test program at a time, so that the bees of one do not crowd the other's out of their polling, and not for ever.
pub(crate) struct ExclusiveTest {
    _lock: MutexGuard<'static, ()>,
    _watchdog: Watchdog,
}

/// Waits for the other tests of this program. Then, if the guard lives for longer than [`limit`], the program is aborted.
pub(crate) fn run_exclusively() -> ExclusiveTest {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    ExclusiveTest { _lock: lock, _watchdog: Watchdog::new() }
}

struct Watchdog {
    _ended: Sender<()>,
}

impl Watchdog {
    fn new() -> Self {
        let test = thread::current().name().unwrap_or("a test").to_owned();
        let (end, ended) = channel();
        thread::spawn(move || {
            // Second by second: a machine that was halted for an hour, as virtual ones are, has taken one.
            let is_over = || ended.recv_timeout(Duration::from_secs(1)) != Err(RecvTimeoutError::Timeout);
            if !(0..time_limit().as_secs()).any(|_| is_over()) {
                // Past the capture of the tests' output, which an abort would lose.
                let _ = writeln!(
                    stderr(),
                    "{test} is still running after {:?}; its threads:\n{}",
                    time_limit(),
                    proc_threads::list(None)
                );
                process::print_stacks(std::process::id());
                std::process::abort();
            }
        });
        Self { _ended: end }
    }
}

/// Keeps panics that the tests cause on purpose out of their output, where they would cost a backtrace each: those whose
/// message contains `expected_error`, or "as expected", and those without a message.
pub(crate) fn silence_panics(expected: &'static str) {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or("as expected");
        if !message.contains(expected) && !message.contains("as expected") {
            report(panic);
        }
    }));
}

/// The payload of the panic that `body` ends with.
pub(crate) fn panic_payload(body: impl FnOnce()) -> Box<dyn Any + Send> {
    catch_unwind(AssertUnwindSafe(body)).expect_err("it should have panicked")
}

/// The message of the panic that `body` ends with.
pub(crate) fn panic_message(body: impl FnOnce()) -> String {
    let payload = panic_payload(body);
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => (*payload.downcast::<&'static str>().expect("a panic with a message")).to_owned(),
    }
}

/// Whether `read_text` contains all of the `parts`.
#[track_caller]
pub(crate) fn assert_contains_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

/// As the kernel lists them. The CPUs of a place are in the order of the machine, and numbers need not follow that.
pub(crate) fn sorted(cpus: &[usize]) -> Vec<usize> {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    cpus
}

/// The line of a report that begins with `name`.
pub(crate) fn report_line<'r>(report: &'r str, name: &str) -> &'r str {
    let line = report.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {report}")).trim()
}

/// A region of `n` bees on `hive` does what a region should: each bee runs once, and they meet at barriers.
#[track_caller]
pub(crate) fn assert_hive_works(hive: &hive::Hive, n: usize) {
    assert_region_works(n, |part| hive.spmd(n, |bee| part(bee.id(), bee.bees(), &|| bee.barrier())));
}

/// The same of a region of whatever kind: `region` runs its argument on each bee, with the bee's number, the team and a barrier.
#[track_caller]
pub(crate) fn assert_region_works(n: usize, region: impl FnOnce(&(dyn Fn(usize, usize, &dyn Fn()) + Sync))) {
    let runs: Vec<_> = (0..n).map(|_| AtomicUsize::new(0)).collect();
    region(&|id, count, barrier| {
        assert_eq!(count, n);
        for round in 1..=3 {
            runs[id].fetch_add(1, Ordering::Relaxed);
            barrier();
            assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == round), "barrier {round} of {n}: {runs:?}");
            barrier();
        }
    });
    assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 3), "{n} bees: {runs:?}");
}

/// Numbers without a pattern, the same in each run (xorshift).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// From 1 to `faces`.
    pub(crate) fn next_up_to(&mut self, max: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % max + 1
    }
}
