//! An inner node of a tree: it runs the two closures of a join on two threads.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hive::adapters::free_region::{global_if_built, spmd_if_free};
use hive::{Hive, Pin};

use crate::half::{OnDrop, in_half, is_in_half};

/// An inner node: it has a second thread.
pub(crate) struct Node {
    level: usize,
    is_top: bool,
    /// Whether a join has this node now.
    is_in_use: AtomicBool,
    /// The node's own hive, once a join has needed it.
    // After a panic it is as good as before.
    hive: AssertUnwindSafe<OnceLock<Hive>>,
    /// How many joins are to go by before the system is asked for a thread again, which it has refused.
    joins_until_retry: AtomicU32,
}

/// After so many joins on one thread the system is asked for another one again.
const JOINS_UNTIL_RETRY: u32 = 10_000;

impl Node {
    pub(crate) fn new(level: usize, is_top: bool) -> Self {
        Self {
            level,
            is_top,
            is_in_use: AtomicBool::new(false),
            hive: AssertUnwindSafe(OnceLock::new()),
            joins_until_retry: AtomicU32::new(0),
        }
    }

    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// Runs `a` on the calling thread and `b` on another one. False: neither has been run, because no other thread is
    /// to be had.
    pub(crate) fn run_on_two(&self, a: &(impl Fn() + Sync), b: &(impl Fn() + Sync)) -> bool {
        // Acquire and Release pair with each other and order nothing else: the regions order what the closures do.
        if self.is_in_use.swap(true, Ordering::Acquire) {
            return false;
        }
        let _in_use = OnDrop(|| self.is_in_use.store(false, Ordering::Release));
        self.global_hive().is_some_and(|hive| run_region(hive, a, b))
            || self.may_use_own_hive() && self.own_hive().is_some_and(|hive| run_region(hive, a, b))
    }

    /// The global hive, if this is the top of a tree that has no more threads than that. It is not built for this: it
    /// may have many times the threads that the tree needs.
    fn global_hive(&self) -> Option<&'static Hive> {
        if self.is_top { global_if_built().filter(|hive| hive.bees() >= 1 << self.level) } else { None }
    }

    /// Whether a join that does not get the global hive uses the node's own one. Inside a region or a task of a hive
    /// that would only add threads to those that are at work there. Inside a join there may be too few of them, and
    /// below the top this is always so.
    fn may_use_own_hive(&self) -> bool {
        is_in_half() || hive::current().is_none()
    }

    /// The node's own hive. Nobody but this node calls it, so it is free whenever the node is. None: the system refuses
    /// a thread.
    fn own_hive(&self) -> Option<&Hive> {
        if let Some(hive) = self.hive.get() {
            return Some(hive);
        }
        // Relaxed, all: only the join that has the node comes here.
        let joins = self.joins_until_retry.load(Ordering::Relaxed);
        if joins > 0 {
            self.joins_until_retry.store(joins - 1, Ordering::Relaxed);
            return None;
        }
        // Where the machine has room is not known here, and the system moves threads that are not bound.
        match Hive::builder().bees(2).max_bees(2).pin(Pin::None).thread_name("thread-tree").build() {
            Ok(hive) => Some(self.hive.get_or_init(|| hive)),
            Err(_) => {
                self.joins_until_retry.store(JOINS_UNTIL_RETRY, Ordering::Relaxed);
                None
            }
        }
    }
}

/// Runs `a` and `b` on bees 0 and 1 of the hive, if that is free. False: neither has been run.
fn run_region(hive: &Hive, a: &(impl Fn() + Sync), b: &(impl Fn() + Sync)) -> bool {
    // An error says that the hive is that of another process, or has no thread and gets none.
    spmd_if_free(hive, 2, |bee| in_half(|| if bee.is_queen() { a() } else { b() })).unwrap_or(false)
}

/// Runs `a`, and then `b`, even if `a` panics.
pub(crate) fn run_here(a: impl Fn(), b: impl Fn()) {
    let (a, b) = (catch_unwind(AssertUnwindSafe(a)), catch_unwind(AssertUnwindSafe(b)));
    match (a, b) {
        (Ok(()), Ok(())) => (),
        (Ok(()), Err(panic)) | (Err(panic), Ok(())) => resume_unwind(panic),
        (Err(panic), Err(other)) => {
            // The panic of its drop does not go on, either.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(other))) {
                mem::forget(panic);
            }
            resume_unwind(panic)
        }
    }
}
