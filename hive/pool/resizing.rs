//! How many bees a hive has: growing it for a region, resizing it, and waiting until surplus workers are parked.
//!
//! This file checks what the program asks for, decides whether a change takes effect now or when a region ends, and
//! supplies the threads. How bees become surplus, park and come back is in `hive/protocol/worker/resize.rs`, and proved
//! in `docs/resize.md`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::pool::error::Error;
use crate::pool::shared::{MIN_BEES_WITH_WORKER, Shared};
use crate::protocol::region::region_context::RegionContext;
use crate::region::nesting;

impl Shared {
    /// Grows the hive to `bees` bees, unless it has as many already.
    #[cold]
    pub(crate) fn grow_to(self: &Arc<Self>, bees: u32) -> Result<(), Error> {
        self.with_started_workers(bees, |start| self.team.grow_to(bees, start))
    }

    /// Makes sure that the hive has a worker to run tasks; hires one if it has none.
    ///
    /// # Panics
    /// If the system makes no more threads, or in a forked child.
    pub(crate) fn ensure_worker(self: &Arc<Self>) {
        self.assert_not_forked();
        if !self.team.has_worker() {
            self.with_started_workers(MIN_BEES_WITH_WORKER, |start| self.team.hire(MIN_BEES_WITH_WORKER, start))
                .unwrap_or_else(|error| panic!("no worker to run tasks: {error}"));
        }
    }

    /// Changes the size of the hive: see [`Hive::resize`](crate::pool::handle::Hive::resize). Inside a region of this
    /// hive, the change takes effect when the region ends.
    pub(crate) fn resize(self: &Arc<Self>, bees: usize) -> Result<(), Error> {
        let bees = self.checked_bees(bees)?;
        let resized = nesting::with_outermost_region(&self.team, |context| self.resize_after_region(bees, context));
        resized.unwrap_or_else(|| self.resize_now(bees))
    }

    /// Changes the size of the hive at once.
    fn resize_now(self: &Arc<Self>, bees: u32) -> Result<(), Error> {
        self.with_started_workers(bees, |start| self.team.resize(bees, start))
    }

    /// Makes the hive change its size when the region of `context` has ended. Hiring is the only step that can fail; it
    /// is done now, while there is a caller to return the error to.
    fn resize_after_region(self: &Arc<Self>, bees: u32, context: &RegionContext<'_>) -> Result<(), Error> {
        self.with_started_workers(bees, |start| self.team.hire(bees, start))?;
        if context.bees == 1 {
            context.set_resize_at_region_end(bees);
        } else {
            // Relaxed: read in `ApplyResizeAtRegionEnd::drop`. The arrival of this bee at the end of the region
            // publishes the value to the queen.
            self.resize_at_region_end.store(bees, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Applies a resize that was asked for inside a region. An error goes into the report, because the call that asked
    /// for the resize has returned.
    #[cold]
    pub(crate) fn apply_resize_at_region_end(self: &Arc<Self>, bees: u32) {
        if self.is_forked() {
            return;
        }
        if let Err(error) = self.resize_now(bees) {
            self.add_warning(error.to_string());
        }
    }

    /// Waits until no surplus worker is on a core any more: see
    /// [`Hive::wait_until_parked`](crate::pool::handle::Hive::wait_until_parked).
    pub(crate) fn wait_until_parked(&self) {
        // Inside a region of this hive there is nothing to wait for: its surplus bees cannot leave before it ends.
        if self.is_forked() || nesting::is_inside_region_of(&self.team) {
            return;
        }
        if !nesting::is_waited_for() {
            return self.team.wait_until_parked();
        }
        // Another thread may be waiting for this one. A surplus worker that is in the middle of a task or of a region
        // may be that thread, or may even run this call, so such workers are not waited for. While the calling thread
        // holds the queen lock no region runs, which makes it certain that no worker is inside one.
        let is_leader =
            nesting::with_task_context(&self.team, |context| context.is_some_and(|context| context.id == 0));
        let queen_guard = if is_leader { None } else { self.team.try_become_queen() };
        self.team.wait_until_idle_parked(is_leader || queen_guard.is_some());
    }
}
