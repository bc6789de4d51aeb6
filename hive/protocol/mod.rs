//! The protocol by which the bees of one hive work together: how the queen starts a region on the workers, how the bees
//! meet at barriers, how they share tasks, and how workers sleep, park and end.
//!
//! The layers above use it as follows: `pool/` builds one [`Team`] for each hive and gives each worker a thread,
//! `region/` and `loops/` run on a [`RegionContext`], and `tasks/` runs on a `TaskContext`.
//!
//! Nothing here knows threads, places or clocks. Everything that is needed from outside comes through [`crate::sync`],
//! so that the models under `tests/models/` run these very files with loom's and shuttle's primitives.
//!
//! The protocols are described step by step, with their proofs, in `docs/`: `start.md`, `queen-lock.md`, `barrier.md`,
//! `shape.md`, `collectives.md`, `resize.md`, `sleep.md` and `waits-between-hives.md`.
//!
//! A comment `// Step: NAME` gives the operation below it the name that it has in the SPIN models of the sleep
//! protocols. The script `tests/models/spin/steps` compares these comments with the models, so they are to stay.

pub(crate) mod abort_on_unwind;
pub(crate) mod neighbours;
pub(crate) mod nesting;
pub(crate) mod region;
pub(crate) mod tasks;
pub(crate) mod waiting_hive;
pub(crate) mod worker;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_utils::CachePadded;

use crate::protocol::neighbours::{Distance, Neighbours};
use crate::protocol::nesting::Nesting;
use crate::protocol::region::barrier::Barrier;
use crate::protocol::region::deadlock::DeadlockDetector;
use crate::protocol::region::group_part::GroupPart;
use crate::protocol::region::groups::Group;
use crate::protocol::region::led_groups::LedGroups;
use crate::protocol::region::line_choice::LineChoice;
use crate::protocol::region::max_bees::MAX_BEES;
use crate::protocol::region::panics::{Payload, Poison, RegionPanics};
use crate::protocol::region::queen_lock::QueenLock;
use crate::protocol::region::region_context::RegionContext;
pub(crate) use crate::protocol::region::region_mode::QueenGuard;
use crate::protocol::region::shape::Shape;
use crate::protocol::region::start_line::{StartLine, StartWordCell};
use crate::protocol::tasks::deque_marks::DequeMarks;
use crate::protocol::tasks::pool_rules::PoolRules;
use crate::protocol::tasks::queues::TaskQueue;
use crate::protocol::tasks::sleep::Sleep;
use crate::protocol::tasks::task::Task;
use crate::protocol::worker::occupancy::Occupancy;
use crate::protocol::worker::pending_parks::PendingParks;
use crate::protocol::worker::resize::{Addressees, ResizeState};
use crate::protocol::worker::slot::{Slot, SlotState};
use crate::protocol::worker::slot_table::{Hired, SlotTable};
use crate::protocol::worker::snapshot::Instrumentation;
use crate::sync::{
    AtomicPtr, AtomicU32, AtomicU64, BeeCounters, ColdParts, Counter, FloatMode, Help, InFlight, Log, MAX_LOG_ENTRIES,
    Mutex, Ordering, WaitPolicy, WakeDelay, next_team_number,
};

/// The state that all bees of one hive share: bee 0, the queen, and the workers 1 to `hired.count()`.
pub(crate) struct Team {
    /// The lock that a thread holds while it is the queen. It protects the queen's `LedGroups`. It has cache lines of
    /// its own, because the queen writes to it in every region and workers must not be disturbed by that.
    queen_lock: CachePadded<QueenLock<LedGroups>>,
    /// How many bees the hive has and how many of them are asleep. The queen reads it after each start; resizes, and
    /// workers that fall asleep or are woken, write it.
    occupancy: CachePadded<Occupancy>,
    /// The counts by which workers without work and threads that queue tasks find each other.
    sleep: CachePadded<Sleep>,
    /// The queue of tasks that are in no bee's deque: queued by threads from outside the hive, or left behind by a
    /// queen. Any bee may run them.
    injector: CachePadded<TaskQueue>,
    /// One bit for each bee: whether its deque may hold tasks that others can steal.
    deque_marks: DequeMarks,
    /// How many workers are surplus and not parked yet.
    pending_parks: PendingParks,
    /// Locked during a resize, so that only one is made at a time. Holds the record of the hive's sizes, for the trace.
    resize_state: Mutex<ResizeState>,
    /// Which bees get tasks for them alone.
    addressees: Addressees,
    /// Locked while several bees are sent a task each.
    broadcasts: Mutex<()>,
    /// The start word of the region announced by a thread that others may be waiting for: its workers begin no task
    /// before they have come to it. `StartWord::NONE`: no region is announced at the moment. Written by the thread that
    /// holds the queen lock; read by workers that want to look for tasks.
    announced_region: StartWordCell,
    /// In a team of several groups: the epoch of the last region whose parts may run on any bee's thread. `u64::MAX`:
    /// there was none. The queen writes it before she starts such a region. (In a team of one group she alone has to
    /// know, and knows it by the body's type.)
    last_loop: AtomicU64,
    /// The start word of the last region that was to be started only if it turned out to be long.
    last_unstarted: StartWordCell,
    /// The floating-point mode of the last region that was started in another mode than that of the team.
    region_mode: AtomicU32,
    /// How long the parts of regions take that begin while a worker sleeps.
    pub(crate) cold_parts: ColdParts,
    /// How long it takes until a sleeping worker is there to help with a loop. Workers that wake up write it, so it has
    /// cache lines of its own.
    pub(crate) wake_delay: CachePadded<WakeDelay>,
    /// What the workers' help with loops is worth.
    pub(crate) help: Help,
    /// How many workers have a thread.
    hired: Hired,
    /// The panics of the region that is running.
    panics: RegionPanics,
    /// Which region a panic has poisoned.
    poison: Poison,
    /// The key of the phase (`RegionContext::phase_key`) in which a bee was last given what only one bee of the team is
    /// to do; 0 at first. The bees that ask try to swap in the key of their own phase, and the one that succeeds is
    /// chosen (`region/single.rs`).
    single_claim: CachePadded<AtomicU64>,
    /// How many bees of the running region wait for each other in turns that other bees have to pass on.
    deadlock_detector: DeadlockDetector,
    /// What never changes after the team has been built, in cache lines that nobody writes to.
    fixed: CachePadded<Fixed>,
}

/// What never changes after the team has been built. Every bee reads it in every region.
// In this order, so that what a thread needs to wake a bee lies in one cache line.
#[repr(C)]
struct Fixed {
    /// One slot for each bee. A worker's slot is made when the worker is hired; the queen's exists from the start.
    slots: SlotTable,
    /// Which bees are near which others.
    neighbours: Neighbours,
    /// Counts the steps under way after which a sleeping worker may have to be woken. Present only in a hive whose
    /// sleeping workers also poll for work: such a worker uses it to tell a lost wake-up from one that is still on its
    /// way. Its counts are elsewhere, because they change.
    in_flight: Option<Box<InFlight>>,
    /// How long bees spin, and when they sleep.
    policy: WaitPolicy,
    /// How the bees are divided into groups.
    shape: Shape,
    /// One for each group of `shape`, by the group's id.
    groups: Box<[Group]>,
    /// The group in whose start line the queen publishes every region, whatever its team. It is the group in which
    /// worker 1 waits for starts.
    root_group: u32,
    /// The barrier of teams of one. They never wait at it; it is here so that such a region needs no look at any group.
    no_barrier: Barrier,
    /// A number that no other team of this process has.
    unique_number: u64,
    /// The floating-point mode of the thread that has made the team.
    float_mode: FloatMode,
    /// Which records the bees keep of what they do: for the watchdog, and for the trace.
    instrumentation: Instrumentation,
    /// How the team runs the program's code inside of a region that is ending.
    nesting: Nesting,
    /// The address of what owns the team, for the layer above, which knows its type. Null, as in the models: there is
    /// no owner. The protocol only keeps it, so that the owner can be found from the team: by a call inside of a region
    /// or a task, which knows no more than the team. (Atomic only so that threads may share it.)
    owner: AtomicPtr<()>,
    /// The rules of a task pool. None: the team is that of a hive.
    pool_rules: Option<PoolRules>,
}

impl Team {
    /// A team that consists of the queen alone and can grow to `max_bees` bees. `line_choice` provides the start line
    /// of the group in which worker 1 waits for starts, the one that every region uses. `pool_rules`: those of the task
    /// pool whose team this is, if it is one.
    pub(crate) fn new(
        max_bees: u32,
        policy: WaitPolicy,
        line_choice: LineChoice,
        sleep: Sleep,
        neighbours: Neighbours,
        shape: Shape,
        pool_rules: Option<PoolRules>,
    ) -> Self {
        assert!((1..=MAX_BEES).contains(&max_bees), "a team of up to {max_bees}");
        let slots = SlotTable::new(max_bees);
        slots.make(0, || Slot::new(0, SlotState::Awake, pool_rules));
        let root_group = if max_bees > 1 { shape.start_group(1) } else { 0 };
        let mut groups: Box<[_]> = (0..shape.group_count()).map(|_| Group::new(LineChoice::new(1))).collect();
        // The start line of the root group may have been chosen by measuring. All others have a plain one.
        groups[root_group as usize] = Group::new(line_choice);
        let float_mode = FloatMode::current();
        Self {
            queen_lock: CachePadded::new(QueenLock::new(LedGroups::new(&shape, 0))),
            occupancy: CachePadded::new(Occupancy::new()),
            sleep: CachePadded::new(sleep),
            injector: CachePadded::default(),
            deque_marks: DequeMarks::new(max_bees),
            pending_parks: PendingParks::default(),
            resize_state: Mutex::new(ResizeState::default()),
            addressees: Addressees::new(0..max_bees),
            broadcasts: Mutex::new(()),
            announced_region: StartWordCell::default(),
            last_loop: AtomicU64::new(u64::MAX),
            last_unstarted: StartWordCell::default(),
            region_mode: AtomicU32::new(float_mode.bits()),
            cold_parts: ColdParts::new(),
            wake_delay: CachePadded::default(),
            help: Help::new(),
            hired: Hired::default(),
            panics: RegionPanics::new(),
            poison: Poison::new(),
            single_claim: CachePadded::default(),
            deadlock_detector: DeadlockDetector::default(),
            fixed: CachePadded::new(Fixed {
                in_flight: policy.poll_interval().map(|_| Box::default()),
                policy,
                slots,
                neighbours,
                shape,
                groups,
                root_group,
                no_barrier: Barrier::new(),
                unique_number: next_team_number(),
                float_mode,
                instrumentation: Instrumentation::default(),
                nesting: Nesting::default(),
                owner: AtomicPtr::default(),
                pool_rules,
            }),
        }
    }

    /// Gives the team the functions by which it knows what a thread is inside of.
    pub(crate) fn with_nesting(mut self, nesting: Nesting) -> Self {
        self.fixed.nesting = nesting;
        self
    }

    /// Says at which address the owner of the team is.
    pub(crate) fn with_owner(mut self, owner: *const ()) -> Self {
        self.fixed.owner = AtomicPtr::new(owner.cast_mut());
        self
    }

    /// Whether this is the team of a task pool.
    pub(crate) fn is_task_pool(&self) -> bool {
        self.fixed.pool_rules.is_some()
    }

    /// The address of the owner of the team; null if it has none. Whoever follows it says why that is sound.
    pub(crate) fn owner(&self) -> *const () {
        // Relaxed: it does not change.
        self.fixed.owner.load(Ordering::Relaxed)
    }

    /// A number that no other team of this process has.
    pub(crate) fn unique_number(&self) -> u64 {
        self.fixed.unique_number
    }

    /// Makes the bees record what they are doing, for the watchdog's snapshot (`worker/snapshot.rs`).
    pub(crate) fn record_activity(mut self) -> Self {
        self.fixed.instrumentation = self.fixed.instrumentation.with(Instrumentation::WATCHED);
        self
    }

    /// Makes the bees keep a log of what they do, for the trace. Call before any worker is hired.
    pub(crate) fn record_trace(mut self) -> Self {
        self.fixed.instrumentation = self.fixed.instrumentation.with(Instrumentation::LOGGED);
        self.slot(0).log.open(MAX_LOG_ENTRIES);
        self.begin_size_log();
        self
    }

    /// The size of the hive: the number of bees that are not surplus, including the queen.
    #[inline(always)]
    pub(crate) fn bees(&self) -> u32 {
        self.occupancy.read().bees()
    }

    /// The number of surplus workers that have not parked yet.
    ///
    /// A thread that is about to change a worker's state counts the worker first, and may then lose the change to
    /// another thread. For a moment the raw count can therefore exceed the number of workers, so it is capped here.
    pub(crate) fn pending_parks(&self) -> u32 {
        self.pending_parks.count().min(self.hired.count())
    }

    pub(crate) fn policy(&self) -> &WaitPolicy {
        &self.fixed.policy
    }

    /// Makes the calling thread the queen. Waits while another thread is.
    #[inline]
    pub(crate) fn become_queen(&self) -> QueenGuard<'_> {
        // First, where it costs least: see `region_mode.rs`.
        let mode = FloatMode::current();
        QueenGuard { led_groups: self.queen_lock.lock(self.policy()), mode }
    }

    /// How many threads wait to become the queen.
    pub(crate) fn waiting_queens(&self) -> u32 {
        self.queen_lock.count_waiting()
    }

    /// Whether the hive has workers and all of them are asleep. A hint: a worker may wake up or fall asleep meanwhile.
    #[inline(always)]
    pub(crate) fn all_workers_sleep(&self) -> bool {
        self.occupancy.read().all_workers_sleep()
    }

    /// Queues a task from a thread outside the hive. Any bee may run it.
    pub(crate) fn inject(&self, task: Task) {
        // Such a thread has no id here. It notifies on behalf of bee 0, so that workers near the queen are told first.
        self.queue_and_notify(0, None, || self.injector.push(task));
    }

    /// Moves what is in the mailbox of `slot` to the injector, for any bee.
    pub(crate) fn inject_mailbox(&self, slot: &Slot) {
        while let Some(task) = slot.queues.mailbox.take() {
            self.inject(task);
        }
    }

    /// Whether worker `id` has a thread, even if the worker is parked.
    pub(crate) fn is_hired(&self, id: usize) -> bool {
        (1..=self.hired.count() as usize).contains(&id)
    }

    /// Whether any worker has a thread, even if all workers are parked.
    pub(crate) fn has_worker(&self) -> bool {
        self.is_hired(1)
    }

    /// Runs the tasks that are still queued, on the calling thread. Call after all workers have ended.
    pub(crate) fn run_leftover_tasks(&self) {
        let queued = || self.all_slots().find_map(|slot| slot.queues.mailbox.take().or_else(|| slot.queues.steal()));
        while let Some(task) = self.injector.take().or_else(queued) {
            task.run(None);
        }
    }

    /// Makes the calling thread the queen if no thread is the queen at the moment.
    #[inline]
    pub(crate) fn try_become_queen(&self) -> Option<QueenGuard<'_>> {
        self.try_become_queen_in(FloatMode::current())
    }

    /// Makes the calling thread, which is in `mode`, the queen if no thread is the queen at the moment.
    #[inline]
    pub(crate) fn try_become_queen_in(&self, mode: FloatMode) -> Option<QueenGuard<'_>> {
        self.queen_lock.try_lock().map(|led_groups| QueenGuard { led_groups, mode })
    }

    /// The start line on which the queen publishes every region, whatever its team.
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

    /// The slots of the queen and of all workers hired so far.
    fn all_slots(&self) -> impl Iterator<Item = &Slot> {
        (0..=self.hired.count()).map(|id| self.slot(id))
    }

    /// The counters of the queen and of all workers hired so far.
    pub(crate) fn counters(&self) -> impl Iterator<Item = &BeeCounters> {
        self.all_slots().map(|slot| &*slot.counters)
    }

    /// Counts something for the queen that other threads count as well. Returns how often it was counted.
    #[inline]
    pub(crate) fn count_for_queen(&self, counter: Counter) -> u64 {
        self.slot(0).counters.increment_shared(counter)
    }

    /// How many regions the queen has run. For a thread that holds the queen lock.
    #[inline(always)]
    pub(crate) fn regions_of_queen(&self) -> u64 {
        self.slot(0).counters.get(Counter::Regions)
    }

    /// How many regions she has run, and lone loops she and others. It changes with each of them.
    #[inline(always)]
    pub(crate) fn loops_of_queen(&self) -> u64 {
        self.regions_of_queen() + self.slot(0).counters.get(Counter::LoneLoops)
    }

    /// The logs of the queen and of all workers hired so far.
    pub(crate) fn logs(&self) -> impl Iterator<Item = &Log> {
        self.all_slots().map(|slot| &*slot.log)
    }

    /// All bees but `bee`, as far as they have been hired, the nearest first. Bees that are bound to no place are far
    /// from all others and come last.
    fn others_by_distance(&self, bee: u32) -> impl Iterator<Item = (&Slot, Distance)> {
        // `neighbours` knows every bee that is bound to a place, even if it has not been hired yet.
        self.fixed.neighbours.by_distance(bee, self.hired.count()).map(|(id, distance)| (self.slot(id), distance))
    }

    /// The slots of a group's bees, as far as these have been hired. All bees of a running team have slots.
    fn group_slots(&self, group_id: u32) -> impl Iterator<Item = &Slot> {
        let bees = self.fixed.shape.bees_of(group_id);
        bees.iter().take_while(|&&id| id <= self.hired.count()).map(|&id| self.slot(id))
    }

    /// Runs the region's body on a bee. A panic in the body is recorded, and poisons the region, so that the other bees
    /// leave their barriers.
    #[inline(always)]
    fn run_catching_panic(&self, region: &RegionContext<'_>, body: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
            self.end_with_panic(region, payload);
        }
    }

    /// Ends a bee's run of the body, in `region`, with a panic.
    #[cold]
    fn end_with_panic(&self, region: &RegionContext<'_>, payload: Payload) {
        if let Some(unheard) = self.panics.record_panic(region.id, region.region_key(), payload) {
            self.poison_region(region.epoch);
            // The payload that nobody will see is dropped only now, after the poison has released the bees that waited
            // for this one, and while this thread still counts as a bee of the region. Its drop is the program's code
            // and may call hive.
            self.fixed.nesting.within_region(region, || drop(unheard));
        }
    }

    /// Ends a poisoned region, after the queen has seen all workers leave it. It runs on the region's queen and still
    /// as that: a panic that it raises calls the panic hook, which is the program's code, and the queen lock is still
    /// held.
    ///
    /// # Panics
    /// As [`RegionPanics::end_region`].
    #[cold]
    fn end_poisoned_region(&self, queen: &RegionContext<'_>) {
        let nesting = self.fixed.nesting;
        nesting.within_region(queen, || self.panics.end_region(nesting.is_in_region));
    }

    /// Poisons the running region, whose epoch is `epoch`: every bee that waits at one of its barriers, or comes to
    /// one, unwinds.
    #[cold]
    fn poison_region(&self, epoch: u64) {
        // The poison is set before the look for blocked bees, which the fence in `Barrier::wake_after_poison` orders:
        // either a bee sees the poison before it blocks, or it is woken here.
        self.poison.set(epoch);
        for (group_id, group) in (0..).zip(&self.fixed.groups) {
            group.barriers().for_each(|barrier| barrier.wake_after_poison(self.group_slots(group_id)));
        }
    }

    /// Counts a worker as having left `region`. Then wakes the bees that may be blocked because of that: the leader, if
    /// this was the last exit that it waits for, and bees at a barrier that will no longer be completed.
    ///
    /// `own_group` is the worker's group. The caller passes it, because it has it in registers. `region` holds a copy,
    /// but that is in memory, since the body has had a reference to `region`.
    #[inline(always)]
    fn arrive_at_end(&self, own_group: &GroupPart<'_>, region: &RegionContext<'_>) {
        // Nothing is prepared for blocked bees before the exit is counted: the leader waits for the exit, and each step
        // here would delay it.
        if let Some(before) = own_group.barrier.exit() {
            let leader = self.slot(self.fixed.shape.bees_of(own_group.group_id)[0]);
            own_group.barrier.wake_on_exit(before, &region.view(), leader, self.group_slots(own_group.group_id));
        }
    }
}
