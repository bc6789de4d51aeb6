//! What the body of a region over several hives receives, a [`HiveSetBee`], and the region's team, a [`SetTeam`].
//!
//! `regions.rs` makes a team for each region, and a `HiveSetBee` for each bee of each hive, which it passes to the
//! user's closure. It wraps the `Bee` of the bee's own hive and adds what spans all hives: numbering, barrier and
//! reduction, by way of the team, in which the leaders meet. What such a region consists of is described in
//! `docs/hive-sets.md`.

use std::fmt;
use std::ops::Range;

use crate::hives::hive_set::HiveSet;
use crate::on_drop::on_drop;
use crate::pool::handle::Hive;
use crate::protocol::region::exchange_slots::Operation;
use crate::protocol::region::panics::Unfinished;
use crate::protocol::region::region_context::RegionContext;
use crate::region::bee::Bee;
use crate::region::collective::ByCopy;
use crate::region::{nesting, split};

/// One bee of a region over several hives. Through it the body learns which bee it is, and waits for the other bees.
///
/// A bee has a number over all hives, [`id`](Self::id), and is at the same time a [`Bee`] of its own hive,
/// [`local`](Self::local). Like a `Bee`, it cannot leave its thread:
///
/// ```compile_fail,E0277
/// hive::HiveSet::per_node()?.spmd(|bee| {
///     std::thread::scope(|scope| {
///         scope.spawn(|| bee.barrier()); // `HiveSetBee` is not Sync
///     });
/// });
/// # Ok::<(), hive::Error>(())
/// ```
///
/// ```
/// let hives = hive::HiveSet::per_node()?;
/// let x = vec![0.5; 10_000];
/// hives.spmd(|bee| {
///     let sum = x[bee.split(0..x.len())].iter().sum::<f64>();
///     assert_eq!(bee.all_reduce(sum, |a, b| a + b), 5_000.0); // over all hives
///     assert!(bee.local().all_reduce(sum, |a, b| a + b) <= 5_000.0); // over the bees of this one
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HiveSetBee<'r> {
    /// The team over all hives that this bee belongs to.
    pub(crate) team: &'r SetTeam<'r>,
    /// The number of the hive that this bee belongs to.
    pub(crate) hive: usize,
    /// The same thread's bee in the region of its own hive.
    pub(crate) local: &'r Bee<'r>,
}

impl HiveSetBee<'_> {
    /// This bee's number, from 0 (the calling thread) to `bees() - 1`. The bees of hive 0 come first, in the order of
    /// their numbers there, then those of hive 1, and so on.
    ///
    /// ```
    /// let ids = hive::HiveSet::per_node()?.spmd_map(|bee| bee.id());
    /// assert!(ids.iter().copied().eq(0..ids.len()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn id(&self) -> usize {
        self.team.first_ids[self.hive] + self.local.id()
    }

    /// The number of bees in the team, over all hives.
    ///
    /// ```
    /// let weights = hive::HiveSet::per_node()?.spmd_map(|bee| 1.0 / bee.bees() as f64);
    /// assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn bees(&self) -> usize {
        self.team.bees()
    }

    /// Whether this is bee 0, which runs on the thread that started the region.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives.spmd(|bee| {
    ///     if bee.is_queen() {
    ///         println!("{} bees in {} hives", bee.bees(), bee.hives());
    ///     }
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn is_queen(&self) -> bool {
        self.id() == 0
    }

    /// The number of this bee's hive, which is its index in the [`HiveSet`](crate::hives::hive_set::HiveSet).
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// // A table for each node: its bees look up in their own.
    /// let tables = hives.on_each(|_, _| vec![0.5; 100]);
    /// hives.spmd(|bee| assert_eq!(tables[bee.hive()][bee.id() % 100], 0.5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn hive(&self) -> usize {
        self.hive
    }

    /// The number of hives whose bees are in the team: all hives of the set, or 1 in a nested region.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives.spmd(|bee| assert_eq!(bee.hives(), hives.len()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn hives(&self) -> usize {
        self.team.hive_count()
    }

    /// The NUMA node of this bee's hive, by the operating system's number: see
    /// [`HiveSet::node`](crate::hives::hive_set::HiveSet::node).
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives.spmd(|bee| println!("bee {} works in the memory of node {:?}", bee.id(), bee.node()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn node(&self) -> Option<usize> {
        self.team.hives.node(self.hive)
    }

    /// This bee as a bee of its own hive, for loops, barriers, reductions and so on within that hive. The other hives
    /// take no part in these.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// let x: Vec<f64> = (0..1000).map(f64::from).collect();
    /// hives.spmd(|bee| {
    ///     // Each hive has a block of its own, and each bee of the hive a part of that block.
    ///     let own = bee.split_by_hive(0..x.len());
    ///     let sum = bee.local().all_reduce(x[bee.split(0..x.len())].iter().sum::<f64>(), |a, b| a + b);
    ///     assert_eq!(sum, x[own].iter().sum::<f64>());
    /// });
    /// # Ok::<(), hive::Error>(())
    /// ```
    #[inline]
    pub fn local(&self) -> &Bee<'_> {
        self.local
    }

    /// This bee's block of `range`. The blocks are contiguous, in the order of the bees' numbers, and their lengths
    /// differ by at most one.
    ///
    /// ```
    /// let sums = hive::HiveSet::per_node()?.spmd_map(|bee| bee.split(0..1000).sum::<usize>());
    /// assert_eq!(sums.iter().sum::<usize>(), 499_500);
    /// # Ok::<(), hive::Error>(())
    /// ```
    #[inline]
    pub fn split(&self, range: Range<usize>) -> Range<usize> {
        split::block(range, self.id(), self.bees())
    }

    /// All blocks that [`split`](Self::split) gives to the bees of this bee's hive, as one range: for data whose memory
    /// lies on the hive's node.
    ///
    /// ```
    /// let blocks = hive::HiveSet::per_node()?.spmd_map(|bee| (bee.hive(), bee.split_by_hive(0..10_000)));
    /// // The bees of one hive get the same block; those of all hives are the whole range.
    /// assert_eq!((blocks[0].1.start, blocks[blocks.len() - 1].1.end), (0, 10_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn split_by_hive(&self, range: Range<usize>) -> Range<usize> {
        let first = self.team.first_ids[self.hive];
        split::blocks(range, first..first + self.local.bees(), self.bees())
    }

    /// Waits until every bee of every hive has arrived at this barrier. What any bee did before the barrier is visible
    /// to all bees after it.
    ///
    /// All bees must call it equally often. The bees of one hive must also keep the same order between these calls and
    /// the barriers within their hive. The barrier has three steps, so that cache lines travel between nodes only among
    /// the leaders: the bees of each hive meet, then the leaders of all hives, then the bees of each hive again.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let hives = hive::HiveSet::per_node()?;
    /// let arrived = AtomicUsize::new(0);
    /// hives.spmd(|bee| {
    ///     arrived.fetch_add(1, Ordering::Relaxed);
    ///     bee.barrier();
    ///     assert_eq!(arrived.load(Ordering::Relaxed), bee.bees());
    /// });
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// If another bee's body has ended without arriving at this barrier. When another bee, of any hive, has panicked,
    /// the barrier ends this bee's body by unwinding, without a panic message of its own, as [`Bee::barrier`] does.
    #[track_caller]
    pub fn barrier(&self) {
        let context = &*self.local.context;
        let call = context.begin_call(Operation::Barrier);
        // First meeting: the bees of this hive. After it, the leader knows that all its bees have arrived.
        let passed = meet_checked(context, || context.meet());
        if passed.is_some() && self.hives() > 1 {
            // Second meeting: the leaders of all hives. Only bee 0 of each hive is a leader.
            if context.id > 0 || self.team.meet_leaders(context, |leader| leader.barrier()).is_some() {
                // Third meeting: the bees of this hive wait here until their leader is back from the other leaders.
                context.meet();
            }
        }
        call.end();
    }

    /// Combines one value from each bee and returns the result on all bees. The values of each hive are combined as
    /// [`Bee::all_reduce`] does; the results of the hives are then combined in the order of the hives.
    ///
    /// All bees must call it, with the same type and the same `op`. The call is also a [barrier](Self::barrier). The
    /// result is the same from run to run, bit for bit, as long as the hives have the same numbers of bees.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives.spmd(|bee| assert_eq!(bee.all_reduce(bee.id(), usize::max), bee.bees() - 1));
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// As [`barrier`](Self::barrier); if another bee calls an operation other than this one with a value of this type,
    /// as far as [`Bee::all_reduce`] detects it; and if `op` itself waits for the other bees.
    #[track_caller]
    pub fn all_reduce<T: ByCopy>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        if self.hives() == 1 {
            return self.local.all_reduce(value, op);
        }
        let call = self.local.context.begin_call(Operation::AllReduceOfHives);
        // Within the hive: only its bee 0, the leader, gets the hive's value.
        let hive_value =
            meet_checked(&self.local.context, || self.local.reduce_as(Operation::AllReduceOfHives, value, &op));
        // The leader combines the hives' values with the other leaders and hands the result to its hive's bees.
        let result = self.local.share_value(Operation::AllReduceOfHives, Some(0), self.local.is_queen(), || {
            // None: a panic has broken the meeting of this hive's bees, and this bee is unwinding already. No other bee
            // uses the value that is returned here.
            let Some(hive_value) = hive_value.flatten() else { return value };
            let met = self.team.meet_leaders(&self.local.context, |leader| leader.all_reduce(hive_value, op));
            met.unwrap_or(hive_value)
        });
        call.end();
        result
    }
}

impl fmt::Debug for HiveSetBee<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HiveSetBee {{ id: {}, bees: {}, hive: {} }}", self.id(), self.bees(), self.hive)
    }
}

/// The team of a region over several hives.
pub(crate) struct SetTeam<'h> {
    /// The set whose hives take part.
    pub(crate) hives: &'h HiveSet,
    /// The number of the first bee of each hive that takes part, and after the last one the number of all bees.
    pub(crate) first_ids: Vec<usize>,
}

impl<'h> SetTeam<'h> {
    /// The team that the calling thread may have: all bees of all hives that are not surplus or, inside a region or a
    /// task, the caller alone.
    pub(crate) fn for_caller(hives: &'h HiveSet) -> Self {
        // A thread that is inside a region or a task of any hive must not wait for a team.
        let sizes = if nesting::is_inside_any() { vec![1] } else { hives.iter().map(Hive::bees).collect() };
        let first_ids = (0..=sizes.len()).map(|hive| sizes[..hive].iter().sum()).collect();
        Self { hives, first_ids }
    }

    /// The number of bees in the team.
    pub(crate) fn bees(&self) -> usize {
        self.first_ids[self.hive_count()]
    }

    /// The number of hives that have bees in the team.
    pub(crate) fn hive_count(&self) -> usize {
        self.first_ids.len() - 1
    }

    /// Calls `meet` with the calling thread's bee in the leaders' region. The leaders of all hives call this, to meet
    /// each other. `context` is the same thread's bee in the region of its own hive, in the call for which they meet.
    ///
    /// If the leaders do not meet, because of a panic in another hive, the region of this hive fails as well. Returns
    /// None if that happens while the calling thread is unwinding already; otherwise the panic then leaves this
    /// function, and the call.
    pub(crate) fn meet_leaders<R>(&self, context: &RegionContext<'_>, meet: impl FnOnce(&Bee<'_>) -> R) -> Option<R> {
        let value = nesting::with_outermost_region(&self.hives.leaders.shared.team, |leader| {
            // Fails the hive's region unless the leaders have met: if their meeting unwinds, or if it returns without
            // having taken place. The reason is the one of the leaders' region.
            let outer_region = leader.region_key();
            let unmet = on_drop(|| context.fail(Unfinished::InOuterRegion(outer_region)));
            let result = meet_checked(leader, || meet(&Bee::of(leader)));
            if result.is_some() {
                std::mem::forget(unmet);
            }
            result
        });
        value.unwrap_or_else(|| unreachable!("bee 0 of each hive is a leader"))
    }
}

/// Returns what `meet` returns. `meet` is a call in which `context` waits once for its team. None: it has passed no
/// barrier, because a panic has broken the meeting or the region has failed before, and this call runs in a destructor
/// during a panic's unwinding, where the barrier returns instead of panicking.
pub(crate) fn meet_checked<R>(context: &RegionContext<'_>, meet: impl FnOnce() -> R) -> Option<R> {
    let passed_before = context.barriers_passed();
    let result = meet();
    // A bee that is alone in its hive waits for nobody there, even when its region has failed.
    let has_met = !context.has_failed() && (context.bees == 1 || context.barriers_passed() > passed_before);
    has_met.then_some(result)
}
