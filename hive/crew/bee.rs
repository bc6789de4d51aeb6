//! A bee's life: poll for a start, run its part, arrive; run tasks in between; sleep when nothing has come for a while; park when it is
//! surplus.

use std::ops::ControlFlow;

use super::group::Group;
use super::hand::Hand;
use super::lead::{Lead, Section};
use super::signal::{Order, Signal, StartWord};
use super::slot::{Slot, State};
use super::task::Task;
use super::{AbortOnUnwind, Crew, Member};
use crate::sync::{Activity, Count, Hold};

/// The life of a bee: member `id` of the crew, on a thread of its own.
pub(crate) struct Life<'h, 'c> {
    crew: &'c Crew,
    slot: &'c Slot,
    id: u32,
    /// The epoch of the last region that this bee knows of. It starts as the epoch at which the bee was hired, not as whatever the
    /// thread finds when it gets going: that may already be the first region it has a part in.
    seen: u64,
    hold: Hold,
    /// The group in which it hears of regions.
    group: u32,
    lines: &'c Group,
    signal: &'c Signal,
    /// Whether that is the only one.
    is_alone: bool,
    /// Those to which it passes them on.
    lead: Lead,
    /// What it runs tasks with.
    hand: &'h Hand<'c>,
}

impl<'h, 'c> Life<'h, 'c> {
    /// The bee whose `hand` it is, hired when the crew had come to the region `hired_at`.
    pub(crate) fn new(hand: &'h Hand<'c>, hired_at: u64) -> Self {
        let (crew, id) = (hand.crew(), hand.id());
        let group = crew.settled.shape.listens(id);
        let (lines, lead) = (crew.group(group), Lead::new(&crew.settled.shape, id));
        let is_alone = crew.settled.shape.count() == 1;
        Self {
            crew,
            slot: crew.slot(id),
            id,
            seen: hired_at,
            hold: Hold::new(),
            group,
            lines,
            signal: lines.signal(),
            is_alone,
            lead,
            hand,
        }
    }

    /// Lives until dismissed.
    pub(crate) fn live(mut self) {
        self.hand.rise();
        let policy = self.crew.policy();
        let (mut patience, mut relaxations) = (policy.patience(), policy.relaxations());
        loop {
            if let Some(word) = self.called() {
                self.hand.work();
                // Who hears that the part has ended, and relaxes the hive then, means this bee as well.
                relaxations = policy.relaxations();
                self.run_part(word);
                self.hold.keep();
            } else if !self.slot.is_awake() {
                if self.follow_state().is_break() {
                    return;
                }
            } else if patience.looks_around()
                && let Some(task) = self.look_around(patience.is_hot())
            {
                self.hand.run(task);
                (patience, relaxations) = (policy.patience_after_task(), policy.relaxations());
                continue;
            } else if patience.poll_again() {
                continue;
            } else if let Some(task) = self.sleep() {
                self.hand.run(task);
                relaxations = policy.relaxations();
            } else if self.slot.is_awake() && !self.is_called() {
                // Something has been posted meanwhile: once more, without waiting as long again.
                continue;
            } else {
                relaxations = policy.relaxations();
            }
            patience = policy.patience_since(relaxations);
        }
    }

    /// The team that a new region calls this bee to. Regions that do not are remembered and nothing else: they do not keep
    /// the bee awake.
    #[inline(always)]
    fn called(&mut self) -> Option<StartWord> {
        let word = self.signal.look();
        let called = word.calls(self.id, self.seen);
        self.seen = word.epoch();
        called.then_some(word)
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "reads what the start signal lends")]
    fn run_part(&mut self, word: StartWord) {
        // SAFETY: the word just seen calls this bee, which leaves below.
        let order = unsafe { self.signal.order() };
        let team = word.team();
        if !self.is_alone {
            return self.run_in_groups(word, order);
        }
        let muster = self.lines.muster(self.signal, team);
        let own = Section { group: self.group, size: team, is_gathered: false, base: order.base, muster };
        let member = Member::new(self.crew, self.id, team, word.epoch(), own);
        self.perform(order, &member);
        self.crew.arrive(&own, &member);
    }

    /// Runs the part of one in a hive of several groups.
    // Apart: inlined, it would slow the other down, which is all of a small machine.
    #[inline(never)]
    fn run_in_groups(&mut self, word: StartWord, order: Order) {
        let (crew, team) = (self.crew, word.team());
        let own = crew.part_of(self.group, self.lines, team, order.base);
        let member = Member::new(crew, self.id, team, word.epoch(), own);
        if self.lead.is_idle() {
            self.perform(order, &member);
            return crew.arrive(&own, &member);
        }
        let intact = AbortOnUnwind::new("between the start of a group and its end");
        let led = self.lead.open(crew, team);
        let late = crew.start_led(word, order, self.group, &led);
        let member = member.leading(&led);
        self.perform(order, &member);
        crew.close(&mut self.lead, &member, late);
        crew.arrive(&own, &member);
        intact.disarm();
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "runs the caller's closure, which the start signal lends")]
    fn perform(&mut self, order: Order, member: &Member<'_>) {
        self.crew.note(self.id, || Activity::Part(0));
        // SAFETY: the queen has laid a part for this job there, or told of one, and takes it back when every member of the team has left.
        self.crew.perform(member, || unsafe { order.job.run(&self.signal.berth, member) });
        self.slot.tally.add(Count::Regions);
        self.crew.note(self.id, || Activity::Left);
    }

    /// Looks for a task. A bee that has only just begun to wait is not counted among those without work: a region may be next.
    fn look_around(&self, is_hot: bool) -> Option<Task> {
        if !self.crew.sleep.has_tasks() {
            return None;
        }
        if !is_hot {
            self.hand.search();
        }
        self.hand.next_task(self.seen)
    }

    /// Does what a state other than AWAKE asks for. Break: the bee is dismissed.
    #[cold]
    fn follow_state(&mut self) -> ControlFlow<()> {
        // As in `Hand::find`; and in a forked child nobody would call the bee to get up again.
        self.crew.policy().assert_at_home();
        match self.slot.state() {
            // Step: notified
            State::Notified => self.slot.wake_up(),
            // Step: surplus
            State::Surplus => match self.last_task() {
                Some(task) => self.hand.run(task),
                None => self.hand.park(|| self.is_called()),
            },
            // Step: dismissed
            State::Dismissed => {
                self.finish_tasks();
                return ControlFlow::Break(());
            }
            // AWAKE again: the order to park was cancelled.
            State::Awake => {}
            state @ (State::Asleep | State::Parked) => unreachable!("bee {} is up and {state:?}", self.id),
        }
        ControlFlow::Continue(())
    }

    /// What a surplus bee that is in no task still has to do.
    fn last_task(&self) -> Option<Task> {
        let may_look = self.crew.sleep.has_tasks() && self.hand.look_for_tasks(self.seen);
        if may_look { self.hand.last_task().or_else(|| self.hand.stop_looking()) } else { None }
    }

    /// Runs what is still queued when the hive ends.
    fn finish_tasks(&self) {
        if self.crew.sleep.has_tasks() {
            // Step: find
            while let Some(task) = self.hand.find_thoroughly() {
                self.hand.run(task);
            }
        }
    }

    /// Gives up the core until a region or a task needs this bee.
    fn sleep(&self) -> Option<Task> {
        if !self.hand.look_for_tasks(self.seen) {
            // The region is about to start.
            self.crew.policy().give_way();
            return None;
        }
        self.hand.go_to_sleep(|| self.is_called()).or_else(|| self.hand.stop_looking())
    }

    /// The last look before sleeping: at everything from outside that this bee would have to wake for and that comes neither through its
    /// own state nor as a task.
    fn is_called(&self) -> bool {
        self.signal.look().calls(self.id, self.seen)
    }
}
