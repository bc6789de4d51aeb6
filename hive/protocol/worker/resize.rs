//! Resizing the hive: shrink, grow, hire; waiting until surplus workers have parked; and the end of all workers.
//! `Shared` (`pool/resizing.rs`) calls these for `Hive::resize`, for regions that need a larger team, and when the hive
//! is dropped. The steps and the proof are in `docs/resize.md`.
//!
//! A resize changes only the states of bees, never a start word. So it does not need the queen lock: it works while a
//! region runs, and waits neither for the region nor for any bee. The lock of `ResizeState` keeps resizes apart.

use std::ops::{DerefMut, Range};

use crate::protocol::Team;
use crate::protocol::tasks::task::Task;
use crate::protocol::worker::slot::{Slot, SlotState};
use crate::protocol::worker::snapshot::Instrumentation;
use crate::sync::{Counter, Event, EventKind, Log, MAX_LOG_ENTRIES, Mutex, Ordering, fence};

/// What a resize needs. Its lock is held for as long as the resize takes. The only code under it that can panic is the
/// caller's `hire`; the workers hired before that are already counted, and nothing else has been changed.
#[derive(Default)]
pub(crate) struct ResizeState {
    /// The sizes that the hive has had, each with its time. It is written only in a hive that is traced.
    log: Log,
    /// Whether the workers have been terminated. From then on no size changes, and nobody is hired.
    is_terminated: bool,
}

/// Which bees get tasks for them alone: those that are there, or will be. Its lock is held for a moment only, and not
/// while a thread is made: what makes it may be the program's code, which may queue tasks.
pub(crate) type Addressees = Mutex<Range<u32>>;

impl Team {
    /// Makes the hive `bees` bees large, the queen included. `hire(id, epoch)` starts the thread of a worker that does
    /// not exist yet; that thread is to run `Worker::new(&TaskContext::new(team, id), epoch)`. Returns without waiting
    /// for any worker. Does nothing after `terminate_all`: a task that is still running may call it.
    ///
    /// # Errors
    /// Returns the error of `hire`. The size is then as before, and the workers hired until then are parked.
    pub(crate) fn resize<E>(&self, bees: u32, hire: impl FnMut(u32, u64) -> Result<(), E>) -> Result<(), E> {
        let Some(resize_state) = self.lock_unless_terminated() else { return Ok(()) };
        // Hiring comes first, because it is the only step that can fail.
        self.hire_up_to(&resize_state, bees, hire)?;
        let before = self.occupancy.read().bees();
        self.change_size(before, bees);
        // The log gets the sizes in order, because the lock is held.
        resize_state.log.write(Event::numbered(EventKind::TeamSize, 0, bees));
        // Bees are made surplus only after the size has shrunk: see `change_size`.
        (bees..before).for_each(|id| self.make_surplus(id));
        Ok(())
    }

    /// Makes a hive of fewer than `bees` bees that large, as `resize` does. Leaves any other hive as it is.
    ///
    /// # Errors
    /// Returns the error of `hire`, as `resize` does.
    pub(crate) fn grow_to<E>(&self, bees: u32, hire: impl FnMut(u32, u64) -> Result<(), E>) -> Result<(), E> {
        let Some(resize_state) = self.lock_unless_terminated() else { return Ok(()) };
        self.hire_up_to(&resize_state, bees, hire)?;
        let before = self.occupancy.read().bees();
        self.change_size(before, bees.max(before));
        if bees > before {
            resize_state.log.write(Event::numbered(EventKind::TeamSize, 0, bees));
        }
        Ok(())
    }

    /// Hires the workers that a hive of `bees` bees needs, and changes nothing else: the new workers are parked, and
    /// the size stays.
    ///
    /// # Errors
    /// Returns the error of `hire`. The workers hired until then stay.
    pub(crate) fn hire<E>(&self, bees: u32, hire: impl FnMut(u32, u64) -> Result<(), E>) -> Result<(), E> {
        let Some(resize_state) = self.lock_unless_terminated() else { return Ok(()) };
        self.hire_up_to(&resize_state, bees, hire)
    }

    /// Hires the workers from the first that does not exist yet up to `bees - 1`, one after the other. `_held` shows
    /// that the caller holds the lock.
    fn hire_up_to<E>(
        &self,
        _held: &ResizeState,
        bees: u32,
        mut hire: impl FnMut(u32, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        (self.hired.count() + 1..bees).try_for_each(|id| {
            // The slot may exist already: the last attempt to hire this worker may have failed to get a thread.
            self.fixed.slots.make(id, || self.new_slot(id));
            // The epoch of the start line that the worker will poll. A region that starts from now on has a later
            // epoch, so the worker takes no region that began before it was hired for one of its own.
            let epoch = self.group(self.fixed.shape.start_group(id)).start_line().load().epoch();
            self.slot(id).availability.reset(epoch);
            hire(id, epoch)?;
            // Only after the thread exists, so that nobody finds a worker that never comes.
            self.hired.count_in(id);
            Ok(())
        })
    }

    /// The slot of a worker that is being hired. It starts PARKED.
    fn new_slot(&self, id: u32) -> Slot {
        let slot = Slot::new(id, SlotState::Parked, self.fixed.pool_rules);
        if self.fixed.instrumentation.has(Instrumentation::LOGGED) {
            slot.log.open(MAX_LOG_ENTRIES);
        }
        slot
    }

    /// Begins the log of the sizes that the hive has, with the queen alone.
    pub(crate) fn begin_size_log(&self) {
        let resize_state = self.resize_state.lock();
        resize_state.log.open(MAX_LOG_ENTRIES);
        resize_state.log.write(Event::numbered(EventKind::TeamSize, 0, 1));
    }

    /// The sizes that the hive has had, each with the time at which it got that size. Empty in a hive that is not
    /// traced.
    pub(crate) fn sizes(&self) -> Vec<(u64, Event)> {
        self.resize_state.lock().log.entries().collect()
    }

    /// Makes bee `id` surplus. A worker that is asleep is parked without being woken: only its state changes, and it
    /// stays blocked on its semaphore. It is woken only if a region waits for it. This waits for nobody.
    fn make_surplus(&self, id: u32) {
        let slot = self.slot(id);
        slot.until_done(|state| match state {
            awake @ (SlotState::Awake | SlotState::Notified) => {
                // Step: awake
                self.pending_parks.add_if(|| slot.change(awake, SlotState::Surplus))
            }
            SlotState::Asleep => {
                // Marked as in flight until the tasks that this sleeper may have been relied on for have been
                // passed on.
                let _in_flight = self.track_in_flight();
                // Step: asleep
                let won = slot.change(SlotState::Asleep, SlotState::Parked);
                if won {
                    // It is no longer a sleeper, neither in the occupancy nor for the sleep protocol.
                    // Step: occupancy
                    self.occupancy.uncount_sleeper(id);
                    // Step: park
                    self.sleep.count_parked(id);
                    // The worker writes its own log, and does so when it runs again; this thread only marks the
                    // time.
                    slot.log.mark_time();
                    slot.counters.increment_shared(Counter::Parks);
                    // A bee that has posted a task may have relied on this sleeper. Either its announcement came
                    // after the counts above were changed, or its task is found below. Pairs with the fences in
                    // `notify_of_jobs` and, for a region that has started, in `wake_if_asleep`.
                    // Step: fence
                    fence(Ordering::SeqCst);
                    // Step: pass on
                    self.notify_of_queued(id);
                    // It may have slept in a wait, and from now on nobody wakes it for tasks.
                    // Step: awaited
                    if self.is_awaited_by_region(slot) {
                        self.wake_bee(id);
                    }
                    self.bind_again(slot);
                }
                won
            }
            // It is surplus already.
            SlotState::Surplus | SlotState::Parked => true,
            SlotState::Terminated => unreachable!("bee {id} is made surplus after the hive has ended"),
        });
    }

    /// Changes the size from `before` to `bees`, for the holder of the lock.
    fn change_size(&self, before: u32, bees: u32) {
        // In flight until the bees that the hive gets have been told of the tasks of its queen.
        let _in_flight = self.track_in_flight();
        // When the queen reads a size, she relies on each bee below it being reactivated. So bees are reactivated
        // before the size grows.
        (before..bees).for_each(|id| self.reactivate(id));
        self.occupancy.resize(bees);
        // In a task pool nobody keeps any.
        if before == 1 && bees > 1 && !self.is_task_pool() {
            self.share_lone_queens_tasks();
        }
    }

    /// Makes bee `id` belong to the hive again. A surplus worker that has not parked yet goes on without parking, so
    /// that a grow does not wait for a worker that is in the middle of long work. A parked one is woken.
    fn reactivate(&self, id: u32) {
        let slot = self.slot(id);
        slot.until_done(|state| match state {
            SlotState::Surplus => {
                // If the worker parks first, the next round finds it PARKED.
                // Step: surplus
                let won = slot.change(SlotState::Surplus, SlotState::Awake);
                if won {
                    // In this order for the same reason as in `TaskContext::park`.
                    slot.counters.increment_shared(Counter::CancelledParks);
                    self.pending_parks.remove();
                }
                won
            }
            // Step: parked
            SlotState::Parked => self.wake(slot, SlotState::Parked, SlotState::Notified),
            // It belongs to the hive already.
            SlotState::Awake | SlotState::Notified | SlotState::Asleep => true,
            SlotState::Terminated => unreachable!("bee {id} is reactivated after the hive has ended"),
        });
    }

    /// Waits until no surplus worker is on a core: each is certain to wait on its semaphore.
    pub(crate) fn wait_until_parked(&self) {
        self.pending_parks.wait_until_zero(self.policy());
    }

    /// Waits until no surplus worker is on a core, except those that are in the middle of a task or may be in a region:
    /// these may be waiting for the caller.
    ///
    /// `is_between_regions`: whether no region is running, nor starts before this returns, because the calling thread
    /// holds the queen lock. If it does not, a surplus worker that was in the team of the last region may still be in
    /// that region, and is not waited for. It may have left long ago, but only the region's queen knows that. This
    /// never waits for a worker that is in a region: while a region runs, the start word names its team, and each round
    /// reads it again.
    pub(crate) fn wait_until_idle_parked(&self, is_between_regions: bool) {
        let may_be_in_region = |slot: &Slot| !is_between_regions && slot.id < self.root_line().load().bees();
        let is_busy =
            |slot: &&Slot| slot.state() == SlotState::Surplus && (slot.is_in_task() || may_be_in_region(slot));
        // No bee announces what this waits for, so a long wait naps.
        let mut spinner = self.policy().napping_spinner(1);
        // The condition is about the number of workers: all that are still to park, against those that may be busy.
        while self.pending_parks() as usize > self.all_slots().skip(1).filter(is_busy).count() {
            spinner.spin_or_nap();
        }
    }

    /// Terminates all workers. Call when no region runs and none will start. It does not wait for the threads to end,
    /// and tells no bee of the tasks that are queued: each worker runs what it finds before it ends.
    pub(crate) fn terminate_all(&self) {
        let mut resize_state = self.resize_state.lock();
        resize_state.is_terminated = true;
        // Before any worker is terminated: see `inject_to_bee_or_any`.
        *self.addressees.lock() = 0..0;
        for id in 1..=self.hired.count() {
            let slot = self.slot(id);
            // Its state until now tells which counts the worker is in, and whether it waits for a post.
            // Step: terminate
            let state = slot.terminate();
            match state {
                SlotState::Asleep => self.uncount_sleeper(slot),
                SlotState::Surplus => self.pending_parks.remove(),
                SlotState::Awake | SlotState::Notified | SlotState::Parked | SlotState::Terminated => {}
            }
            // The worker blocks, or is about to: the post lets it find its new state.
            if state.is_blocked() {
                slot.unblock(state);
            }
        }
    }

    /// Terminates worker `id`, the thread of a task pool, if `terminate_all` has been called. That may not have known
    /// of it: if the program's function that starts threads has returned an error, the hire has failed, but the thread
    /// may run all the same, and has been counted as hired by itself.
    pub(crate) fn terminate_if_ended(&self, id: u32) {
        let resize_state = self.resize_state.lock();
        if resize_state.is_terminated {
            let slot = self.slot(id);
            let state = slot.terminate();
            // It was PARKED, unless `terminate_all` has known of it.
            if state.is_blocked() {
                slot.unblock(state);
            }
        }
    }

    /// Queues a task that only bee `id` may run, which has a slot. Any bee may run it if `id` is no addressee: if
    /// `end_hiring` has left it out, or after `terminate_all`, when it may be gone. Then the calling bee, which is in
    /// the middle of a task of this hive, comes to it before it ends.
    ///
    /// The lock is held until the task is in the mailbox, so that the bee is terminated after that, if at all: a worker
    /// looks into its mailbox once more when it finds itself terminated.
    pub(crate) fn inject_to_bee_or_any(&self, id: u32, task: Task) {
        let addressees = self.addressees.lock();
        if addressees.contains(&id) {
            self.send_to_mailbox(id, task);
        } else {
            drop(addressees);
            self.inject(task);
        }
    }

    /// Runs `send`, which sends a task to each of several bees, by the function above or by `send_to_mailbox`. However
    /// many threads do that at the same time, all bees get these tasks in the same order. Otherwise each of two bees
    /// could wait in a task of its own, as at a barrier, for the other one to come there.
    pub(crate) fn send_in_one_order<R>(&self, send: impl FnOnce() -> R) -> R {
        let _turn = self.broadcasts.lock();
        send()
    }

    /// Says that no more workers are hired than there are, and that the bees below `first` have left. From now on only
    /// the others get tasks for them alone. What has been queued for a bee that is not there, any bee may run.
    pub(crate) fn end_hiring(&self, first: u32) {
        let hired = self.hired.count();
        let mut addressees = self.addressees.lock();
        *addressees = first.max(addressees.start)..addressees.end.min(hired + 1);
        // Nothing is put there from here on.
        drop(addressees);
        let others = (0..first).chain(hired + 1..self.fixed.slots.capacity()).map(|id| self.slot(id));
        others.for_each(|slot| self.inject_mailbox(slot));
    }

    /// Makes the slots of all bees, for a team that no second thread has yet: tasks can then be queued for bees that
    /// have not been hired.
    pub(crate) fn make_all_slots(&self) {
        (1..self.fixed.slots.capacity()).for_each(|id| self.fixed.slots.make(id, || self.new_slot(id)));
    }

    /// Locks the state of resizes. None if the workers have been terminated.
    fn lock_unless_terminated(&self) -> Option<impl DerefMut<Target = ResizeState> + '_> {
        Some(self.resize_state.lock()).filter(|resize_state| !resize_state.is_terminated)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;
    use crate::protocol::neighbours::Neighbours;
    use crate::protocol::region::line_choice::LineChoice;
    use crate::protocol::region::shape::{BarrierShape, Shape};
    use crate::protocol::tasks::sleep::Sleep;
    use crate::sys::cpu_mask::CpuMask;
    use crate::sys::wait::WaitPolicy;

    #[test]
    fn a_panic_while_a_bee_is_hired_leaves_the_resize_state_as_it_was() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let shape = Shape::new(BarrierShape::Flat, &[], 4);
        let team = Team::new(4, policy, LineChoice::new(1), Sleep::jec(), Neighbours::new(&[]), shape, None);
        let hired = catch_unwind(AssertUnwindSafe(|| {
            team.resize(4, |id, _| if id < 2 { Ok::<(), ()>(()) } else { panic!("as expected") })
        }));
        assert!(hired.is_err());
        assert_eq!(team.bees(), 1);
        let mut again = Vec::new();
        let resized = team.resize(4, |id, _| {
            again.push(id);
            Ok::<(), ()>(())
        });
        assert_eq!((resized, team.bees(), again), (Ok(()), 4, vec![2, 3]));
    }
}
