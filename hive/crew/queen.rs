//! The queen's side of a region: start the team, run her own part, wait for the bees.

use std::ptr;

use super::job::{Job, Part};
use super::lead::{Lead, Led, Section};
use super::muster::End;
use super::signal::{Order, StartWord};
use super::slot::{Slot, State};
use super::turn::Guard;
use super::{AbortOnUnwind, Crew, Member};
use crate::sync::{Activity, CALLS_BY_ONE, Count, Event, Ordering, fence};

impl Crew {
    /// Runs `part` once on each of the first `team` members, the calling thread as member 0, and returns when all are done.
    ///
    /// # Panics
    /// With the panic of the lowest member that panicked; see `Panics::end`.
    #[inline]
    #[expect(unsafe_code, reason = "lays the caller's part where the team finds it")]
    pub(crate) fn region<P: Part>(&self, turn: &mut Guard<'_, Lead>, team: u32, part: &mut P) {
        debug_assert!(team > 1, "a team of one meets nobody");
        let signal = self.root();
        let own = turn.part_of(self, self.settled.root, signal, team);
        if own.size < team {
            return self.wide_region(turn, team, Job::of::<&P>(), ptr::from_ref(part).cast());
        }
        let intact = AbortOnUnwind::new("between the start of a region and its end");
        let berth = &signal.berth;
        // SAFETY: what other regions laid there they took back before their queens gave the turn on; this one does when all bees have left.
        let lying = unsafe { berth.lay_down(part) };
        let word = signal.look().next(team);
        // SAFETY: the caller has the turn, and whoever had it before kept it until its team had left.
        unsafe { signal.publish(word, Order { job: Job::of::<P>(), base: own.base }) };
        let late = self.call_if_late(team, [&own]);
        let queen = Member::new(self, 0, team, word.epoch(), own);
        self.panics.begin(word.epoch());
        self.slot(0).tally.add(Count::Regions);
        self.note(0, || Activity::Part(0));
        // SAFETY: it lies there until the end of the region.
        self.perform(&queen, || unsafe { berth.with(|part: &P| part.run(&queen)) });
        self.note(0, || Activity::End);
        let end = self.await_group(&queen, &own, late);
        drop(lying);
        self.conclude(turn, &queen, &own, end);
        self.note(0, || Activity::Left);
        intact.disarm();
        if end == End::Poisoned {
            self.end_poisoned(&queen);
        }
    }

    /// The same for a team of several groups, by a job for a reference to the part, which lies at this address.
    // Apart: inlined, it would take registers from the other.
    #[inline(never)]
    #[expect(unsafe_code, reason = "tells the team where the caller's part is")]
    fn wide_region(&self, turn: &mut Guard<'_, Lead>, team: u32, job: Job, part: *const ()) {
        let intact = AbortOnUnwind::new("between the start of a region of several groups and its end");
        let mut led = turn.open(self, team);
        let own = led.take_widest().unwrap_or_else(|| unreachable!("a team of {team} in no group"));
        let word = self.root().look().next(team);
        let sections = [&own].into_iter().chain(led.iter());
        for section in sections.clone() {
            let signal = self.group(section.group).signal();
            // SAFETY: no region is on, and what others laid there they have taken back.
            unsafe { signal.berth.point_to(part) };
            // SAFETY: the caller has the turn, and whoever had it before kept it until its team had left.
            unsafe { signal.publish(word, Order { job, base: section.base }) };
        }
        let late = self.call_if_late(team, sections);
        let queen = Member::new(self, 0, team, word.epoch(), own).leading(&led);
        self.panics.begin(word.epoch());
        self.slot(0).tally.add(Count::Regions);
        self.note(0, || Activity::Part(0));
        // SAFETY: the job is for the reference that lies in the berth, until the end of the region.
        self.perform(&queen, || unsafe { job.run(&self.root().berth, &queen) });
        self.note(0, || Activity::End);
        let mut is_poisoned = false;
        for group in led.iter().rev().chain([&own]) {
            let end = self.await_group(&queen, group, late);
            is_poisoned |= end == End::Poisoned;
            self.conclude(turn, &queen, group, end);
        }
        self.note(0, || Activity::Left);
        intact.disarm();
        if is_poisoned {
            self.end_poisoned(&queen);
        }
    }

    /// Closes the book of a group that `member` heads, whose others have left it.
    #[inline(always)]
    pub(super) fn conclude(&self, lead: &mut Lead, member: &Member<'_>, part: &Section<'_>, end: End) {
        let account = part.account(member.passed());
        *lead.base(part.group, part.size) = part.muster.conclude(&account, end);
    }

    /// Passes the region of `word`, which calls a bee, on to the groups that this one heads. Says whether anybody had to be called.
    #[expect(unsafe_code, reason = "tells the team where the caller's part is")]
    pub(super) fn start_led(&self, word: StartWord, order: Order, from: u32, led: &Led<'_>) -> bool {
        if led.is_empty() {
            // The team may all be in one group, and then no pointer lies there but the part itself, of which there may
            // be no byte.
            return false;
        }
        // SAFETY: a bee that leads somebody is in a team of several groups, in which all berths but those of groups
        // that are no part of it point to the part.
        let part = unsafe { self.group(from).signal().berth.pointer() };
        for group in led.iter() {
            let signal = self.group(group.group).signal();
            // SAFETY: its members run nothing until the word is published.
            unsafe { signal.berth.point_to(part) };
            // SAFETY: the caller heads the group, and has waited until all had left it at the end of the last region in which there was anybody.
            unsafe { signal.publish(word, Order { base: group.base, ..order }) };
        }
        self.call_if_late(word.team(), led.iter())
    }

    /// After a start in these groups of a team of `team`: sees that whoever sleeps there comes. Those are woken who hear of regions there, and they see to
    /// the groups that they head. Says whether anybody had to be called.
    #[inline]
    fn call_if_late<'s, 'c: 's>(&'c self, team: u32, groups: impl IntoIterator<Item = &'s Section<'c>>) -> bool {
        // Every bee that went to bed without having seen the word is seen below. Pairs with the fences in `Hand::go_to_sleep`
        // and `Hand::park`.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: attendance
        let late = !self.attendance.all_up(team);
        if late {
            groups.into_iter().for_each(|section| self.call_up(section));
        }
        late
    }

    /// Makes sure that each bee of a group of a team that has been started comes to its region.
    #[cold]
    fn call_up(&self, section: &Section<'_>) {
        let members = &self.settled.shape.members(section.group)[..section.size as usize];
        self.log(members[0], || Event::Call);
        self.call_all(&members[1..]);
        self.log(members[0], || Event::Called);
        // After the calls: on a core that has been idle every step takes long, and the bees wake meanwhile.
        self.policy().step_aside();
    }

    /// Calls members of one group, whose numbers ascend. Many are called as by a tree: one that sleeps is woken and calls half of the others.
    fn call_all(&self, mut members: &[u32]) {
        while members.len() > CALLS_BY_ONE {
            let (near, far) = members.split_at(members.len() / 2);
            if !self.charge(far) {
                self.call_all(far);
            }
            members = near;
        }
        members.iter().for_each(|&id| self.call(id));
    }

    /// Has a member that has been woken call whom it was woken to call.
    pub(super) fn call_charged(&self, slot: &Slot) {
        let end = slot.charge.take();
        if end > 0 {
            let members = self.settled.shape.members(self.settled.shape.listens(slot.id));
            let from = |id| members.partition_point(|&member| member < id);
            self.call_all(&members[from(slot.id + 1)..from(end)]);
        }
    }

    /// Wakes the first of these members of one group, if it is asleep, to call the others. Says whether it was.
    fn charge(&self, members: &[u32]) -> bool {
        let (&[id, ..], &[.., last]) = (members, members) else { return true };
        let slot = self.slot(id);
        if slot.state() != State::Asleep {
            return false;
        }
        slot.charge.give(last + 1);
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
                // Step: asleep
                State::Asleep => self.wake(slot, State::Asleep, State::Notified),
                State::Parked => {
                    self.untucked.add();
                    // Step: parked
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
}
