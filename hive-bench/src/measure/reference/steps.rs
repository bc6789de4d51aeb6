//! What a region costs its bees beside the transfers of its cache line: the steps of `docs/start.md`, done by one
//! thread on a line that no other thread uses.
//!
//! The steps are written once more here, with the same operations in the same order, because the library's own cannot
//! be run without a second bee.

use std::cell::Cell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence};
use std::thread;

use serde::{Deserialize, Serialize};

use super::round_trip::one_poll_at_a_time;
use crate::measure::timing;
use crate::record::Budget;
use crate::system::cpus;

/// One arrival at the end of a region, in the barrier's word.
const LEFT: u64 = 1 << 48;
/// One more region, in the start word.
const EPOCH: u64 = 1 << 16;

/// Nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Steps {
    /// The queen's steps, from reading the last arrival to writing the start word of her next region.
    pub(crate) call: f64,
    /// A worker's steps, from reading the start word to its arrival.
    pub(crate) part: f64,
}

/// What lies in the cache line of the start word.
#[repr(align(128))]
struct Line {
    word: AtomicU64,
    barrier: AtomicU64,
    job: Cell<fn(&Self)>,
    base: Cell<u64>,
    cell: Cell<[u64; 4]>,
}

/// What a bee writes and no other bee has to read.
#[derive(Default)]
#[repr(align(128))]
struct Own {
    reigns: AtomicBool,
    reserved: AtomicBool,
    regions: AtomicU64,
    base: Cell<u64>,
    sleepers: AtomicU64,
    waits: AtomicBool,
}

thread_local! {
    /// Kept as hive keeps the regions that a thread is inside of.
    static INNERMOST: Cell<u64> = const { Cell::new(0) };
}

/// The closure that both of them run, which does nothing.
fn nothing(line: &Line) {
    let outer = INNERMOST.replace(1);
    black_box(line.cell.get()[0]);
    INNERMOST.set(outer);
}

// Not inlined into the loop that times it, because there the compiler would see the other side.
#[inline(never)]
fn queens(line: &Line, own: &Own) {
    // The orderings are those of the library at the same steps. There is no other thread here to pair with. Acquire: as
    // its wait for the bees.
    let arrived = line.barrier.load(Ordering::Acquire);
    one_poll_at_a_time();
    own.base.set(arrived);
    // Release: as the turn is given back.
    own.reigns.store(false, Ordering::Release);
    // Relaxed, here and below: as the turn is taken, where a fence orders it.
    if own.waits.load(Ordering::Relaxed) || INNERMOST.get() != 0 || !own.reserved.load(Ordering::Relaxed) {
        return;
    }
    own.reigns.store(true, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    // Acquire: as the occupancy is read.
    if !own.reserved.load(Ordering::Relaxed) || own.sleepers.load(Ordering::Acquire) > 0 {
        return;
    }
    line.cell.set(black_box([1; 4]));
    line.job.set(nothing);
    line.base.set(arrived);
    // Acquire: as a look at the start word. Release: as the order is published.
    let word = line.word.load(Ordering::Acquire);
    line.word.store(word.wrapping_add(EPOCH), Ordering::Release);
}

#[inline(never)]
fn bees(line: &Line, own: &Own) {
    // Acquire: as a bee's look at the start word.
    let word = line.word.load(Ordering::Acquire);
    one_poll_at_a_time();
    own.base.set(word);
    let (job, base) = (line.job.get(), line.base.get());
    if black_box(base) == u64::MAX || catch_unwind(AssertUnwindSafe(|| job(line))).is_err() {
        return;
    }
    // Relaxed: a figure with one writer.
    own.regions.store(own.regions.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    // Release: as a bee leaves.
    let before = line.barrier.fetch_add(LEFT, Ordering::Release);
    // A worker looks whether a sleeping bee has to be woken. Relaxed: no other thread reads the word here.
    own.waits.store(before & 1 != 0, Ordering::Relaxed);
}

#[inline(never)]
fn poll(line: &Line) {
    // Acquire: as the wait for the bees.
    black_box(line.barrier.load(Ordering::Acquire));
    one_poll_at_a_time();
}

/// Measures on this CPU, and subtracts the cost of a poll that finds nothing.
pub(crate) fn measure(cpu: usize) -> Steps {
    let measured = thread::spawn(move || {
        cpus::pin(cpu);
        let (word, barrier) = (AtomicU64::new(0), AtomicU64::new(0));
        let line = Line { word, barrier, job: Cell::new(nothing), base: Cell::new(0), cell: Cell::new([0; 4]) };
        let own = Own { reserved: AtomicBool::new(true), ..Own::default() };
        let repeat = |times: u64, step: &dyn Fn()| (0..times).for_each(|_| step());
        let samples: [Vec<f64>; 3] = timing::batches_in_turn(&Budget::STANDARD, |which, times| match which {
            0 => repeat(times, &|| poll(&line)),
            1 => repeat(times, &|| queens(&line, &own)),
            _ => repeat(times, &|| bees(&line, &own)),
        });
        // The least is right: a disturbance can only slow a single thread down.
        let [empty, queen, bee] = samples.map(|samples| samples.into_iter().fold(f64::INFINITY, f64::min));
        Steps { call: (queen - empty).max(0.0), part: (bee - empty).max(0.0) }
    });
    measured.join().expect("the thread that measures does not panic")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_no_less_than_nothing() {
        let Steps { call, part } = measure(cpus::in_order_of_use()[0]);
        assert!([call, part].iter().all(|step| step.is_finite() && *step >= 0.0), "{call} {part}");
    }

    #[test]
    fn steps_leave_the_words_that_a_region_would() {
        let line = Line {
            word: AtomicU64::new(0),
            barrier: AtomicU64::new(0),
            job: Cell::new(nothing),
            base: Cell::new(7),
            cell: Cell::new([0; 4]),
        };
        let own = Own { reserved: AtomicBool::new(true), ..Own::default() };
        for _ in 0..3 {
            queens(&line, &own);
            bees(&line, &own);
        }
        // Relaxed: one thread.
        assert_eq!(line.word.load(Ordering::Relaxed), 3 * EPOCH);
        assert_eq!(line.barrier.load(Ordering::Relaxed), 3 * LEFT);
        assert_eq!((line.base.get(), line.cell.get(), own.regions.into_inner()), (2 * LEFT, [1; 4], 3));
    }
}
