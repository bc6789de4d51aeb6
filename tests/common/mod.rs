//! What the integration tests share: gates, a time limit, tests in processes of their own, what Linux says about
//! threads, and C calls.

// Tests and hive-bench are compiled with the workspace's Rust, which may be newer than what the library needs.
#![allow(clippy::incompatible_msrv)]
#![allow(dead_code, reason = "each test file is a crate of its own and uses its own part of this")]

pub(crate) mod completion_log;
pub(crate) mod drop_panics;
pub(crate) mod fork_point;
pub(crate) mod held_thread;
pub(crate) mod held_workers;
pub(crate) mod hive_sets;
pub(crate) mod kernel;
pub(crate) mod proc_threads;
pub(crate) mod process;
pub(crate) mod seccomp;
pub(crate) mod short_loops;
pub(crate) mod sys;
pub(crate) mod task_helpers;
pub(crate) mod trace_reader;

use std::any::Any;
use std::hint;
use std::io::{Write, stderr};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hive::{Reduction, Schedule};

/// A time limit far above what any test needs, even beside twenty busy processes and under a sanitizer: a test that is
/// not done by then hangs. `HIVE_TEST_TIMEOUT` sets it in seconds, for a search for hangs.
pub(crate) fn time_limit() -> Duration {
    let seconds =
        std::env::var("HIVE_TEST_TIMEOUT").ok().map(|limit| limit.parse().expect("HIVE_TEST_TIMEOUT: seconds"));
    let default_seconds = if is_stress() { 1_200 } else { 600 };
    Duration::from_secs(seconds.unwrap_or(default_seconds))
}

/// Whether stress tests are to take as long as it pays to wait for them.
pub(crate) fn is_stress() -> bool {
    std::env::var_os("HIVE_TEST_STRESS").is_some()
}

/// The numbers 1 to `count`, but after so many seconds no more than the first hundred. On a quiet machine all rounds
/// take less; beside busy programs each may take a few time slices.
pub(crate) fn rounds_for(seconds: u64, count: usize) -> impl Iterator<Item = usize> {
    let end = Instant::now() + Duration::from_secs(seconds);
    (1..=count).take_while(move |&round| is_stress() || round <= 100 || Instant::now() < end)
}

/// Whether this runs in a guest of `tests/numa/run`, where each instruction may be emulated and a test may use the
/// whole machine.
pub(crate) fn is_in_guest() -> bool {
    std::env::var_os("HIVE_TEST_GUEST").is_some()
}

/// Waits until `condition` holds. If it never does, the time limit of [`run_exclusively`] ends the program.
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

/// Keeps `value` to the end of the process, and where the leak sanitizer finds it.
pub(crate) fn keep<T: Send + Sync + 'static>(value: T) -> &'static T {
    static KEPT: Mutex<Vec<&(dyn Any + Send + Sync)>> = Mutex::new(Vec::new());
    let value: &'static T = Box::leak(Box::new(value));
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    value
}

/// Calls `body` with so many bytes of the stack in use, or a few more.
#[inline(never)]
pub(crate) fn deep_down<R>(bytes: usize, body: impl FnOnce() -> R) -> R {
    const FRAME: usize = 4096;
    // In place of a look at the frame's address: the address sanitizer has such variables elsewhere.
    let mut frame = [0_u8; FRAME];
    hint::black_box(&mut frame);
    let result = if bytes > FRAME { deep_down(bytes - FRAME, body) } else { body() };
    hint::black_box(&mut frame);
    result
}

/// A point where threads wait for each other. Threads that meet there must all be running at the same time.
#[derive(Default)]
pub(crate) struct Gate {
    arrived: AtomicUsize,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Arrives, and waits until `count` threads have arrived.
    pub(crate) fn arrive_and_wait(&self, count: usize) {
        self.arrive();
        self.wait_for(count);
    }

    /// Arrives without waiting.
    pub(crate) fn arrive(&self) {
        // Release: pairs with the Acquire in `arrived`, so that a thread that goes on sees what the others did before
        // they arrived. Acquire: a thread that only arrives is also ordered after those that arrived before it.
        self.arrived.fetch_add(1, Ordering::AcqRel);
    }

    /// Waits until `count` threads have arrived, without arriving.
    pub(crate) fn wait_for(&self, count: usize) {
        wait_until(|| self.arrived() >= count);
    }

    pub(crate) fn arrived(&self) -> usize {
        // Acquire: pairs with the Release in `arrive`.
        self.arrived.load(Ordering::Acquire)
    }
}

/// A guard by which a test program runs one test at a time and not for longer than the time limit. Bees of two tests at
/// once would push each other from the CPUs while they poll.
pub(crate) struct ExclusiveTest {
    _lock: MutexGuard<'static, ()>,
    _watchdog: Watchdog,
}

/// Waits for the other tests of this program. If the guard then lives for longer than [`time_limit`], the program is
/// aborted.
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
            // The time is counted second by second, so that an hour for which a virtual machine was halted counts as
            // one second.
            let is_over = || ended.recv_timeout(Duration::from_secs(1)) != Err(RecvTimeoutError::Timeout);
            if !(0..time_limit().as_secs()).any(|_| is_over()) {
                // Written directly to standard error, because an abort loses output that the test harness has captured.
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

/// Keeps panics that tests cause on purpose out of the output, where each would cost a backtrace: those whose message
/// contains `expected` or "as expected", and those without a message.
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

/// Panics unless `text` contains all of the `parts`.
#[track_caller]
pub(crate) fn assert_contains_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

/// Sorts CPUs as the kernel lists them. The CPUs of a place are in the machine's order, which need not be the order of
/// their numbers.
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

/// Checks that a region of `n` bees on `hive` works: each bee runs once, and they wait for each other at barriers.
#[track_caller]
pub(crate) fn assert_hive_works(hive: &hive::Hive, n: usize) {
    assert_region_works(n, |part| hive.spmd(n, |bee| part(bee.id(), bee.bees(), &|| bee.barrier())));
}

/// The same for a region of any kind. `region` must run its argument on each bee, with the number of the bee, the
/// number of bees, and a barrier.
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

/// Runs a loop by each schedule, and reductions of two kinds, and asserts that each index was run once.
#[track_caller]
pub(crate) fn assert_loops_work(hive: &hive::Hive, len: usize) {
    for schedule in [
        Schedule::Static,
        Schedule::StaticChunk(3),
        Schedule::Dynamic(2),
        Schedule::Affinity,
        Schedule::Guided(1),
        Schedule::Factoring,
    ] {
        let runs: Vec<_> = (0..len).map(|_| AtomicUsize::new(0)).collect();
        hive.par_for((0..len, schedule), |range, _| {
            range.for_each(|index| _ = runs[index].fetch_add(1, Ordering::Relaxed));
        });
        let runs: Vec<_> = runs.into_iter().map(AtomicUsize::into_inner).collect();
        assert!(runs.iter().all(|&runs| runs == 1), "{schedule:?}: {runs:?}");
    }
    let (add, expected) = (|a, b| a + b, (0..len).sum::<usize>());
    assert_eq!(hive.par_reduce(0..len, &Reduction::per_team_size(0, add), |range| range.sum::<usize>()), expected);
    assert_eq!(hive.par_reduce(0..len, &Reduction::deterministic(0, add), |range| range.sum::<usize>()), expected);
}

/// Pseudo-random numbers (xorshift), the same in each run with the same seed.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number from 1 to `max`.
    pub(crate) fn next_up_to(&mut self, max: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % max + 1
    }
}
