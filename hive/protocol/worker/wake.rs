//! Waking: all steps by which one thread ends the sleep of a bee, or leaves a wake to another bee. A bee sleeps in the
//! states ASLEEP and PARKED, blocked on its semaphore. Bees that are blocked at a barrier inside a region are not
//! meant here: `region/barrier.rs` wakes them.
//!
//! | who wakes | whom | when | function |
//! |---|---|---|---|
//! | the queen; a leader of groups | the workers of its groups | after a start, if any bee sleeps | `wake_if_asleep` |
//! | a worker woken for a region | its wake range | before anything else | `wake_region_range` |
//! | a thread that has queued tasks | sleepers, the nearest first | as many as the protocol says | `notify_of_jobs` |
//! | a worker woken for tasks | as many as it was asked to | before anything else | `wake_requested` |
//! | the last bee that searches | sleepers | when it stops, if tasks are queued | `replace_searcher` |
//! | a bee that parks, or a shrink that parks it | sleepers | after that, if tasks are queued | `notify_of_queued` |
//! | whoever queues a task in a hive of the queen alone | worker 1, which is parked | always | `wake_first_worker` |
//! | the first thread of a task pool | itself | as it begins, if tasks are queued | `wake_first_worker_of_lone_queen` |
//! | a thread that fills a mailbox or sets a latch | the owner | always | `wake_bee` |
//! | a bee that was parked in its last check | itself | if only it can do what there is | `wake_bee` |
//! | a bee that was parked in the middle of a wait | itself | for tasks, if a region waits | `wait_until_unparked` |
//! | a thread that makes the hive smaller | who sleeps in a wait | if a region waits for it | `make_surplus` |
//! | a sleeper of a hive with a poll interval | itself | if it finds something to do | `wait_until_unblocked` |
//! | a thread that makes the hive larger | the parked workers that it needs | always | `wake` |
//! | a thread that ends the hive | all workers that sleep | always | `Slot::unblock` |
//!
//! Why no wake is lost:
//!
//! - *The waker looks, or the bee does.* A waker first writes what the bee is needed for (the start word, a task, a
//!   latch), then executes a SeqCst fence, and then reads who sleeps. A bee that is about to block first counts itself
//!   and changes its state, then executes a SeqCst fence, and then looks for all of these things: this is its last
//!   check, in `TaskContext::go_to_sleep` and `TaskContext::park`. One of the two fences comes first. If it is the
//!   waker's, the last check finds what was written; if it is the bee's, the waker finds the bee.
//! - *One post for each sleep.* A bee leaves ASLEEP or PARKED by one compare-and-swap, which only one thread wins. If
//!   that is another thread than the bee, it posts the semaphore, once. (A shrink that makes a sleeper PARKED leaves it
//!   blocked, and posts nothing.) If the bee has not blocked yet, the semaphore keeps the post for it.
//! - *What is left to another bee is done by it, or is found by somebody else.* A wake range is given only to a worker
//!   that the giver itself has woken; the worker sees to it before anything else. A bee that queues a task may wake
//!   nobody because another bee searches; if that bee stops searching or parks, it looks at the queues after a fence
//!   of its own, and passes the wake on.
//!
//! The steps and the proofs are in `docs/resize.md` (C1, C2) and `docs/sleep.md` (P3 to P5, W1 to W3, Z9, F2).

use crate::protocol::Team;
use crate::protocol::region::body::BodyFn;
use crate::protocol::region::group_part::GroupPart;
use crate::protocol::region::start_line::StartWord;
use crate::protocol::worker::slot::{Slot, SlotState};
use crate::sync::{Event, EventKind, MAX_REGION_WAKES, Ordering, SleepBinding, fence};

/// The parts of cold regions that are known to be short are timed once in so many regions.
const REGIONS_PER_TIMING: u64 = 8;

/// What the start of a region has found.
#[derive(Clone, Copy)]
pub(crate) struct Sleepers {
    /// Whether any worker was asleep.
    pub(crate) some_asleep: bool,
    /// Whether the leader's part is to be timed.
    pub(crate) is_timed: bool,
}

/// What becomes of the binding of a worker that sleeps unbound, when it is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rebind {
    /// It is bound again before it runs.
    Yes,
    /// It runs unbound.
    No,
}

impl Slot {
    /// Wakes the bee by a post of its semaphore. The caller has won the change out of `from`, which is ASLEEP or
    /// PARKED, and calls this once.
    #[inline]
    pub(crate) fn unblock(&self, from: SlotState) {
        // Relaxed: the post of the semaphore publishes it, and the bee reads it after its wait.
        self.was_asleep.store(from == SlotState::Asleep, Ordering::Relaxed);
        // A bee that was asleep counts as searching from now on, before it runs. It cannot do this itself: until it
        // runs, it may be made surplus and reactivated again without knowing.
        self.counters.set_searching(from == SlotState::Asleep);
        self.semaphore.post();
    }

    /// Whether the bee was asleep, not parked, when it was last woken. The bee asks this after its wait.
    pub(crate) fn was_asleep(&self) -> bool {
        // Relaxed: the semaphore orders this after the store in `unblock`.
        self.was_asleep.load(Ordering::Relaxed)
    }

    /// Makes a bee that has been notified AWAKE. The bee calls this itself, once it runs again.
    pub(crate) fn finish_waking(&self) {
        if self.state() == SlotState::Notified {
            // If the change fails, another thread has just made the bee surplus, and the caller finds that state next.
            // Step: awake
            self.change(SlotState::Notified, SlotState::Awake);
        }
    }
}

// One bee.
impl Team {
    /// Wakes bee `id` if it is asleep or parked.
    ///
    /// A parked worker comes back as a surplus worker, does what it was woken for, and parks again. That happens if the
    /// hive has been made smaller since this region or loop was called, or if what the worker is woken for may be done
    /// by no other.
    pub(crate) fn wake_bee(&self, id: u32) {
        self.wake_bee_as(id, Rebind::Yes);
    }

    /// `wake_bee`; `rebind` says how the bee is bound when it runs.
    fn wake_bee_as(&self, id: u32, rebind: Rebind) {
        let slot = self.slot(id);
        slot.until_done(|state| match state {
            // Step: asleep
            SlotState::Asleep => self.wake_as(slot, SlotState::Asleep, SlotState::Notified, rebind),
            SlotState::Parked => {
                // Step: parked
                self.pending_parks.add_if(|| self.wake(slot, SlotState::Parked, SlotState::Surplus))
            }
            // It is awake, or its semaphore has been posted already. Before it sleeps again it looks at what it is
            // woken for.
            SlotState::Awake | SlotState::Notified | SlotState::Surplus => true,
            // It runs all tasks that are left before it ends.
            SlotState::Terminated => true,
        });
    }

    /// Wakes the bee of `slot` out of state `from`, ASLEEP or PARKED, into state `next`. Returns whether this caller
    /// did it; if not, the state was no longer `from`.
    pub(crate) fn wake(&self, slot: &Slot, from: SlotState, next: SlotState) -> bool {
        self.wake_as(slot, from, next, Rebind::Yes)
    }

    /// `wake`; `rebind` says how the bee is bound when it runs.
    #[inline]
    fn wake_as(&self, slot: &Slot, from: SlotState, next: SlotState, rebind: Rebind) -> bool {
        let _in_flight = self.track_in_flight();
        let won = self.begin_wake(slot, from, next);
        if won {
            if rebind == Rebind::Yes {
                self.bind_again(slot);
            }
            // Step: semaphore
            slot.unblock(from);
        }
        won
    }

    /// The first half of `wake`: changes the state of a blocked bee from `from` to `next`, and counts it as awake if it
    /// was asleep. Returns whether this caller made the change, and so owes the bee a call of `Slot::unblock`.
    #[inline]
    pub(crate) fn begin_wake(&self, slot: &Slot, from: SlotState, next: SlotState) -> bool {
        debug_assert!(from.is_blocked(), "a bee is not woken from {from:?}");
        // Step: state
        let won = slot.change(from, next);
        if won && from == SlotState::Asleep {
            // The waker counts, and does so before it posts the semaphore: the next thread that looks for a sleeper to
            // wake must not count on this one.
            // Step: uncount sleeper
            self.uncount_sleeper(slot);
        }
        won
    }

    /// Binds the bee of `slot` again if it sleeps unbound. Called by the thread that has ended its sleep and is about
    /// to post its semaphore, or by the bee itself.
    pub(crate) fn bind_again(&self, slot: &Slot) {
        self.end_visit(slot);
        let (binding, policy) = (&slot.sleep_binding, self.policy());
        let has_left = binding.has_left();
        if binding.is_unbound() && policy.may_bind_to(binding.bound()) && binding.bind_again() {
            if has_left { policy.note_return() } else { policy.uncount_unbound() }
        }
    }

    /// How the thread of bee `id` is bound.
    pub(crate) fn sleep_binding(&self, id: u32) -> &SleepBinding {
        &self.slot(id).sleep_binding
    }

    /// Whether all bees are in one group.
    pub(crate) fn are_in_one_group(&self) -> bool {
        self.fixed.shape.group_count() == 1
    }

    /// Whether it is the queen herself who wakes each worker for a region.
    pub(crate) fn are_woken_by_queen(&self) -> bool {
        self.are_in_one_group() && self.bees() as usize <= 1 + MAX_REGION_WAKES
    }

    /// Takes a bee off the counts of sleepers, both those of the queen and those of the sleep protocol. It has left
    /// ASLEEP, which the caller has brought about, or it has failed to get there.
    pub(crate) fn uncount_sleeper(&self, slot: &Slot) {
        // Step: occupancy
        self.occupancy.uncount_sleeper(slot.id);
        // Step: leave sleep
        self.sleep.count_woken(slot.id);
    }
}

// The workers of a region.
impl Team {
    /// Called after a start in the groups of `parts`, for a team of `bees` that runs `body`: makes sure that workers
    /// that are asleep come to the region. It wakes the workers that wait for starts in these groups. Those that lead
    /// further groups start them in turn.
    #[inline(always)]
    pub(crate) fn wake_if_asleep<'s, 'c: 's>(
        &'c self,
        word: StartWord,
        body: BodyFn,
        parts: impl IntoIterator<Item = &'s GroupPart<'c>>,
    ) -> Sleepers {
        if !self.is_any_asleep(word.bees()) {
            return Sleepers { some_asleep: false, is_timed: false };
        }
        let is_short = self.cold_parts.are_short(body.hash());
        // Where a worker sleeps unbound it also runs unbound, if that cannot be for long.
        self.wake_groups(parts, if is_short { Rebind::No } else { Rebind::Yes });
        // On a core that has been idle, to read the clock takes microseconds.
        Sleepers { some_asleep: true, is_timed: !is_short || word.epoch() % REGIONS_PER_TIMING == 0 }
    }

    /// Whether any worker of a team of `bees` bees, whose start word the caller has published, has to be woken. It need
    /// not be if the region is a loop: a leader then stands in for it. Either this sees that the worker is asleep, or
    /// the worker sees the start word before it sleeps.
    #[inline(always)]
    fn is_any_asleep(&self, bees: u32) -> bool {
        // SeqCst: pairs with the fences in `TaskContext::go_to_sleep` and `TaskContext::park`. Each worker that fell
        // asleep or parked without having seen the word is counted in what is read below: either its fence comes first,
        // and then so do its counts, or this one does, and then the worker's last check sees the word.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: occupancy
        !self.occupancy.all_awake(bees)
    }

    /// Makes sure that each worker of these groups, as far as it has a part in the team just started, comes to the
    /// region.
    #[cold]
    fn wake_groups<'s, 'c: 's>(&'c self, parts: impl IntoIterator<Item = &'s GroupPart<'c>>, rebind: Rebind) {
        for part in parts {
            // The first bee of the group is its leader, and is the caller.
            let bees = &self.fixed.shape.bees_of(part.group_id)[..part.bees as usize];
            self.log(bees[0], || Event::begin(EventKind::Wake));
            self.wake_bees(&bees[1..], rebind);
            self.log(bees[0], || Event::end(EventKind::Wake));
        }
        // The calling thread is about to run its own part, and must not stay on a CPU that a worker needs. After the
        // wake-ups, not before: on a core that has been idle each step takes long, and meanwhile the workers wake up.
        self.policy().give_way_to_workers();
        // For a worker that comes too late for a loop (`note_late_arrival`): a body known to be short is not a loop's.
        if rebind == Rebind::Yes {
            self.policy().note_waker();
        }
    }

    /// Wakes those of these bees that sleep. They are of one group, with ascending ids. If there are many, they are
    /// woken as by a tree: a worker that was asleep wakes half of the others.
    fn wake_bees(&self, mut bees: &[u32], rebind: Rebind) {
        while bees.len() > MAX_REGION_WAKES {
            let (near, far) = bees.split_at(bees.len() / 2);
            if !self.delegate_wakes(far) {
                self.wake_bees(far, rebind);
            }
            bees = near;
        }
        bees.iter().for_each(|&id| self.wake_bee_as(id, rebind));
    }

    /// If the first of these bees of one group is asleep, wakes it and delegates to it the waking of the others.
    /// Returns whether that has been done.
    fn delegate_wakes(&self, bees: &[u32]) -> bool {
        let (&[id, ..], &[.., last]) = (bees, bees) else { return true };
        let slot = self.slot(id);
        if slot.state() != SlotState::Asleep {
            return false;
        }
        // Written before the change of state, which hands it on to the worker.
        slot.wake_range.set(last + 1);
        let is_woken = self.wake(slot, SlotState::Asleep, SlotState::Notified);
        if !is_woken {
            // Another thread has woken the worker. The delegation is taken back, so that the worker does not find it at
            // a later wake-up.
            slot.wake_range.take();
        }
        is_woken
    }

    /// Called by a worker that has been woken, before it does anything else: wakes the bees that its waker has
    /// delegated to it.
    pub(crate) fn wake_region_range(&self, slot: &Slot) {
        let end = slot.wake_range.take();
        if end > 0 {
            // They are the bees after this one in its group, up to the id `end`.
            let bees = self.fixed.shape.bees_of(self.fixed.shape.start_group(slot.id));
            let from = |id| bees.partition_point(|&bee| bee < id);
            self.wake_bees(&bees[from(slot.id + 1)..from(end)], Rebind::Yes);
        }
    }
}
