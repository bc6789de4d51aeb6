//! How a bee looks for a task: in its own queues, in the injector, and in the deques of other bees, the nearest first.
//! The order of the places and what it is good for are described in `docs/sleep.md`, "Where tasks wait".

use crate::protocol::neighbours::Distance;
use crate::protocol::tasks::deque_marks::DequeLook;
use crate::protocol::tasks::sleep::Notification;
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::worker::slot::Slot;
use crate::sync::{Counter, Event, EventKind, Worker};

/// One in so many searches for a task begins elsewhere than in the bee's own deque.
const FAIR_SEARCH_INTERVAL: u32 = 64;

impl TaskContext<'_> {
    /// Looks for a task to run: in the bee's own queues, in the injector, and in those deques of other bees that are
    /// marked, unless the bee is not to steal for a moment.
    #[inline(always)]
    pub(crate) fn find_task(&self) -> Option<Task> {
        let own = if self.has_bound_task() { None } else { self.find_own_newest() };
        own.or_else(|| self.find_task_with(Self::steal_where_marked))
    }

    /// Whether there is a task in the mailbox that goes before those in the bee's deque, because only this bee may run
    /// it. In a task pool broadcasts come after what a thread has spawned, as in Rayon; and what is in the queen's
    /// mailbox is for any bee.
    #[inline(always)]
    pub(super) fn has_bound_task(&self) -> bool {
        self.id > 0 && !self.is_in_pool() && self.team.has_mailbox_task(self.slot)
    }

    /// The task at the top of the bee's deque, if a search would begin with that, and if the bee has one. In the middle
    /// of many tasks of its own it finds nearly all of them here.
    #[inline(always)]
    pub(super) fn find_own_newest(&self) -> Option<Task> {
        // A bee that searches already may have been told of something, and is to look there first. A forked child,
        // which must not run its parent's tasks, ends in `find_task_with`.
        if self.is_next_search_fair() || self.is_counted.get() || self.team.policy().is_forked() {
            return None;
        }
        let task = self.deque().pop()?;
        self.search_count.set(self.search_count.get().wrapping_add(1));
        Some(task)
    }

    /// Whether the next search begins elsewhere than in the bee's own deque.
    #[inline(always)]
    pub(super) fn is_next_search_fair(&self) -> bool {
        self.search_count.get().wrapping_add(1) % FAIR_SEARCH_INTERVAL == 0
    }

    /// As `find_task`, but looks into the deques of all others, marked or not, and also while the bee is not to steal.
    /// For the checks before sleep, and for who asks whether there is a task.
    pub(crate) fn find_task_exhaustively(&self) -> Option<Task> {
        self.find_task_with(Self::steal_anywhere)
    }

    /// Whether there is anything that looks like a task for this bee, in a team that runs tasks. It is cheap, and
    /// sometimes late: no bee falls asleep on the strength of it.
    pub(crate) fn may_find_task(&self) -> bool {
        // The marks say nothing of the bee's own queues, which cost it little to look into.
        !self.team.injector.is_empty()
            || (self.may_steal() && self.team.deque_marks.is_another_marked(self.id, self.team.hired.count()))
            || !self.deque().is_empty()
            || self.team.has_mailbox_task(self.slot)
    }

    /// A task for a worker that is in no task. `last_epoch` is the epoch of the last region that the worker has seen.
    pub(crate) fn next_task(&self, last_epoch: u64) -> Option<Task> {
        let found = if self.try_enter_search_phase(last_epoch) { self.find_task() } else { None };
        found.or_else(|| self.leave_search_phase())
    }

    /// A task that a surplus bee still has to run: one that only it may run, or any if `is_surplus_for_all_tasks`.
    pub(crate) fn surplus_task(&self) -> Option<Task> {
        if !self.team.sleep.supports_tasks() {
            return None;
        }
        let find_any = || self.team.is_surplus_for_all_tasks(self.slot).then(|| self.find_task_exhaustively());
        // Step: mailbox
        // Step: any
        self.take_from_mailbox().or_else(|| find_any().flatten())
    }

    /// Looks for a task in every place that the bee may take one from, its own queues first. `steal_from_others` looks
    /// into the deques of the other bees.
    fn find_task_with(&self, steal_from_others: impl Fn(&Self) -> Option<Task>) -> Option<Task> {
        // A forked child has a copy of its parent's tasks, and must not run them.
        self.team.policy().abort_if_forked();
        self.held_credit.give_back();
        // Now and then a search begins elsewhere, so that no queue is never looked at.
        let is_fair = self.is_next_search_fair();
        let search_count = self.search_count.get().wrapping_add(1);
        self.search_count.set(search_count);
        // Step: elsewhere
        if is_fair && !self.is_in_pool() {
            if let Some(task) = self.find_fairly(search_count / FAIR_SEARCH_INTERVAL) {
                return Some(task);
            }
        }
        // What another bee has told this one is asked before the search: what it is told later stays for the next one.
        // Step: told
        let notification = if self.is_counted.get() { self.team.sleep.notification(self.id) } else { None };
        // The bee's own queues come first: what only it may run, its newest task, and then what else is in its mailbox.
        // Step: mailbox
        let bound_task = if self.has_bound_task() { self.take_from_mailbox() } else { None };
        // Step: own
        let from_own_queues = || bound_task.or_else(|| self.deque().pop()).or_else(|| self.take_from_mailbox());
        // Then the deque that the bee was told of, if that is why it was told.
        // Step: where told
        let from_notified = || match notification {
            Some(Notification::DequeOf(other)) => self.steal_from(other),
            Some(Notification::Mailbox) | None => None,
        };
        // A task pool promises that a thread runs what it has spawned before anything else, and then broadcasts. So its
        // fair searches begin here: what another thread has spawned before it blocked must not wait for ever for what
        // comes from outside.
        let from_others_at_times = || if is_fair && self.is_in_pool() { self.steal_fairly() } else { None };
        // Then tasks from outside, and last the deques of the other bees.
        // Step: injector
        from_own_queues()
            .or_else(from_notified)
            .or_else(from_others_at_times)
            .or_else(|| self.take_from_injector())
            .or_else(|| self.steal(notification, steal_from_others))
    }

    /// Looks for a task in the places that a search that begins with the bee's own deque may never reach: a task that
    /// spawns itself again without end would always be found first there. `round` decides where this begins, because
    /// what is found first here may also come again without end.
    #[cold]
    fn find_fairly(&self, round: u32) -> Option<Task> {
        let sources = [Self::take_from_mailbox, Self::take_from_injector, Self::take_own_oldest, Self::steal_fairly];
        (0..sources.len()).find_map(|offset| sources[(round as usize + offset) % sources.len()](self))
    }

    /// Takes a task from the mailbox: one that only this bee may run. In the queen's there are tasks for any bee, which
    /// she has put there while she was alone; she moves some of them to her deque.
    pub(super) fn take_from_mailbox(&self) -> Option<Task> {
        let queues = &self.slot.queues;
        if self.id > 0 || self.is_in_pool() {
            return queues.mailbox.take();
        }
        if self.is_lone_queen() {
            return self.take_kept_task();
        }
        self.take_batch(|deque| queues.mailbox.take_batch(deque))
    }

    /// Takes the oldest task of the bee's own deque, as a thief would.
    fn take_own_oldest(&self) -> Option<Task> {
        self.slot.queues.steal()
    }

    /// Takes a task from the injector, and some more into the bee's own deque.
    fn take_from_injector(&self) -> Option<Task> {
        if self.is_in_pool() {
            return self.team.injector.take();
        }
        self.take_batch(|deque| self.team.injector.take_batch(deque))
    }

    /// Looks into the deques of the other bees. The bee has looked into its own queues, and where `notification` told
    /// it to.
    fn steal(
        &self,
        notification: Option<Notification>,
        steal_from_others: impl Fn(&Self) -> Option<Task>,
    ) -> Option<Task> {
        if self.is_counted.get() {
            // The sleep protocol may tell the bee of other work from now on.
            // Step: steal
            self.team.sleep.begin_steal(self.id, notification);
        }
        // Step: others
        steal_from_others(self)
    }

    /// Whether the bee may steal now, or else leaves the tasks of the others alone for a while. If that time is over,
    /// this ends it, and asks for joins.
    #[inline(always)]
    fn may_steal(&self) -> bool {
        self.steal_pacing.may_steal(|| {
            // What the others have offered meanwhile, they may have taken back since.
            if self.is_counted.get() {
                self.team.sleep.ask();
            }
        })
    }

    /// Notes that the bee has cleared the mark of a deque whose owner has taken its offer back. It pauses its steals.
    #[cold]
    fn note_vain_look(&self) {
        self.steal_pacing.note_vain_look();
        // The owner has answered the demand and offers nothing new before somebody asks, and no other bee looks there
        // now. A counted bee asks after its pause, or as it finds something else. This one is not, so it asks now.
        if !self.is_counted.get() {
            self.team.sleep.ask();
        }
    }

    /// Steals from the nearest bee whose deque is marked and has a task.
    fn steal_where_marked(&self) -> Option<Task> {
        let marks = &self.team.deque_marks;
        if !self.may_steal() || !marks.is_another_marked(self.id, self.team.hired.count()) {
            return None;
        }
        let mut marked = self.team.others_by_distance(self.id).filter(|(slot, _)| marks.mark_of(slot.id).is_set());
        marked.find_map(|(slot, distance)| self.steal_from_slot(slot, distance))
    }

    /// Steals from the nearest bee whose deque has a task, marked or not, unless the bee is not to steal for a moment.
    /// For fair searches, which come round often while a bee polls.
    fn steal_fairly(&self) -> Option<Task> {
        if self.may_steal() { self.steal_anywhere() } else { None }
    }

    /// Steals from the nearest bee whose deque has a task, marked or not.
    fn steal_anywhere(&self) -> Option<Task> {
        self.team.others_by_distance(self.id).find_map(|(slot, distance)| self.steal_from_slot(slot, distance))
    }

    /// Steals from bee `other`.
    fn steal_from(&self, other: u32) -> Option<Task> {
        let (slot, distance) = self.team.others_by_distance(self.id).find(|(slot, _)| slot.id == other)?;
        self.steal_from_slot(slot, distance)
    }

    /// Steals from the bee of slot `victim`, and counts the steal by distance.
    fn steal_from_slot(&self, victim: &Slot, distance: Distance) -> Option<Task> {
        // So that not every thief looks into an empty deque, its mark is cleared.
        let mark = self.team.deque_marks.mark_of(victim.id);
        if victim.queues.stealer.is_empty() {
            match mark.clear_if_empty(|| victim.queues.stealer.is_empty()) {
                DequeLook::HasTask => {}
                DequeLook::Unmarked => return None,
                DequeLook::Cleared => {
                    self.note_vain_look();
                    return None;
                }
            }
        }
        // In a task pool most tasks are halves of joins, and their owner has to wait for each that was stolen. So a
        // thief takes only one, and leaves the others to the owner.
        let steal = || match self.is_in_pool() {
            true => victim.queues.steal(),
            false => self.take_batch(|deque| victim.queues.steal_batch(deque)),
        };
        let is_owner_at_work = || self.steal_pacing.is_owner_at_work(victim.id, victim.counters.progress());
        let is_lone = || self.deque().is_empty() && is_owner_at_work();
        let task = self.steal_pacing.measure(steal, is_lone, || victim.queues.stealer.is_empty())?;
        self.slot.counters.increment(match distance {
            Distance::Core => Counter::StealsInCore,
            Distance::Cluster => Counter::StealsInCluster,
            Distance::Node => Counter::StealsInNode,
            Distance::Far => Counter::StealsFromFar,
        });
        self.team.log(self.id, || Event::numbered(EventKind::Steal, distance as u32, victim.id));
        Some(task)
    }

    /// Takes a task by `take`, which also moves some more into the bee's own deque.
    fn take_batch(&self, take: impl FnOnce(&Worker<Task>) -> Option<Task>) -> Option<Task> {
        let _in_flight = self.team.track_in_flight();
        let task = take(self.deque())?;
        // While the tasks were moved they were in neither queue, and another bee may have looked for them and found
        // nothing. So they are announced as new ones are.
        if !self.deque().is_empty() {
            self.team.notify_of_jobs(1, self.id, Some(self.mark));
        }
        Some(task)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::protocol::Team;
    use crate::protocol::neighbours::Neighbours;
    use crate::protocol::region::line_choice::LineChoice;
    use crate::protocol::region::shape::{BarrierShape, Shape};
    use crate::protocol::tasks::held_credit::HeldCredit;
    use crate::protocol::tasks::pool_rules::PoolRules;
    use crate::protocol::tasks::sleep::Sleep;
    use crate::protocol::tasks::task::Run;
    use crate::sys::cpu_mask::CpuMask;
    use crate::sys::wait::WaitPolicy;

    struct Nothing;

    #[expect(unsafe_code, reason = "takes a pointer")]
    impl Run for Nothing {
        unsafe fn run(_: *const Self, _: Option<&HeldCredit>) {}
    }

    #[expect(unsafe_code, reason = "erases the task's type")]
    fn task() -> Task {
        static NOTHING: Nothing = Nothing;
        // SAFETY: it lives for ever, and has no contents.
        unsafe { Task::new(&raw const NOTHING) }
    }

    #[test]
    fn the_tasks_of_an_owner_that_is_blocked_are_stolen_without_pauses() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 2, CpuMask::new());
        let shape = Shape::new(BarrierShape::Flat, &[], 2);
        let (line, neighbours, rules) = (LineChoice::new(1), Neighbours::new(&[]), PoolRules::new(2, None, false));
        let team = Team::new(2, policy, line, Sleep::jec(), neighbours, shape, Some(rules));
        team.resize(2, |_, _| Ok::<(), ()>(())).unwrap();
        let [owner, thief] = [0, 1].map(|bee| TaskContext::new(&team, bee));
        let spawn = || owner.push_and_notify(task());
        let steal = || std::iter::repeat_with(|| thief.find_task()).flatten().next().unwrap();
        (0..100).for_each(|_| spawn());
        let pauses = (0..100).filter(|_| {
            thief.run(steal());
            thief.steal_pacing.is_paused()
        });
        assert!(pauses.count() <= 1);
        // The owner goes on: it offers more, or runs one.
        (0..3).for_each(|_| spawn());
        let is_measured = || {
            let task = steal();
            let steal = thief.steal_pacing.begin_task();
            thief.run(task);
            steal.map(|steal| thief.steal_pacing.learn(steal)).is_some()
        };
        assert_eq!([is_measured(), is_measured()], [true, false]);
        spawn();
        owner.run(owner.deque().pop().unwrap());
        assert!(is_measured());
    }
}
