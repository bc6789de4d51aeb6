//! Shrink, grow, settle, and the end.
//!
//! Resizes change only the bees' states, never the start word, so they need no turn: they work while a region runs, and wait
//! neither for it nor for a bee. The roster's lock keeps one from another.

use std::ops::Deref;
use std::sync::PoisonError;

use super::Crew;
use super::sight::Notes;
use super::slot::{Slot, State};
use crate::sync::{Count, Event, Log, MOST_ENTRIES, Mutex, Ordering, fence};

/// Its lock is held by whoever resizes.
#[derive(Default)]
pub(crate) struct Roster {
    /// The sizes that the hive has had, in one that is traced.
    log: Log,
}

impl Crew {
    /// Makes the hive `bees` members large, the queen among them. `hire(id, epoch)` starts the thread of a bee that does not exist yet,
    /// which is to live as `Life::new(crew, id, epoch)`.
    ///
    /// # Errors
    /// With what `hire` returns. The size is then as before, and those hired so far are parked.
    pub(crate) fn resize<E>(&self, bees: u32, hire: impl FnMut(u32, u64) -> Result<(), E>) -> Result<(), E> {
        let roster = lock(&self.roster);
        self.hire_up_to(&roster, bees, hire)?;
        let before = self.attendance.read().bees();
        // The queen takes the size she reads for a promise that the bees below it are up. So bees come up before the size
        // grows, and go to bed after it has shrunk.
        (before..bees).for_each(|id| self.bring_back(id));
        self.attendance.resize(bees);
        roster.log.write(Event::Size(bees));
        (bees..before).for_each(|id| self.lay_off(id));
        Ok(())
    }

    /// As `resize`, but leaves a hive that is large enough as it is.
    pub(crate) fn grow_to<E>(&self, bees: u32, hire: impl FnMut(u32, u64) -> Result<(), E>) -> Result<(), E> {
        let roster = lock(&self.roster);
        self.hire_up_to(&roster, bees, hire)?;
        let before = self.attendance.read().bees();
        (before..bees).for_each(|id| self.bring_back(id));
        self.attendance.resize(bees.max(before));
        if bees > before {
            roster.log.write(Event::Size(bees));
        }
        Ok(())
    }

    /// Hires, parked, the bees that a hive of `bees` members needs, and changes nothing else.
    pub(crate) fn hire<E>(&self, bees: u32, hire: impl FnMut(u32, u64) -> Result<(), E>) -> Result<(), E> {
        self.hire_up_to(&lock(&self.roster), bees, hire)
    }

    fn hire_up_to<E>(&self, _held: &Roster, bees: u32, mut hire: impl FnMut(u32, u64) -> Result<(), E>) -> Result<(), E> {
        (self.hired.count() + 1..bees).try_for_each(|id| {
            // There already if the system made no thread for it the last time.
            self.settled.slots.make(id, || self.furnish(id));
            hire(id, self.group(self.settled.shape.listens(id)).signal().look().epoch())?;
            self.hired.has_come(id);
            Ok(())
        })
    }

    /// The slot of a bee that is being hired.
    fn furnish(&self, id: u32) -> Slot {
        let slot = Slot::new(id, State::Parked);
        if self.settled.notes.has(Notes::LOGGED) {
            slot.log.open(MOST_ENTRIES);
        }
        slot
    }

    /// Has the sizes that the hive gets logged, beginning with the queen alone.
    pub(super) fn log_sizes(&self) {
        let roster = lock(&self.roster);
        roster.log.open(MOST_ENTRIES);
        roster.log.write(Event::Size(1));
    }

    /// The sizes that the hive has had, with the time since when, in one that is traced.
    pub(crate) fn sizes(&self) -> Vec<(u64, Event)> {
        lock(&self.roster).log.entries().collect()
    }

    /// Makes bee `id` surplus. One that sleeps is parked where it lies: nobody is woken to be sent to bed.
    fn lay_off(&self, id: u32) {
        let slot = self.slot(id);
        loop {
            let laid_off = match slot.state() {
                up @ (State::Awake | State::Notified) => {
                    self.untucked.add();
                    // Step: up
                    let won = slot.change(up, State::Surplus);
                    if !won {
                        self.untucked.remove();
                    }
                    won
                }
                State::Asleep => {
                    let _under_way = self.posting();
                    // Step: asleep
                    let won = slot.change(State::Asleep, State::Parked);
                    if won {
                        // Step: attendance
                        self.attendance.is_up(id);
                        // Step: park
                        self.sleep.park(id);
                        slot.log.mark();
                        slot.tally.add_for(Count::Parks);
                        // Pairs with the fence in `tell_of`.
                        // Step: fence
                        fence(Ordering::SeqCst);
                        // Step: hand on
                        self.hand_on(id);
                    }
                    won
                }
                State::Surplus | State::Parked => true,
                State::Dismissed => unreachable!("bee {id} is laid off after the hive's end"),
            };
            if laid_off {
                return;
            }
        }
    }

    /// Makes bee `id` a member again. One that has not gone to bed yet stays up: its order to park is cancelled, so that nobody waits for a
    /// bee in the middle of long work.
    fn bring_back(&self, id: u32) {
        let slot = self.slot(id);
        loop {
            let back = match slot.state() {
                State::Surplus => {
                    // Step: surplus
                    let won = slot.change(State::Surplus, State::Awake);
                    if won {
                        self.untucked.remove();
                        slot.tally.add_for(Count::CancelledParks);
                    }
                    won
                }
                // Step: parked
                State::Parked => self.wake(slot, State::Parked, State::Notified),
                State::Awake | State::Notified | State::Asleep => true,
                State::Dismissed => unreachable!("bee {id} is brought back after the hive's end"),
            };
            if back {
                return;
            }
        }
    }

    /// Wakes a bee: from state `from` into `next`. Says whether it was this caller who did.
    pub(super) fn wake(&self, slot: &Slot, from: State, next: State) -> bool {
        let _under_way = self.posting();
        let won = self.take_out_of_bed(slot, from, next);
        if won {
            // Step: bed
            slot.post_bed(from);
        }
        won
    }

    /// Changes the state of a bee in bed from `from` to `next`. Says whether it was this caller who did, who then owes
    /// the bed a post.
    pub(super) fn take_out_of_bed(&self, slot: &Slot, from: State, next: State) -> bool {
        debug_assert!(from.is_abed(), "a bee is not woken from {from:?}");
        // Step: state
        let won = slot.change(from, next);
        if won && from == State::Asleep {
            // Step: count up
            self.count_up(slot);
        }
        won
    }

    /// Waits until no surplus bee is on a core.
    pub(crate) fn settle(&self) {
        self.untucked.settle(self.policy());
    }

    /// Waits until no surplus bee is on a core but those that are in the middle of a task, or may be in a region. `is_between`: no
    /// region is on, nor begins before this returns. Without that, who was in the last region may be in it still, and is not waited
    /// for, though it may have left long ago: nobody but the queen knows. The other way round nobody is waited for in vain: while a
    /// region is on the word names its team, and each look reads it anew.
    pub(crate) fn settle_idle(&self, is_between: bool) {
        let may_be_in_region = |slot: &Slot| !is_between && slot.id < self.root().look().team();
        let is_busy = |slot: &&Slot| slot.state() == State::Surplus && (slot.is_in_task() || may_be_in_region(slot));
        let mut patience = self.policy().patience();
        while self.untucked() as usize > self.all_slots().skip(1).filter(is_busy).count() {
            if !patience.poll_again() {
                self.policy().give_way();
            }
        }
    }

    /// Ends all bees. Call when no region runs and none will start.
    pub(crate) fn dismiss_all(&self) {
        let _roster = lock(&self.roster);
        for id in 1..=self.hired.count() {
            let slot = self.slot(id);
            // Step: dismiss
            let state = slot.dismiss();
            match state {
                State::Asleep => self.count_up(slot),
                State::Surplus => self.untucked.remove(),
                State::Awake | State::Notified | State::Parked | State::Dismissed => {}
            }
            if state.is_abed() {
                slot.post_bed(state);
            }
        }
    }
}

/// Where hiring has panicked, all who were hired before it are counted, and nothing else had begun.
fn lock(roster: &Mutex<Roster>) -> impl Deref<Target = Roster> + '_ {
    roster.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;
    use crate::crew::{BarrierShape, Neighbours, Shape, Sleep, Stage};
    use crate::topology::CpuMask;
    use crate::wait::WaitPolicy;

    #[test]
    fn a_panic_while_a_bee_is_hired_leaves_the_roster_as_it_was() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let shape = Shape::new(BarrierShape::Flat, &[], 4);
        let crew = Crew::new(4, policy, Stage::new(1), Sleep::jec(), Neighbours::new(&[]), shape);
        let hired = catch_unwind(AssertUnwindSafe(|| {
            crew.resize(4, |id, _| if id < 2 { Ok::<(), ()>(()) } else { panic!("as expected") })
        }));
        assert!(hired.is_err());
        assert_eq!(crew.bees(), 1);
        let mut again = Vec::new();
        let resized = crew.resize(4, |id, _| {
            again.push(id);
            Ok::<(), ()>(())
        });
        assert_eq!((resized, crew.bees(), again), (Ok(()), 4, vec![2, 3]));
    }
}
