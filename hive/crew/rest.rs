//! How a member goes to sleep when it has nothing to do, and how others are told of new work. The protocol's own counts are in `sleep/`.
//!
//! Who posts: puts the task where others find it, *fence*, reads the counts, wakes. Who goes to sleep: announces it, searches once more, counts itself asleep unless
//! something has been posted since, changes its state, *fence*, looks at everything once more. One of the two fences comes first, so that the other's writer is
//! seen. The announcement spares most sleeps that would end at once; the last look is what nothing gets past.

use std::cell::Cell;

use super::Crew;
use super::slot::State;
use super::task::Task;
use crate::sync::{Ordering, fence};

impl Crew {
    /// Sleeps until somebody wakes the member, unless there is something to do. Returns a task that is found on the way.
    ///
    /// `is_counted`: whether the member is counted among those without work. `is_called`: whether there is something that it has to be up for and that comes
    /// neither through its state nor as a task.
    #[cold]
    pub(super) fn go_to_sleep(
        &self,
        id: u32,
        is_counted: &Cell<bool>,
        is_called: impl Fn() -> bool,
        find: impl FnOnce() -> Option<Task>,
    ) -> Option<Task> {
        let slot = self.slot(id);
        if self.sleep.has_tasks() && !is_counted.replace(true) {
            self.sleep.search();
        }
        let Some(announced) = self.sleep.announce(id) else {
            self.policy().give_way();
            return None;
        };
        if self.sleep.has_tasks()
            && let Some(task) = find()
        {
            return Some(task);
        }
        if !self.sleep.fall_asleep(announced) {
            return None;
        }
        self.attendance.falls_asleep();
        if !slot.change(State::Awake, State::Asleep) {
            self.count_up();
            return None;
        }
        // A region published before the queen's fence is seen below; one published after it has a queen who sees this sleeper.
        // Pairs with the fences in `Crew::start`, `post`, `post_to` and `set_latch`.
        fence(Ordering::SeqCst);
        let is_bound = || is_called() || (self.sleep.has_tasks() && slot.desk.has_mail());
        // Also at the members' own deques: who has just queued something there may have seen this member counted, and not yet ASLEEP.
        if !self.sleep.confirm(announced) || is_bound() || (self.sleep.has_tasks() && self.is_work_queued()) {
            if slot.change(State::Asleep, State::Awake) {
                self.count_up();
                return None;
            }
            // Somebody else has ended this sleep. If it was a shrink, the bee lies parked where it is, and who called it may have looked
            // before there was a sleeper to see: the bee calls itself, and takes the post below.
            if is_bound() {
                self.call(id);
            }
        }
        self.policy().off_core(|| slot.bed.wait());
        is_counted.set(slot.was_asleep());
        None
    }

    /// Counts up a member that has left ASLEEP. Whoever won that change calls this.
    pub(super) fn count_up(&self) {
        self.attendance.is_up();
        self.sleep.rise();
    }

    /// Tells the others of `jobs` new tasks that anybody may run.
    pub(super) fn post(&self, jobs: u32) {
        // Pairs with the fences in `go_to_sleep` and `Life::park`.
        fence(Ordering::SeqCst);
        let wanted = self.sleep.post(jobs);
        if wanted > 0 {
            self.wake_some(wanted);
        }
        if self.attendance.read().bees() == 1 {
            self.call_anybody();
        }
    }

    /// Puts a task where only bee `id` finds it, and makes sure that it looks.
    pub(super) fn post_to(&self, id: u32, task: Task) {
        self.slot(id).desk.post(task);
        // Pairs with the fences in `go_to_sleep` and `Life::park`.
        fence(Ordering::SeqCst);
        self.call(id);
    }

    #[cold]
    fn wake_some(&self, wanted: u32) {
        let asleep = self.all_slots().filter(|slot| slot.state() == State::Asleep);
        asleep.filter(|slot| self.wake(slot, State::Asleep, State::Notified)).take(wanted as usize).for_each(drop);
    }

    /// Calls a bee for the sake of the tasks of a hive that is the queen alone. It parks again when there are none left.
    #[cold]
    fn call_anybody(&self) {
        if self.all_slots().nth(1).is_some() && self.is_work_queued() {
            self.call(1);
        }
    }

    /// Looks after the tasks that a bee leaves behind which has just parked, or was parked.
    pub(super) fn hand_on(&self) {
        if self.sleep.has_tasks() && self.is_work_queued() {
            self.post(1);
        }
    }
}
