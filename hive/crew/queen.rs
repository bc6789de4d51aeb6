//! The queen's side of a region: start the team, run her own part, wait for the bees.

use super::job::{Job, Part};
use super::muster::{Base, End};
use super::signal::Order;
use super::slot::State;
use super::turn::Guard;
use super::{Crew, Member, NEAR_TEAM};
use crate::sync::{Activity, CALLS_BY_ONE, Count, Event, Ordering, fence};

/// What only the queen touches: she holds it with her turn.
pub(crate) struct Ledger {
    /// Where the counts of the near and the far muster stand.
    near: Base,
    far: Base,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self { near: Base::first(), far: Base::first() }
    }

    #[inline(always)]
    fn base(&mut self, team: u32) -> &mut Base {
        if team <= NEAR_TEAM { &mut self.near } else { &mut self.far }
    }
}

impl Crew {
    /// Runs `part` once on each of the first `team` members, the calling thread as member 0, and returns when all are done.
    ///
    /// # Panics
    /// With the panic of the lowest member that panicked.
    #[inline]
    #[expect(unsafe_code, reason = "lays the caller's part where the team finds it")]
    pub(crate) fn region<P: Part>(&self, turn: &mut Guard<'_, Ledger>, team: u32, part: &mut P) {
        debug_assert!(team > 1, "a team of one meets nobody");
        let base = *turn.base(team);
        let berth = &self.signal.berth;
        // SAFETY: what other regions laid there they took back before their queens gave the turn on; this one does when all bees have left.
        let lying = unsafe { berth.lay_down(part) };
        let (region, late) = self.start(turn, team, Order { job: Job::of::<P>(), base });
        let queen = Member::new(self, 0, team, region, base);
        self.slot(0).tally.add(Count::Regions);
        self.note(0, || Activity::Part(0));
        // SAFETY: it lies there until the end of the region.
        self.perform(&queen, || unsafe { berth.with(|part: &P| part.run(&queen)) });
        self.note(0, || Activity::End);
        let end = self.await_bees(&queen, late);
        drop(lying);
        *turn.base(team) = self.muster(team).conclude(&queen.account(), end);
        self.note(0, || Activity::Left);
        if end == End::Poisoned {
            self.panics.resume();
        }
    }

    /// Starts a region. Returns its epoch, and whether bees had to be called from their beds.
    #[inline]
    #[expect(unsafe_code, reason = "lends the caller's part to the team")]
    fn start(&self, _turn: &Guard<'_, Ledger>, team: u32, order: Order) -> (u64, bool) {
        // SAFETY: the caller has the turn, and whoever had it before kept it until its team had arrived.
        let region = unsafe { self.signal.publish(team, order) };
        // Every bee that went to bed without having seen the word is seen below. Pairs with the fences in `Hand::go_to_sleep`
        // and `Hand::park`.
        fence(Ordering::SeqCst);
        let late = !self.attendance.read().all_up(team);
        if late {
            self.call_up(team);
        }
        (region, late)
    }

    /// Makes sure that each bee of a team that has been started comes to its region.
    #[cold]
    fn call_up(&self, team: u32) {
        self.log(0, || Event::Call);
        self.call_all(1, team);
        self.log(0, || Event::Called);
        // After the calls: on a core that has been idle every step takes long, and the bees wake meanwhile.
        self.policy().step_aside();
    }

    /// Calls the members from `first` up to `end`. Many are called as by a tree: one that sleeps is woken and calls half of the others.
    pub(super) fn call_all(&self, first: u32, end: u32) {
        let mut end = end;
        while end.saturating_sub(first) > CALLS_BY_ONE {
            let middle = first + (end - first) / 2;
            if !self.charge(middle, end) {
                self.call_all(middle, end);
            }
            end = middle;
        }
        (first..end).for_each(|id| self.call(id));
    }

    /// Wakes member `id`, if it is asleep, to call those after it up to `end`. Says whether it was.
    fn charge(&self, id: u32, end: u32) -> bool {
        let slot = self.slot(id);
        if slot.state() != State::Asleep {
            return false;
        }
        slot.charge.give(end);
        let is_woken = self.wake(slot, State::Asleep, State::Notified);
        if !is_woken {
            // Not to be found when it is woken for something else.
            slot.charge.take();
        }
        is_woken
    }

    /// Wakes member `id` if it is in bed. A parked one does what it is called for as a surplus bee and parks again: the hive was made smaller while this
    /// region started, or what it is called for may be done by no other.
    pub(super) fn call(&self, id: u32) {
        let slot = self.slot(id);
        loop {
            let called = match slot.state() {
                State::Asleep => self.wake(slot, State::Asleep, State::Notified),
                State::Parked => {
                    self.untucked.add();
                    let won = self.wake(slot, State::Parked, State::Surplus);
                    if !won {
                        self.untucked.remove();
                    }
                    won
                }
                // Up, or posted already; and before it goes to bed again it looks at the word.
                State::Awake | State::Notified | State::Surplus => true,
                // Runs what there is before it ends.
                State::Dismissed => true,
            };
            if called {
                return;
            }
        }
    }

    /// Waits until all bees of the queen's team have arrived.
    #[inline]
    fn await_bees(&self, queen: &Member<'_>, late: bool) -> End {
        let account = queen.account();
        let muster = self.muster(account.team);
        match muster.await_end(&account, self.slot(0), self.policy(), late) {
            End::Deserter => {
                self.perform(queen, || {
                    panic!(
                        "the queen's part of the region has ended, and another member of the {} waits at barrier number {}, \
                         which she will not come to; all members must call barrier() equally often",
                        account.team,
                        account.passed + 1,
                    )
                });
                muster.await_end(&account, self.slot(0), self.policy(), late)
            }
            end => end,
        }
    }
}
