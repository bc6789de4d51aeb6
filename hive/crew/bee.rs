//! A bee's life: poll for a start, run its part, arrive; sleep when nothing has come for a while; park when it is surplus.

use super::slot::{Slot, State};
use super::{Crew, Member};
use crate::sync::{Hold, Ordering, fence};

/// The life of a bee: member `id` of the crew, on a thread of its own.
pub(crate) struct Life<'c> {
    crew: &'c Crew,
    slot: &'c Slot,
    id: u32,
    /// The epoch of the last region that this bee knows of. It starts as the epoch at which the bee was hired, not as whatever the
    /// thread finds when it gets going: that may already be the first region it has a part in.
    seen: u64,
    hold: Hold,
}

impl<'c> Life<'c> {
    /// The bee that was hired as `id` when the crew had come to the region `hired_at`.
    pub(crate) fn new(crew: &'c Crew, id: u32, hired_at: u64) -> Self {
        Self { crew, slot: crew.slot(id), id, seen: hired_at, hold: Hold::new() }
    }

    /// Lives until dismissed.
    pub(crate) fn live(mut self) {
        // Bees are hired parked.
        self.rest();
        let mut patience = self.crew.policy().patience();
        loop {
            if let Some(team) = self.called() {
                self.run_part(team);
                self.hold.keep();
                patience = self.crew.policy().patience();
            } else if !self.slot.is_awake() {
                if self.follow_state().is_break() {
                    return;
                }
                patience = self.crew.policy().patience();
            } else if !patience.poll_again() {
                self.sleep();
            }
        }
    }

    /// The team that a new region calls this bee to. Regions that do not are remembered and nothing else: they do not keep
    /// the bee awake.
    #[inline(always)]
    fn called(&mut self) -> Option<u32> {
        let word = self.crew.signal.look();
        let called = word.calls(self.id, self.seen);
        self.seen = word.epoch();
        called.then_some(word.team())
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "runs the caller's closure, which the start signal lends")]
    fn run_part(&self, team: u32) {
        // SAFETY: the word just seen calls this bee, which arrives below.
        let order = unsafe { self.crew.signal.order() };
        let member = Member::new(self.crew, self.id, team, order.base);
        // SAFETY: the queen keeps the closure alive until every member of the team has arrived.
        self.crew.perform(&member, || unsafe { order.job.run(&member) });
        self.crew.arrive(&member);
    }

    /// Does what a state other than AWAKE asks for. Break: the bee is dismissed.
    #[cold]
    fn follow_state(&mut self) -> std::ops::ControlFlow<()> {
        match self.slot.state() {
            State::Notified => {
                // If this fails, somebody has just made the bee surplus; it looks again.
                self.slot.change(State::Notified, State::Awake);
            }
            State::Surplus => self.park(),
            State::Dismissed => return std::ops::ControlFlow::Break(()),
            // AWAKE again: the order to park was cancelled.
            State::Awake => {}
            state @ (State::Asleep | State::Parked) => unreachable!("bee {} is up and {state:?}", self.id),
        }
        std::ops::ControlFlow::Continue(())
    }

    /// Gives up the core until a region needs this bee.
    #[cold]
    fn sleep(&self) {
        self.crew.attendance.falls_asleep();
        if !self.slot.change(State::Awake, State::Asleep) {
            self.crew.attendance.is_up();
            return;
        }
        // A region published before the queen's fence is seen below; one published after it has a queen who sees this sleeper.
        // Pairs with the fence in `Crew::start`.
        fence(Ordering::SeqCst);
        if self.is_called() {
            if self.slot.change(State::Asleep, State::Awake) {
                self.crew.attendance.is_up();
                return;
            }
            // Somebody else has ended this sleep. If it was a shrink, the bee lies parked where it is, and the queen may have looked
            // before there was a sleeper to see: the bee calls itself, and takes the post below.
            self.crew.call(self.id);
        }
        self.rest();
    }

    /// Gives up the core until the hive grows again.
    #[cold]
    fn park(&self) {
        if !self.slot.change(State::Surplus, State::Parked) {
            return;
        }
        // As in `sleep`: pairs with the fence in `Crew::start`.
        fence(Ordering::SeqCst);
        if self.is_called() && self.slot.change(State::Parked, State::Surplus) {
            // Still counted as not yet tucked in.
            return;
        }
        self.crew.untucked.remove();
        self.rest();
    }

    /// The last look before sleeping: at everything from outside that this bee would have to wake for and that does not come through its
    /// own state.
    fn is_called(&self) -> bool {
        self.crew.signal.look().calls(self.id, self.seen)
    }

    fn rest(&self) {
        self.crew.policy().off_core(|| self.slot.bed.wait());
    }
}
