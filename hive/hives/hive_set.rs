//! The handle of several hives.

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
/// Each is a [`Hive`] like any other, for work of its own: `hives[1].spmd(...)`, and as a slice they can be counted and gone through. No two of them have a CPU in common. A region over all of
/// them, [`spmd`](Self::spmd), has the bees of each hive on its own node, and a [barrier](HiveSetBee::barrier) across.
/// When one hive over all nodes is simpler, what it costs, and how it goes together with memory is in [`guides::hive_sets`](crate::guides::hive_sets).
///
/// # Leaders
/// Each hive has a leader, a thread on the hive's first place, where it is the hive's queen in what is run over all. The leader of hive 0 is the calling thread, which
/// is bound only with [`pin_queen`](crate::pool::config::Builder::pin_queen). The others are bees of one more hive, which has nothing else to do.
///
/// # Nesting
/// Inside a region or a task, of whatever hive, a region over several hives runs at once as a team of one. So none can deadlock. From outside, it waits for its turn on each of the hives.
pub struct HiveSet {
    pub(crate) hives: Vec<Hive>,
    /// One bee a hive.
    pub(crate) leaders: Hive,
    pub(crate) info: SetInfo,
}

/// How the hives came about.
pub(crate) struct SetInfo {
    pub(crate) unit_kind: PlaceUnit,
    /// Each hive's unit, by hive's number.
    pub(crate) units: Vec<usize>,
    /// Each hive's NUMA node, by the system's.
    pub(crate) nodes: Vec<Option<usize>>,
    pub(crate) warnings: Vec<String>,
}

impl HiveSet {
    /// A hive for each NUMA node that has CPUs which the process may use and no other hive of it has; on a machine of one node that is one. As [`builder`](Self::builder) has it.
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

    /// As [`per_node`](Self::per_node), a hive for each package (socket).
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

    /// Asks for several hives with other than the usual properties.
    pub fn builder() -> HiveSetBuilder {
        HiveSetBuilder::new()
    }

    /// Runs `body` once on each bee of all hives, as many as each has at the call, and returns when all are done.
    ///
    /// They are truly running at the same time, and may wait for one another. The calling thread is bee 0. A hive that is
    /// [resized](Hive::resize) meanwhile takes part with those that it had. Regions of single hives wait until this one is over, and this one for them.
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
    /// With the panic of the lowest hive, and there of the lowest bee, of those whose `body` panicked: the others are let go from their barriers, all are waited for, and the hives are as good as before.
    /// In a forked child; [`try_spmd`](Self::try_spmd) returns that as an error.
    #[track_caller]
    pub fn spmd<F: Fn(&HiveSetBee<'_>) + Sync>(&self, body: F) {
        if let Err(error) = self.try_spmd(body) {
            panic_no_region(self.bees(), &error);
        }
    }

    /// As [`spmd`](Self::spmd), with an error where that panics because no region can start.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives.try_spmd(|bee| bee.barrier())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// In a forked child. `body` has then not run at all.
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd), if `body` panics.
    pub fn try_spmd<F: Fn(&HiveSetBee<'_>) + Sync>(&self, body: F) -> Result<(), SpmdError> {
        SetTeam::for_caller(self).run(&*NoDoublePanic::new(body))
    }

    /// Runs a region over all hives and returns what `body` returned, in order of the bees.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// let ids = hives.spmd_map(|bee| bee.id());
    /// assert!(ids.into_iter().eq(0..hives.bees()));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd). Results that the other bees have returned by then are dropped.
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

    /// Runs `work` once for each hive, on its leader, with the hive's number, and returns what it returned, in the order of the hives: for work that each hive does by itself, in regions,
    /// loops, reductions and tasks of its own.
    ///
    /// The leaders run at the same time. What `work` starts on its hive has the hive's bees, unless another thread is using that at the moment: see [nested regions](Hive::spmd). Inside a region or a task, the
    /// calling thread runs `work` for one hive after the other.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// let sums = hives.on_each(|number, hive| hive.par_reduce(0..1000, hive::Schedule::Static, &hive::Reduction::per_team_size(0, |a, b| a + b), |range| range.sum::<usize>() + number));
    /// assert!(sums[0] >= 499_500);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// With the panic of the lowest hive whose `work` panicked, after all have ended; and in a forked child.
    #[track_caller]
    pub fn on_each<R: Send>(&self, work: impl Fn(usize, &Hive) -> R + Sync) -> Vec<R> {
        let work = NoDoublePanic::new(work);
        if is_nested() {
            return self.iter().enumerate().map(|(number, hive)| work(number, hive)).collect();
        }
        self.leaders.spmd_map(self.len(), |leader| work(leader.id(), &self[leader.id()]))
    }

    /// The number of bees that are not surplus, over all hives.
    pub fn bees(&self) -> usize {
        self.iter().map(Hive::bees).sum()
    }

    /// Returns when no surplus bee of any of the hives is on a core: see [`Hive::settle`]. To be called outside of their regions.
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

    /// Keeps all bees of all hives, and their leaders, polling while `part` runs: see [`Hive::keep_spinning`].
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// let counts = hives.keep_spinning(|| [(); 3].map(|()| hives.spmd_map(|bee| bee.bees()).len()));
    /// assert_eq!(counts, [hives.bees(); 3]);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn keep_spinning<R>(&self, section: impl FnOnce() -> R) -> R {
        let _spinning: Vec<_> = self.with_leaders().map(|hive| hive.shared.team.policy().keep_spinning()).collect();
        // Wakes them. That no region can start is for those in the section to be told.
        let _ = self.try_spmd(|_| ());
        section()
    }

    /// Sends all who wait for a region, of whatever hive, to sleep at once: see [`Hive::stop_spinning`].
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives.spmd(|bee| bee.barrier());
    /// hives.stop_spinning(); // the next step is the disk's
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn stop_spinning(&self) {
        self.with_leaders().for_each(Hive::stop_spinning);
    }

    fn with_leaders(&self) -> impl Iterator<Item = &Hive> {
        self.iter().chain([&self.leaders])
    }

    /// The NUMA node that a hive's memory is best on, by the system's number, as [`Placement::Bind`](crate::memory::placement::Placement::Bind) takes it; None if the hive's CPUs are on several nodes, or if it is not known.
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
    /// If there is no hive of that number.
    #[track_caller]
    pub fn node(&self, hive: usize) -> Option<usize> {
        self.info.nodes[hive]
    }

    /// What is in effect: the hives, their CPUs and bees, what was left out, and every warning of each of them. More of one hive is in its own [`Hive::report`].
    ///
    /// ```
    /// println!("{}", hive::HiveSet::per_package()?.report());
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn report(&self) -> Report {
        report::of(self)
    }
}

/// As a slice, in the order of the units on the machine.
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
