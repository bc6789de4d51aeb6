//! The protocol by which a queen and her bees start, meet, sleep, park and end.
//!
//! Nothing here knows of threads, places or clocks: all that is shared comes through [`crate::sync`], so that the models
//! under `tests/models/` run these very files. The protocols, step by step and with their proofs, are in `docs/`:
//! `start.md`, `leader-lock.md`, `barrier.md`, `resize.md`, `sleep.md`, `waits.md`, `collectives.md`.

pub(crate) mod abort_on_unwind;
pub(crate) mod neighbours;
pub(crate) mod region;
pub(crate) mod tasks;
pub(crate) mod waiting_hive;
pub(crate) mod worker;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_utils::CachePadded;

use crate::protocol::neighbours::{Distance, Neighbours};
use crate::protocol::region::announcement::AnnouncedRegion;
use crate::protocol::region::barrier::Barrier;
use crate::protocol::region::deadlock::DeadlockDetector;
use crate::protocol::region::groups::Group;
use crate::protocol::region::leader_lock::{LeaderGuard, LeaderLock};
use crate::protocol::region::line_choice::LineChoice;
use crate::protocol::region::panics::{Payload, RegionPanics};
use crate::protocol::region::poison::Poison;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::shape::Shape;
use crate::protocol::region::single::SingleClaim;
use crate::protocol::region::start_line::{MAX_BEES, StartLine};
use crate::protocol::region::tree::{GroupPart, Tree};
use crate::protocol::tasks::deque_marks::DequeMarks;
use crate::protocol::tasks::queues::TaskInjector;
use crate::protocol::tasks::sleep::Sleep;
use crate::protocol::tasks::task::Task;
use crate::protocol::worker::hired::Hired;
use crate::protocol::worker::occupancy::Occupancy;
use crate::protocol::worker::pending_parks::PendingParks;
use crate::protocol::worker::resize::ResizeState;
use crate::protocol::worker::slot::{Slot, SlotState};
use crate::protocol::worker::slot_table::SlotTable;
use crate::protocol::worker::snapshot::Instrumentation;
use crate::sync::{BeeCounters, InFlight, Log, MAX_LOG_ENTRIES, Mutex, WaitPolicy, next_team_number, within_region};

/// What a hive's bees share.
pub(crate) struct Team {
    /// In lines of its own: the queen writes it in every region.
    leader_lock: CachePadded<LeaderLock<Tree>>,
    occupancy: Occupancy,
    sleep: CachePadded<Sleep>,
    /// Tasks from outside.
    injector: TaskInjector,
    /// Whose deques may have others.
    deque_marks: DequeMarks,
    pending_parks: PendingParks,
    resize_state: Mutex<ResizeState>,
    announced_region: AnnouncedRegion,
    hired: Hired,
    panics: RegionPanics,
    poison: Poison,
    single_claim: SingleClaim,
    deadlock_detector: DeadlockDetector,
    /// In a hive whose sleepers look for work by themselves.
    in_flight: Option<InFlight>,
    fixed: CachePadded<Fixed>,
}

/// What does not change any more; every bee reads it in every region.
struct Fixed {
    policy: WaitPolicy,
    /// One a bee, made when it is hired; the queen's is there from the start.
    slots: SlotTable,
    neighbours: Neighbours,
    shape: Shape,
    /// One a group of the shape.
    groups: Box<[Group]>,
    /// The group in which the queen always says what region is on: that of bee 1.
    root_group: u32,
    /// Of teams of one, who meet nobody: at hand without a look at any group.
    no_barrier: Barrier,
    /// No other team has it.
    unique_number: u64,
    /// What bees write down of what they are doing.
    instrumentation: Instrumentation,
}

impl Team {
    /// A team of the queen alone, which can grow to `max_bees` bees.
    pub(crate) fn new(
        max_bees: u32,
        policy: WaitPolicy,
        line_choice: LineChoice,
        sleep: Sleep,
        neighbours: Neighbours,
        shape: Shape,
    ) -> Self {
        assert!((1..=MAX_BEES).contains(&max_bees), "a team of up to {max_bees}");
        let slots = SlotTable::new(max_bees);
        slots.make(0, || Slot::new(0, SlotState::Awake));
        let root_group = if max_bees > 1 { shape.start_group(1) } else { 0 };
        let mut root_lines = Some(line_choice);
        let new_group = |group| {
            Group::new(if group == root_group {
                root_lines.take().unwrap_or_else(|| LineChoice::new(1))
            } else {
                LineChoice::new(1)
            })
        };
        let groups = (0..shape.group_count() as u32).map(new_group).collect();
        Self {
            leader_lock: CachePadded::new(LeaderLock::new(Tree::new(&shape, 0))),
            occupancy: Occupancy::new(),
            sleep: CachePadded::new(sleep),
            injector: TaskInjector::new(),
            deque_marks: DequeMarks::new(max_bees),
            pending_parks: PendingParks::new(),
            resize_state: Mutex::new(ResizeState::default()),
            announced_region: AnnouncedRegion::new(),
            hired: Hired::new(),
            panics: RegionPanics::new(),
            poison: Poison::new(),
            single_claim: SingleClaim::new(),
            deadlock_detector: DeadlockDetector::new(),
            in_flight: policy.poll_interval().map(|_| InFlight::new()),
            fixed: CachePadded::new(Fixed {
                policy,
                slots,
                neighbours,
                shape,
                groups,
                root_group,
                no_barrier: Barrier::new(),
                unique_number: next_team_number(),
                instrumentation: Instrumentation::default(),
            }),
        }
    }

    /// Has bees note what they are doing, for `sight`.
    pub(crate) fn record_activity(mut self) -> Self {
        self.fixed.instrumentation = self.fixed.instrumentation.with(Instrumentation::WATCHED);
        self
    }

    /// Has bees keep a log of what they do. Before any is hired.
    pub(crate) fn record_trace(mut self) -> Self {
        self.fixed.instrumentation = self.fixed.instrumentation.with(Instrumentation::LOGGED);
        self.slot(0).log.open(MAX_LOG_ENTRIES);
        self.begin_size_log();
        self
    }

    /// Bees that are not surplus, the queen among them.
    #[inline(always)]
    pub(crate) fn bees(&self) -> u32 {
        self.occupancy.read().bees()
    }

    /// Surplus bees that are still on a core. Whoever is about to change a bee's state counts it first, and may lose the change to somebody else: so for a moment there
    /// may seem to be more than there are bees.
    pub(crate) fn pending_parks(&self) -> u32 {
        self.pending_parks.count().min(self.hired.count())
    }

    pub(crate) fn policy(&self) -> &WaitPolicy {
        &self.fixed.policy
    }

    /// Takes the turn to be queen, waiting for it.
    #[inline]
    pub(crate) fn acquire_leadership(&self) -> Leadership<'_> {
        self.leader_lock.lock(self.policy())
    }

    /// Queues a task from outside.
    pub(crate) fn inject(&self, task: Task) {
        // In the queen's name.
        self.queue_and_notify(0, None, || self.injector.push(task));
    }

    /// Queues a task that only bee `id`, which has been hired, may run.
    pub(crate) fn inject_to(&self, id: u32, task: Task) {
        self.send_to_mailbox(id, task);
    }

    /// Whether there is a bee `id`, be it parked.
    pub(crate) fn is_hired(&self, id: usize) -> bool {
        (1..=self.hired.count() as usize).contains(&id)
    }

    /// Whether there is a bee, be it parked.
    pub(crate) fn has_worker(&self) -> bool {
        self.is_hired(1)
    }

    /// Runs what nobody has run, after the end of all bees.
    pub(crate) fn run_leftover_tasks(&self) {
        let queued =
            || self.all_slots().find_map(|slot| slot.queues.take_from_mailbox().or_else(|| slot.queues.steal()));
        while let Some(task) = self.injector.take().or_else(queued) {
            task.run();
        }
    }

    /// Takes the turn to be queen if nobody has it.
    #[inline]
    pub(crate) fn try_acquire_leadership(&self) -> Option<Leadership<'_>> {
        self.leader_lock.try_lock()
    }

    /// Where the queen always says what region is on.
    #[inline(always)]
    fn root_line(&self) -> &StartLine {
        self.group(self.fixed.root_group).start_line()
    }

    #[inline(always)]
    fn group(&self, group: u32) -> &Group {
        &self.fixed.groups[group as usize]
    }

    #[inline(always)]
    fn slot(&self, id: u32) -> &Slot {
        self.fixed.slots.get(id)
    }

    /// The bees hired so far.
    fn all_slots(&self) -> impl Iterator<Item = &Slot> {
        (0..=self.hired.count()).map(|id| self.slot(id))
    }

    /// What the bees hired so far have done.
    pub(crate) fn counters(&self) -> impl Iterator<Item = &BeeCounters> {
        self.all_slots().map(|slot| &*slot.counters)
    }

    /// The logs of the bees hired so far.
    pub(crate) fn logs(&self) -> impl Iterator<Item = &Log> {
        self.all_slots().map(|slot| &*slot.log)
    }

    /// The other bees hired so far, the nearest to `member` first.
    fn others_by_distance(&self, bee: u32) -> impl Iterator<Item = (&Slot, Distance)> {
        let (neighbours, hired) = (&self.fixed.neighbours, self.hired.count());
        let near = neighbours.by_distance(bee).filter(move |&(id, _)| id <= hired);
        let unbound = neighbours.first_unbound()..=hired;
        let far = unbound.filter(move |&id| id != bee).map(|id| (id, Distance::Far));
        near.chain(far).map(|(id, distance)| (self.slot(id), distance))
    }

    /// The bees of a group, as far as they have slots: all of a team do.
    fn group_slots(&self, group_id: u32) -> impl Iterator<Item = &Slot> {
        let bees = self.fixed.shape.bees_of(group_id);
        bees.iter().map_while(|&id| self.fixed.slots.try_get(id))
    }

    /// Runs a bee's part. A panic in it is kept, and lets the others go from their barriers.
    #[inline(always)]
    fn run_catching_panic(&self, region: &RegionContext<'_>, body: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
            self.end_with_panic(region, payload);
        }
    }

    /// Ends the part of `member` with a panic.
    #[cold]
    fn end_with_panic(&self, region: &RegionContext<'_>, payload: Payload) {
        if let Some(unheard) = self.panics.record_panic(region.id(), region.region_key(), payload) {
            self.poison_region(region.epoch());
            // When nobody waits for this bee at a barrier any more, and as a bee still: the drop is the program's
            // code, and may call hive.
            within_region(region, || drop(unheard));
        }
    }

    /// Ends a poisoned region, whose queen has seen all leave. As its queen still, because the panic hook is the
    /// program's code, and the turn has not been given back.
    ///
    /// # Panics
    /// As [`RegionPanics::end`].
    #[cold]
    fn end_poisoned_region(&self, queen: &RegionContext<'_>) {
        within_region(queen, || self.panics.end_region(queen.bees()));
    }

    /// Ends the barriers of `region`, which is on.
    #[cold]
    fn poison_region(&self, epoch: u64) {
        self.poison.set(epoch);
        for (group_id, group) in (0..).zip(&self.fixed.groups) {
            group.barriers().for_each(|barrier| barrier.wake_all(self.group_slots(group_id)));
        }
    }

    /// Brings `member`, a bee, to the end of its region. `own` is its group; from the caller's registers, not from where the part may have looked.
    #[inline(always)]
    fn arrive_at_end(&self, own_group: &GroupPart<'_>, region: &RegionContext<'_>) {
        // Nothing is made ready for the sleepers before the arrival: every step here keeps the head waiting.
        if let Some(notice) = own_group.barrier.exit() {
            let leader = self.slot(self.fixed.shape.bees_of(own_group.group_id)[0]);
            own_group.barrier.wake_on_exit(notice, &region.view(), leader, self.group_slots(own_group.group_id));
        }
    }
}

/// The turn to be queen, held.
pub(crate) type Leadership<'c> = LeaderGuard<'c, Tree>;
