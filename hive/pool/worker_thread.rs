//! The thread of a worker, from start to end: the room that is reserved for it, how it is made, and what it runs.
//!
//! `resizing.rs` makes threads by `Shared::with_workers`. Each thread runs `Shared::run_worker`: it binds
//! itself, runs the start handler, then the protocol's main loop (`hive/protocol/worker/main_loop.rs`) until the hive
//! is dropped, then the exit handler.

use std::cell::LazyCell;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;

use crate::pool::error::{Error, ErrorKind};
use crate::pool::shared::Shared;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::worker::main_loop::Worker;
use crate::region::nesting;
use crate::sys::semaphore::Semaphore;
use crate::sys::thread_limits::{LimitExceeded, ThreadReservation};
use crate::sys::wait::WaitPolicy;
use crate::sys::{presence, signal_mask, stack_room};
use crate::topology::pinning::{self, BindError};
use crate::topology::place_assignment::Place;

/// Starts the thread of a worker that the team is hiring. Gets the worker's number, and the epoch of the last region
/// that the team has begun.
type StartWorker<'h> = dyn FnMut(u32, u64) -> Result<(), Error> + 'h;

impl Shared {
    /// Makes a change for which workers may have to be hired, and returns when the new workers' threads are running.
    ///
    /// `change` gets a function that starts one worker; `bees` is the size that the hive is to have. After the return
    /// it is known what the new workers are bound to, and a fork does not find one of them holding a lock of the thread
    /// library.
    pub(crate) fn with_workers<R>(self: &Arc<Self>, bees: u32, change: impl FnOnce(&mut StartWorker<'_>) -> R) -> R {
        let policy = self.team.policy();
        let running = LazyCell::new(|| {
            // Before the first thread is made: the workers can run nowhere but on the CPUs that they are bound to, and
            // this thread could not get off such a CPU while a worker polls there.
            policy.migrate_off_worker_cpus();
            Arc::new(RunningWorkers { count: AtomicU32::new(0), posted: Semaphore::new() })
        });
        let mut started = 0;
        // One reservation covers all the threads of this change. It is made before the first thread, and held until all
        // of them are running and count for themselves.
        let mut reservation = None;
        let result = change(&mut |worker, epoch| {
            let stack = self.config.asked.stack_size;
            let needed = u64::from(bees.saturating_sub(worker));
            let no_room = |exceeded: LimitExceeded| {
                Error::new(ErrorKind::Threads, format!("{bees} bees were asked for: {exceeded}"))
            };
            let reservation = match &mut reservation {
                Some(reservation) => reservation,
                none => none.insert(ThreadReservation::reserve(needed, stack).map_err(no_room)?),
            };
            self.start_worker(worker, epoch, Arc::clone(&running)).map_err(|refusal| {
                reservation.exceeded_limit(needed, stack).map_or_else(|| refused(worker, bees, refusal), no_room)
            })?;
            started += 1;
            Ok(())
        });
        // That includes the case in which `change` has failed after some of them.
        if started > 0 {
            running.wait_for(started, policy);
            // The kernel may have put this thread there once more, while a new one was on this one's CPU.
            policy.migrate_off_worker_cpus();
        }
        result
    }

    /// Starts the thread of `worker`, whose first region is the one after `epoch`. The thread adds itself to `running`
    /// when it is bound and registered. An error is that the system makes no such thread.
    fn start_worker(self: &Arc<Self>, worker: u32, epoch: u64, running: Arc<RunningWorkers>) -> io::Result<()> {
        // Counted before the thread exists: the hive must not be taken for finished while the thread is on its way.
        let owner = LiveOwner::new(self);
        let mut thread = thread::Builder::new().name(format!("{}-{worker}", self.config.thread_name));
        if let Some(bytes) = self.config.asked.stack_size {
            thread = thread.stack_size(bytes);
        }
        // A new thread inherits the mask of the thread that makes it, which may be bound to one core of another hive.
        // `run_worker` sets its own, but only after a guest's code, and the system may refuse that. So this thread is
        // unbound while it makes the new one.
        let _unpinned = pinning::unbind();
        let entry = self.thread_hosts.host_for(worker, move || owner.shared().run_worker(worker, epoch, &running));
        // The signal mask is inherited, too: the worker has to begin with its signals blocked.
        let (spawned, blocked) = signal_mask::with_signals_blocked(|| thread.spawn(entry));
        if let Err(error) = blocked {
            self.add_warning(format!(
                "bees handle the program's signals as other threads do: pthread_sigmask failed: {error}"
            ));
        }
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(spawned?);
        Ok(())
    }

    /// The main function of a worker's thread: bind it, run the start handler, run regions and tasks until the hive is
    /// dropped, run the exit handler.
    fn run_worker(&self, worker: u32, epoch: u64, running: &RunningWorkers) {
        // A panic here is a fault of hive: regions, tasks and handlers catch the panics of the program's code.
        let abort_on_unwind = AbortOnUnwind::new("in a worker's main function");
        self.wait_node.register_worker();
        // It begins in the mode of the thread that has hired it.
        self.team.float_mode().ensure();
        let _on_core = presence::count_on_core();
        // The program may have bound the thread that hired this one. The worker uses the mask that the hive was built
        // with.
        if let Some(mask) = &self.machine_info.mask {
            self.warn_on_error(worker, pinning::adopt_mask(mask));
        }
        let bound = self.warn_on_error(worker, self.place_map.bind_worker(worker as usize)).flatten();
        if let Some((place, _)) = &bound {
            self.note_binding(worker, place);
        }
        let (policy, handlers) = (self.team.policy(), &self.config.asked.handlers);
        let _looks = policy.cpus.begin_to_look(bound.is_some());
        let context = TaskContext::new(&self.team, worker);
        stack_room::ask_for_end_of_stack(self.config.asked.stack_size);
        nesting::within_tasks(&context, || {
            if handlers.start.is_none() {
                running.add();
            } else {
                // This is inside of the task, so that a thread that starts a region afterwards sees that this
                // worker is busy with its start handler.
                context.run_as_task(|| {
                    running.add();
                    handlers.run(handlers.start.as_ref(), worker);
                });
            }
            // A child process that was forked in the start handler must not go on, because it has none of the hive's
            // other threads.
            policy.abort_if_forked();
            Worker::new(&context, epoch).run();
            handlers.run(handlers.exit.as_ref(), worker);
        });
        // The same for a child that was forked in a region, a task or the exit handler.
        policy.abort_if_forked();
        // From here on only destructors of thread-locals run on this thread.
        nesting::mark_worker_ending();
        abort_on_unwind.disarm();
    }

    /// Notes that the calling worker is bound to `place`, and that it may sleep unbound, unless the user has asked for
    /// places. It stays on the NUMA node of its place, so that memory that it touches first is there, as plans have it.
    fn note_binding(&self, worker: u32, place: &Place) {
        if !place.is_foreign {
            let may_be_unbound = self.place_map.is_default && self.team.are_in_one_group();
            let unbound = if may_be_unbound { place.node_cpus(&self.machine_info.machine) } else { place.mask() };
            self.team.sleep_binding(worker).begin(place.mask(), unbound);
        }
    }

    /// Returns the value of `result`; turns an error into a warning in the report.
    fn warn_on_error<T>(&self, bee: u32, result: Result<T, BindError>) -> Option<T> {
        result.map_err(|error| self.add_warning(format!("bee {bee} is not bound as it should be: {error}"))).ok()
    }
}

/// The error that the system refuses to make the thread of worker `bee`, of a hive that was to have so many bees.
fn refused(bee: u32, bees: u32, cause: io::Error) -> Error {
    let message = format!(
        "the system made no thread for bee {bee} of {bees}: {cause}; ask for fewer bees or a smaller stack_size, or \
         raise the limits on threads (ulimit -u, the cgroup's pids.max) and memory"
    );
    Error::new(ErrorKind::Threads, message).caused_by(cause)
}

/// Those of the workers hired by one change whose threads are running.
struct RunningWorkers {
    count: AtomicU32,
    /// Has a permit for each of them.
    posted: Semaphore,
}

impl RunningWorkers {
    /// Adds the calling worker.
    fn add(&self) {
        // The post comes first: a thread that has counted this worker then takes its permit without a wait.
        self.posted.post();
        // Release: pairs with the Acquire in `wait_for`.
        self.count.fetch_add(1, Ordering::Release);
    }

    /// Waits for this many workers. Call it once.
    ///
    /// The calling thread, usually the queen, polls at first. If it slept, its CPU would go idle and take long to wake
    /// up; and the kernel would be likely to put it on the CPU of the worker that wakes it, in that worker's way.
    fn wait_for(&self, workers: u32, policy: &WaitPolicy) {
        // A thread that is queued on this CPU runs now, until it has bound itself to another one.
        policy.yield_core();
        let mut spinner = policy.spinner();
        // Acquire: pairs with the Release in `add`; the post before it has then happened.
        while self.count.load(Ordering::Acquire) < workers && spinner.spin_once() {}
        (0..workers).for_each(|_| self.posted.wait());
    }
}

/// A worker's share in the hive, counted in `live_owners`: made before the thread is, and dropped when all that the
/// thread does has ended.
pub(crate) struct LiveOwner(Arc<Shared>);

impl LiveOwner {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        // Relaxed: hands nothing over. The caller uses the hive, so some owner exists and keeps the count above 0
        // meanwhile. The AcqRel in `release_owner` orders what the owners do.
        shared.live_owners.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(shared))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl Drop for LiveOwner {
    fn drop(&mut self) {
        self.0.release_owner();
    }
}
