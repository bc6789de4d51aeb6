//! The handle of several hives.

use std::fmt;
use std::ops::Deref;
use std::slice;
use std::sync::{Mutex, PoisonError};

use super::bee::HivesBee;
use super::builder::HivesBuilder;
use super::report;
use super::team::{Team, is_nested};
use crate::error::{BuildError, SpmdError};
use crate::hive::{Hive, no_region};
use crate::quiet::Quiet;
use crate::report::Report;
use crate::topology::PlaceUnit;

/// Several hives, each on the CPUs of one NUMA node or package, and one team over all of them.
///
/// Each is a [`Hive`] like any other, for work of its own: `hives[1].spmd(...)`, and as a slice they can be counted and gone through. No two of them have a CPU in common. A region over all of
/// them, [`spmd`](Self::spmd), has the members of each hive on its own node, and a [barrier](HivesBee::barrier) across.
/// When one hive over all nodes is simpler, what it costs, and how it goes together with memory is in [`guides::several_hives`](crate::guides::several_hives).
///
/// # Leaders
/// Each hive has a leader, a thread on the hive's first place, where it is the hive's queen in what is run over all. The leader of hive 0 is the calling thread, which
/// is bound only with [`pin_queen`](crate::Builder::pin_queen). The others are bees of one more hive, which has nothing else to do.
///
/// # Nesting
/// Inside a region or a task, of whatever hive, a region over several hives runs at once as a team of one. So none can deadlock. From outside, it waits for its turn on each of the hives.
pub struct Hives {
    pub(super) hives: Vec<Hive>,
    /// One member a hive.
    pub(super) leaders: Hive,
    pub(super) about: About,
}

/// How the hives came about.
pub(super) struct About {
    pub(super) each: PlaceUnit,
    /// Each hive's unit, by hive's number.
    pub(super) units: Vec<usize>,
    /// Each hive's NUMA node, by the system's.
    pub(super) nodes: Vec<Option<usize>>,
    pub(super) warnings: Vec<String>,
}

impl Hives {
    /// A hive for each NUMA node that has CPUs which the process may use and no other hive of it has; on a machine of one node that is one. As [`builder`](Self::builder) has it.
    ///
    /// ```
    /// let hives = hive::Hives::per_node()?;
    /// hives.spmd(|bee| {
    ///     println!("member {} of {}, in hive {} on node {:?}", bee.id(), bee.count(), bee.hive(), bee.node());
    ///     bee.barrier();
    /// });
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// As [`HivesBuilder::build`].
    pub fn per_node() -> Result<Self, BuildError> {
        Self::builder().build()
    }

    /// As [`per_node`](Self::per_node), a hive for each package (socket).
    ///
    /// ```
    /// let hives = hive::Hives::per_package()?;
    /// println!("{} packages", hives.len());
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// As [`HivesBuilder::build`].
    pub fn per_package() -> Result<Self, BuildError> {
        Self::builder().each(PlaceUnit::Sockets).build()
    }

    /// Asks for several hives with other than the usual properties.
    pub fn builder() -> HivesBuilder {
        HivesBuilder::new()
    }

    /// Runs `body` once on each member of all hives, as many as each has at the call, and returns when all are done.
    ///
    /// They are truly running at the same time, and may wait for one another. The calling thread is member 0. A hive that is
    /// [resized](Hive::resize) meanwhile takes part with those that it had. Regions of single hives wait until this one is over, and this one for them.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let hives = hive::Hives::per_node()?;
    /// let sum = AtomicUsize::new(0);
    /// hives.spmd(|bee| {
    ///     sum.fetch_add(bee.split(0..1000).sum(), Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 499_500);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// With the panic of the lowest hive, and there of the lowest member, of those whose `body` panicked: the others are let go from their barriers, all are waited for, and the hives are as good as before.
    /// In a forked child; [`try_spmd`](Self::try_spmd) returns that as an error.
    #[track_caller]
    pub fn spmd<F: Fn(&HivesBee<'_>) + Sync>(&self, body: F) {
        if let Err(error) = self.try_spmd(body) {
            no_region(self.bees(), &error);
        }
    }

    /// As [`spmd`](Self::spmd), with an error where that panics because no region can start.
    ///
    /// ```
    /// let hives = hive::Hives::per_node()?;
    /// hives.try_spmd(|bee| bee.barrier())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// In a forked child. `body` has then not run at all.
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd), if `body` panics.
    pub fn try_spmd<F: Fn(&HivesBee<'_>) + Sync>(&self, body: F) -> Result<(), SpmdError> {
        Team::of(self).run(&*Quiet::new(body))
    }

    /// Runs a region over all hives and returns what `body` returned, in order of the members.
    ///
    /// ```
    /// let hives = hive::Hives::per_node()?;
    /// let ids = hives.spmd_map(|bee| bee.id());
    /// assert!(ids.into_iter().eq(0..hives.bees()));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd). Results that the other members have returned by then are dropped.
    #[track_caller]
    pub fn spmd_map<R: Send, F: Fn(&HivesBee<'_>) -> R + Sync>(&self, body: F) -> Vec<R> {
        let (team, body) = (Team::of(self), Quiet::new(body));
        let results: Vec<_> = (0..team.count()).map(|_| Quiet::new(Mutex::new(None))).collect();
        let run = team.run(&|bee: &HivesBee<'_>| {
            let result = body(bee);
            *results[bee.id()].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        });
        if let Err(error) = run {
            no_region(team.count(), &error);
        }
        let taken = results.into_iter().map(|result| result.into_inner().into_inner().unwrap_or_else(PoisonError::into_inner));
        taken.map(|result| result.unwrap_or_else(|| unreachable!("every member has returned"))).collect()
    }

    /// Runs `work` once for each hive, on its leader, with the hive's number, and returns what it returned, in the order of the hives: for work that each hive does by itself, in regions,
    /// loops, reductions and tasks of its own.
    ///
    /// The leaders run at the same time. What `work` starts on its hive has the hive's members, unless another thread is using that at the moment: see [nested regions](Hive::spmd). Inside a region or a task, the
    /// calling thread runs `work` for one hive after the other.
    ///
    /// ```
    /// let hives = hive::Hives::per_node()?;
    /// let sums = hives.on_each(|number, hive| hive.par_reduce(0..1000, hive::Schedule::Static, &hive::Reduction::per_team(0, |a, b| a + b), |range| range.sum::<usize>() + number));
    /// assert!(sums[0] >= 499_500);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// With the panic of the lowest hive whose `work` panicked, after all have ended; and in a forked child.
    #[track_caller]
    pub fn on_each<R: Send>(&self, work: impl Fn(usize, &Hive) -> R + Sync) -> Vec<R> {
        let work = Quiet::new(work);
        if is_nested() {
            return self.iter().enumerate().map(|(number, hive)| work(number, hive)).collect();
        }
        self.leaders.spmd_map(self.len(), |leader| work(leader.id(), &self[leader.id()]))
    }

    /// The number of members that are not surplus, over all hives.
    pub fn bees(&self) -> usize {
        self.iter().map(Hive::bees).sum()
    }

    /// Returns when no surplus bee of any of the hives is on a core: see [`Hive::settle`]. To be called outside of their regions.
    ///
    /// ```
    /// let hives = hive::Hives::per_node()?;
    /// hives[0].resize(1)?;
    /// hives.settle();
    /// assert_eq!(hives[0].bees_not_yet_tucked_in(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settle(&self) {
        self.iter().for_each(Hive::settle);
    }

    /// Keeps all members of all hives, and their leaders, polling while `section` runs: see [`Hive::hot`].
    ///
    /// ```
    /// let hives = hive::Hives::per_node()?;
    /// let counts = hives.hot(|| [(); 3].map(|()| hives.spmd_map(|bee| bee.count()).len()));
    /// assert_eq!(counts, [hives.bees(); 3]);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn hot<R>(&self, section: impl FnOnce() -> R) -> R {
        let _hot: Vec<_> = self.with_leaders().map(|hive| hive.colony.crew.policy().hot_section()).collect();
        // Wakes them. That no region can start is for those in the section to be told.
        let _ = self.try_spmd(|_| ());
        section()
    }

    /// Sends all who wait for a region, of whatever hive, to sleep at once: see [`Hive::relax`].
    ///
    /// ```
    /// let hives = hive::Hives::per_node()?;
    /// hives.spmd(|bee| bee.barrier());
    /// hives.relax(); // the next step is the disk's
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn relax(&self) {
        self.with_leaders().for_each(Hive::relax);
    }

    fn with_leaders(&self) -> impl Iterator<Item = &Hive> {
        self.iter().chain([&self.leaders])
    }

    /// The NUMA node that a hive's memory is best on, by the system's number, as [`Placement::Bind`](crate::Placement::Bind) takes it; None if the hive's CPUs are on several nodes, or if it is not known.
    ///
    /// ```
    /// use hive::{Hives, Placement};
    ///
    /// let hives = Hives::per_node()?;
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
        self.about.nodes[hive]
    }

    /// What is in effect: the hives, their CPUs and members, what was left out, and every warning of each of them. More of one hive is in its own [`Hive::report`].
    ///
    /// ```
    /// println!("{}", hive::Hives::per_package()?.report());
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn report(&self) -> Report {
        report::of(self)
    }
}

/// As a slice, in the order of the units on the machine.
impl Deref for Hives {
    type Target = [Hive];

    fn deref(&self) -> &[Hive] {
        &self.hives
    }
}

impl<'h> IntoIterator for &'h Hives {
    type Item = &'h Hive;
    type IntoIter = slice::Iter<'h, Hive>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Hives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hives").field(&self.hives).finish()
    }
}
