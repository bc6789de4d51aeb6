//! [`Shared`]: what the handle of a hive and the threads of its workers share, and how it is put together.
//!
//! Other files add what is done with it, each building on those before it: `shut_down.rs` starts the watchdog, writes
//! the timeline and ends the hive, `worker_thread.rs` makes the workers' threads and runs each from its first step to
//! its last, `resizing.rs` changes the number of bees, and `regions.rs` runs regions. Everything that bees do among
//! themselves is in `Team` (`hive/protocol/`).

use std::any::Any;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::JoinHandle;

use crossbeam_utils::CachePadded;

use crate::observe::trace::Tracer;
use crate::observe::watchdog::Watchdog;
use crate::pool::async_caller::AsyncCaller;
use crate::pool::builder::SleepProtocol;
use crate::pool::config::Config;
use crate::pool::loop_costs::LoopCosts;
use crate::pool::task_pool_state::TaskPoolState;
use crate::pool::thread_host::ThreadHosts;
use crate::pool::wait_graph::WaitNode;
use crate::protocol::Team;
use crate::protocol::neighbours::Neighbours;
use crate::protocol::region::shape::Shape;
use crate::protocol::tasks::sleep::Sleep;
use crate::region::nesting;
use crate::sys::wait::WaitPolicy;
use crate::topology::machine_info::MachineInfo;
use crate::topology::place_map::PlaceMap;
use crate::topology::quota;
use crate::tuning::barrier_choice::BarrierChoice;
use crate::tuning::calibrate_line;

/// The smallest number of bees that a team has room for: the queen, and one worker for the tasks that she cannot run.
/// In a hive with a `max_bees` of 1 that worker is in no region's team.
pub(crate) const MIN_BEES_WITH_WORKER: u32 = 2;

/// The shared part of a hive. The handle owns one reference, each worker's thread another one while it runs.
pub(crate) struct Shared {
    /// The protocol's part: regions, tasks, sleeping and resizing.
    pub(crate) team: Team,
    /// What the hive was built with.
    pub(crate) config: Config,
    /// What was found out about the machine when the hive was built.
    pub(crate) machine_info: MachineInfo,
    /// The place of each bee, and the CPUs that this hive has claimed for them.
    pub(crate) place_map: PlaceMap,
    /// The shape of the hive's barriers, and why it was chosen.
    pub(crate) barrier_choice: BarrierChoice,
    /// The size that a bee has asked for inside the region that is running, to be applied when the region ends. 0:
    /// none.
    ///
    /// Any bee of the region writes it, and the queen reads and clears it after the region. A region whose team is the
    /// caller alone may run at the same time; its request is kept in its `RegionContext` instead.
    pub(crate) resize_at_region_end: AtomicU32,
    /// What loops have cost so far.
    pub(crate) loop_costs: LoopCosts,
    /// The words by which bees share out the loops that they make inside of a region: see `loops/for_range.rs`, which
    /// alone knows their type. Made when they are first needed.
    pub(crate) loop_words: OnceLock<Box<dyn Any + Send + Sync + UnwindSafe + RefUnwindSafe>>,
    /// How many threads run loops of the hive alone at present: see `lone_loops.rs`. Each of them takes a CPU from the
    /// team, and so a loop that begins meanwhile has less to gain from it.
    pub(crate) lone_callers: CachePadded<AtomicU32>,
    /// The handles of the workers' threads, in the order of hiring. Shutting down takes them out and joins them.
    pub(crate) threads: Mutex<Vec<JoinHandle<()>>>,
    /// The number of owners that are still alive: the hive's handle, and each worker's thread until its main function
    /// has ended. The last of them to go runs the tasks that are left and writes the timeline.
    pub(crate) live_owners: AtomicUsize,
    /// Whether the handle has been dropped, as far as the reader knows. Tasks of the hive may still run; the free
    /// functions in them then act on the global hive, because this one has no use for anything new. A hint: what must
    /// not happen on a hive that has ended is refused under the lock of resizes.
    pub(crate) has_ended: AtomicBool,
    /// Makes calls for async code.
    pub(crate) async_caller: AsyncCaller,
    /// The hive's entry in the graph of waits between hives.
    pub(crate) wait_node: WaitNode,
    /// What a task pool has besides. None: this is a hive.
    pub(crate) task_pool: Option<TaskPoolState>,
    /// The worker threads that a guest library wants to own.
    pub(crate) thread_hosts: ThreadHosts,
    /// The thread that reports regions that make no progress, if the program has asked for one.
    pub(crate) watchdog: Watchdog,
    /// Writes the timeline. None: the hive is not traced.
    pub(crate) tracer: Option<Tracer>,
    /// Problems that have occurred since the hive was built, for the report.
    runtime_warnings: Mutex<Vec<String>>,
}

impl Shared {
    /// The shared part of a hive of the queen alone. `grow_to` hires the workers.
    pub(crate) fn new(
        config: Config,
        machine_info: MachineInfo,
        place_map: PlaceMap,
        tracer: Option<Tracer>,
        task_pool: Option<TaskPoolState>,
    ) -> Arc<Self> {
        let capacity = config.max_bees.max(MIN_BEES_WITH_WORKER);
        let sleep = match config.asked.sleep {
            SleepProtocol::Jec => Sleep::jec(),
            SleepProtocol::Tickle => Sleep::tickle(),
            SleepProtocol::Notify => Sleep::notify(capacity),
        };
        let policy = wait_policy(&config, &machine_info, &place_map, task_pool.is_some());
        // The cache line in which regions are announced.
        let may_calibrate = !config.asked.is_urgent && config.bees > 1;
        let start_line = calibrate_line::choose_start_line(&place_map, may_calibrate);
        // The groups in which bees meet: as configured, or as their places suggest.
        let addresses = place_map.addresses(capacity);
        let barrier_choice = BarrierChoice::for_request(config.barrier_shape, config.bees, &addresses);
        let shape = Shape::new(barrier_choice.shape, &addresses, capacity);
        // Which bees are near which others, for stealing tasks.
        let neighbours = Neighbours::new(&place_map.unshared_addresses(capacity));
        let pool_rules = task_pool.as_ref().map(|task_pool| task_pool.rules);
        let team = Team::new(capacity, policy, start_line, sleep, neighbours, shape, pool_rules);
        let team = team.with_nesting(nesting::NESTING);
        // The watchdog and the timeline need bees that record what they are doing; other hives are spared the cost.
        let team = if config.asked.watchdog_limit.is_some() { team.record_activity() } else { team };
        let team = if tracer.is_some() { team.record_trace() } else { team };
        Arc::new_cyclic(|shared: &Weak<Self>| Self {
            team: team.with_owner(shared.as_ptr().cast()),
            config,
            machine_info,
            place_map,
            barrier_choice,
            resize_at_region_end: AtomicU32::new(0),
            loop_costs: LoopCosts::new(),
            loop_words: OnceLock::new(),
            lone_callers: CachePadded::new(AtomicU32::new(0)),
            threads: Mutex::new(Vec::new()),
            live_owners: AtomicUsize::new(1),
            has_ended: AtomicBool::new(false),
            async_caller: AsyncCaller::default(),
            wait_node: WaitNode::new(),
            task_pool,
            thread_hosts: ThreadHosts::default(),
            watchdog: Watchdog::default(),
            tracer,
            runtime_warnings: Mutex::new(Vec::new()),
        })
    }

    /// Adds a warning to the report, unless the same warning is in it already. Does nothing in a forked child, where a
    /// thread of the parent process may have held the lock at the fork.
    pub(crate) fn add_warning(&self, warning: String) {
        if self.is_forked() {
            return;
        }
        let mut warnings = self.runtime_warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// The warnings added since the hive was built.
    pub(crate) fn runtime_warnings(&self) -> Vec<String> {
        self.runtime_warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Checks that this process has the hive's threads.
    ///
    /// # Panics
    /// In a forked child of the process that built the hive.
    pub(crate) fn assert_not_forked(&self) {
        assert!(!self.is_forked(), "this process is a forked child: the hive's threads are its parent's");
    }

    /// Whether the calling process is a forked child of the one that built the hive.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.team.policy().is_forked()
    }
}

/// How the bees of a new hive wait.
fn wait_policy(config: &Config, machine_info: &MachineInfo, place_map: &PlaceMap, is_task_pool: bool) -> WaitPolicy {
    // How long bees poll and whether they wake up by themselves; and which CPUs belong to the workers alone.
    let worker_cpus = place_map.worker_cpus(config.bees as usize);
    let mut policy = WaitPolicy::new(config.spin, config.asked.poll_interval, machine_info.usable_cpus(), worker_cpus);
    policy.cpus.limit = quota::usable_cpus(usize::MAX, machine_info.quota.as_ref());
    policy.may_move_queen = config.asked.pin_queen;
    policy.is_learning = config.learns_to_poll;
    policy.has_no_queen = is_task_pool;
    policy
}
