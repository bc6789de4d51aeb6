//! How a hive runs a region: which team a call gets, and what surrounds the protocol's part of it.
//!
//! `Hive::spmd` and its siblings end here. Outside of any hive the calling thread waits for the queen lock; inside a
//! region or a task this file decides between a real team and a team of the caller alone. The region itself is
//! `Team::run_region` in `hive/protocol/region/queen.rs`.
//!
//! `docs/composition.md` says which regions get a real team; `docs/waits-between-hives.md` says why the waits in this
//! file cannot form a cycle.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::on_drop::on_drop;
use crate::pool::error::{Error, ErrorKind, FORKED};
use crate::pool::loop_costs::LoopCall;
use crate::pool::shared::Shared;
use crate::protocol::region::body::RegionBody;
use crate::protocol::region::queen::StartBody;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::{QueenGuard, Team};
use crate::region::nesting;

/// What a nested region is started for.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    /// A team of so many bees; the hive grows if it has fewer.
    Region,
    /// A team of so many bees as well, but the hive does not grow: surplus bees take part, as in `run_team`.
    Present,
    Loop(LoopCall),
}

impl Shared {
    /// Runs a region: see [`Hive::try_spmd`](crate::pool::handle::Hive::try_spmd). The calling thread is bee 0 of it.
    #[inline]
    pub(crate) fn spmd<P: RegionBody>(self: &Arc<Self>, bees: usize, body: &mut P) -> Result<(), Error> {
        let Some(bees) = self.team_to_start(bees, body)? else { return Ok(()) };
        // Inside a region or a task of any hive the thread must not simply wait for the queen lock.
        if nesting::is_inside_any() {
            return self.nested_spmd(bees, body, Start::Region);
        }
        self.run_team(&mut self.team.become_queen(), bees, true, body)
    }

    /// Runs a region if the hive is free: see
    /// [`spmd_if_free`](crate::adapters::free_region::spmd_if_free). False: it has not been run.
    #[inline]
    pub(crate) fn spmd_if_free<P: RegionBody>(self: &Arc<Self>, bees: usize, body: &mut P) -> Result<bool, Error> {
        let Some(bees) = self.team_to_start(bees, body)? else { return Ok(true) };
        self.run_if_free(bees, body, Start::Region, true).map_or(Ok(false), |result| result.map(|()| true))
    }

    /// Runs a region of all bees that the hive has when the region starts, but of at most `limit`: see
    /// [`Hive::spmd_all`](crate::pool::handle::Hive::spmd_all). Never grows the hive.
    pub(crate) fn spmd_present<P: RegionBody>(self: &Arc<Self>, limit: usize, body: &mut P) -> Result<(), Error> {
        let present = || limit.min(self.team.bees() as usize);
        let Some(bees) = self.team_to_start(present(), body)? else { return Ok(()) };
        if nesting::is_inside_any() {
            return self.nested_spmd(bees, body, Start::Present);
        }
        let mut queen_guard = self.team.become_queen();
        // The number may have changed while the calling thread waited to be queen.
        let bees = self.checked_bees(present())?;
        if bees == 1 {
            drop(queen_guard);
            self.run_alone(body);
            return Ok(());
        }
        self.run_team(&mut queen_guard, bees, false, body)
    }

    /// The number of bees for a region or a loop, if it may have the `bees` that the program asks for. None: it is 1,
    /// and `body` has been run, on the calling thread alone.
    #[inline(always)]
    pub(super) fn team_to_start<P: RegionBody>(self: &Arc<Self>, bees: usize, body: &P) -> Result<Option<u32>, Error> {
        let bees = self.checked_bees(bees)?;
        if bees > 1 {
            return Ok(Some(bees));
        }
        self.run_alone(body);
        Ok(None)
    }

    /// Runs a region of at least two bees for the holder of the queen lock. `grows`: whether the hive grows first if it
    /// has fewer bees. If not, it has had so many a moment ago; if it has been made smaller since, the surplus bees
    /// take part and then park, as if it had been made smaller during the region.
    #[inline]
    fn run_team<P: StartBody + ?Sized>(
        self: &Arc<Self>,
        queen_guard: &mut QueenGuard<'_>,
        bees: u32,
        grows: bool,
        body: &mut P,
    ) -> Result<(), Error> {
        // Dropped after the region and before the caller releases the queen lock: the region of the next queen may have
        // a pending resize of its own.
        let _apply_resize = ApplyResizeAtRegionEnd(self);
        if grows && bees > self.team.bees() {
            self.grow_to(bees)?;
        }
        self.team.run_region(queen_guard, bees, body);
        Ok(())
    }

    /// Runs a region for a thread that is inside a region, or that runs tasks, of this hive or another one.
    ///
    /// The team is the caller alone if the caller cannot get the queen lock at once, or if a bee that the team needs
    /// may be waiting, directly or through other hives, for the calling thread. Otherwise the team is a real one.
    ///
    /// `kind`: what the region is for.
    #[cold]
    pub(crate) fn nested_spmd(self: &Arc<Self>, bees: u32, body: &mut dyn StartBody, kind: Start) -> Result<(), Error> {
        // A loop that others may be waiting for is announced, and so it is started at once, however short it may be. If
        // its queen began it alone, its workers could begin no task until it has ended, and she would wait for ever in
        // a part that waits for a task which only one of them may run.
        let start = match kind {
            Start::Loop(call) if nesting::is_waited_for() => {
                // A planned loop is for just so many bees.
                if call.is_planned { Start::Region } else { Start::Present }
            }
            _ => kind,
        };
        let started = self.run_if_free(bees, body, start, nesting::is_waited_for());
        started.unwrap_or_else(|| {
            self.run_alone(body);
            Ok(())
        })
    }

    /// Runs a region of a real team, if the caller can get the queen lock at once and the bees can be waited for. None:
    /// nothing has been run.
    ///
    /// `is_waited_for`: whether other threads may be waiting for the calling one.
    fn run_if_free(
        self: &Arc<Self>,
        bees: u32,
        body: &mut dyn StartBody,
        start: Start,
        is_waited_for: bool,
    ) -> Option<Result<(), Error>> {
        let start_if_locked = |queen_guard: Option<&mut QueenGuard<'_>>| {
            // The order of the steps matters. The queen lock and the check for a cycle of waits come first, then the
            // announcement, then at once the region, so that a region that has been announced does follow.
            let mut run = |queen_guard: &mut QueenGuard<'_>| {
                // The announcement is taken back whether the region returns, panics or cannot start.
                let _withdraw = on_drop(|| self.team.withdraw_announcement());
                let _nested = self.team.mark_outside_help();
                match start {
                    Start::Loop(call) => self.run_loop_as_queen(queen_guard, call, body),
                    start => self.run_team(queen_guard, bees, matches!(start, Start::Region), body),
                }
            };
            // Announces the region and then runs it, if need be. None: some bee of the team is in the middle of a task,
            // which could be waiting for the calling thread. If it is not, the announcement keeps the bees from
            // beginning a task before they have come to the region.
            let mut announce_and_run = |queen_guard: &mut QueenGuard<'_>| {
                let is_announced = !is_waited_for || self.team.try_announce_region(queen_guard, bees);
                is_announced.then(|| run(queen_guard))
            };
            // None as well if the queen lock is not free, or if waiting for the team would close a cycle of waits
            // between hives.
            queen_guard.and_then(|guard| self.wait_node.unless_deadlock(|| announce_and_run(guard)).flatten())
        };
        // A region inside a region of the same hive is always a team of one.
        if nesting::is_inside_region_of(&self.team) { None } else { with_queen_guard(&self.team, start_if_locked) }
    }

    /// Makes sure that the hive has the bees that the loop needs. If it has been made smaller since the loop was
    /// called, the bees that are surplus take part and then park, as in `run_team`, unless the loop is planned. The
    /// result is to be dropped as in `run_team`.
    #[inline(always)]
    pub(super) fn prepare_loop_team(self: &Arc<Self>, call: LoopCall) -> Result<ApplyResizeAtRegionEnd<'_>, Error> {
        let apply_resize = ApplyResizeAtRegionEnd(self);
        // Most of the bees may be there all the same, parked or about to park.
        if call.bees > self.team.bees() && (call.is_planned || !self.team.is_hired(call.bees as usize - 1)) {
            self.grow_to(call.bees)?;
        }
        Ok(apply_resize)
    }

    /// Runs a region whose team is the calling thread alone. Needs no queen lock.
    #[inline]
    pub(crate) fn run_alone<P: RegionBody + ?Sized>(self: &Arc<Self>, body: &P) {
        self.as_solo_team(|context| body.run_part(context));
    }

    /// Calls `run` with the context of a region whose only bee is the calling thread.
    #[inline]
    pub(crate) fn as_solo_team<R>(self: &Arc<Self>, run: impl FnOnce(&RegionContext<'_>) -> R) -> R {
        let context = RegionContext::alone(&self.team);
        // Applies the resize that was asked for inside, also if `run` panics. The context has its size, not `Shared`,
        // because several teams of one may run at once.
        let apply_resize = on_drop(|| {
            if let Some(bees) = context.resize_at_region_end() {
                self.apply_resize_at_region_end(bees);
            }
        });
        let result = run(&context);
        // The usual case: there is no resize to apply and no failure.
        if context.has_nothing_pending() {
            std::mem::forget(apply_resize);
        } else {
            drop(apply_resize);
            panic_if_failed(&context);
        }
        result
    }

    /// Checks the size that the program has asked for. One comparison covers both limits: 0 wraps around to the largest
    /// number.
    #[inline]
    pub(crate) fn checked_bees(&self, bees: usize) -> Result<u32, Error> {
        let max_bees = self.config.max_bees as usize;
        if bees.wrapping_sub(1) < max_bees && !self.is_forked() {
            return Ok(bees as u32);
        }
        Err(refusal(bees, max_bees))
    }
}

/// The error that a hive of at most `max_bees` bees runs no region of `bees` bees and gets no such size. If the number
/// itself is right, the process is a forked child.
#[cold]
fn refusal(bees: usize, max_bees: usize) -> Error {
    if !(1..=max_bees).contains(&bees) {
        return Error::out_of_range(bees, max_bees);
    }
    Error::new(ErrorKind::Forked, format!("{FORKED}; build a hive of its own with Hive::new, after the fork"))
}

/// Calls `run` with the queen lock of `team`, for a thread that is inside a region or runs tasks and wants to start a
/// region.
///
/// If the thread runs tasks of `team`, that is the lock that it holds as the queen; `run` gets `None` if the thread is
/// a worker, has lent the lock to a region already, or is in the middle of a task or a join that other threads may be
/// waiting for. If the thread does not run tasks of `team`, the lock is taken if it is free, and `run` gets `None`
/// otherwise. This never waits for the lock, because the thread that holds it may be waiting for the calling thread.
fn with_queen_guard<R>(team: &Team, run: impl FnOnce(Option<&mut QueenGuard<'_>>) -> R) -> R {
    nesting::with_task_context(team, |context| match context {
        Some(context) => context.lend_queen_guard(run),
        None => run(team.try_become_queen().as_mut()),
    })
}

/// Applies, when it is dropped after a region, the resize that a bee has asked for inside it. It does so whether the
/// region has returned, panicked or could not start.
pub(crate) struct ApplyResizeAtRegionEnd<'c>(pub(crate) &'c Arc<Shared>);

impl Drop for ApplyResizeAtRegionEnd<'_> {
    #[inline]
    fn drop(&mut self) {
        // Relaxed: pairs with the store in `Shared::resize_after_region`, which precedes the arrival of the storing bee
        // at the end of the region; the queen has seen that arrival.
        let bees = self.0.resize_at_region_end.load(Ordering::Relaxed);
        if bees > 0 {
            // Relaxed: the next region's start publishes it to the bees that may store again.
            self.0.resize_at_region_end.store(0, Ordering::Relaxed);
            self.0.apply_resize_at_region_end(bees);
        }
    }
}

/// Ends a region whose team is the caller alone.
///
/// # Panics
/// If the region has failed, although its body has returned.
#[cold]
fn panic_if_failed(context: &RegionContext<'_>) {
    if let Some(unfinished) = context.failure() {
        unfinished.panic_at_end(0);
    }
}
