//! A member at work on tasks: its end of its deque, and what it does while it waits for something.

use std::cell::Cell;

use super::kept::Kept;
use super::latch::Latch;
use super::neighbours::Distance;
use super::nested::Phase;
use super::sleep::Reason;
use super::slot::{Slot, State};
use super::task::Task;
use super::work::Mark;
use super::{Crew, Turned};
use crate::sync::{Count, Event, Worker};

/// So often a look for work begins elsewhere than in the member's own queue.
const LOOKS_AT_HOME: u32 = 64;

/// A member that runs tasks, on its own thread.
pub(crate) struct Hand<'c> {
    crew: &'c Crew,
    id: u32,
    slot: &'c Slot,
    /// None only while this is dropped.
    own: Option<Worker<Task>>,
    /// Where it says that there are tasks in that.
    mark: Mark<'c>,
    kept: Kept,
    /// How often it has looked for work.
    looks: Cell<u32>,
    /// Whether it is counted among those without work.
    is_counted: Cell<bool>,
    /// Whether it was woken and has had nothing to do since.
    is_woken: Cell<bool>,
    /// Whether it has left the bed that a bee is hired in. Until then there may be a post in its bed, which it takes before it goes to
    /// bed again.
    has_risen: Cell<bool>,
    /// Tasks, and joins whose second half it keeps, that it is in the middle of.
    depth: Cell<u32>,
    /// Whether it is not idle, as a bee: it looks for tasks, or is in the middle of one.
    is_looking: Cell<bool>,
    /// The turn, while its thread is in the queen's place for the sake of tasks and has not lent it to a region.
    turn: Cell<Option<Turned<'c>>>,
}

impl<'c> Hand<'c> {
    /// Member `id` of the crew, which is nowhere else.
    pub(crate) fn new(crew: &'c Crew, id: u32) -> Self {
        crew.hired.has_come(id);
        let slot = crew.slot(id);
        Self {
            crew,
            id,
            slot,
            own: Some(slot.desk.sit_down()),
            mark: crew.work.of(id),
            kept: Kept::new(),
            looks: Cell::new(0),
            is_counted: Cell::new(false),
            is_woken: Cell::new(false),
            has_risen: Cell::new(id == 0),
            depth: Cell::new(0),
            is_looking: Cell::new(false),
            turn: Cell::new(None),
        }
    }

    /// The queen of a crew between regions, whose turn it is.
    pub(crate) fn of_queen(crew: &'c Crew, turn: Turned<'c>) -> Self {
        let hand = Self::new(crew, 0);
        hand.turn.set(Some(turn));
        hand
    }

    /// Lends the turn, for a region, to `use_it`; None if there is none to lend, or the member is in the middle of a task or a join, which a bee may be waiting for.
    pub(crate) fn lend_turn<R>(&self, use_it: impl FnOnce(Option<&mut Turned<'c>>) -> R) -> R {
        struct Lent<'h, 'c>(&'h Cell<Option<Turned<'c>>>, Option<Turned<'c>>);
        impl Drop for Lent<'_, '_> {
            fn drop(&mut self) {
                self.0.set(self.1.take());
            }
        }
        if self.depth.get() > 0 {
            return use_it(None);
        }
        let mut lent = Lent(&self.turn, self.turn.take());
        use_it(lent.1.as_mut())
    }

    /// Begins what others may be waiting for: a task, or both halves of a join. Nothing unwinds between this and `leave`.
    #[inline(always)]
    pub(crate) fn enter(&self) {
        self.depth.set(self.depth.get() + 1);
    }

    /// Ends it.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        self.depth.set(self.depth.get() - 1);
    }

    /// Whether others may be waiting for what the member is in the middle of.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.id > 0 || self.depth.get() > 0
    }

    #[inline(always)]
    fn own(&self) -> &Worker<Task> {
        self.own.as_ref().expect("a hand in use")
    }

    pub(crate) fn crew(&self) -> &'c Crew {
        self.crew
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn slot(&self) -> &'c Slot {
        self.slot
    }

    /// Queues a task that any member may run.
    pub(crate) fn push(&self, task: Task) {
        // A queen alone runs it herself, or leaves it to a bee when she goes.
        if self.is_alone() {
            self.own().push(task);
            self.mark.has_pushed();
        } else {
            self.crew.post(self.id, Some(self.mark), || self.own().push(task));
        }
    }

    /// Whether it is the queen, without a bee that is not surplus.
    fn is_alone(&self) -> bool {
        self.id == 0 && self.crew.bees() == 1
    }

    /// Whether one more task can be kept. It can where fewer are kept than may be; else the oldest are shared if somebody has nothing to do.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        !self.kept.is_full() || self.share()
    }

    /// Keeps a task until somebody has nothing to do. Returns what `take_back` needs.
    #[inline(always)]
    pub(crate) fn keep(&self, task: Task) -> usize {
        self.kept.put(task)
    }

    /// Takes back the task that was kept last, unless it has been shared. Says whether it was there.
    #[inline(always)]
    pub(crate) fn take_back(&self, number: usize) -> bool {
        self.kept.take_back(number)
    }

    /// Shares tasks that are kept with those who have nothing to do. Says whether any.
    #[inline(always)]
    pub(crate) fn share(&self) -> bool {
        self.crew.sleep.is_anybody_inactive() && self.share_with(self.crew.sleep.inactive())
    }

    /// The same, but for one member at least: bees that have only just ended something are not counted among those who have nothing to do yet.
    pub(crate) fn share_at_once(&self) -> bool {
        self.share_with(self.crew.sleep.inactive().max(1))
    }

    /// Sees that as many tasks as there are `idle` members lie in its queue, as far as there are any: the oldest, which are the largest in a recursion.
    #[cold]
    fn share_with(&self, idle: u32) -> bool {
        if self.is_alone() {
            return false;
        }
        let _under_way = self.crew.posting();
        let wanted = (idle as usize).saturating_sub(self.own().len());
        let oldest = (0..wanted).map_while(|_| self.kept.take_oldest());
        let shared = oldest.map(|task| self.own().push(task)).count();
        if shared > 0 {
            self.crew.tell_of(shared as u32, self.id, Some(self.mark));
        }
        shared > 0
    }

    /// Gives what is still queued here to whoever has time. For a member that goes away.
    pub(crate) fn leave_tasks(&self) {
        while let Some(task) = self.own().pop() {
            self.crew.inject(task);
        }
    }

    /// A task to run: its own, by mail, from outside, or another member's where one may be.
    pub(super) fn find(&self) -> Option<Task> {
        self.find_by(Self::steal_where_marked)
    }

    /// The same, and it looks into the queues of all others, whatever is known of them.
    pub(super) fn find_thoroughly(&self) -> Option<Task> {
        self.find_by(Self::steal_anywhere)
    }

    fn find_by(&self, steal_from_others: impl Fn(&Self) -> Option<Task>) -> Option<Task> {
        // A forked child has the tasks that its parent had, and is not to run them.
        self.crew.policy().assert_at_home();
        let looks = self.looks.get().wrapping_add(1);
        self.looks.set(looks);
        // Step: elsewhere
        if looks.is_multiple_of(LOOKS_AT_HOME)
            && let Some(task) = self.find_elsewhere(looks / LOOKS_AT_HOME)
        {
            return Some(task);
        }
        // Step: told
        let told = if self.is_counted.get() { self.crew.sleep.told(self.id) } else { None };
        // Step: own
        // Step: mail
        let at_home = || self.own().pop().or_else(|| self.take_mail());
        // Step: where told
        let where_told = || match told {
            Some(Reason::WorkAt(other)) => self.steal_from(other),
            Some(Reason::Mail) | None => None,
        };
        // Step: inbox
        at_home().or_else(where_told).or_else(|| self.take_from_outside()).or_else(|| self.steal(told, steal_from_others))
    }

    /// A task from where a look that begins at home may never get to: one that spawns itself again for ever is always found before. The `turn` says where to begin,
    /// because what is found first here may come again for ever, too.
    #[cold]
    fn find_elsewhere(&self, turn: u32) -> Option<Task> {
        let places = [Self::take_mail, Self::take_from_outside, Self::take_own_oldest, Self::steal_anywhere];
        (0..places.len()).find_map(|place| places[(turn as usize + place) % places.len()](self))
    }

    fn take_mail(&self) -> Option<Task> {
        self.slot.desk.take_mail()
    }

    fn take_own_oldest(&self) -> Option<Task> {
        self.slot.desk.steal()
    }

    fn take_from_outside(&self) -> Option<Task> {
        self.take_some(|own| self.crew.inbox.take_some(own))
    }

    /// Looks into the others' queues, having looked at home and where it was told to.
    fn steal(&self, told: Option<Reason>, steal_from_others: impl Fn(&Self) -> Option<Task>) -> Option<Task> {
        if self.is_counted.get() {
            // Step: steal
            self.crew.sleep.steal(self.id, told);
        }
        // Step: others
        steal_from_others(self)
    }

    fn steal_where_marked(&self) -> Option<Task> {
        let work = &self.crew.work;
        if !work.is_another_marked(self.id, self.crew.hired.count()) {
            return None;
        }
        let mut marked = self.crew.others(self.id).filter(|(slot, _)| work.of(slot.id).is_set());
        marked.find_map(|(slot, distance)| self.steal_at(slot, distance))
    }

    fn steal_anywhere(&self) -> Option<Task> {
        self.crew.others(self.id).find_map(|(slot, distance)| self.steal_at(slot, distance))
    }

    fn steal_from(&self, other: u32) -> Option<Task> {
        let (slot, distance) = self.crew.others(self.id).find(|(slot, _)| slot.id == other)?;
        self.steal_at(slot, distance)
    }

    fn steal_at(&self, victim: &Slot, distance: Distance) -> Option<Task> {
        if victim.desk.is_bare() && self.crew.work.of(victim.id).is_bare(|| victim.desk.is_bare()) {
            return None;
        }
        let task = self.take_some(|own| victim.desk.steal_some(own))?;
        self.slot.tally.add(match distance {
            Distance::Core => Count::StealsInCore,
            Distance::Cluster => Count::StealsInCluster,
            Distance::Node => Count::StealsInNode,
            Distance::Far => Count::StealsFromFar,
        });
        self.crew.log(self.id, || Event::Steal { from: victim.id, distance: distance as u32 });
        Some(task)
    }

    /// Takes a task from where there may be many, and some of the others for later.
    fn take_some(&self, take: impl FnOnce(&Worker<Task>) -> Option<Task>) -> Option<Task> {
        let _under_way = self.crew.posting();
        let task = take(self.own())?;
        if !self.own().is_empty() {
            // While they were in neither queue, others may have looked in vain.
            self.crew.tell_of(1, self.id, Some(self.mark));
        }
        Some(task)
    }

    /// A task for a bee that is in none, if there is something that looks like one.
    pub(super) fn next_task(&self, seen: u64) -> Option<Task> {
        let is_at_home = || !self.own().is_empty() || self.crew.has_mail(self.slot);
        let is_there_one = self.crew.may_have_work_for(self.id) || is_at_home();
        let found = if is_there_one && self.look_for_tasks(seen) { self.find() } else { None };
        found.or_else(|| self.stop_looking())
    }

    /// Has a bee that is in no task, and has seen the regions up to `seen`, begin to look for tasks. Says no if it may not: it has
    /// to come to a region first. See `nested.rs`.
    pub(super) fn look_for_tasks(&self, seen: u64) -> bool {
        if !self.is_looking.get() {
            self.is_looking.set(self.crew.begins_to_look(self.slot, seen));
        }
        self.is_looking.get()
    }

    /// Runs what a bee does before its first region, as if it were a task: who must not wait for a task does not wait for this.
    pub(crate) fn while_busy(&self, work: impl FnOnce()) {
        self.slot.phase.set(Phase::InTask);
        self.enter();
        work();
        self.leave();
        self.slot.phase.set(Phase::Idle);
    }

    /// A bee that is in no task has found none. For others this does nothing.
    pub(super) fn stop_looking<T>(&self) -> Option<T> {
        if self.depth.get() == 0 && self.is_looking.replace(false) {
            self.slot.phase.set(Phase::Idle);
        }
        None
    }

    /// Runs a task, if there is one. Says whether.
    pub(crate) fn run_one(&self) -> bool {
        self.find().map(|task| self.run(task)).is_some()
    }

    pub(super) fn run(&self, task: Task) {
        self.work();
        self.slot.tally.add(Count::Tasks);
        self.slot.phase.set(Phase::InTask);
        self.enter();
        self.crew.note_task(self.id, || task.run());
        self.leave();
        // A child that was forked in it goes no further.
        self.crew.policy().assert_at_home();
        if self.depth.get() == 0 {
            // In the middle of its part of a region a bee has not begun to look, and would not say that it has stopped.
            self.slot.phase.set(if self.is_looking.get() { Phase::Looking } else { Phase::Idle });
        }
    }

    /// Counts the member off those who search, if it is counted: it has found work, goes to bed, or goes away.
    #[inline(always)]
    pub(super) fn work(&self) {
        if self.is_counted.get() {
            self.stop_searching();
        }
    }

    #[cold]
    fn stop_searching(&self) {
        let _under_way = self.crew.posting();
        self.is_counted.set(false);
        self.is_woken.set(false);
        self.slot.tally.set_searching(false);
        self.crew.log(self.id, || Event::Found);
        // Step: find
        if self.crew.sleep.find(self.id) {
            // Step: pass on
            self.crew.pass_on(self.id);
        }
    }

    /// Notes that it searches.
    #[inline(always)]
    pub(super) fn search(&self) {
        if self.crew.sleep.has_tasks() && !self.is_counted.replace(true) {
            self.slot.tally.set_searching(true);
            self.crew.log(self.id, || Event::Search);
            // Step: search
            self.crew.sleep.search(self.id);
        }
    }

    /// Notes that the member goes to bed.
    pub(super) fn lie_down(&self) {
        let tally = &self.slot.tally;
        tally.add(Count::Sleeps);
        tally.set_searching(false);
        if self.is_woken.get() {
            tally.add(Count::WakesForNothing);
        }
        self.slot.log.write(Event::Sleep);
    }

    /// Notes that it has got up, out of ASLEEP or out of PARKED, because somebody has woken it or by itself.
    pub(super) fn get_up(&self, was_asleep: bool, is_woken: bool) {
        if is_woken {
            self.slot.tally.add(Count::Wakes);
        }
        self.is_woken.set(is_woken && was_asleep);
        let log = &self.slot.log;
        if was_asleep {
            log.write(Event::Up { is_woken });
            self.slot.tally.set_searching(self.is_counted.get());
        } else {
            // It was parked where it lay, by whoever has marked when.
            log.write_as_marked(Event::Up { is_woken: false });
            log.write_as_marked(Event::Park);
            log.write(Event::Up { is_woken });
            log.write(Event::Found);
            // Who parked it has counted it off.
            self.is_counted.set(false);
            // Step: unpark
            self.crew.sleep.unpark(self.id);
        }
    }

    /// Runs tasks until `latch` is set; sleeps when there are none.
    pub(crate) fn work_until(&self, latch: &Latch) {
        self.work_until_found(latch, |_| false);
    }

    /// The same for the latch of a task that was kept and has been shared. If nobody has begun that, the member may find it among the tasks that
    /// it looks for. Then it is its own again: says whether it is.
    pub(crate) fn take_back_or_work(&self, shared: &Task, latch: &Latch) -> bool {
        self.work_until_found(latch, |task| task.is(shared))
    }

    fn work_until_found(&self, latch: &Latch, is_sought: impl Fn(&Task) -> bool) -> bool {
        let mut is_found = false;
        while !latch.is_set() && !is_found {
            match self.find().or_else(|| self.wait(latch)) {
                Some(task) if is_sought(&task) => is_found = true,
                Some(task) => self.run(task),
                None => break,
            }
        }
        self.work();
        is_found
    }

    /// Waits until there is a task, or `latch` is set.
    #[cold]
    fn wait(&self, latch: &Latch) -> Option<Task> {
        let mut patience = self.crew.policy().patience();
        if self.slot.state() != State::Surplus {
            // At once: others share their joins with those who are known to have nothing to do.
            self.search();
        }
        while !latch.is_set() {
            let found = if patience.poll_again() { self.find() } else { self.rest(|| latch.is_set()) };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Lies in the bed that a bee is hired in, until it is called for the first time. Nothing for one that has been
    /// called.
    ///
    /// A bee is hired parked, and has its start handler to run before it lies there. Meanwhile it may be called and so
    /// come to other states, and owes its bed a wait for the post of that; it must not go to bed again before.
    pub(super) fn rise(&self) {
        if !self.has_risen.replace(true) {
            self.work();
            self.lie_parked();
        }
    }

    /// Goes to bed in the middle of something, until there is something to do or `is_called`. Returns a task that is found on the way.
    fn rest(&self, is_called: impl Fn() -> bool) -> Option<Task> {
        if !self.has_risen.get() {
            // Whoever does what it waits for calls it, as it is parked; or has done so.
            self.rise();
            return None;
        }
        match self.slot.state() {
            // A surplus bee gives up its core here as elsewhere, and is called for what it waits for and for what only it may run.
            // Step: surplus
            State::Surplus => self.last_task().or_else(|| {
                self.park(is_called);
                None
            }),
            // Others are about to end what it waits for.
            // Step: dismissed
            State::Dismissed => {
                self.crew.policy().give_way();
                self.find()
            }
            _ => {
                // Step: sleep
                let found = self.go_to_sleep(is_called);
                self.slot.wake_up();
                found
            }
        }
    }

    /// What a surplus member still has to do: what only it may, and anything at all where it is the only one.
    pub(super) fn last_task(&self) -> Option<Task> {
        if !self.crew.sleep.has_tasks() {
            return None;
        }
        // Step: mail
        // Step: only one
        self.take_mail().or_else(|| if self.crew.bees() == 1 { self.find_thoroughly() } else { None })
    }
}

impl Drop for Hand<'_> {
    fn drop(&mut self) {
        self.work();
        if let Some(own) = self.own.take() {
            self.slot.desk.get_up(own);
        }
    }
}
