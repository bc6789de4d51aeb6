//! A member at work on tasks: its end of its deque, and what it does while it waits for something.

use std::cell::Cell;

use super::kept::Kept;
use super::latch::Latch;
use super::neighbours::Distance;
use super::sleep::Reason;
use super::slot::{Slot, State};
use super::task::Task;
use super::{Crew, Turned};
use crate::sync::{Count, Event, Worker};

/// A member that runs tasks, on its own thread.
pub(crate) struct Hand<'c> {
    crew: &'c Crew,
    id: u32,
    /// None only while this is dropped.
    own: Option<Worker<Task>>,
    kept: Kept,
    /// Whether it is counted among those without work.
    is_counted: Cell<bool>,
    /// Whether it was woken and has had nothing to do since.
    is_woken: Cell<bool>,
    /// Tasks, and joins whose second half it keeps, that it is in the middle of.
    depth: Cell<u32>,
    /// The turn, while its thread is in the queen's place for the sake of tasks and has not lent it to a region.
    turn: Cell<Option<Turned<'c>>>,
}

impl<'c> Hand<'c> {
    /// Member `id` of the crew, which is nowhere else.
    pub(crate) fn new(crew: &'c Crew, id: u32) -> Self {
        Self {
            crew,
            id,
            own: Some(crew.slot(id).desk.sit_down()),
            kept: Kept::new(),
            is_counted: Cell::new(false),
            is_woken: Cell::new(false),
            depth: Cell::new(0),
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
        self.crew.slot(self.id)
    }

    /// Queues a task that any member may run.
    pub(crate) fn push(&self, task: Task) {
        // A queen alone runs it herself, or leaves it to a bee when she goes.
        if self.id > 0 || self.crew.bees() > 1 {
            self.crew.post(self.id, || self.own().push(task));
        } else {
            self.own().push(task);
        }
    }

    /// Whether as many tasks are kept as may be.
    #[inline(always)]
    pub(crate) fn has_kept_enough(&self) -> bool {
        self.kept.is_full()
    }

    /// Keeps a task until somebody asks for work. Returns what `take_back` needs.
    #[inline(always)]
    pub(crate) fn keep(&self, task: Task) -> usize {
        self.kept.put(task)
    }

    /// Takes back the task that was kept last, unless it has been shared. Says whether it was there.
    #[inline(always)]
    pub(crate) fn take_back(&self, number: usize) -> bool {
        self.kept.take_back(number)
    }

    /// Shares the oldest task kept if somebody has nothing to do.
    #[inline(always)]
    pub(crate) fn share(&self) {
        if self.crew.sleep.is_anybody_inactive() && !self.kept.is_empty() {
            self.share_oldest();
        }
    }

    #[cold]
    fn share_oldest(&self) {
        // One at a time: who takes it looks for more when it is done.
        if self.own().is_empty()
            && let Some(task) = self.kept.take_oldest()
        {
            self.push(task);
        }
    }

    /// Gives what is still queued here to whoever has time. For a member that goes away.
    pub(crate) fn leave_tasks(&self) {
        while let Some(task) = self.own().pop() {
            self.crew.inject(task);
        }
    }

    /// A task to run: its own, by mail, from outside, or another member's.
    pub(super) fn find(&self) -> Option<Task> {
        let told = if self.is_counted.get() { self.crew.sleep.told(self.id) } else { None };
        let at_home = || self.own().pop().or_else(|| self.slot().desk.take_mail());
        let where_told = || match told {
            Some(Reason::WorkAt(other)) => self.steal_from(other),
            Some(Reason::Mail) | None => None,
        };
        let from_outside = || self.take_some(|own| self.crew.inbox.take_some(own));
        at_home().or_else(where_told).or_else(from_outside).or_else(|| self.steal())
    }

    fn steal(&self) -> Option<Task> {
        if self.is_counted.get() {
            self.crew.sleep.steal(self.id);
        }
        self.crew.others(self.id).find_map(|(slot, distance)| self.steal_at(slot, distance))
    }

    fn steal_from(&self, other: u32) -> Option<Task> {
        let (slot, distance) = self.crew.others(self.id).find(|(slot, _)| slot.id == other)?;
        self.steal_at(slot, distance)
    }

    fn steal_at(&self, victim: &Slot, distance: Distance) -> Option<Task> {
        if victim.desk.is_bare() {
            return None;
        }
        let task = self.take_some(|own| victim.desk.steal_some(own))?;
        self.slot().tally.add(match distance {
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
            self.crew.tell_of(1, self.id);
        }
        Some(task)
    }

    /// Runs a task, if there is one. Says whether.
    pub(crate) fn run_one(&self) -> bool {
        self.find().map(|task| self.run(task)).is_some()
    }

    pub(super) fn run(&self, task: Task) {
        self.work();
        self.slot().tally.add(Count::Tasks);
        self.enter();
        self.crew.note_task(self.id, || task.run());
        self.leave();
    }

    /// Notes that the member has something to do.
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
        self.slot().tally.set_searching(false);
        self.crew.log(self.id, || Event::Found);
        if self.crew.sleep.find(self.id) {
            self.crew.pass_on(self.id);
        }
    }

    /// Notes that it searches.
    #[inline(always)]
    pub(super) fn search(&self) {
        if self.crew.sleep.has_tasks() && !self.is_counted.replace(true) {
            self.slot().tally.set_searching(true);
            self.crew.log(self.id, || Event::Search);
            self.crew.sleep.search(self.id);
        }
    }

    /// Notes that the member goes to bed.
    pub(super) fn lie_down(&self) {
        let tally = &self.slot().tally;
        tally.add(Count::Sleeps);
        tally.set_searching(false);
        if self.is_woken.get() {
            tally.add(Count::WakesForNothing);
        }
        self.slot().log.write(Event::Sleep);
    }

    /// Notes that it has got up, out of ASLEEP or out of PARKED, because somebody has woken it or by itself.
    pub(super) fn get_up(&self, was_asleep: bool, is_woken: bool) {
        if is_woken {
            self.slot().tally.add(Count::Wakes);
        }
        self.is_woken.set(is_woken && was_asleep);
        let log = &self.slot().log;
        if was_asleep {
            log.write(Event::Up { is_woken });
            self.slot().tally.set_searching(self.is_counted.get());
        } else {
            // It was parked where it lay, by whoever has marked when.
            log.write_as_marked(Event::Up { is_woken: false });
            log.write_as_marked(Event::Park);
            log.write(Event::Up { is_woken });
            log.write(Event::Found);
            // Who parked it has counted it off.
            self.is_counted.set(false);
            self.crew.sleep.unpark(self.id);
        }
    }

    /// Runs tasks until `latch` is set; sleeps when there are none.
    pub(crate) fn work_until(&self, latch: &Latch) {
        while !latch.is_set() {
            match self.find().or_else(|| self.wait(latch)) {
                Some(task) => self.run(task),
                None => break,
            }
        }
        self.work();
    }

    /// Waits until there is a task, or `latch` is set.
    #[cold]
    fn wait(&self, latch: &Latch) -> Option<Task> {
        let mut patience = self.crew.policy().patience();
        // At once: others share their joins with those who are known to have nothing to do.
        self.search();
        while !latch.is_set() {
            let found = if patience.poll_again() { self.find() } else { self.rest(|| latch.is_set()) };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Goes to bed in the middle of something, until there is something to do or `is_called`. Returns a task that is found on the way.
    fn rest(&self, is_called: impl Fn() -> bool) -> Option<Task> {
        match self.slot().state() {
            // A surplus bee gives up its core here as elsewhere, and is called for what it waits for.
            State::Surplus => {
                self.park(is_called);
                None
            }
            // Others are about to end what it waits for.
            State::Dismissed => {
                self.crew.policy().give_way();
                None
            }
            _ => {
                let found = self.go_to_sleep(is_called);
                self.slot().wake_up();
                found
            }
        }
    }
}

impl Drop for Hand<'_> {
    fn drop(&mut self) {
        self.work();
        if let Some(own) = self.own.take() {
            self.crew.slot(self.id).desk.get_up(own);
        }
    }
}
