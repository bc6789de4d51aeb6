//! The scheduler of cubecl-cpu on hive: this file takes the place of cubecl-cpu's of the same name, in version 0.11,
//! which has a thread for each core, and one more for each unit of a cube beyond that.
//!
//! Units that are independent of each other are tasks. The units of a cube with a barrier, which have to run all at the
//! same time, are the bees of one region. What has to wait for launches before it lies in a list and is begun by
//! whoever ends the last of them; so no thread polls for that, and a client that launches never waits.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hive::Hive;

use crate::compute::affinity::get_active_cores;
use crate::compute::threadpool::ThreadTask;
use crate::compute::threadpool::compute_task::ComputeTask;
use crate::compute::threadpool::scheduler::resolve_stack_size;

/// Takes launches, unit by unit, and has them run in the order that their counters say.
pub struct DispatcherScheduler {
    launches: Arc<Launches>,
    /// How many units the next cube with a barrier has.
    units: usize,
    /// The units of that cube that have come so far.
    cube: Vec<ComputeTask>,
}

/// What the scheduler and the running units share.
struct Launches {
    hive: Arc<Hive>,
    /// What has to wait for others, in the order in which it has come.
    waiting: Mutex<Vec<Launch>>,
}

/// What begins at one time.
enum Launch {
    /// A unit that needs no other one.
    Unit(ComputeTask),
    /// All units of a cube with a barrier.
    Cube(Vec<ComputeTask>),
}

impl Launch {
    fn is_ready(&self) -> bool {
        match self {
            Self::Unit(unit) => unit.is_ready(),
            Self::Cube(units) => units.iter().all(ThreadTask::is_ready),
        }
    }
}

impl Default for DispatcherScheduler {
    fn default() -> Self {
        Self::new()
    }
}

impl DispatcherScheduler {
    /// A worker for each core, since the client is no bee. A cube with more units than that gets more.
    pub fn new() -> Self {
        let hive = Hive::builder()
            .bees(get_active_cores().count() + 1)
            .max_bees(usize::from(u16::MAX))
            .stack_size(resolve_stack_size())
            .thread_name("cubecl")
            .build();
        let hive = Arc::new(hive.unwrap_or_else(|error| panic!("no threads for cubecl-cpu: {error}")));
        Self { launches: Arc::new(Launches { hive, waiting: Mutex::default() }), units: 0, cube: Vec::new() }
    }

    /// A cube with a barrier and so many units is about to be sent.
    pub fn ensure_workers(&mut self, units: usize) {
        self.units = units;
    }

    /// Takes a unit, the first of a launch with index 0.
    pub fn send(&mut self, _index: usize, task: ComputeTask) {
        if !task.pliron_engine.requirements().needs_parallelism {
            return self.launches.begin_when_ready(Launch::Unit(task));
        }
        self.cube.push(task);
        if self.cube.len() >= self.units {
            self.launches.begin_when_ready(Launch::Cube(mem::take(&mut self.cube)));
        }
    }
}

impl Launches {
    fn waiting(&self) -> MutexGuard<'_, Vec<Launch>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_when_ready(self: &Arc<Self>, launch: Launch) {
        // Under the lock: whoever ends the last unit before this launch takes the lock after that. So either the launch
        // is found to be ready here, or it is found in the list there.
        let mut waiting = self.waiting();
        if !launch.is_ready() {
            return waiting.push(launch);
        }
        drop(waiting);
        self.begin(launch);
    }

    fn begin(self: &Arc<Self>, launch: Launch) {
        let launches = Arc::clone(self);
        match launch {
            Launch::Unit(mut unit) => self.hive.spawn(move || {
                unit.compute();
                launches.begin_all_ready();
            }),
            Launch::Cube(units) => {
                let units: Vec<_> = units.into_iter().map(Mutex::new).collect();
                let call = self.hive.run_async(move |hive| {
                    hive.spmd(units.len(), |bee| units[bee.id()].lock().expect("its own").compute());
                    launches.begin_all_ready();
                });
                call.detach();
            }
        }
    }

    fn begin_all_ready(self: &Arc<Self>) {
        let ready: Vec<_> = {
            let mut waiting = self.waiting();
            let (ready, others) = mem::take(&mut *waiting).into_iter().partition(Launch::is_ready);
            *waiting = others;
            ready
        };
        ready.into_iter().for_each(|launch| self.begin(launch));
    }
}
