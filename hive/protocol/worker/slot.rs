//! A bee's slot: everything about one bee that other threads read or write. It holds the state of the bee, the
//! semaphore that the bee blocks on, its task queues, and what it shows to others. The state is one word, changed by
//! compare-and-swap only. The protocol is described in `docs/resize.md`.
//!
//! ```text
//!               bee falls asleep; undone by its last check
//!          ┌─────────────────────────────────────────────┐
//!          │                                             ▼
//!       AWAKE ◄───── bee ───── NOTIFIED ◄── waker ──── ASLEEP
//!        ▲  │                   │  ▲                     │
//!  grow, │  └──────┐   ┌────────┘  └──────┐              │
//! cancels│  shrink ▼   ▼ shrink      grow │       shrink │
//!        └──────── SURPLUS ──── bee ───► PARKED ◄────────┘
//!                     ▲ ◄── waker ──────── │
//!                     └── undone by its last check
//! ```
//!
//! TERMINATED, the end, is reached from every state. The waker is the queen of a region, a bee that has queued tasks,
//! or a bee that has set a latch.
//!
//! A bee waits on its semaphore in the states ASLEEP and PARKED. A thread other than the bee itself that takes the bee
//! out of one of these (except from ASLEEP to PARKED, which leaves the bee where it is) posts the semaphore. It posts
//! exactly once, because only one thread wins the compare-and-swap. In the middle of a region a bee also waits on its
//! semaphore at a barrier, and the leader of a group at the end of the region; who owes the post there is decided by
//! `blocked_at_barrier` and by a flag in the barrier's word (`region/barrier.rs`). A bee waits for one of these things
//! at a time, so the semaphore never holds more than one permit, and never one left over from an earlier wait.

use crossbeam_utils::CachePadded;

use crate::protocol::region::exchange_slots::ExchangeSlots;
use crate::protocol::region::signal::Signal;
use crate::protocol::tasks::pool_rules::PoolRules;
use crate::protocol::tasks::queues::LocalQueues;
use crate::protocol::worker::availability::Availability;
use crate::protocol::worker::wake_range::{WakeRange, WakeRequest};
use crate::sync::{
    ActivityCell, AtomicBool, AtomicU32, BeeCounters, Event, EventKind, Log, Ordering, Semaphore, SleepBinding,
    WaitPolicy,
};

/// The states of a bee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum SlotState {
    /// The bee polls for a start, or it is at work.
    Awake = 0,
    /// The bee is blocked on its semaphore until a region or a task needs it, or is about to block there.
    Asleep = 1,
    /// Another thread has woken the bee, and the bee has not run since.
    Notified = 2,
    /// The bee does not belong to the hive's present size. It parks as soon as it has nothing left to run. Until then
    /// it is counted in `bees_not_yet_tucked_in`.
    Surplus = 3,
    /// The bee is blocked on its semaphore until the hive grows again, or is about to block there. It may be woken
    /// meanwhile for something that no other bee can do; it is SURPLUS then.
    Parked = 4,
    /// The bee is to end its thread.
    Terminated = 5,
}

impl SlotState {
    /// All states, each at the place of its number.
    const ALL: [Self; 6] = [Self::Awake, Self::Asleep, Self::Notified, Self::Surplus, Self::Parked, Self::Terminated];

    /// Whether the bee is blocked on its semaphore, or about to be, so that another thread that ends this state owes
    /// the semaphore a post.
    pub(crate) fn is_blocked(self) -> bool {
        matches!(self, Self::Asleep | Self::Parked)
    }

    /// Whether the diagram above has an arrow from this state to `next`.
    fn may_become(self, next: Self) -> bool {
        use SlotState::{Asleep, Awake, Notified, Parked, Surplus, Terminated};
        matches!(
            (self, next),
            (Awake, Asleep | Surplus)
                | (Asleep, Awake | Notified | Parked)
                | (Notified, Awake | Surplus)
                | (Surplus, Awake | Parked)
                | (Parked, Surplus | Notified)
                | (_, Terminated)
        )
    }
}

/// What a worker that is in no region does about tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum TaskPhase {
    /// Nothing. Before it looks for a task it must look for announcements.
    Idle = 0,
    /// It looks for a task. Soon it will be in one, or be idle again.
    Looking = 1,
    /// It is in the middle of a task.
    InTask = 2,
}

/// One bee's place in the team. Slot 0 is the queen's: it is used by the thread that leads a region or runs tasks in
/// the queen's place.
#[repr(align(128))]
pub(crate) struct Slot {
    /// The number of the bee, which is the index of this slot in the `SlotTable`.
    pub(crate) id: u32,
    /// A `SlotState`. It is written by the bee itself, by the thread that resizes the hive, and by every thread that
    /// wakes the bee, always through `change`.
    state: AtomicU32,
    /// Whether the bee is blocked, or about to block, at a barrier inside a region. The bee sets it; the thread that
    /// clears it owes the semaphore a post, or is the bee itself and does not block. See `region/barrier.rs`.
    pub(crate) blocked_at_barrier: AtomicBool,
    /// Whether the bee, a worker, is there to see the start of a region. See `availability.rs`.
    pub(crate) availability: Availability,
    /// How the bee, a worker, is bound while it sleeps.
    pub(crate) sleep_binding: SleepBinding,
    /// What the bee blocks on: asleep, parked, at a barrier, or at the end of a region.
    pub(crate) semaphore: Semaphore,
    /// Whether the last wake took the bee out of ASLEEP rather than out of PARKED. The waker writes it before it posts
    /// the semaphore, and the bee reads it after its wait.
    pub(super) was_asleep: AtomicBool,
    /// Which other bees this bee has to wake for a region as soon as it has been woken itself.
    pub(crate) wake_range: WakeRange,
    /// Who has woken the bee for the sake of tasks, if that was the reason, and how many others it is asked to wake.
    pub(crate) wake_request: WakeRequest,
    /// A `TaskPhase`, at first `Idle`. Only the bee writes it; a thread that announces a region reads it: see
    /// `region/announcement.rs`.
    phase: AtomicU32,
    /// The bee's own task queues.
    pub(crate) queues: LocalQueues,
    /// The values that the bee shows to the other bees of its region in collective operations.
    pub(crate) exchange_slots: ExchangeSlots,
    /// How far the bee has come in its region, for others that wait for it. In a cache line of its own, which these
    /// poll.
    pub(crate) signal: CachePadded<Signal>,
    /// How often the bee has done what is counted for `Hive::stats`.
    pub(crate) counters: CachePadded<BeeCounters>,
    /// What the bee is doing, in a hive with a watchdog.
    pub(crate) activity: ActivityCell,
    /// What the bee has done and when, in a hive that is traced.
    pub(crate) log: CachePadded<Log>,
}

impl Slot {
    /// The slot of bee `id`, with empty queues, in state `state`: AWAKE for the queen, PARKED for a worker that is
    /// about to be hired. `pool_rules`: those of the task pool that the bee belongs to, if it does.
    pub(crate) fn new(id: u32, state: SlotState, pool_rules: Option<PoolRules>) -> Self {
        Self {
            id,
            state: AtomicU32::new(state as u32),
            blocked_at_barrier: AtomicBool::new(false),
            availability: Availability::default(),
            sleep_binding: SleepBinding::default(),
            semaphore: Semaphore::new(),
            was_asleep: AtomicBool::new(false),
            wake_range: WakeRange::default(),
            wake_request: WakeRequest::default(),
            phase: AtomicU32::default(),
            queues: LocalQueues::new(pool_rules.is_some_and(|rules| rules.is_breadth_first)),
            exchange_slots: ExchangeSlots::new(),
            signal: CachePadded::default(),
            counters: CachePadded::default(),
            activity: ActivityCell::default(),
            log: CachePadded::default(),
        }
    }

    /// Whether the state is AWAKE. The main loop asks this in every round.
    #[inline(always)]
    pub(crate) fn is_awake(&self) -> bool {
        // Relaxed: the bee polls this. When it finds another state it reads it again with `state` and acts on it by
        // `change`.
        self.state.load(Ordering::Relaxed) == SlotState::Awake as u32
    }

    /// The state as it is now. It may change at any moment.
    pub(crate) fn state(&self) -> SlotState {
        // Relaxed: a caller that acts on the state does so by `change`, which succeeds only if the state is still the
        // same.
        SlotState::ALL[self.state.load(Ordering::Relaxed) as usize]
    }

    /// Changes the state from `from` to `to` if it is `from`, and returns whether it was. If it was, no other thread
    /// has made this change, and the caller owes whatever the transition requires: a post, or a change of a count.
    pub(crate) fn change(&self, from: SlotState, to: SlotState) -> bool {
        debug_assert!(from.may_become(to), "a bee does not go from {from:?} to {to:?}");
        // AcqRel: pairs with itself. Each change of a bee's state passes on to the next one what was done before it.
        // Failure is Relaxed: a caller that fails reads the state again, or waits on its semaphore.
        self.state.compare_exchange(from as u32, to as u32, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Calls `step` with the state, again and again, until it returns true. It returns false if it has tried to change
    /// the state and another thread was faster: then the state that it was given is out of date.
    #[inline(always)]
    pub(super) fn until_done(&self, step: impl Fn(SlotState) -> bool) {
        while !step(self.state()) {}
    }

    /// Sets the phase of the calling bee.
    pub(crate) fn set_phase(&self, phase: TaskPhase) {
        // Relaxed: the one change that has to be ordered, to `Looking`, is ordered by the fence in
        // `Team::try_mark_looking`.
        self.phase.store(phase as u32, Ordering::Relaxed);
    }

    pub(crate) fn phase(&self) -> TaskPhase {
        // Relaxed: the fence in `Team::try_announce_region` orders this load after the announcement.
        [TaskPhase::Idle, TaskPhase::Looking, TaskPhase::InTask][self.phase.load(Ordering::Relaxed) as usize]
    }

    /// Whether the bee is in the middle of a task, as far as another thread can tell.
    pub(crate) fn is_in_task(&self) -> bool {
        self.phase() == TaskPhase::InTask
    }

    /// Blocks in the middle of a region until another thread posts the semaphore. Called by a bee at a barrier and by
    /// the leader of a group at the end of a region. A worker is not counted among the threads that want a core
    /// meanwhile (`sys/wait.rs`), so that bees of other hives go on polling.
    pub(crate) fn block_at_barrier(&self, policy: &WaitPolicy) {
        // A forked child has no bees that would post.
        policy.abort_if_forked();
        self.log.write(Event::begin(EventKind::Block));
        policy.while_off_core(|| self.semaphore.wait());
        self.log.write(Event::resume(true));
    }

    /// Whether the bee runs, or would if it had a CPU: it does not sleep anywhere.
    pub(crate) fn wants_cpu(&self) -> bool {
        let may_run = matches!(self.state(), SlotState::Awake | SlotState::Notified | SlotState::Surplus);
        // Relaxed: a hint; it may read what `Barrier::block` or `wake_blocked` has written.
        may_run && !self.blocked_at_barrier.load(Ordering::Relaxed)
    }

    /// Makes the bee TERMINATED, whatever its state, and returns the state that it had. If that state was blocked
    /// (`is_blocked`), the caller owes the bee a call of `unblock`.
    pub(crate) fn terminate(&self) -> SlotState {
        loop {
            // Another thread may change the state between the two; then this tries again with the new one.
            let state = self.state();
            if state == SlotState::Terminated || self.change(state, SlotState::Terminated) {
                return state;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_of_two_changes_of_a_state_succeeds() {
        let slot = Slot::new(1, SlotState::Parked, None);
        assert!(slot.change(SlotState::Parked, SlotState::Notified));
        assert!(!slot.change(SlotState::Parked, SlotState::Notified));
        assert_eq!(slot.state(), SlotState::Notified);
    }

    #[test]
    fn whoever_unblocks_a_bee_says_which_state_it_was_in() {
        for (from, was_asleep) in [(SlotState::Asleep, true), (SlotState::Parked, false)] {
            let slot = Slot::new(1, from, None);
            assert_eq!(slot.terminate(), from);
            assert!(from.is_blocked());
            slot.unblock(from);
            slot.semaphore.wait();
            assert_eq!((slot.was_asleep(), slot.state()), (was_asleep, SlotState::Terminated));
        }
    }

    #[test]
    #[should_panic(expected = "does not go from Awake to Parked")]
    #[cfg(debug_assertions)]
    fn a_transition_that_is_not_in_the_diagram_is_refused() {
        Slot::new(1, SlotState::Awake, None).change(SlotState::Awake, SlotState::Parked);
    }
}
