//! How many bees a hive has: growing it for a region, resizing it, and waiting until surplus workers are parked.
//!
//! This file checks what the program asks for, decides whether a change takes effect now or when a region ends, and
//! supplies the threads. How bees become surplus, park and come back is in `hive/protocol/worker/resize.rs`, and proved
//! in `docs/resize.md`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::pool::error::Error;
use crate::pool::handle::Hive;
use crate::pool::shared::{MIN_BEES_WITH_WORKER, Shared};
use crate::protocol::region::region_context::RegionContext;
use crate::region::nesting;

impl Hive {
    /// Changes the size of the hive to `bees` bees, including the queen. May be called by any thread at any time, and
    /// does not wait for a region to end or for a bee to finish its work.
    ///
    /// Shrinking makes workers surplus. A surplus worker parks on its semaphore as soon as it has nothing left to run,
    /// and costs nothing from then on; a worker that sleeps is parked without being woken, unless a region waits for
    /// it. [`wait_until_parked`](Self::wait_until_parked) waits for them. Growing brings parked workers back, and keeps
    /// surplus workers that have not parked yet. Called inside a region of this hive, it takes effect when the region
    /// ends. A region that asks for more bees than there are grows the hive again. So where one thread shrinks the hive
    /// while another runs regions, the other takes [`spmd_all`](Self::spmd_all), which never grows the hive. If it asks
    /// for a size, it does so anew before each region, and may still undo a resize that comes in between. A loop
    /// ([`par_for`](Self::par_for) and its siblings) runs on the bees that there are when it is called. If the hive is
    /// made smaller while it waits for its turn, it does not grow it again: the surplus bees run their parts first, and
    /// then park. Only a loop over a [`Plan`](crate::memory::plan::Plan) asks for a size, as a region does.
    ///
    /// ```
    /// let hive = hive::Hive::new(4)?;
    /// hive.resize(1)?;
    /// hive.wait_until_parked();
    /// assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If `bees` is 0 or above [`max_bees`](Self::max_bees), if the system makes no more threads, or in a forked child.
    /// The size is then the same as before.
    pub fn resize(&self, bees: usize) -> Result<(), Error> {
        let shared = &self.shared;
        let bees = shared.checked_bees(bees)?;
        let resized = nesting::with_outermost_region(&shared.team, |context| shared.resize_after_region(bees, context));
        resized.unwrap_or_else(|| shared.resize_now(bees))
    }

    /// Waits until no surplus worker is on a core, that is, until
    /// [`bees_not_yet_tucked_in`](Self::bees_not_yet_tucked_in) is 0. The cores are then free for other programs. (If
    /// another thread has called a loop before the hive was made smaller, and it starts only now, the surplus workers
    /// take part in it, and park again.)
    ///
    /// Inside a region of this hive it returns at once. Inside a region or a task of any hive, it does not wait for
    /// surplus workers that are in the middle of a task or of a region: these may be waiting for the caller, or be the
    /// caller. If another thread is this hive's queen at that time, the workers of the last region's team count as
    /// being inside that region still.
    ///
    /// ```
    /// let hive = hive::Hive::new(4)?;
    /// hive.resize(1)?;
    /// hive.wait_until_parked(); // three cores are free for a library that has threads of its own
    /// assert_eq!(hive.bees_not_yet_tucked_in(), 0);
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn wait_until_parked(&self) {
        let shared = &self.shared;
        // Inside a region of this hive there is nothing to wait for: its surplus bees cannot leave before it ends.
        if shared.is_forked() || nesting::is_inside_region_of(&shared.team) {
            return;
        }
        if !nesting::is_waited_for() {
            return shared.team.wait_until_parked();
        }
        // Another thread may be waiting for this one. A surplus worker that is in the middle of a task or of a region
        // may be that thread, or may even run this call, so such workers are not waited for. While the calling thread
        // holds the queen lock no region runs, which makes it certain that no worker is inside one.
        let is_leader = nesting::with_task_context(&shared.team, |tasks| tasks.is_some_and(|tasks| tasks.id == 0));
        let queen_guard = if is_leader { None } else { shared.team.try_become_queen() };
        shared.team.wait_until_idle_parked(is_leader || queen_guard.is_some());
    }
}

impl Shared {
    /// Grows the hive to `bees` bees, unless it has as many already.
    #[cold]
    pub(crate) fn grow_to(self: &Arc<Self>, bees: u32) -> Result<(), Error> {
        self.with_workers(bees, |start| self.team.grow_to(bees, start))
    }

    /// Makes sure that the hive has a worker to run tasks; hires one if it has none.
    ///
    /// # Panics
    /// If the system makes no more threads, or in a forked child.
    pub(crate) fn ensure_worker(self: &Arc<Self>) {
        self.assert_not_forked();
        if !self.team.has_worker() {
            self.with_workers(MIN_BEES_WITH_WORKER, |start| self.team.hire(MIN_BEES_WITH_WORKER, start))
                .unwrap_or_else(|error| panic!("no worker to run tasks: {error}"));
        }
    }

    /// Changes the size of the hive at once.
    fn resize_now(self: &Arc<Self>, bees: u32) -> Result<(), Error> {
        self.with_workers(bees, |start| self.team.resize(bees, start))
    }

    /// Makes the hive change its size when the region of `context` has ended. Hiring is the only step that can fail; it
    /// is done now, while there is a caller to return the error to.
    fn resize_after_region(self: &Arc<Self>, bees: u32, context: &RegionContext<'_>) -> Result<(), Error> {
        self.with_workers(bees, |start| self.team.hire(bees, start))?;
        if context.bees == 1 {
            context.set_resize_at_region_end(bees);
        } else {
            // Relaxed: read in `ApplyResizeAtRegionEnd::drop`. The arrival of this bee at the end of the region
            // publishes the value to the queen.
            self.resize_at_region_end.store(bees, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Applies a resize that was asked for inside a region. The workers have been hired by then, so no error is
    /// expected; one would go into the report, because the call that asked for the resize has returned.
    #[cold]
    pub(crate) fn apply_resize_at_region_end(self: &Arc<Self>, bees: u32) {
        if self.is_forked() {
            return;
        }
        if let Err(error) = self.resize_now(bees) {
            self.add_warning(error.to_string());
        }
    }
}
