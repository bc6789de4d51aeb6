//! The regions over all hives of a set, and the work that each leader does by itself.
//!
//! A region over several hives is a region of the leaders' hive, in which each leader runs a region of the hive that it
//! leads. `docs/hive-sets.md` ("How it is done") gives the steps and says why no two such regions can deadlock.

use crate::hives::bee::{HiveSetBee, SetTeam};
use crate::hives::hive_set::HiveSet;
use crate::pool::error::Error;
use crate::pool::handle::Hive;
use crate::pool::regions::ApplyResizeAtRegionEnd;
use crate::pool::run_parts::panic_no_region;
use crate::region::bee::{Bee, ExactBody};
use crate::region::nesting;
use crate::region::no_double_panic::NoDoublePanic;
use crate::sync::Mutex;
use crate::sys::fork::with_abort_in_child;

impl HiveSet {
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
    /// # Ok::<(), hive::Error>(())
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
    pub fn try_spmd<F: Fn(&HiveSetBee<'_>) + Sync>(&self, body: F) -> Result<(), Error> {
        SetTeam::for_caller(self).run(&*NoDoublePanic::new(body))
    }

    /// Runs a region over all hives and returns the results of `body`, in the order of the bees.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// let ids = hives.spmd_map(|bee| bee.id());
    /// assert!(ids.into_iter().eq(0..hives.bees()));
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd). The results that other bees have returned by then are dropped.
    #[track_caller]
    pub fn spmd_map<R: Send, F: Fn(&HiveSetBee<'_>) -> R + Sync>(&self, body: F) -> Vec<R> {
        let (team, body) = (SetTeam::for_caller(self), NoDoublePanic::new(body));
        let results: Vec<_> = (0..team.bees()).map(|_| NoDoublePanic::new(Mutex::new(None))).collect();
        let run = team.run(&|bee: &HiveSetBee<'_>| {
            let result = if bee.bees() > 1 { with_abort_in_child(|| body(bee)) } else { body(bee) };
            *results[bee.id()].lock() = Some(result);
        });
        if let Err(error) = run {
            panic_no_region(team.bees(), &error);
        }
        let values = results.iter().map(|result| result.lock().take());
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
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// With the panic of the lowest hive whose `work` panicked, after all have ended. Also in a forked child.
    #[track_caller]
    pub fn on_each<R: Send>(&self, work: impl Fn(usize, &Hive) -> R + Sync) -> Vec<R> {
        let work = NoDoublePanic::new(work);
        let work = |number: usize| {
            let hive = &self[number];
            nesting::acting_for(&hive.shared.team, || work(number, hive))
        };
        if nesting::is_inside_any() {
            return (0..self.len()).map(work).collect();
        }
        self.leaders.spmd_map(self.len(), |leader| work(leader.id()))
    }

    /// Keeps all bees of all hives, and their leaders, polling while `section` runs: see [`Hive::keep_spinning`].
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// let counts = hives.keep_spinning(|| [(); 3].map(|()| hives.spmd_map(|bee| bee.bees()).len()));
    /// assert_eq!(counts, [hives.bees(); 3]);
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn keep_spinning<R>(&self, section: impl FnOnce() -> R) -> R {
        let _spinning: Vec<_> = self.with_leaders().map(|hive| hive.shared.team.policy().keep_spinning()).collect();
        // An empty region wakes all bees, which then keep polling. If no region can start, the regions that the section
        // starts will report it.
        let _ = self.try_spmd(|_| ());
        section()
    }
}

impl SetTeam<'_> {
    /// Runs `body` once on each bee of the team: the calling thread and the other leaders start the regions of their
    /// hives.
    pub(crate) fn run<F: Fn(&HiveSetBee<'_>) + Sync>(&self, body: &F) -> Result<(), Error> {
        self.hives.leaders.try_spmd(self.hive_count(), |leader| self.run_hive(leader.id(), body))
    }

    /// Runs one hive's part of the region: `body` on the calling thread, which is the hive's leader, and on the other
    /// bees of the hive.
    fn run_hive<F: Fn(&HiveSetBee<'_>) + Sync>(&self, hive: usize, body: &F) {
        let shared = &self.hives[hive].shared;
        let bees = self.first_ids[hive + 1] - self.first_ids[hive];
        let mut local_body = ExactBody::new(|local: &Bee<'_>| body(&HiveSetBee { team: self, hive, local }));
        // A hive with one bee has only its leader, which runs the body here, without a region of several bees.
        if bees == 1 {
            return shared.run_alone(&local_body);
        }
        // Here a leader waits for the queen lock of its hive inside the leaders' region; a region of a single hive
        // never waits inside a region. This cannot deadlock: no thread that holds this lock waits for the leaders'
        // hive, because a region over several hives that starts inside another region is a team of one.
        let mut queen_guard = shared.team.become_queen();
        // Declared after `queen_guard`, so that it is dropped before that: the queen lock is still held when the resize
        // is applied. After the lock is released, the pending resize may be one that the next queen's region asks for.
        let _resize = ApplyResizeAtRegionEnd(shared);
        // No worker has to be started: all were when the bees were counted. If a resize has made some surplus since
        // then, they take part as surplus bees, and the hive does not grow for them.
        //
        // The deadlock detector of a hive's region looks at the bees of that hive only. Here the leaders of other hives
        // may do what a bee of this hive waits for, so the detector is told that it cannot know.
        let _among_others = shared.team.mark_outside_help();
        shared.team.run_region(&mut queen_guard, bees as u32, &mut local_body);
    }
}
