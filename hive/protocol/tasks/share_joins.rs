//! How a bee shares the second halves of its joins: they wait in its list of joins (`linked_joins.rs`), where only the
//! bee itself sees them, and are moved to its deque while there are bees with nothing to do.

use crate::protocol::tasks::linked_joins::JoinLink;
use crate::protocol::tasks::task_context::TaskContext;

/// If more bees than this have nothing to do, they are offered all second halves: some of them will be back for more
/// before this bee comes to its next join.
const MOST_TO_OFFER_ONE_EACH: usize = 3;

impl TaskContext<'_> {
    /// Links a join that is about to begin its first half, and shares it if others want work. `kind`: that of the task
    /// of its second half. Nothing may unwind between this and `end_join`.
    ///
    /// # Safety
    /// As for `LinkedJoins::link`.
    #[inline(always)]
    #[expect(unsafe_code, reason = "passes on what the caller promises")]
    pub(crate) unsafe fn begin_join(&self, link: *const JoinLink, kind: usize) {
        // SAFETY: as the caller promises.
        unsafe { self.joins.link(link) };
        // SAFETY: it has just been linked.
        if self.joins.is_outermost_in_task(unsafe { &*link }) {
            self.begin_outermost_join(kind);
        } else {
            self.share_joins_with_new(kind, false);
        }
    }

    #[cold]
    fn begin_outermost_join(&self, kind: usize) {
        // If it is in visible joins, these count already.
        let is_outermost = self.is_outside_of_joins();
        self.begin_task();
        self.share_joins_with_new(kind, is_outermost);
    }

    /// Notes the end of a join that was not shared.
    #[inline(always)]
    pub(crate) fn end_join(&self, link: &JoinLink) {
        if self.joins.is_outermost_in_task(link) {
            self.end_task();
        }
    }

    /// Has a join count whose first half has ended, and which has been shared or has panicked. `end_task` notes its
    /// end.
    #[inline]
    pub(crate) fn count_join(&self, link: &JoinLink) {
        if !self.joins.is_outermost_in_task(link) {
            self.begin_task();
        }
    }

    /// Shares as many tasks as there are bees with nothing to do, or more, unless all of these have been offered some
    /// and have not asked since. Returns whether any task was shared.
    #[inline]
    pub(crate) fn share_joins(&self) -> bool {
        self.demand.is_unanswered() && self.share_joins_with(0, self.demand.kind())
    }

    /// Shares joins as `share_joins` does, before a join begins whose second half makes a task of this kind. It shares
    /// although the demand is answered if the last offer was of another kind, or if this join is the outermost of its
    /// task: that other tasks were too short for the others says nothing of this one. (All the same it is the bee's
    /// outermost joins that are shared, which may be others.)
    #[inline]
    fn share_joins_with_new(&self, kind: usize, is_outermost: bool) {
        if self.demand.is_unanswered_by(kind) || is_outermost {
            self.share_joins_with(0, kind);
        }
    }

    /// Shares joins whether the demand is answered or not, and as if one bee at least had nothing to do: one that has
    /// only just ended something is not counted yet.
    pub(crate) fn share_joins_now(&self) {
        self.share_joins_with(1, self.demand.kind());
    }

    /// Moves second halves to the deque until it has one task for each bee with nothing to do, and at least `at_least`,
    /// or no half is left. It moves those of the outermost joins first, which are the largest in a recursion; and all,
    /// if they or the bees are many, because bees that take one after another should not have to ask for each. In a
    /// task pool it moves all in any case. (In a hive a thief would move half of them to its own deque, from where the
    /// owner would have to take most of them back: a recursion of 40 us loses a tenth by that.)
    ///
    /// Returns whether it has moved any. `kind`: of which kind (`Task::kind_of`) the tasks are for which the demand
    /// is then answered.
    #[cold]
    fn share_joins_with(&self, at_least: u32, kind: usize) -> bool {
        let demand = self.demand.read();
        let idle_bees = self.team.sleep.inactive_at(demand).max(at_least) as usize;
        // In a hive of the queen alone there is no bee to share with.
        let wanted = if self.is_lone_queen() { 0 } else { idle_bees.saturating_sub(self.deque().len()) };
        // Until others are told of the tasks, a sleeper's own look (`is_wake_lost`) is not to count them as missed.
        let _in_flight = self.team.track_in_flight();
        let are_all_wanted = wanted > MOST_TO_OFFER_ONE_EACH || wanted > 0 && self.is_in_pool();
        let shared = self.move_joins(if are_all_wanted { usize::MAX } else { wanted });
        if shared > 0 {
            self.team.notify_of_jobs(shared.min(wanted) as u32, self.id, Some(self.mark));
        }
        // Tasks that are in the deque already count as shared. If this bee takes them back before the others come, they
        // were too short to be worth a steal, and to offer more of them would only cost it time. (Nobody wants any, or
        // the queen is alone: that counts as answered, too.)
        if shared >= wanted {
            self.demand.answer(demand, kind);
        }
        shared > 0
    }

    /// Moves so many of the outermost second halves to the deque, if there are as many. Returns how many it has moved.
    fn move_joins(&self, most: usize) -> usize {
        self.joins.take_outermost(most, self.team, self.id, |task| self.deque().push(task))
    }

    /// Moves the second halves of all joins to the deque, for a bee that has nothing else to run, or before something
    /// else that is to be run before these. Returns whether there were any.
    pub(crate) fn share_all_joins(&self) -> bool {
        if self.joins.is_empty() {
            return false;
        }
        if self.is_alone_in_pool() || self.is_lone_queen() {
            self.joins.take_outermost(usize::MAX, self.team, self.id, |task| self.push(task));
        } else {
            let _in_flight = self.team.track_in_flight();
            let shared = self.move_joins(usize::MAX);
            self.team.notify_of_jobs(shared as u32, self.id, Some(self.mark));
        }
        true
    }

    /// Runs one task, if there is one, or else the second half of a join that the bee is in the middle of. Returns
    /// whether it has run any.
    pub(crate) fn run_one(&self) -> bool {
        let find = || self.find_task_exhaustively();
        self.run_in_yield(|| {
            // A task that spawns itself again without end must not keep the bee from these halves.
            if self.is_next_search_fair() {
                self.share_all_joins();
            }
            find().or_else(|| if self.share_all_joins() { find() } else { None })
        })
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
    use crate::protocol::tasks::sleep::Sleep;
    use crate::protocol::tasks::task::{Run, Task};
    use crate::sys::cpu_mask::CpuMask;
    use crate::sys::wait::WaitPolicy;

    /// A join whose second half is not run. Those with different numbers are of different kinds.
    #[repr(C)]
    struct Join<const KIND: u32 = 1> {
        link: JoinLink,
    }

    #[expect(unsafe_code, reason = "takes a pointer")]
    impl<const KIND: u32> Run for Join<KIND> {
        unsafe fn run(_: *const Self, _: Option<&HeldCredit>) {
            unreachable!("no task is run here, nor one of kind {KIND}");
        }
    }

    #[expect(unsafe_code, reason = "passes pointers, and erases the task's type")]
    impl<const KIND: u32> Join<KIND> {
        fn new() -> Self {
            // SAFETY: in each test the join outlives its task, which is not run.
            Self { link: JoinLink::new(|link, _, _| unsafe { Task::new(link.cast::<Self>()) }) }
        }

        fn begin(&self, context: &TaskContext<'_>) {
            // SAFETY: in each test the join outlives the context's use of it, and the one that begins last ends first.
            unsafe { context.begin_join((&raw const *self).cast(), Task::kind_of::<Self>()) };
        }

        /// Returns whether its second half is still there.
        fn end(&self, context: &TaskContext<'_>) -> bool {
            let is_there = context.joins.unlink(&self.link);
            if is_there {
                context.end_join(&self.link);
            } else {
                context.count_join(&self.link);
                context.end_task();
            }
            is_there
        }
    }

    fn team(sleep: Sleep, bees: u32) -> Team {
        let policy = WaitPolicy::new(Duration::ZERO, None, bees as usize, CpuMask::new());
        let shape = Shape::new(BarrierShape::Flat, &[], bees);
        let team = Team::new(bees, policy, LineChoice::new(1), sleep, Neighbours::new(&[]), shape, None);
        team.resize(bees, |_, _| Ok::<(), ()>(())).unwrap();
        team
    }

    /// Begins a join, ends it, and returns how many halves were in the deque meanwhile. All of them are taken back, as
    /// if the others had come too late.
    fn offered<const KIND: u32>(context: &TaskContext<'_>) -> usize {
        let join = Join::<KIND>::new();
        join.begin(context);
        let offered = std::iter::from_fn(|| context.deque().pop()).count();
        join.end(context);
        offered
    }

    #[test]
    fn a_join_further_in_is_offered_once_for_each_time_that_a_bee_comes_to_want_work() {
        let team = team(Sleep::jec(), 2);
        let (queen, worker) = (TaskContext::new(&team, 0), TaskContext::new(&team, 1));
        queen.begin_task();
        let join = || offered::<1>(&queen);
        assert_eq!(join(), 0, "nobody wants any");
        worker.begin_search();
        assert_eq!([join(), join(), join()], [1, 0, 0]);
        team.sleep.ask();
        assert_eq!([join(), join()], [1, 0]);
        worker.end_search();
        worker.begin_search();
        assert_eq!([join(), join()], [1, 0]);
        worker.end_search();
        assert_eq!(join(), 0);
        queen.end_task();
    }

    #[test]
    fn joins_of_another_kind_and_those_further_out_are_offered_all_the_same() {
        let team = team(Sleep::jec(), 2);
        let (queen, worker) = (TaskContext::new(&team, 0), TaskContext::new(&team, 1));
        worker.begin_search();
        let one = || offered::<1>(&queen);
        let other = || offered::<2>(&queen);
        assert_eq!([one(), one()], [1, 1], "outermost");
        queen.begin_task();
        assert_eq!([one(), one(), other(), other(), one()], [0, 0, 1, 0, 1]);
        queen.end_task();
        assert_eq!([one(), other()], [1, 1]);
    }

    /// Only one of two bees that look for work clears the mark of a deque that its owner has emptied. The other one
    /// waits for what is marked next.
    #[test]
    fn who_looks_in_vain_asks_for_those_who_have_not_looked() {
        let team = team(Sleep::jec(), 3);
        let [queen, hungry, other] = [0, 1, 2].map(|bee| TaskContext::new(&team, bee));
        queen.begin_task();
        hungry.begin_search();
        let offered = || offered::<1>(&queen);
        assert_eq!([offered(), offered()], [1, 0]);
        // A bee that wants no work, and so will not ask later.
        assert!(other.find_task_exhaustively().is_none());
        assert_eq!([offered(), offered()], [1, 0]);
        // A bee that wants some, and gets it elsewhere. (There is one half to offer, so no other bee is to want any.)
        hungry.end_search();
        other.begin_search();
        assert_eq!([offered(), offered()], [1, 0]);
        assert!(other.find_task_exhaustively().is_none());
        assert_eq!(offered(), 0, "it makes a pause");
        other.end_search();
        assert!(queen.demand.is_unanswered());
        hungry.begin_search();
        assert_eq!([offered(), offered()], [1, 0]);
        queen.end_task();
    }

    #[test]
    fn the_outermost_joins_are_offered_first_and_one_for_each_time_that_a_bee_asks() {
        let team = team(Sleep::jec(), 2);
        let (queen, worker) = (TaskContext::new(&team, 0), TaskContext::new(&team, 1));
        queen.begin_task();
        let joins = [(); 5].map(|()| <Join>::new());
        joins.iter().for_each(|join| join.begin(&queen));
        assert!(!queen.share_joins());
        worker.begin_search();
        let offer = || (queen.share_joins(), queen.deque().len());
        for join in &joins[..3] {
            assert_eq!([offer(), offer()], [(true, 1), (false, 1)]);
            assert!(queen.slot.queues.steal().is_some_and(|task| task.is_of(&raw const *join)));
            team.sleep.ask();
        }
        let inner = <Join>::new();
        inner.begin(&queen);
        assert!(queen.slot.queues.steal().is_some_and(|task| task.is_of(&raw const joins[3])));
        assert!(inner.end(&queen) && joins[4].end(&queen) && queen.joins.is_empty());
        assert!(joins[..4].iter().rev().all(|join| !join.end(&queen)));
        queen.end_task();
        assert!(!queen.is_waited_for());
    }

    #[test]
    fn many_bees_are_offered_all() {
        let team = team(Sleep::jec(), 5);
        let contexts = [0, 1, 2, 3, 4].map(|bee| TaskContext::new(&team, bee));
        let joins = [(); 10].map(|()| <Join>::new());
        joins.iter().for_each(|join| join.begin(&contexts[0]));
        contexts[1..].iter().for_each(TaskContext::begin_search);
        assert!(contexts[0].share_joins());
        assert_eq!(contexts[0].deque().len(), joins.len());
        assert!(joins.iter().rev().all(|join| !join.end(&contexts[0])));
    }

    #[test]
    fn of_very_many_joins_all_are_offered_at_once() {
        let team = team(Sleep::jec(), 2);
        let (queen, worker) = (TaskContext::new(&team, 0), TaskContext::new(&team, 1));
        let joins: Vec<_> = (0..100).map(|_| <Join>::new()).collect();
        joins.iter().for_each(|join| join.begin(&queen));
        worker.begin_search();
        assert!(queen.share_joins() && queen.joins.is_empty());
        assert_eq!(queen.deque().len(), joins.len());
        assert!(joins.iter().rev().all(|join| !join.end(&queen)));
        assert!(queen.joins.is_empty() && !queen.is_waited_for());
    }

    #[test]
    fn who_has_nothing_else_to_run_comes_to_all_halves_the_innermost_first() {
        let team = team(Sleep::jec(), 1);
        let queen = TaskContext::new(&team, 0);
        let joins = [(); 3].map(|()| <Join>::new());
        joins.iter().for_each(|join| join.begin(&queen));
        assert!(queen.share_all_joins() && !queen.share_all_joins());
        let mut own = std::iter::from_fn(|| queen.deque().pop());
        assert!(joins.iter().rev().all(|join| own.next().is_some_and(|task| task.is_of(&raw const *join))));
        assert!(joins.iter().rev().all(|join| !join.end(&queen)));
    }

    #[test]
    fn joins_are_offered_until_there_is_one_for_each_bee_that_wants_work() {
        let team = team(Sleep::jec(), 3);
        let contexts = [0, 1, 2].map(|bee| TaskContext::new(&team, bee));
        let queen = &contexts[0];
        contexts[1..].iter().for_each(TaskContext::begin_search);
        queen.begin_task();
        let joins = [(); 3].map(|()| <Join>::new());
        let offered = joins.each_ref().map(|join| {
            join.begin(queen);
            queen.deque().len()
        });
        assert_eq!(offered, [1, 2, 2]);
    }

    /// A task that is run in the middle of another one's join has an outermost join of its own.
    #[test]
    fn the_outermost_join_of_each_task_is_offered() {
        let team = team(Sleep::jec(), 2);
        let (queen, worker) = (TaskContext::new(&team, 0), TaskContext::new(&team, 1));
        worker.begin_search();
        let outer = <Join>::new();
        outer.begin(&queen);
        assert!(queen.deque().pop().is_some());
        queen.run_as_task(|| assert_eq!([offered::<1>(&queen), offered::<1>(&queen)], [1, 1]));
        assert_eq!(offered::<1>(&queen), 0);
        assert!(!outer.end(&queen) && !queen.is_waited_for());
    }

    #[test]
    fn by_a_protocol_without_a_word_for_the_demand_each_join_is_offered() {
        let team = team(Sleep::tickle(), 2);
        let (queen, worker) = (TaskContext::new(&team, 0), TaskContext::new(&team, 1));
        queen.begin_task();
        assert_eq!(offered::<1>(&queen), 0);
        worker.begin_search();
        assert_eq!([(); 3].map(|()| offered::<1>(&queen)), [1; 3]);
    }
}
