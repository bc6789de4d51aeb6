//! What goes on around a case: its hives' workers may be asleep when it begins, or in the middle of a task until the
//! outermost call has returned; or threads from outside that are no part of the case may call its hives until it ends.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use hive::{Hive, PerBee, Reduction, Schedule};

use super::super::common::held_workers::Held;
use super::super::common::wait_until;
use super::case::{Case, Operation, Origin};
use super::frames::{Frame, Wait};
use super::panic_hook;
use super::run::{Run, message};

/// What goes on around a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surroundings {
    /// Nothing.
    Quiet,
    /// All workers of the hives sleep when the case begins.
    Asleep,
    /// All workers of the hives are in a task, which lasts until the outermost call has returned.
    Held,
    /// Threads from outside call the hives all the time.
    Callers,
}

impl Surroundings {
    pub(crate) const NAMES: [(Self, &'static str); 3] =
        [(Self::Asleep, "asleep"), (Self::Held, "held"), (Self::Callers, "callers")];

    /// Whether a case can run like this.
    pub(crate) fn fits(self, case: &Case) -> bool {
        use Operation::*;
        let waits_for_no_worker = |verb| {
            let calls = [Alone, ParFor, ParReduce, Install, Join, JoinSecond, Scope, ScopeTask, Detach, SpawnAhead];
            calls.contains(&verb) || matches!(verb, Unwinding | Thread | ThreadEnd)
        };
        match self {
            Self::Quiet | Self::Asleep => true,
            // All other calls from outside would wait, and are not made then.
            Self::Held => {
                let first = case.levels.first().is_some_and(|level| waits_for_no_worker(level.verb));
                first && case.place == Origin::Outside && !case.is_mirrored
            }
            Self::Callers => true,
        }
    }
}

/// How many threads call each hive of a case with callers.
const CALLERS: usize = 2;

thread_local! {
    /// Whether the thread is a caller. Such a thread is inside of no call of the case, but while it waits for a task of
    /// its own, in the queen's place, it may run a task of the case.
    static IS_CALLER: Cell<bool> = const { Cell::new(false) };
}

/// The frames that the calling thread is inside of if it runs a task of hive `on`, besides those that it has entered.
/// None: it is a bee of that hive.
pub(crate) fn frames_of_caller(on: usize) -> Option<[Frame; 3]> {
    let frames = [Frame::QueenPosition(on), Frame::Waiting(Wait::RunningTasks(on)), Frame::Task(on)];
    IS_CALLER.get().then_some(frames)
}

/// What keeps the surroundings of a case as they are.
pub(crate) struct Kept<'r> {
    run: &'r Run,
    /// The workers that are held, and the numbers of their frames.
    held: Vec<(Held, Vec<i32>)>,
    callers: Vec<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl<'r> Kept<'r> {
    /// Makes the surroundings of a case, which begins next, for those of its hives that are there already.
    pub(crate) fn make(run: &'r Run, are_there: [bool; 2]) -> Self {
        let mut kept = Self { run, held: Vec::new(), callers: Vec::new(), is_over: Arc::default() };
        for number in (0..2).filter(|&number| are_there[number] && run.case.uses(number)) {
            let hive = &run.hive_sets[number];
            match run.case.surroundings {
                Surroundings::Quiet => {}
                Surroundings::Asleep => wait_until_asleep(hive, run.case.sizes[number]),
                Surroundings::Held => kept.hold(number, hive),
                Surroundings::Callers => kept.start_callers(number, hive),
            }
        }
        kept
    }

    /// Holds all workers of a hive in tasks.
    fn hold(&mut self, number: usize, hive: &Hive) {
        let ids = 1..self.run.case.sizes[number];
        let frames = |id| [Frame::Bee(number, id), Frame::Task(number), Frame::Waiting(Wait::Blocked)];
        let unseen = ids.clone().map(|id| self.run.frames.add_unseen(&frames(id))).collect();
        self.held.push((Held::workers(hive, ids), unseen));
    }

    /// Starts threads that call a hive, and waits until each of them has done so.
    fn start_callers(&mut self, number: usize, hive: &Arc<Hive>) {
        let (begun, is_resized) = (Arc::new(AtomicUsize::new(0)), self.run.case.resizes());
        let shared = Arc::new(PerBee::new(hive.max_bees(), |_| 0));
        for seed in 0..CALLERS {
            let (hive, is_over, begun) = (Arc::clone(hive), Arc::clone(&self.is_over), Arc::clone(&begun));
            let (shared, size) = (Arc::clone(&shared), (!is_resized).then_some(self.run.case.sizes[number]));
            self.callers.push(thread::spawn(move || {
                IS_CALLER.set(true);
                for round in seed.. {
                    let ended = catch_unwind(AssertUnwindSafe(|| call_once(&hive, size, round, &shared)));
                    // Relaxed, both: nothing else depends on them.
                    begun.fetch_add(1, Ordering::Relaxed);
                    if let Err(panic) = &ended {
                        let text = message(&**panic);
                        panic_hook::record_unplanned(format!("a caller from outside panics in round {round}: {text}"));
                    }
                    if ended.is_err() || is_over.load(Ordering::Relaxed) {
                        return;
                    }
                }
            }));
        }
        wait_until(|| begun.load(Ordering::Relaxed) >= CALLERS);
    }

    /// Called when the outermost call has returned. Checks that it has not waited for the workers that are held, and
    /// lets these go; or ends the callers, after all tasks of the case.
    pub(crate) fn end(self) {
        for (held, unseen) in self.held {
            held.assert_held();
            // Waits until the tasks have ended.
            drop(held);
            unseen.into_iter().for_each(|number| self.run.frames.remove_unseen(number));
        }
        if !self.callers.is_empty() {
            self.run.finish();
        }
        self.is_over.store(true, Ordering::Relaxed);
        self.callers.into_iter().for_each(|caller| caller.join().expect("a caller keeps its panics to itself"));
    }
}

/// Waits until all workers of a hive of `bees` sleep. Others, which it no longer needs, may sleep as well.
fn wait_until_asleep(hive: &Hive, bees: usize) {
    wait_until(|| hive.stats().per_bee().iter().take(bees).skip(1).all(|counts| counts.sleeps > counts.wakes));
}

/// One call of a thread from outside, and a check of its result. `size`: how many bees the hive has all the time.
fn call_once(hive: &Hive, size: Option<usize>, round: usize, shared: &PerBee<usize>) {
    const LEN: usize = 24;
    let sum = AtomicUsize::new(0);
    let add = |indices: usize| _ = sum.fetch_add(indices, Ordering::Relaxed);
    let all: usize = match round % 8 {
        0 => {
            hive.par_for(0..LEN, |range, _| add(range.sum()));
            LEN * (LEN - 1) / 2
        }
        1 => {
            let plus = Reduction::unordered(0, |a, b| a + b);
            add(hive.par_reduce((0..LEN, Schedule::Dynamic(1)), &plus, |range| range.sum::<usize>()));
            LEN * (LEN - 1) / 2
        }
        2 | 6 => {
            hive.par_for((0..LEN, Schedule::Dynamic(4)), |range, bee| {
                // Teams of several bees take turns, and so their bees do not want the same values at the same time.
                let mut own = (bee.bees() > 1).then(|| shared.get(bee));
                own.iter_mut().for_each(|own| **own = range.len());
                thread::yield_now();
                add(own.map_or(range.len(), |own| *own));
            });
            LEN
        }
        3 => {
            let Some(size) = size else { return };
            let ids = hive.spmd_map(size, |bee| {
                bee.barrier();
                bee.id()
            });
            assert!(ids.iter().copied().eq(0..size), "a region from outside has bees {ids:?} of {size}");
            return;
        }
        4 => {
            let (first, second) = hive.join(|| 1, || 2);
            add(first + 2 * second);
            5
        }
        5 => {
            hive.scope(|scope| (0..3).for_each(|_| scope.spawn(|_| add(1))));
            3
        }
        _ => {
            add(hive.install(|| 7));
            thread::yield_now();
            7
        }
    };
    let sum = sum.load(Ordering::Relaxed);
    assert_eq!(sum, all, "the result of a call from outside");
}
