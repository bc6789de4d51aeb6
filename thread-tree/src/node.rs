//! An inner node of a tree: it runs the two closures of a join on two threads.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use hive::{Hive, Pin};

use crate::context::ThreadTreeCtx;
use crate::half::{Half, OnDrop, is_in_half};
use crate::tree::ThreadTree;

/// An inner node: it has two trees below it, and a second thread.
pub(crate) struct Node {
    level: usize,
    is_top: bool,
    /// The trees below. None: these are of level 0.
    branches: Option<Box<[ThreadTree; 2]>>,
    /// Whether a join has this node now.
    is_in_use: AtomicBool,
    /// The node's own hive, once a join has needed it. `Some(None)`: it could not be built.
    hive: OnceLock<Option<Hive>>,
}

impl Node {
    pub(crate) fn new(level: usize, is_top: bool, branches: Option<Box<[ThreadTree; 2]>>) -> Self {
        Self { level, is_top, branches, is_in_use: AtomicBool::new(false), hive: OnceLock::new() }
    }

    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// See [`ThreadTreeCtx::join`].
    pub(crate) fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(ThreadTreeCtx<'_>) -> RA + Send,
        B: FnOnce(ThreadTreeCtx<'_>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let (a, b) = (Half::new(a), Half::new(b));
        if !self.run_on_two(&|tree| a.run(tree), &|tree| b.run(tree)) {
            run_here(&|tree| a.run(tree), &|tree| b.run(tree));
        }
        (a.into_result(), b.into_result())
    }

    /// Runs `a` on the calling thread and `b` on another one. False: neither has been run, because no other thread is
    /// to be had.
    fn run_on_two(&self, a: &(impl Fn(&ThreadTree) + Sync), b: &(impl Fn(&ThreadTree) + Sync)) -> bool {
        // Acquire and Release pair with each other and order nothing else: what the closures share, the regions order.
        if self.is_in_use.swap(true, Ordering::Acquire) {
            return false;
        }
        let _in_use = OnDrop(|| self.is_in_use.store(false, Ordering::Release));
        let [left, right] = match self.branches.as_deref() {
            Some([left, right]) => [left, right],
            None => [ThreadTree::bottom(); 2],
        };
        let (a, b) = (|| a(left), || b(right));
        self.is_top && run_on_global(1 << self.level, &a, &b)
            || self.may_use_own_hive() && self.own_hive().is_some_and(|hive| run_region(hive, &a, &b))
    }

    /// Whether a join that does not get the global hive uses the node's own one. Inside a region or a task of a hive
    /// that would only add threads to those that are at work there. Inside a join there may be too few of them, and
    /// below the top this is always so.
    fn may_use_own_hive(&self) -> bool {
        is_in_half() || hive::current().is_none()
    }

    /// The node's own hive. Nobody but this node calls it, so it is free whenever the node is.
    fn own_hive(&self) -> Option<&Hive> {
        self.hive
            .get_or_init(|| {
                // Where the machine has room is not known here, and the system moves threads that are not bound.
                Hive::builder().bees(2).max_bees(2).pin(Pin::None).thread_name("thread-tree").build().ok()
            })
            .as_ref()
    }
}

/// Runs `a` and `b` on bees 0 and 1 of the global hive, if that has at least so many `bees` and is free. False: neither
/// has been run.
fn run_on_global(bees: usize, a: &(impl Fn() + Sync), b: &(impl Fn() + Sync)) -> bool {
    /// A hive of one bee. Inside its regions, which any thread may begin at any time, a call of the global hive does
    /// not wait until that is free: what runs there may wait for this thread.
    static LONE: OnceLock<Option<Hive>> = OnceLock::new();

    let global = hive::global();
    if global.bees() < bees {
        return false;
    }
    let lone = LONE.get_or_init(|| Hive::builder().bees(1).pin(Pin::None).build().ok());
    let was_run = AtomicBool::new(false);
    // Relaxed: the same thread reads it.
    let run = |_: &hive::Bee<'_>| was_run.store(run_region(global, a, b), Ordering::Relaxed);
    lone.as_ref().is_some_and(|lone| lone.try_spmd(1, run).is_ok()) && was_run.load(Ordering::Relaxed)
}

/// Runs `a` and `b` in a region of two bees. False: neither has been run, because the hive is not free, or is that of
/// another process.
fn run_region(hive: &Hive, a: &(impl Fn() + Sync), b: &(impl Fn() + Sync)) -> bool {
    let has_two = AtomicBool::new(true);
    let region = hive.try_spmd(2, |bee| match (bee.bees(), bee.id()) {
        // Relaxed: the same thread reads it.
        (1, _) => has_two.store(false, Ordering::Relaxed),
        (_, 0) => a(),
        _ => b(),
    });
    region.is_ok() && has_two.load(Ordering::Relaxed)
}

/// Runs `a`, and then `b`, even if `a` panics.
fn run_here(a: &impl Fn(&ThreadTree), b: &impl Fn(&ThreadTree)) {
    let a = catch_unwind(AssertUnwindSafe(|| a(ThreadTree::bottom())));
    let b = catch_unwind(AssertUnwindSafe(|| b(ThreadTree::bottom())));
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
