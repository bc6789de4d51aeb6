//! Shrink, grow, settle, and the end.
//!
//! Resizes change only the bees' states, never the start word, so they need no turn: they work while a region runs, and wait
//! neither for it nor for a bee. The roster's lock keeps one from another.

use std::ops::Deref;
use std::sync::PoisonError;

use crate::protocol::Team;
use crate::protocol::worker::slot::{Slot, SlotState};
use crate::protocol::worker::snapshot::Instrumentation;
use crate::sync::{Counter, Event, Log, MAX_LOG_ENTRIES, Mutex, Ordering, fence};

/// Its lock is held by whoever resizes.
#[derive(Default)]
pub(crate) struct ResizeState {
    /// The sizes that the hive has had, in one that is traced.
    log: Log,
}

impl Team {
    /// Makes the hive `bees` bees large, the queen among them. `hire(id, epoch)` starts the thread of a bee that does not exist yet,
    /// which is to live as `Worker::new(crew, id, epoch)`.
    ///
    /// # Errors
    /// With what `hire` returns. The size is then as before, and those hired so far are parked.
    pub(crate) fn resize<E>(&self, bees: u32, hire: impl FnMut(u32, u64) -> Result<(), E>) -> Result<(), E> {
        let resize_state = lock_resize_state(&self.resize_state);
        self.hire_up_to(&resize_state, bees, hire)?;
        let before = self.occupancy.read().bees();
        // The queen takes the size she reads for a promise that the bees below it are up. So bees come up before the size
        // grows, and go to bed after it has shrunk.
        (before..bees).for_each(|id| self.reactivate(id));
        self.occupancy.resize(bees);
        resize_state.log.write(Event::TeamSize(bees));
        (bees..before).for_each(|id| self.make_surplus(id));
        Ok(())
    }

    /// As `resize`, but leaves a hive that is large enough as it is.
    pub(crate) fn grow_to<E>(&self, bees: u32, hire: impl FnMut(u32, u64) -> Result<(), E>) -> Result<(), E> {
        let resize_state = lock_resize_state(&self.resize_state);
        self.hire_up_to(&resize_state, bees, hire)?;
        let before = self.occupancy.read().bees();
        (before..bees).for_each(|id| self.reactivate(id));
        self.occupancy.resize(bees.max(before));
        if bees > before {
            resize_state.log.write(Event::TeamSize(bees));
        }
        Ok(())
    }

    /// Hires, parked, the bees that a hive of `bees` bees needs, and changes nothing else.
    pub(crate) fn hire<E>(&self, bees: u32, hire: impl FnMut(u32, u64) -> Result<(), E>) -> Result<(), E> {
        self.hire_up_to(&lock_resize_state(&self.resize_state), bees, hire)
    }

    fn hire_up_to<E>(
        &self,
        _held: &ResizeState,
        bees: u32,
        mut hire: impl FnMut(u32, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        (self.hired.count() + 1..bees).try_for_each(|id| {
            // There already if the system made no thread for it the last time.
            self.fixed.slots.make(id, || self.new_slot(id));
            hire(id, self.group(self.fixed.shape.start_group(id)).start_line().load().epoch())?;
            self.hired.count_in(id);
            Ok(())
        })
    }

    /// The slot of a bee that is being hired.
    fn new_slot(&self, id: u32) -> Slot {
        let slot = Slot::new(id, SlotState::Parked);
        if self.fixed.instrumentation.has(Instrumentation::LOGGED) {
            slot.log.open(MAX_LOG_ENTRIES);
        }
        slot
    }

    /// Has the sizes that the hive gets logged, beginning with the queen alone.
    pub(crate) fn begin_size_log(&self) {
        let resize_state = lock_resize_state(&self.resize_state);
        resize_state.log.open(MAX_LOG_ENTRIES);
        resize_state.log.write(Event::TeamSize(1));
    }

    /// The sizes that the hive has had, with the time since when, in one that is traced.
    pub(crate) fn sizes(&self) -> Vec<(u64, Event)> {
        lock_resize_state(&self.resize_state).log.entries().collect()
    }

    /// Makes bee `id` surplus. One that sleeps is parked where it lies: nobody is woken to be sent to bed.
    fn make_surplus(&self, id: u32) {
        let slot = self.slot(id);
        loop {
            let is_done = match slot.state() {
                awake @ (SlotState::Awake | SlotState::Notified) => {
                    self.pending_parks.add();
                    // Step: up
                    let won = slot.change(awake, SlotState::Surplus);
                    if !won {
                        self.pending_parks.remove();
                    }
                    won
                }
                SlotState::Asleep => {
                    let _in_flight = self.track_in_flight();
                    // Step: asleep
                    let won = slot.change(SlotState::Asleep, SlotState::Parked);
                    if won {
                        // Step: attendance
                        self.occupancy.count_awake(id);
                        // Step: park
                        self.sleep.count_parked(id);
                        slot.log.mark_time();
                        slot.counters.increment_shared(Counter::Parks);
                        // Pairs with the fence in `notify_of_jobs`.
                        // Step: fence
                        fence(Ordering::SeqCst);
                        // Step: hand on
                        self.notify_of_queued(id);
                    }
                    won
                }
                SlotState::Surplus | SlotState::Parked => true,
                SlotState::Terminated => unreachable!("bee {id} is made surplus after the hive has ended"),
            };
            if is_done {
                return;
            }
        }
    }

    /// Makes bee `id` a bee again. One that has not gone to bed yet stays up: its order to park is cancelled, so that nobody waits for a
    /// bee in the middle of long work.
    fn reactivate(&self, id: u32) {
        let slot = self.slot(id);
        loop {
            let is_done = match slot.state() {
                SlotState::Surplus => {
                    // Step: surplus
                    let won = slot.change(SlotState::Surplus, SlotState::Awake);
                    if won {
                        self.pending_parks.remove();
                        slot.counters.increment_shared(Counter::CancelledParks);
                    }
                    won
                }
                // Step: parked
                SlotState::Parked => self.wake(slot, SlotState::Parked, SlotState::Notified),
                SlotState::Awake | SlotState::Notified | SlotState::Asleep => true,
                SlotState::Terminated => unreachable!("bee {id} is reactivated after the hive has ended"),
            };
            if is_done {
                return;
            }
        }
    }

    /// Wakes a bee: from state `from_group` into `next`. Says whether it was this caller who did.
    pub(crate) fn wake(&self, slot: &Slot, from: SlotState, next: SlotState) -> bool {
        let _in_flight = self.track_in_flight();
        let won = self.begin_wake(slot, from, next);
        if won {
            // Step: bed
            slot.unblock(from);
        }
        won
    }

    /// Changes the state of a bee in bed from `from_group` to `next`. Says whether it was this caller who did, who then owes
    /// the bed a post.
    pub(crate) fn begin_wake(&self, slot: &Slot, from: SlotState, next: SlotState) -> bool {
        debug_assert!(from.is_blocked(), "a bee is not woken from {from:?}");
        // Step: state
        let won = slot.change(from, next);
        if won && from == SlotState::Asleep {
            // Step: count up
            self.count_awake(slot);
        }
        won
    }

    /// Waits until no surplus bee is on a core.
    pub(crate) fn wait_until_parked(&self) {
        self.pending_parks.wait_until_zero(self.policy());
    }

    /// Waits until no surplus bee is on a core but those that are in the middle of a task, or may be in a region. `is_between_regions`: no
    /// region is on, nor begins before this returns. Without that, who was in the last region may be in it still, and is not waited
    /// for, though it may have left long ago: nobody but the queen knows. The other way round nobody is waited for in vain: while a
    /// region is on the word names its team, and each look reads it anew.
    pub(crate) fn wait_until_idle_parked(&self, is_between_regions: bool) {
        let may_be_in_region = |slot: &Slot| !is_between_regions && slot.id < self.root_line().load().bees();
        let is_busy =
            |slot: &&Slot| slot.state() == SlotState::Surplus && (slot.is_in_task() || may_be_in_region(slot));
        let mut spinner = self.policy().spinner();
        while self.pending_parks() as usize > self.all_slots().skip(1).filter(is_busy).count() {
            if !spinner.spin_once() {
                self.policy().yield_core();
            }
        }
    }

    /// Ends all bees. Call when no region runs and none will start.
    pub(crate) fn terminate_all(&self) {
        let _resize_state = lock_resize_state(&self.resize_state);
        for id in 1..=self.hired.count() {
            let slot = self.slot(id);
            // Step: dismiss
            let state = slot.terminate();
            match state {
                SlotState::Asleep => self.count_awake(slot),
                SlotState::Surplus => self.pending_parks.remove(),
                SlotState::Awake | SlotState::Notified | SlotState::Parked | SlotState::Terminated => {}
            }
            if state.is_blocked() {
                slot.unblock(state);
            }
        }
    }
}

/// Where hiring has panicked, all who were hired before it are counted, and nothing else had begun.
fn lock_resize_state(resize_state: &Mutex<ResizeState>) -> impl Deref<Target = ResizeState> + '_ {
    resize_state.lock().unwrap_or_else(PoisonError::into_inner)
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
        let team = Team::new(4, policy, LineChoice::new(1), Sleep::jec(), Neighbours::new(&[]), shape);
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
