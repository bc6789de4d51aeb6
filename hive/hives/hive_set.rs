//! `HiveSet`: the handle of several hives, each on the CPUs of one NUMA node or another unit of the machine.
//!
//! It owns the hives and one more hive of leaders, and offers the regions that run over all of them. `builder.rs` makes
//! it; `set_team.rs` runs its regions. The user's page is `docs/hive-sets.md`.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};
use std::{fmt, slice};

use crate::hives::bee::HiveSetBee;
use crate::hives::builder::HiveSetBuilder;
use crate::hives::report;
use crate::hives::set_team::{SetTeam, is_nested};
use crate::pool::error::{BuildError, SpmdError};
use crate::pool::handle::{Hive, panic_no_region};
use crate::pool::report::Report;
use crate::region::no_double_panic::NoDoublePanic;
use crate::topology::place_list::PlaceUnit;

/// Several hives, each on the CPUs of one NUMA node or package, and one team over all of them.
///
/// Each is a [`Hive`] like any other and can run work of its own: `hives[1].spmd(...)`. A `HiveSet` dereferences to a
/// slice of hives, so they can be counted and iterated over. No two of them share a CPU. A region over all of them,
/// [`spmd`](Self::spmd), runs on the bees of every hive, each on its own node, and has a [barrier](HiveSetBee::barrier)
/// across all. When a single hive over all nodes is the simpler choice, what a set costs, and how it goes together with
/// memory is described in [`guides::hive_sets`](crate::guides::hive_sets).
///
/// # Leaders
/// Each hive has a leader: a thread on the hive's first place, which is the hive's queen in all work that runs over the
/// whole set. The leader of hive 0 is the calling thread, which is bound only if
/// [`pin_queen`](crate::pool::config::Builder::pin_queen) is set. The other leaders are the workers of one more hive,
/// which does nothing else.
///
/// # Nesting
/// A region over several hives that is started inside a region or a task of any hive runs at once, as a team of one. So
/// no nesting can deadlock. Started from outside, it waits until it is the next region on each of the hives.
pub struct HiveSet {
    /// The hives, in the order of their units on the machine.
    pub(crate) hives: Vec<Hive>,
    /// The hive of the leaders. It has one bee for each hive of the set; bee i leads hive i.
    pub(crate) leaders: Hive,
    pub(crate) info: SetInfo,
}

/// How the hive set was divided over the machine, as `builder.rs` found it.
pub(crate) struct SetInfo {
    /// The kind of unit that each hive has one of.
    pub(crate) unit_kind: PlaceUnit,
    /// The number of each hive's unit on the machine, by the hive's number.
    pub(crate) units: Vec<usize>,
    /// The NUMA node of each hive, by the hive's number; the node's number is the operating system's.
    pub(crate) nodes: Vec<Option<usize>>,
    /// What the report says about units that got no hive, and about an environment that was not followed.
    pub(crate) warnings: Vec<String>,
}

impl HiveSet {
    /// Builds one hive for each NUMA node with CPUs that the process may use and that no other hive of the process has
    /// claimed. On a machine with one node that is one hive. All other properties are those of
    /// [`builder`](Self::builder).
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives.spmd(|bee| {
    ///     println!("bee {} of {}, in hive {} on node {:?}", bee.id(), bee.bees(), bee.hive(), bee.node());
    ///     bee.barrier();
    /// });
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// As [`HiveSetBuilder::build`].
    pub fn per_node() -> Result<Self, BuildError> {
        Self::builder().build()
    }

    /// As [`per_node`](Self::per_node), with one hive for each package (socket).
    ///
    /// ```
    /// let hives = hive::HiveSet::per_package()?;
    /// println!("{} packages", hives.len());
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// As [`HiveSetBuilder::build`].
    pub fn per_package() -> Result<Self, BuildError> {
        Self::builder().each(PlaceUnit::Sockets).build()
    }

    /// Returns a builder, for several hives with properties other than the default ones.
    pub fn builder() -> HiveSetBuilder {
        HiveSetBuilder::new()
    }

    /// Runs `body` once on each bee of every hive, and returns when all are done. Each hive takes part with as many
    /// bees as it has at the time of the call.
    ///
    /// All bees run at the same time, each on its own thread, so they may wait for one another. The calling thread is
    /// bee 0. A hive that is [resized](Hive::resize) during the region takes part with the bees that it had. A region
    /// of a single hive waits until this region is over, and this region waits for the regions of single hives that
    /// began before it.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let hives = hive::HiveSet::per_node()?;
    /// let sum = AtomicUsize::new(0);
    /// hives.spmd(|bee| {
    ///     sum.fetch_add(bee.split(0..1000).sum(), Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 499_500);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// With the panic of the lowest bee whose `body` panicked: of the lowest hive, and there of the lowest bee. The
    /// other bees are released from their barriers, the call waits until all have ended, and the hives can be used as
    /// before. Also in a forked child; [`try_spmd`](Self::try_spmd) returns that as an error.
    #[track_caller]
    pub fn spmd<F: Fn(&HiveSetBee<'_>) + Sync>(&self, body: F) {
        if let Err(error) = self.try_spmd(body) {
            panic_no_region(self.bees(), &error);
        }
    }

    /// As [`spmd`](Self::spmd), but returns an error where `spmd` panics because no region can start.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives.try_spmd(|bee| bee.barrier())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// In a forked child. `body` has then not run on any bee.
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd), if `body` panics.
    pub fn try_spmd<F: Fn(&HiveSetBee<'_>) + Sync>(&self, body: F) -> Result<(), SpmdError> {
        SetTeam::for_caller(self).run(&*NoDoublePanic::new(body))
    }

    /// Runs a region over all hives and returns the results of `body`, in the order of the bees.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// let ids = hives.spmd_map(|bee| bee.id());
    /// assert!(ids.into_iter().eq(0..hives.bees()));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd). The results that other bees have returned by then are dropped.
    #[track_caller]
    pub fn spmd_map<R: Send, F: Fn(&HiveSetBee<'_>) -> R + Sync>(&self, body: F) -> Vec<R> {
        let (team, body) = (SetTeam::for_caller(self), NoDoublePanic::new(body));
        let results: Vec<_> = (0..team.bees()).map(|_| NoDoublePanic::new(Mutex::new(None))).collect();
        let run = team.run(&|bee: &HiveSetBee<'_>| {
            let result = body(bee);
            *results[bee.id()].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        });
        if let Err(error) = run {
            panic_no_region(team.bees(), &error);
        }
        let values =
            results.into_iter().map(|result| result.into_inner().into_inner().unwrap_or_else(PoisonError::into_inner));
        values.map(|result| result.unwrap_or_else(|| unreachable!("every bee has returned"))).collect()
    }

    /// Runs `work` once for each hive, on the hive's leader, with the hive's number, and returns the results in the
    /// order of the hives. It is for work that each hive does by itself, in regions, loops, reductions and tasks of its
    /// own: the free functions of the crate act on that hive meanwhile.
    ///
    /// The leaders run at the same time. What `work` starts on its hive has all the bees of the hive, unless another
    /// thread uses the hive at that moment: see [nested regions](Hive::spmd). Inside a region or a task, the calling
    /// thread runs `work` for one hive after the other.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// let sums = hives.on_each(|number, hive| {
    ///     let sum = hive::Reduction::per_team_size(0, |a, b| a + b);
    ///     assert_eq!(hive::bees(), hive.bees());
    ///     hive.par_reduce(0..1000, &sum, |range| range.sum::<usize>() + number)
    /// });
    /// assert!(sums[0] >= 499_500);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// With the panic of the lowest hive whose `work` panicked, after all have ended. Also in a forked child.
    #[track_caller]
    pub fn on_each<R: Send>(&self, work: impl Fn(usize, &Hive) -> R + Sync) -> Vec<R> {
        let work = NoDoublePanic::new(work);
        if is_nested() {
            return self.iter().enumerate().map(|(number, hive)| hive.acting(|| work(number, hive))).collect();
        }
        self.leaders.spmd_map(self.len(), |leader| {
            let hive = &self[leader.id()];
            hive.acting(|| work(leader.id(), hive))
        })
    }

    /// The number of bees that are not surplus, over all hives.
    pub fn bees(&self) -> usize {
        self.iter().map(Hive::bees).sum()
    }

    /// Returns when no surplus bee of any of the hives is on a core: see [`Hive::wait_until_parked`]. Call it outside
    /// of the hives' regions.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives[0].resize(1)?;
    /// hives.wait_until_parked();
    /// assert_eq!(hives[0].bees_not_yet_tucked_in(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_until_parked(&self) {
        self.iter().for_each(Hive::wait_until_parked);
    }

    /// Keeps all bees of all hives, and their leaders, polling while `section` runs: see [`Hive::keep_spinning`].
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// let counts = hives.keep_spinning(|| [(); 3].map(|()| hives.spmd_map(|bee| bee.bees()).len()));
    /// assert_eq!(counts, [hives.bees(); 3]);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn keep_spinning<R>(&self, section: impl FnOnce() -> R) -> R {
        let _spinning: Vec<_> = self.with_leaders().map(|hive| hive.shared.team.policy().keep_spinning()).collect();
        // An empty region wakes all bees, which then keep polling. If no region can start, the regions that the section
        // starts will report it.
        let _ = self.try_spmd(|_| ());
        section()
    }

    /// Sends every bee that waits for a region, of any of the hives, to sleep at once: see [`Hive::stop_spinning`].
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives.spmd(|bee| bee.barrier());
    /// hives.stop_spinning(); // the next step writes to a disk
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn stop_spinning(&self) {
        self.with_leaders().for_each(Hive::stop_spinning);
    }

    /// The hives of the set and, after them, the leaders' hive.
    fn with_leaders(&self) -> impl Iterator<Item = &Hive> {
        self.iter().chain([&self.leaders])
    }

    /// The NUMA node that a hive's memory is best placed on, by the operating system's number, as
    /// [`Placement::Bind`](crate::memory::placement::Placement::Bind) takes it. None if the hive's CPUs are on several
    /// nodes, or if the node is not known.
    ///
    /// ```
    /// use hive::{HiveSet, Placement};
    ///
    /// let hives = HiveSet::per_node()?;
    /// let tables = hives.on_each(|number, hive| {
    ///     let placement = hives.node(number).map_or(Placement::FirstTouch, Placement::Bind);
    ///     hive.alloc(1000, placement, |i| i as f64)
    /// });
    /// assert_eq!(tables[0][999], 999.0);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If there is no hive with that number.
    #[track_caller]
    pub fn node(&self, hive: usize) -> Option<usize> {
        self.info.nodes[hive]
    }

    /// What is in effect: the hives, their CPUs and bees, what was left out, and every warning of each hive. A hive's
    /// own [`Hive::report`] says more about that hive.
    ///
    /// ```
    /// println!("{}", hive::HiveSet::per_package()?.report());
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn report(&self) -> Report {
        report::of(self)
    }
}

/// The set as a slice of hives, in the order of their units on the machine.
impl Deref for HiveSet {
    type Target = [Hive];

    fn deref(&self) -> &[Hive] {
        &self.hives
    }
}

impl<'h> IntoIterator for &'h HiveSet {
    type Item = &'h Hive;
    type IntoIter = slice::Iter<'h, Hive>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for HiveSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HiveSet").field(&self.hives).finish()
    }
}
