//! Starts a region for a closure: `Hive::spmd` and its siblings, and the same for loops, whose parts may run in another
//! bee's name, or all on the caller. `Shared::spmd` (`regions.rs`) runs a region, and `Shared::run_loop`
//! (`lone_loops.rs`) a loop.

use std::sync::Arc;

use crate::pool::error::Error;
use crate::pool::handle::Hive;
use crate::pool::loop_costs::LoopKind;
use crate::pool::shared::Shared;
use crate::protocol::region::body::RegionBody;
use crate::region::bee::{Bee, ExactBody, LoopBody};
use crate::region::closure_size::is_large;
use crate::region::no_double_panic::{NoDoublePanic, add_to};
use crate::region::results::{self, ResultWriter};

/// What a region is started for.
pub(crate) trait Work: Copy {
    /// Runs `body` on so many bees for that. If the region cannot start, it panics while `body` still exists, so that a
    /// panic in the drop of `body` cannot take the place of this message.
    #[track_caller]
    fn run<F: Fn(&Bee<'_>) + Sync>(self, shared: &Arc<Shared>, bees: usize, body: F);
}

/// Each bee runs its part, as the program has asked for.
#[derive(Clone, Copy)]
pub(crate) struct AllParts;

/// Each bee runs its part, but only bees that are there take part, and no more than are asked for.
#[derive(Clone, Copy)]
pub(crate) struct PresentParts;

/// A loop.
#[derive(Clone, Copy)]
pub(crate) struct LoopWork {
    /// Over so many indices.
    pub(crate) indices: usize,
    /// What it is known by.
    pub(crate) kind: LoopKind,
    /// Whether it runs in the blocks of a plan, which is for as many bees as are asked for. The hive grows if it has
    /// fewer. For other loops the hive has had so many when they were called.
    pub(crate) is_planned: bool,
}

impl Work for AllParts {
    #[inline]
    #[track_caller]
    fn run<F: Fn(&Bee<'_>) + Sync>(self, shared: &Arc<Shared>, bees: usize, body: F) {
        expect_region(bees, shared.spmd(bees, &mut ExactBody::new(body)));
    }
}

impl Work for PresentParts {
    #[inline]
    #[track_caller]
    fn run<F: Fn(&Bee<'_>) + Sync>(self, shared: &Arc<Shared>, bees: usize, body: F) {
        expect_region(bees, shared.spmd_present(bees, &mut ExactBody::new(body)));
    }
}

impl Work for LoopWork {
    #[inline]
    #[track_caller]
    fn run<F: Fn(&Bee<'_>) + Sync>(self, shared: &Arc<Shared>, bees: usize, body: F) {
        let mut body = LoopBody::new(body);
        expect_region(bees, shared.run_loop((bees, self.is_planned), self.indices, self.kind, &mut body));
    }
}

impl Hive {
    /// Runs `body` once on each of `bees` bees and returns when all of them are done: a region.
    ///
    /// The calling thread is bee 0. The other bees are workers, which run at the same time as the caller, so the bees
    /// may wait for one another at [`Bee::barrier`]. `body` may borrow from the caller. If the hive has fewer than
    /// `bees` bees, it grows first, for good; if it has more, the others are left alone, so that a change of team size
    /// costs nothing. Where the number does not matter, [`spmd_all`](Self::spmd_all) takes all bees that there are.
    ///
    /// # Nested regions
    /// A region inside a region, a task or a join of the same hive runs at once as a team of one: [`Bee::bees`] is 1.
    /// In the body of [`install`](Self::install), or of a [`scope`](Self::scope) that runs in the queen's place, it has
    /// a real team.
    ///
    /// Inside a region or a task of another hive, it has a real team if this hive is free, and is a team of one if this
    /// hive is busy: if another region of it is running, or if one of the bees is in the middle of a task. So hives
    /// nested in one another do not deadlock.
    ///
    /// Outside of any hive, a second thread that starts a region waits until the first one's region is over; waiting
    /// threads are served in order of arrival. The body of a region must therefore not wait for a thread that waits to
    /// start a region on the same hive.
    ///
    /// ```
    /// let mut data = vec![1.0; 1000];
    /// let chunks: Vec<_> = data.chunks_mut(250).map(std::sync::Mutex::new).collect();
    /// hive::spmd(4, |bee| {
    ///     for x in chunks[bee.id()].lock().unwrap().iter_mut() {
    ///         *x += bee.id() as f64;
    ///     }
    /// });
    /// assert_eq!(data[999], 4.0);
    /// ```
    ///
    /// # Panics
    /// If `bees` is 0 or above [`max_bees`](Self::max_bees), if the system makes no more threads, or in a forked child;
    /// [`try_spmd`](Self::try_spmd) returns these as errors.
    ///
    /// If `body` panics on some bee, the other bees are released from their barriers and all bees are waited for. Then
    /// `spmd` panics with the payload of the lowest-numbered bee that panicked. The hive can be used as before.
    ///
    /// `spmd` returns only if `body` has run to its end on every bee, and no call by which the bees meet or share work
    /// has ended by a panic, whatever the bees catch: see [`Bee::barrier`]. Otherwise, if no bee's panic goes on, the
    /// region panics with a message of its own, which names the call and the bee. The payload by which a bee is
    /// released is meant for its own region. If `body` catches it and resumes it in another region or task, it is a
    /// panic like any other, and its message says what has happened.
    #[inline]
    #[track_caller]
    #[doc(alias("parallel", "omp parallel", "parallel region", "fork-join", "broadcast"))]
    pub fn spmd<F: Fn(&Bee<'_>) + Sync>(&self, bees: usize, body: F) {
        self.run_parts(bees, AllParts, body);
    }

    /// As [`spmd`](Self::spmd), but returns an error where `spmd` panics because the region cannot start.
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(1).max_bees(8).build()?;
    /// let error = hive.try_spmd(9, |_| ()).unwrap_err();
    /// assert!(error.to_string().contains("this hive's limit is 8"));
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `bees` is 0 or above [`max_bees`](Self::max_bees), if the system makes no more threads, or in a forked child.
    /// `body` has then not run on any bee.
    ///
    /// # Panics
    /// With the panic of the lowest-numbered bee on which `body` panicked; see [`spmd`](Self::spmd).
    #[inline]
    pub fn try_spmd<F: Fn(&Bee<'_>) + Sync>(&self, bees: usize, body: F) -> Result<(), Error> {
        if is_large(&body) {
            self.shared.spmd(bees, &mut ExactBody::new(Box::new(body)))
        } else {
            self.shared.spmd(bees, &mut ExactBody::new(body))
        }
    }

    /// Runs a region and returns what `body` returned on each bee, in the order of the bees' numbers.
    ///
    /// The length of the result is `bees`, or 1 in a nested region that is a team of one.
    ///
    /// ```
    /// let parts = hive::spmd_map(4, |bee| bee.split(0..1000).sum::<usize>());
    /// assert_eq!(parts.len(), 4);
    /// assert_eq!(parts.iter().sum::<usize>(), 499_500);
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd). The results that other bees have returned by then are dropped; if one of these drops
    /// panics, too, that panic is discarded.
    #[track_caller]
    pub fn spmd_map<R: Send, F: Fn(&Bee<'_>) -> R + Sync>(&self, bees: usize, body: F) -> Vec<R> {
        self.map_parts(bees, AllParts, body)
    }

    /// Runs a region and combines what `body` returned on the bees: the result of bee 0 with that of bee 1, the outcome
    /// with that of bee 2, and so on. The calling thread does so when the region has ended.
    ///
    /// As `spmd_map(bees, body).into_iter().reduce(combine)`, without a vector. (Up to eight results of up to 64 bytes
    /// each need no memory from the heap.) In a nested region that is a team of one, it is the result of that bee.
    ///
    /// ```
    /// let x: Vec<f64> = (0..1000).map(f64::from).collect();
    /// let largest = hive::spmd_reduce(4, |bee| x[bee.split(0..1000)].iter().copied().fold(0.0, f64::max), f64::max);
    /// assert_eq!(largest, 999.0);
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd), and with a panic of `combine`. The results that are left are dropped, as in
    /// [`spmd_map`](Self::spmd_map).
    #[track_caller]
    #[doc(alias("reduction", "omp reduction", "reduce"))]
    pub fn spmd_reduce<R, F, C>(&self, bees: usize, body: F, combine: C) -> R
    where
        R: Send,
        F: Fn(&Bee<'_>) -> R + Sync,
        C: FnMut(R, R) -> R,
    {
        // Dropped in this order, neither can panic while the other one's panic unwinds.
        let mut combined = None;
        let mut combine = NoDoublePanic::new(combine);
        let run = |slots: ResultWriter<'_, R>| self.write_parts(bees, AllParts, slots, body);
        results::take_results(bees.min(self.max_bees()), run, |result| {
            add_to(&mut combined, Some(NoDoublePanic::new(result)), &mut *combine);
        });
        drop(combine);
        combined.unwrap_or_else(|| unreachable!("a region of {bees} has no result")).into_inner()
    }

    /// Runs `body` once on each bee that the hive has now, and returns when all of them are done: a
    /// [region](Self::spmd) whose size is the hive's. [`Bee::bees`] says inside how many there are.
    ///
    /// `spmd(hive.bees(), ...)` asks for a number, and grows the hive if it has fewer bees by then: where another
    /// thread makes the hive smaller by [`resize`](Self::resize), that can undo it, and a number that was asked for
    /// long ago mostly does. This never makes a hive larger. If the hive is made smaller while the region starts or
    /// runs, the surplus bees still run their part and then park.
    ///
    /// What is divided among the bees is divided inside, by [`Bee::split`] or [`Bee::for_range`]; `Parts` that are cut
    /// outside are gone through by loops, and [`PerBee`](crate::slices::per_bee::PerBee)s are made for
    /// [`max_bees`](Self::max_bees) bees: 1,024 by default, so large values are better `Option`s, which a
    /// bee fills when it comes.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let hive = hive::Hive::new(4)?;
    /// hive.resize(2)?;
    /// let sum = AtomicUsize::new(0);
    /// hive.spmd_all(|bee| {
    ///     assert_eq!(bee.bees(), 2);
    ///     sum.fetch_add(bee.split(0..1000).sum(), Ordering::Relaxed);
    /// });
    /// assert_eq!((sum.into_inner(), hive.bees()), (499_500, 2));
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// In a forked child, and with the panics of `body`, as [`spmd`](Self::spmd).
    #[inline]
    #[track_caller]
    #[doc(alias("parallel", "omp parallel", "broadcast", "whole team"))]
    pub fn spmd_all<F: Fn(&Bee<'_>) + Sync>(&self, body: F) {
        self.run_parts(self.max_bees(), PresentParts, body);
    }

    /// Runs a region of all bees that the hive has now, as [`spmd_all`](Self::spmd_all), and returns what `body`
    /// returned on each, in the order of the bees' numbers.
    ///
    /// ```
    /// let x = vec![0.5; 1 << 16];
    /// let sums = hive::global().spmd_all_map(|bee| x[bee.split(0..x.len())].iter().sum::<f64>());
    /// assert_eq!(sums.iter().sum::<f64>(), 32_768.0);
    /// ```
    ///
    /// # Panics
    /// As [`spmd_all`](Self::spmd_all).
    #[track_caller]
    #[doc(alias("parallel", "omp parallel", "broadcast"))]
    pub fn spmd_all_map<R: Send, F: Fn(&Bee<'_>) -> R + Sync>(&self, body: F) -> Vec<R> {
        // Room for the results of as many as there are; if the hive grows meanwhile, the region has no more.
        self.map_parts(self.bees(), PresentParts, body)
    }

    /// Runs `body`, boxed if it is large, as the region or the loop that `work` is. Panics if that cannot start, and
    /// with a panic of `body`. In a `LoopWork` the leader of a group, when she is done, runs the parts that workers
    /// have not begun, one after another, in their names on her own thread: see `stand_in.rs`.
    #[inline]
    #[track_caller]
    pub(crate) fn run_parts<F: Fn(&Bee<'_>) + Sync>(&self, bees: usize, work: impl Work, body: F) {
        if is_large(&body) {
            // Every move of it counts. Without optimisation a copy of it would lie in each stack frame on its way;
            // boxed, only the box moves.
            work.run(&self.shared, bees, Box::new(body));
        } else {
            work.run(&self.shared, bees, body);
        }
    }

    /// Runs a loop whose body is no closure, and which has no plan.
    #[inline]
    #[track_caller]
    pub(crate) fn run_loop_body<P: RegionBody>(&self, bees: usize, indices: usize, kind: LoopKind, body: &mut P) {
        expect_region(bees, self.shared.run_loop((bees, false), indices, kind, body));
    }

    /// As [`spmd_map`](Self::spmd_map), with `work` as in [`run_parts`](Self::run_parts).
    #[track_caller]
    pub(crate) fn map_parts<R: Send, F: Fn(&Bee<'_>) -> R + Sync>(
        &self,
        bees: usize,
        work: impl Work,
        body: F,
    ) -> Vec<R> {
        // Room for no more results than there can be bees: a region of more bees is refused.
        results::collect_results(bees.min(self.max_bees()), |slots| self.write_parts(bees, work, slots, body))
    }

    /// Runs a region or loop in which each bee writes what `body` returns into its slot. There are as many slots as
    /// bees, or as the hive may have bees, if that is less.
    #[inline]
    #[track_caller]
    #[expect(unsafe_code, reason = "each bee writes its own result without a lock")]
    fn write_parts<R, F>(&self, bees: usize, work: impl Work, slots: ResultWriter<'_, R>, body: F)
    where
        R: Send,
        F: Fn(&Bee<'_>) -> R + Sync,
    {
        self.run_parts(bees, work, move |bee| {
            // SAFETY: a region has exactly one bee of each number below its size, every one of them calls this once and
            // first of all, and the size is at most what there are slots for. The region ends before this function
            // returns.
            unsafe { slots.write_with(bee.id(), bee.bees(), || body(bee)) };
        });
    }
}

/// Panics if a region of `bees` bees could not start.
#[inline]
#[track_caller]
fn expect_region(bees: usize, outcome: Result<(), Error>) {
    if let Err(error) = outcome {
        panic_no_region(bees, &error);
    }
}

/// Panics because a region of `bees` bees could not start. Kept out of the callers' code.
#[cold]
#[track_caller]
pub(crate) fn panic_no_region(bees: usize, error: &Error) -> ! {
    panic!("no region of {bees}: {error}. (try_spmd returns this as an error.)")
}
