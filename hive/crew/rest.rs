//! How a member goes to bed when it has nothing to do, and how others are told of new work. The protocol's own words are in `sleep/`.
//!
//! Who posts: puts the task where others find it, *fence*, reads the counts, wakes. Who goes to sleep: announces it, searches once more, counts itself asleep unless
//! something has been posted since, changes its state, *fence*, looks at everything once more. Whoever executes its fence second sees
//! what the other wrote before its own. The announcement spares most sleeps that would end at once; the last look is what nothing gets past.

use std::array;

use super::Crew;
use super::hand::Hand;
use super::sleep::{Reason, Told};
use super::slot::{Slot, State};
use super::task::Task;
use super::work::Mark;
use crate::sync::{Count, Event, Ordering, Posts, WAKES_BY_ONE, fence};

impl Hand<'_> {
    /// Sleeps until somebody wakes the member, unless there is something to do. Returns a task that is found on the way.
    ///
    /// `is_called`: whether there is something that it has to be up for and that comes neither through its state nor as a task.
    #[cold]
    pub(super) fn go_to_sleep(&self, is_called: impl Fn() -> bool) -> Option<Task> {
        let (crew, slot) = (self.crew(), self.slot());
        // Step: search
        self.search();
        // Step: announce
        let Some(announced) = crew.sleep.announce(self.id()) else {
            crew.policy().give_way();
            // Step: not now
            return self.find();
        };
        // Step: look again
        if let Some(task) = self.find_thoroughly().or_else(|| self.stop_looking()) {
            return Some(task);
        }
        // Step: fall asleep
        if !crew.sleep.fall_asleep(announced) {
            return None;
        }
        // Step: attendance
        crew.attendance.falls_asleep(self.id());
        // Step: asleep
        if !slot.change(State::Awake, State::Asleep) {
            // Step: not awake
            crew.count_up(slot);
            return None;
        }
        // If the fence of a region's queen comes first, her region is seen below; if this one does, she sees this sleeper.
        // Pairs with the fences in `Crew::call_if_late`, `tell_of`, `post_to` and `set_latch`.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: confirm
        // Step: last look
        if !crew.sleep.confirm(self.id(), announced) || self.is_wanted(&is_called) {
            // Step: awake
            if slot.change(State::Asleep, State::Awake) {
                // Step: count up
                crew.count_up(slot);
                return None;
            }
            // Somebody else has ended this sleep. If it was a shrink, the bee lies parked where it is, and who called it may have looked
            // before there was a sleeper to see: the bee calls itself, and takes the post below. What anybody may do is handed on to others.
            if is_called() || crew.has_mail(slot) {
                // Step: call itself
                crew.call(self.id());
            } else {
                // Step: hand on
                crew.hand_on(self.id());
            }
        }
        self.lie_asleep(&is_called);
        None
    }

    /// Gives up the core until the hive grows again, or until the bee is called. A surplus bee does, which is then parked.
    ///
    /// `is_called`: as for `go_to_sleep`.
    #[cold]
    pub(super) fn park(&self, is_called: impl Fn() -> bool) {
        let (crew, slot) = (self.crew(), self.slot());
        // Step: work
        self.work();
        let under_way = crew.posting();
        // Step: parked
        if !slot.change(State::Surplus, State::Parked) {
            return;
        }
        // As in `go_to_sleep`: pairs with the fences in `Crew::call_if_late`, `tell_of`, `post_to` and `set_latch`.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: last look
        let is_needed = is_called() || crew.has_mail(slot) || (crew.bees() == 1 && crew.is_work_queued());
        // Step: surplus
        if is_needed && slot.change(State::Parked, State::Surplus) {
            // Still counted as not yet tucked in.
            return;
        }
        // Step: tucked in
        crew.untucked.remove();
        slot.tally.add_for(Count::Parks);
        // Step: hand on
        crew.hand_on(self.id());
        drop(under_way);
        self.lie_parked();
    }

    /// Lies in bed, in state PARKED or after somebody has ended that.
    pub(super) fn lie_parked(&self) {
        let log = &self.slot().log;
        log.write(Event::Park);
        self.crew().policy().off_core(|| self.slot().bed.wait());
        log.write(Event::Up { is_woken: true });
    }

    /// The last look: at everything that the member would have to be up for. Also at the others' own queues: who has just queued something there may have seen this
    /// member counted, and not yet ASLEEP.
    fn is_wanted(&self, is_called: impl Fn() -> bool) -> bool {
        let crew = self.crew();
        is_called() || crew.has_mail(self.slot()) || crew.is_work_queued()
    }

    /// Lies in bed, in state ASLEEP or after somebody has ended that.
    fn lie_asleep(&self, is_called: impl Fn() -> bool) {
        let (crew, slot) = (self.crew(), self.slot());
        self.lie_down();
        let is_woken = crew.policy().off_core(|| self.is_taken_out_of_bed(is_called));
        self.get_up(!is_woken || slot.was_asleep(), is_woken);
        // Before any work of its own: a region's queen relies on this member to call those in its charge.
        crew.call_charged(slot);
        crew.wake_charged(slot);
    }

    /// Waits for a post. In a hive that polls also for something to do; says whether it was a post.
    fn is_taken_out_of_bed(&self, is_called: impl Fn() -> bool) -> bool {
        let (crew, slot) = (self.crew(), self.slot());
        let Some(poll) = crew.policy().poll() else {
            slot.bed.wait();
            return true;
        };
        while !slot.bed.wait_for(poll) {
            if slot.state() != State::Asleep || !self.is_wanted(&is_called) {
                continue;
            }
            let is_rescue = crew.is_forgotten(slot);
            // Before anybody can see that it is up.
            slot.tally.set_searching(true);
            if slot.change(State::Asleep, State::Awake) {
                crew.count_up(slot);
                if is_rescue {
                    slot.tally.add(Count::Rescues);
                }
                return false;
            }
            slot.tally.set_searching(false);
        }
        true
    }
}

impl Crew {
    /// Takes a member off the count of sleepers: it has left ASLEEP, which the caller has seen to, or has failed to get there.
    pub(super) fn count_up(&self, slot: &Slot) {
        // Step: attendance
        self.attendance.is_up(slot.id);
        // Step: rise
        self.sleep.rise(slot.id);
    }

    /// Queues a task where all find it, and tells others of it as `from`, who may be a thread from outside in the
    /// queen's name. `into`: the mark of the deque that it is put into, if it is one.
    pub(super) fn post(&self, from: u32, into: Option<Mark<'_>>, queue: impl FnOnce()) {
        let _under_way = self.posting();
        queue();
        self.tell_of(1, from, into);
    }

    /// Tells others of `jobs` new tasks that anybody may run, and that the calling member has put into its own deque,
    /// of which `into` is the mark, or that are elsewhere.
    pub(super) fn tell_of(&self, jobs: u32, from: u32, into: Option<Mark<'_>>) {
        // Step: fence
        match into {
            Some(mark) => mark.has_pushed(),
            // Pairs with the fences in `go_to_sleep` and `park`.
            None => fence(Ordering::SeqCst),
        }
        // Step: post
        let wanted = self.sleep.post(jobs);
        if wanted > 0 {
            self.tell_some(wanted, from);
        }
        // Step: lone queen
        if self.attendance.read().bees() == 1 {
            self.call_anybody();
        }
    }

    /// Puts a task where only bee `id` finds it, and makes sure that it looks.
    pub(super) fn post_to(&self, id: u32, task: Task) {
        let _under_way = self.posting();
        // Step: mailbox
        self.slot(id).desk.post(task);
        // Pairs with the fences in `go_to_sleep` and `park`.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: tell
        self.sleep.tell(id, Reason::Mail);
        // Step: call
        self.call(id);
    }

    #[cold]
    fn tell_some(&self, wanted: u32, from: u32) {
        if self.sleep.wakes_by_tree() {
            self.wake_some(wanted, from);
        } else {
            self.nearest(from).filter(|slot| self.tell(slot, from)).take(wanted as usize).for_each(drop);
        }
    }

    /// All members, the nearest to `from` first: itself, too, because a thread from outside speaks for a queen who may
    /// be asleep.
    fn nearest(&self, from: u32) -> impl Iterator<Item = &Slot> {
        std::iter::once(self.slot(from)).chain(self.others(from).map(|(slot, _)| slot))
    }

    /// Tells a member of work in the queue of `from`. Says whether it will look.
    fn tell(&self, slot: &Slot, from: u32) -> bool {
        // Step: tell
        match self.sleep.tell(slot.id, Reason::WorkAt(from)) {
            Told::Heard => true,
            // Step: wake
            Told::ToBeWoken => slot.state() == State::Asleep && self.wake(slot, State::Asleep, State::Notified),
            Told::Busy => false,
        }
    }

    /// Wakes so many sleepers, as by a tree: two here, each of whom is to wake a half of the others before it does
    /// anything else.
    fn wake_some(&self, wanted: u32, from: u32) {
        let _under_way = self.posting();
        let here = wanted.min(WAKES_BY_ONE);
        let asleep = self.nearest(from).filter(|slot| slot.state() == State::Asleep);
        // Step: take out of bed
        let mut taken = asleep.filter(|slot| self.take_out_of_bed(slot, State::Asleep, State::Notified));
        // All of them are taken out of bed, and so counted among those who search, before the first is posted. While one is on its
        // way, nobody takes itself for the last who searches, and wakes those whom these are to wake.
        let taken: [_; WAKES_BY_ONE as usize] = array::from_fn(|number| if number < here as usize { taken.next() } else { None });
        let mut elsewhere = wanted - here;
        for (number, slot) in taken.into_iter().flatten().enumerate() {
            let others = elsewhere.div_ceil(here - number as u32);
            elsewhere -= others;
            slot.errand.give(from, others);
            // Step: bed
            slot.post_bed(State::Asleep);
        }
    }

    /// Has a member that has been woken for tasks wake those whom it was told to, if there are tasks still. Nobody
    /// relies on it: were it left out, who is the last to search would find out, and wake them later.
    fn wake_charged(&self, slot: &Slot) {
        let Some((by, others)) = slot.errand.take() else { return };
        slot.log.write(Event::Woken { by });
        if others > 0 {
            let _under_way = self.posting();
            // While a thief moves tasks they are in no queue, so there may be more than can be seen.
            let wanted = others.min(2 * self.count_queued(others));
            if wanted > 0 {
                // Step: wake others
                self.wake_some(wanted, slot.id);
            }
        }
    }

    /// Calls a bee for the sake of the tasks of a hive that is the queen alone. It parks again when there are none left.
    #[cold]
    fn call_anybody(&self) {
        if self.has_bee() && self.is_work_queued() {
            self.call(1);
        }
    }

    /// Tells others of the tasks that are queued, because member `from` will not see to them: it parks, or has found enough to do.
    pub(super) fn hand_on(&self, from: u32) {
        if self.is_work_queued() {
            let _under_way = self.posting();
            // All that is there, where those who are woken share the work of waking. Told of one task at a time, the last of
            // them would be up only after as many wakes as there are tasks.
            let jobs = if self.sleep.wakes_by_tree() { self.count_queued(self.bees()).max(1) } else { 1 };
            // Step: tell
            self.tell_of(jobs, from, None);
        }
    }

    /// Member `from` has counted itself off those who search. If others have relied on it for more work than it takes, it tells somebody else.
    #[cold]
    pub(super) fn pass_on(&self, from: u32) {
        // Pairs with the one in `tell_of`: either that counts this member no longer, or the task is seen here.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: hand on
        self.hand_on(from);
    }

    pub(super) fn has_mail(&self, slot: &Slot) -> bool {
        self.sleep.has_tasks() && slot.desk.has_mail()
    }

    /// Whether there may be a task that any member may run, but for those in the own deque of `member`. Cheap, and
    /// sometimes late: nobody sleeps on the strength of it.
    pub(super) fn may_have_work_for(&self, member: u32) -> bool {
        self.sleep.has_tasks() && (!self.inbox.is_empty() || self.work.is_another_marked(member, self.hired.count()))
    }

    /// Whether there is a task that any member may run, as far as can be seen.
    pub(super) fn is_work_queued(&self) -> bool {
        self.sleep.has_tasks() && (!self.inbox.is_empty() || self.all_slots().any(|slot| !slot.desk.is_bare()))
    }

    /// How many such tasks there are, as far as can be seen; no more than `most` of them are counted.
    fn count_queued(&self, most: u32) -> u32 {
        let mut count = self.inbox.len();
        for slot in self.all_slots() {
            if count >= most as usize {
                break;
            }
            count += slot.desk.len();
        }
        count.min(most as usize) as u32
    }

    /// Whether the owner of a slot, which is asleep, has work that nobody was woken for, and that nobody is about to see to. Known only in a
    /// hive that polls, and only of tasks.
    fn is_forgotten(&self, slot: &Slot) -> bool {
        let Some(posts) = &self.posts else { return false };
        let looks = |slot: &Slot| slot.tally.is_searching() || matches!(slot.state(), State::Notified | State::Surplus);
        // Queued before and after it is seen that nobody looks.
        let is_work_missed = || self.is_work_queued() && !self.all_slots().any(looks) && self.is_work_queued();
        posts.still(|| slot.state() == State::Asleep && (self.has_mail(slot) || is_work_missed()))
    }

    /// Marks a step after which somebody may have to be woken, in a hive that polls.
    pub(super) fn posting(&self) -> Option<impl Drop + '_> {
        self.posts.as_ref().map(Posts::begin)
    }
}
