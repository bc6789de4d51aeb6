//! How a bee shares the second halves of its joins: they wait in its join buffer (`join_buffer.rs`) and in its list of
//! linked joins (`linked_joins.rs`), where only the bee itself sees them, and are moved to its deque while there are
//! bees with nothing to do.

use crate::protocol::tasks::task_context::TaskContext;

impl TaskContext<'_> {
    /// Whether the next join goes into the join buffer, and not into the list of linked joins. It does if the buffer
    /// has room and no join is linked, so that all in the list are further in than all in the buffer. If some bee may
    /// want work that has not been offered any of this kind, joins are shared first, which may make room.
    #[inline]
    pub(crate) fn try_make_room(&self, kind: usize) -> bool {
        self.has_room() || (self.demand.is_unanswered_by(kind) && self.share_joins_with(0, kind) && self.has_room())
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.linked_joins.is_empty() && !self.join_buffer.is_full()
    }

    /// Shares as many tasks as there are bees with nothing to do, or more, unless all of these have been offered some
    /// and have not asked since. Returns whether any task was shared.
    #[inline]
    pub(crate) fn share_joins(&self) -> bool {
        self.demand.is_unanswered() && self.share_joins_with(0, self.demand.kind())
    }

    /// The same for a join that has put a task of this kind into the buffer and is about to begin. It shares although
    /// the demand is answered if the last offer was of another kind, or if this join is the outermost of its task: that
    /// other tasks were too short for the others says nothing of this one. (The oldest in the buffer are shared all the
    /// same, which may be others.)
    #[inline]
    pub(crate) fn share_joins_with_new(&self, kind: usize) {
        if self.demand.is_unanswered_by(kind) || self.is_outermost_in_task() {
            self.share_joins_with(0, kind);
        }
    }

    /// The same, whether the demand is answered or not, and as if one bee at least had nothing to do: one that has only
    /// just ended something is not counted yet. Returns whether the next join goes into the buffer.
    pub(crate) fn share_joins_now(&self) -> bool {
        self.share_joins_with(1, self.demand.kind()) && self.has_room()
    }

    /// Moves tasks from the join buffer to the deque until the deque has one for each bee with nothing to do, and at
    /// least `at_least`, or the buffer is empty. It moves the oldest first, which are the largest in a recursion.
    ///
    /// If these are too few, it moves the second halves of all linked joins as well: the work of such a recursion is
    /// not in its outermost joins, and bees that take one half after another should not have to ask for each. In a task
    /// pool it does so at once. (In a hive a thief would move half of them to its own deque, from where the owner would
    /// have to take most of them back: a recursion of 40 us loses a tenth by that.)
    ///
    /// Returns whether it has moved any. `kind`: of which kind (`Task::kind`) the tasks are for which the demand
    /// is then answered.
    #[cold]
    fn share_joins_with(&self, at_least: u32, kind: usize) -> bool {
        let demand = self.demand.read();
        let idle_bees = self.team.sleep.inactive_at(demand).max(at_least) as usize;
        // In a hive of the queen alone there is no bee to share with.
        let wanted = if self.is_lone_queen() { 0 } else { idle_bees.saturating_sub(self.deque().len()) };
        // Until others are told of the tasks, a sleeper's own look (`is_wake_lost`) is not to count them as missed.
        let _in_flight = self.team.track_in_flight();
        let oldest = (0..wanted).map_while(|_| self.join_buffer.pop_oldest());
        let mut shared = oldest.map(|task| self.deque().push(task)).count();
        if shared < wanted || (wanted > 0 && self.is_in_pool()) {
            shared += self.move_linked_joins();
        }
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

    /// Whether the bee is in the middle of a join whose second half is not shared.
    pub(crate) fn keeps_joins(&self) -> bool {
        !self.join_buffer.is_empty() || !self.linked_joins.is_empty()
    }

    /// Moves the second halves of all joins to the deque, for a bee that has nothing else to run, or before something
    /// else that is to be run before these. Returns whether there were any.
    pub(crate) fn share_all_joins(&self) -> bool {
        if !self.keeps_joins() {
            return false;
        }
        let buffered = || std::iter::from_fn(|| self.join_buffer.pop_oldest());
        if self.is_alone_in_pool() || self.is_lone_queen() {
            buffered().for_each(|task| self.push(task));
            self.linked_joins.take_all(self.team, self.id, |task| self.push(task));
        } else {
            let _in_flight = self.team.track_in_flight();
            let shared = buffered().map(|task| self.deque().push(task)).count() + self.move_linked_joins();
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

    /// Moves the second halves of all linked joins to the deque, the outermost first. Returns how many there were.
    fn move_linked_joins(&self) -> usize {
        let mut moved = 0;
        self.linked_joins.take_all(self.team, self.id, |task| {
            self.deque().push(task);
            moved += 1;
        });
        moved
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
    use crate::protocol::tasks::linked_joins::JoinLink;
    use crate::protocol::tasks::sleep::Sleep;
    use crate::protocol::tasks::task::{Run, Task};
    use crate::sys::cpu_mask::CpuMask;
    use crate::sys::wait::WaitPolicy;

    struct OneKind;
    struct OtherKind;

    #[expect(unsafe_code, reason = "takes a pointer")]
    impl Run for OneKind {
        unsafe fn run(_: *const Self) {}
    }

    #[expect(unsafe_code, reason = "takes a pointer")]
    impl Run for OtherKind {
        unsafe fn run(_: *const Self) {
            unreachable!("no task is run here");
        }
    }

    #[expect(unsafe_code, reason = "erases the task's type")]
    fn task<T: Run>(kind: &'static T) -> Task {
        // SAFETY: it lives for ever, has no contents, and is not run.
        unsafe { Task::new(kind) }
    }

    fn team(sleep: Sleep, bees: u32) -> Team {
        let policy = WaitPolicy::new(Duration::ZERO, None, bees as usize, CpuMask::new());
        let shape = Shape::new(BarrierShape::Flat, &[], bees);
        let team = Team::new(bees, policy, LineChoice::new(1), sleep, Neighbours::new(&[]), shape, None);
        team.resize(bees, |_, _| Ok::<(), ()>(())).unwrap();
        team
    }

    /// Begins a join whose second half is `task`, ends it, and returns how many halves were in the deque meanwhile. All
    /// of them are taken back, as if the others had come too late.
    fn offered(context: &TaskContext<'_>, task: Task) -> usize {
        let kind = task.kind();
        let number = context.join_buffer.push(task);
        context.share_joins_with_new(kind);
        let offered = std::iter::from_fn(|| context.deque().pop()).count();
        context.join_buffer.reclaim(number);
        offered
    }

    #[test]
    fn a_join_further_in_is_offered_once_for_each_time_that_a_bee_comes_to_want_work() {
        let team = team(Sleep::jec(), 2);
        let (queen, worker) = (TaskContext::new(&team, 0), TaskContext::new(&team, 1));
        queen.begin_task();
        let join = || offered(&queen, task(&OneKind));
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
        let one = || offered(&queen, task(&OneKind));
        let other = || offered(&queen, task(&OtherKind));
        assert_eq!([one(), one()], [1, 1], "outermost");
        queen.begin_task();
        assert_eq!([one(), one(), other(), other(), one()], [0, 0, 1, 0, 1]);
        queen.end_task();
        assert_eq!([one(), other()], [1, 1]);
    }

    #[test]
    fn a_join_of_another_kind_finds_room_in_a_full_buffer() {
        let team = team(Sleep::jec(), 2);
        let (queen, worker) = (TaskContext::new(&team, 0), TaskContext::new(&team, 1));
        let [one, other] = [task(&OneKind).kind(), task(&OtherKind).kind()];
        worker.begin_search();
        queen.begin_task();
        assert_eq!(offered(&queen, task(&OneKind)), 1);
        while !queen.join_buffer.is_full() {
            assert!(queen.try_make_room(one));
            queen.join_buffer.push(task(&OneKind));
        }
        assert!(!queen.try_make_room(one));
        assert!(queen.try_make_room(other) && !queen.join_buffer.is_full());
        assert_eq!(queen.deque().len(), 1);
    }

    /// Only one of two bees that look for work clears the mark of a deque that its owner has emptied. The other one
    /// waits for what is marked next.
    #[test]
    fn who_looks_in_vain_asks_for_those_who_have_not_looked() {
        let team = team(Sleep::jec(), 3);
        let [queen, hungry, other] = [0, 1, 2].map(|bee| TaskContext::new(&team, bee));
        queen.begin_task();
        hungry.begin_search();
        let offered = || offered(&queen, task(&OneKind));
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

    /// A linked join, and its second half.
    #[repr(C)]
    struct Linked {
        link: JoinLink,
    }

    #[expect(unsafe_code, reason = "takes a pointer")]
    impl Run for Linked {
        unsafe fn run(_: *const Self) {
            unreachable!("no task is run here");
        }
    }

    impl Linked {
        #[expect(unsafe_code, reason = "erases the task's type")]
        fn new() -> Self {
            // SAFETY: in each test the join outlives its task, which is not run.
            Self { link: JoinLink::new(|link, _, _| unsafe { Task::new(link.cast::<Self>()) }) }
        }
    }

    /// Links joins, the outermost first.
    #[expect(unsafe_code, reason = "passes a pointer")]
    fn link_all(context: &TaskContext<'_>, joins: &[Linked]) {
        // SAFETY: in each test the joins outlive the context's use of them.
        joins.iter().for_each(|join| unsafe { context.linked_joins.link((&raw const *join).cast()) });
    }

    fn unlink(context: &TaskContext<'_>, join: &Linked) -> bool {
        context.linked_joins.unlink((&raw const *join).cast())
    }

    #[test]
    fn joins_are_linked_while_the_buffer_is_full_or_others_are_linked() {
        let team = team(Sleep::jec(), 2);
        let queen = TaskContext::new(&team, 0);
        let kind = task(&OneKind).kind();
        let buffer = || queen.try_make_room(kind).then(|| queen.join_buffer.push(task(&OneKind)));
        let buffered: Vec<_> = std::iter::from_fn(buffer).collect();
        assert!(queen.join_buffer.is_full());
        let joins = [Linked::new(), Linked::new()];
        link_all(&queen, &joins);
        assert!(buffered.iter().rev().all(|&number| queen.join_buffer.reclaim(number)));
        assert!(!queen.try_make_room(kind), "a buffered join would be further in than these");
        assert!(unlink(&queen, &joins[1]) && !queen.try_make_room(kind));
        assert!(unlink(&queen, &joins[0]) && queen.try_make_room(kind));
    }

    #[test]
    fn all_linked_joins_are_offered_when_the_buffer_has_too_few_the_outermost_first() {
        let team = team(Sleep::jec(), 2);
        let (queen, worker) = (TaskContext::new(&team, 0), TaskContext::new(&team, 1));
        queen.begin_task();
        let numbers = [queen.join_buffer.push(task(&OneKind)), queen.join_buffer.push(task(&OneKind))];
        let joins = [Linked::new(), Linked::new(), Linked::new()];
        link_all(&queen, &joins);
        assert!(!queen.share_joins());
        worker.begin_search();
        let offer = || (queen.share_joins(), queen.deque().len());
        // Those in the buffer come first, one for each time that the worker has taken one and asks again.
        for _ in numbers {
            assert_eq!([offer(), offer()], [(true, 1), (false, 1)]);
            assert!(queen.slot.queues.steal().is_some());
            team.sleep.ask();
        }
        assert_eq!([offer(), offer()], [(true, 3), (false, 3)]);
        assert!(queen.slot.queues.steal().is_some_and(|task| task.is_of(&raw const joins[0])));
        assert!(queen.deque().pop().is_some_and(|task| task.is_of(&raw const joins[2])));
        assert!(joins.iter().rev().all(|join| !unlink(&queen, join)));
        assert!(numbers.iter().rev().all(|&number| !queen.join_buffer.reclaim(number)));
        assert!(!queen.keeps_joins());
        queen.end_task();
    }

    #[test]
    fn who_has_nothing_else_to_run_comes_to_all_halves_the_innermost_first() {
        let team = team(Sleep::jec(), 1);
        let queen = TaskContext::new(&team, 0);
        queen.join_buffer.push(task(&OneKind));
        let joins = [Linked::new(), Linked::new()];
        link_all(&queen, &joins);
        assert!(queen.keeps_joins() && queen.share_all_joins() && !queen.share_all_joins());
        let mut own = std::iter::from_fn(|| queen.deque().pop());
        assert!(own.next().is_some_and(|task| task.is_of(&raw const joins[1])));
        assert!(own.next().is_some_and(|task| task.is_of(&raw const joins[0])));
        assert!(own.next().is_some_and(|half| half.kind() == task(&OneKind).kind()) && own.next().is_none());
    }

    #[test]
    fn joins_are_offered_until_there_is_one_for_each_bee_that_wants_work() {
        let team = team(Sleep::jec(), 3);
        let contexts = [0, 1, 2].map(|bee| TaskContext::new(&team, bee));
        let queen = &contexts[0];
        contexts[1..].iter().for_each(TaskContext::begin_search);
        queen.begin_task();
        let begin = || {
            queen.join_buffer.push(task(&OneKind));
            queen.share_joins_with_new(task(&OneKind).kind());
            queen.deque().len()
        };
        assert_eq!([begin(), begin(), begin()], [1, 2, 2]);
    }

    #[test]
    fn by_a_protocol_without_a_word_for_the_demand_each_join_is_offered() {
        let team = team(Sleep::tickle(), 2);
        let (queen, worker) = (TaskContext::new(&team, 0), TaskContext::new(&team, 1));
        queen.begin_task();
        assert_eq!(offered(&queen, task(&OneKind)), 0);
        worker.begin_search();
        assert_eq!([(); 3].map(|()| offered(&queen, task(&OneKind))), [1; 3]);
    }
}
