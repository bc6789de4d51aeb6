//! Loops inside a region, as methods of [`Bee`]: `for_each` runs the bee's part of a `Loop`, `split_aligned` says which
//! block of a range is the bee's, and `for_range` is OpenMP's `for`. For that the bees need not have made a `Loop`
//! before; the words by which they share out the indices belong to the hive, which runs one region at a time.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use crate::loops::chunks::aligned_block;
use crate::loops::loop_state::LoopState;
use crate::loops::range_body::RangeBody;
use crate::loops::shared_loop::{IntoLoop, Loop};
use crate::pool::loop_costs::Sharing;
use crate::pool::shared::Shared;
use crate::protocol::region::exchange_slots::Operation;
use crate::protocol::region::region_context::RegionContext;
use crate::region::bee::Bee;

impl Bee<'_> {
    /// Runs this bee's part of `shared`: calls `body` with one range of indices after another, until none are left. The
    /// ranges of all bees together are the loop's range, and each index is run once.
    ///
    /// A range is a block or a chunk, depending on the schedule. The indices of a bee rise from one call to the next,
    /// except after it has stolen some from another bee. `for_each` returns when no indices are left to get: other bees
    /// may still be running theirs, so a [`barrier`](Self::barrier) is needed before what they wrote is read, as after
    /// OpenMP's `nowait`.
    ///
    /// All bees must run the loop the same number of times in a region. A loop may be run again, in the same region and
    /// in later ones, and by several hives at the same time: each team runs all of its indices. (A loop whose chunks
    /// are handed out at run time keeps some words for each hive that has run it.) It must be made outside the region:
    /// if each bee made a loop for itself, each bee would run its own loop alone. Loops that are made inside are run by
    /// [`for_range`](Self::for_range).
    ///
    /// The bees need not keep together: a bee may run the loop any number of times before another has begun. A bee
    /// waits for another only at the end of a run, if the other has claimed several chunks of the same run at once and
    /// may give some of them back.
    ///
    /// ```
    /// use hive::{Loop, PerBee, Schedule};
    ///
    /// // A histogram: each bee counts in bins of its own.
    /// let samples: Vec<f64> = (0..10_000).map(|i| (f64::from(i) * 0.1).sin()).collect();
    /// let chunks = Loop::new(0..samples.len(), Schedule::Dynamic(256));
    /// let bins = PerBee::new(4, |_| [0; 10]);
    /// hive::spmd(4, |bee| {
    ///     let mut own = bins.get(bee);
    ///     bee.for_each(&chunks, |range| samples[range].iter().for_each(|x| own[((x + 1.0) * 4.99) as usize] += 1));
    /// });
    /// assert_eq!(bins.into_iter().flatten().sum::<i32>(), 10_000);
    /// ```
    ///
    /// # Panics
    /// If a bee has made a loop for itself inside the region, whose chunks are handed out at run time: when that is
    /// dropped. In the body of another `for_each` or [`for_range`](Self::for_range), in the work of any other call by
    /// which the bees meet, and in the body of a loop that is a region of its own, such as [`par_for`](crate::par_for).
    ///
    /// If `body` panics, other indices of the run may be left out as well. So the region has failed, whatever is
    /// caught: see [`barrier`](Self::barrier). The loop may be run again in the next region.
    #[inline]
    #[track_caller]
    #[doc(alias("omp for", "nowait"))]
    pub fn for_each(&self, shared: &Loop, mut body: impl FnMut(Range<usize>)) {
        let call = self.context.begin_call(Operation::ForEach);
        if !self.context.has_failed() {
            shared.run(None, &self.context, &mut body);
        }
        call.end();
    }

    /// Like [`split`](Self::split), with blocks that begin at multiples of `multiple`, except where `range` itself
    /// begins: see [`Loop::aligned`].
    ///
    /// ```
    /// hive::spmd(2, |bee| assert_eq!(bee.split_aligned(0..20, 8), [0..16, 16..20][bee.id()]));
    /// ```
    ///
    /// # Panics
    /// If `multiple` is 0.
    #[inline]
    #[track_caller]
    pub fn split_aligned(&self, range: Range<usize>, multiple: usize) -> Range<usize> {
        assert!(multiple > 0, "blocks cannot begin at multiples of 0");
        aligned_block(range, multiple, self.id(), self.bees())
    }

    /// Runs a loop on all bees of the team, and waits until all of its indices are done: OpenMP's `for` inside a
    /// region, with the barrier at its end. Calls `body` with one range of indices after another, as
    /// [`for_each`](Self::for_each) does.
    ///
    /// `work` is what [`par_for`](crate::pool::handle::Hive::par_for) takes: a range, a range and a
    /// [`Schedule`](crate::loops::schedule::Schedule), a [`Loop`] or a [`Plan`](crate::memory::plan::Plan). All bees
    /// must call it, with equal arguments. Nothing has to be made outside of the region, so the bounds may depend on
    /// what the bees have found out inside:
    ///
    /// ```
    /// use hive::{Parts, Schedule};
    ///
    /// // Gaussian elimination by columns, each of which is a part that one bee writes and all may read.
    /// let n = 50;
    /// let mut a: Vec<f64> = (0..n * n).map(|i| if i / n == i % n { n as f64 } else { 1.0 }).collect();
    /// let columns = Parts::rows(&mut a, n, n);
    /// hive::spmd_all(|bee| {
    ///     for k in 0..n {
    ///         bee.for_range((k + 1..n, Schedule::Dynamic(4)), |range| {
    ///             let pivots = columns.part(bee, k);
    ///             for j in range {
    ///                 let mut column = columns.part_mut(bee, j);
    ///                 let factor = column[k] / pivots[k];
    ///                 (k + 1..n).for_each(|i| column[i] -= factor * pivots[i]);
    ///             }
    ///         });
    ///     }
    /// });
    /// drop(columns);
    /// let determinant: f64 = (0..n).map(|k| a[k * n + k] / (n - 1) as f64).product();
    /// assert!((determinant - 99.0 / 49.0).abs() < 1e-9);
    /// ```
    ///
    /// A loop that needs no barrier at its end, OpenMP's `nowait`, is [`for_each`](Self::for_each).
    ///
    /// # Panics
    /// If the arguments of two bees differ; if the schedule asks for chunks of 0 indices; and as
    /// [`barrier`](Self::barrier). If the arguments differ, some indices may have been run before, and some of them
    /// twice, by two bees at once.
    ///
    /// If `body` panics, the region has failed, whatever is caught: see [`barrier`](Self::barrier). In `body`, of all
    /// calls by which the bees meet or share work, only [`ordered`](Self::ordered), [`signal`](Self::signal) and
    /// [`wait_for`](Self::wait_for) may be made.
    #[inline]
    #[track_caller]
    #[doc(alias("omp for", "worksharing", "parallel for", "for loop in a region"))]
    pub fn for_range(&self, work: impl IntoLoop, mut body: impl FnMut(Range<usize>)) {
        let call = self.context.begin_call(Operation::ForRange);
        if !self.context.has_failed() {
            self.run_for_range(&work.into(), &mut body);
        }
        call.end();
    }

    /// `for_range`, a call that has begun.
    #[inline(always)]
    #[track_caller]
    fn run_for_range(&self, own: &Loop, body: &mut impl RangeBody) {
        if self.bees() == 1 {
            return own.run(None, &self.context, body);
        }
        let (id, spec) = (self.id(), &own.spec);
        // Only under these schedules do the bees need words in common (`Loop::begin_round`).
        let common = (spec.schedule.sharing() == Sharing::AsTheyCome).then(|| common_state(&self.context));
        own.run(common, &self.context, body);
        let calls = self.exchange(Operation::ForRange, None, &[*spec]);
        // Each bee compares with the queen. None: the barrier is broken, and this bee must not panic.
        let of_queen = if self.is_queen() { None } else { calls.and_then(|calls| calls.value(0, 0)) };
        if let Some(other) = of_queen.filter(|other| other != spec) {
            report_other_call(&self.context, &format_args!("bee {id} calls it with {spec}, bee 0 with {other}"));
        }
    }
}

/// What a hive keeps for `for_range`: the words for teams of up to 1, 2, 4, 8 bees and so on, each made when it is
/// first needed. So they need not be made anew when the hive has grown, while bees of a region are using them.
#[derive(Default)]
struct CommonStates([OnceLock<Box<LoopState>>; u32::BITS as usize]);

/// What the hive has for a team of this size. No other region uses it meanwhile: a hive runs one region of several bees
/// at a time.
#[expect(unsafe_code, reason = "finds the hive by the address that its team keeps")]
fn common_state<'c>(context: &RegionContext<'c>) -> &'c LoopState {
    let bees = context.bees.next_power_of_two();
    let owner = context.team.owner().cast::<Shared>();
    // SAFETY: `Shared::new` has given its own address to its team, which is a part of it. So it lives as long as the
    // team, which the context has borrowed for 'c.
    let shared: &'c Shared = unsafe { &*owner };
    let states: &(dyn Any + Send + Sync) = &**shared.loop_words.get_or_init(|| Box::new(CommonStates::default()));
    let states = states.downcast_ref::<CommonStates>().unwrap_or_else(|| unreachable!("nobody else uses the cell"));
    states.0[bees.ilog2() as usize].get_or_init(|| Box::new(LoopState::new(bees)))
}

/// Panics because the bees of a team have called `for_range` with different arguments.
#[cold]
#[track_caller]
fn report_other_call(region: &RegionContext<'_>, difference: &dyn fmt::Display) {
    region.panic_or_fail(format_args!("all bees of a team must call for_range with equal arguments, and {difference}"));
}
