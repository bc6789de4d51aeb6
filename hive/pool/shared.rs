//! [`Shared`]: what the handle of a hive and the threads of its workers share, and what connects the protocol's `Team`
//! with threads, places and hooks.
//!
//! The handle's methods for regions and resizes end here. This file decides whether a call inside a region or a task
//! gets a real team or a team of one, starts the workers' threads, runs each worker from its first step to its last,
//! and shuts the hive down. Everything that bees do among themselves is in `Team` (`hive/protocol/`).
//!
//! `docs/composition.md` says which regions get a real team; `docs/waits-between-hives.md` says why the waits in this
//! file cannot form a cycle.

use std::cell::LazyCell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::{io, thread};

use crate::observe::stats::{Counts, Stats};
use crate::observe::trace::Tracer;
use crate::observe::watchdog::Watchdog;
use crate::pool::config::{Config, SleepProtocol};
use crate::pool::error::{ResizeError, ResizeProblem, SpmdError, SpmdProblem, ThreadError, ThreadErrorCause};
use crate::pool::thread_host::ThreadHosts;
use crate::pool::wait_graph::WaitNode;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::nesting::TeamOwner;
use crate::protocol::region::body::RegionBody;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::shape::Shape;
use crate::protocol::tasks::sleep::Sleep;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::worker::main_loop::Worker;
use crate::protocol::{Leadership, Team};
use crate::region::nesting;
use crate::sys::semaphore::Semaphore;
use crate::sys::signal_mask;
use crate::sys::thread_limits::ThreadReservation;
use crate::sys::wait::WaitPolicy;
use crate::tasks::{caller, enter};
use crate::topology::machine_info::MachineInfo;
use crate::topology::pinning;
use crate::topology::pinning::BindError;
use crate::topology::place_assignment::Place;
use crate::topology::place_map::PlaceMap;
use crate::tuning::barrier_choice::BarrierChoice;
use crate::tuning::calibrate_line;

/// The smallest number of bees that a team has room for: the queen, and one worker for the tasks that she cannot run.
/// In a hive with a `max_bees` of 1 that worker is in no region's team.
const MIN_BEES_WITH_WORKER: u32 = 2;

/// Starts the thread of a worker that the team is hiring. Gets the worker's number, and the epoch of the last region
/// that the team has begun.
type StartWorker<'h> = dyn FnMut(u32, u64) -> Result<(), ThreadError> + 'h;

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
    pending_resize: AtomicU32,
    /// The handles of the workers' threads, in the order of hiring. Shutting down takes them out and joins them.
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The number of owners that are still alive: the hive's handle, and each worker's thread until its main function
    /// has ended. The last of them to go runs the tasks that are left and writes the timeline.
    live_owners: AtomicUsize,
    /// The hive's entry in the graph of waits between hives.
    pub(crate) wait_node: WaitNode,
    /// The worker threads that a guest library wants to own.
    pub(crate) thread_hosts: ThreadHosts,
    /// The thread that reports regions that make no progress, if the program has asked for one.
    watchdog: Watchdog,
    /// Writes the timeline. None: the hive is not traced.
    tracer: Option<Tracer>,
    /// Problems that have occurred since the hive was built, for the report.
    runtime_warnings: Mutex<Vec<String>>,
}

impl Shared {
    /// The shared part of a hive of the queen alone. `start_initial_workers` hires the workers.
    pub(crate) fn new(
        config: Config,
        machine_info: MachineInfo,
        place_map: PlaceMap,
        tracer: Option<Tracer>,
    ) -> Arc<Self> {
        let capacity = config.max_bees.max(MIN_BEES_WITH_WORKER);
        let sleep = match config.sleep {
            SleepProtocol::Jec => Sleep::jec(),
            SleepProtocol::Tickle => Sleep::tickle(),
            SleepProtocol::Notify => Sleep::notify(capacity),
        };
        // How long bees poll and whether they wake up by themselves; and which CPUs belong to the workers alone.
        let policy = WaitPolicy::new(
            config.spin,
            config.poll_interval,
            machine_info.usable_cpus(),
            place_map.worker_cpus(config.bees as usize),
        );
        // The cache line in which regions are announced: the best of several, as measured between the first two bees.
        let start_line = calibrate_line::choose_start_line(&place_map, config.bees);
        // The groups in which bees meet: as configured, or as measured on this machine.
        let barrier_choice = BarrierChoice::for_config(&config, &machine_info, &place_map);
        let shape = Shape::new(barrier_choice.shape, &place_map.addresses(capacity), capacity);
        let team = Team::new(capacity, policy, start_line, sleep, place_map.neighbours(capacity), shape)
            .with_nesting(nesting::NESTING);
        // The watchdog and the timeline need bees that record what they are doing; other hives are spared the cost.
        let team = if config.watchdog_limit.is_some() { team.record_activity() } else { team };
        let team = if tracer.is_some() { team.record_trace() } else { team };
        Arc::new_cyclic(|shared: &Weak<Self>| Self {
            team: team.with_owner(TeamOwner(shared.as_ptr().cast())),
            config,
            machine_info,
            place_map,
            barrier_choice,
            pending_resize: AtomicU32::new(0),
            threads: Mutex::new(Vec::new()),
            live_owners: AtomicUsize::new(1),
            wait_node: WaitNode::new(),
            thread_hosts: ThreadHosts::default(),
            watchdog: Watchdog::new(),
            tracer,
            runtime_warnings: Mutex::new(Vec::new()),
        })
    }

    /// Starts the watchdog, and registers the timeline to be written when the process ends, as far as the configuration
    /// asks for them.
    pub(crate) fn start_observers(self: &Arc<Self>) -> io::Result<()> {
        if self.tracer.is_some() {
            Tracer::write_at_exit(self);
        }
        self.config.watchdog_limit.map_or(Ok(()), |limit| self.watchdog.start(self, limit))
    }

    /// Hires the workers that the hive starts with.
    pub(crate) fn start_initial_workers(self: &Arc<Self>) -> Result<(), ThreadError> {
        self.grow_to(self.config.bees)
    }

    /// Runs a region: see [`Hive::try_spmd`](crate::pool::handle::Hive::try_spmd). The calling thread is bee 0 of it.
    #[inline]
    pub(crate) fn spmd<P: RegionBody>(self: &Arc<Self>, bees: usize, body: &mut P) -> Result<(), SpmdError> {
        let bees = self.checked_bees(bees)?;
        if bees == 1 {
            self.run_alone(body);
            return Ok(());
        }
        // Inside a region or a task of any hive the thread must not simply wait for the leader lock.
        if nesting::is_inside_any() {
            return self.nested_spmd(bees, body);
        }
        self.spmd_locked(&mut self.team.acquire_leadership(), bees, body)
    }

    /// Runs a region for a thread that is inside a region, or that runs tasks, of this hive or another one.
    ///
    /// The team is the caller alone if the caller cannot get the leader lock at once, or if a bee that the team needs
    /// may be waiting, directly or through other hives, for the calling thread. Otherwise the team is a real one.
    #[cold]
    fn nested_spmd<P: RegionBody>(self: &Arc<Self>, bees: u32, body: &mut P) -> Result<(), SpmdError> {
        let mut start_if_locked = |leadership: Option<&mut Leadership<'_>>| {
            // The order of the steps matters. The leader lock and the check for a cycle of waits come first, then the
            // announcement, then at once the region, so that a region that has been announced does follow.
            let mut run = |leadership: &mut Leadership<'_>| {
                // The announcement is taken back whether the region returns, panics or cannot start.
                let _withdraw = WithdrawAnnouncement(&self.team);
                let _nested = self.team.mark_outside_help();
                self.spmd_locked(leadership, bees, body)
            };
            // Announces the region and then runs it. None: some bee of the team is in the middle of a task.
            let mut start =
                |leadership: &mut Leadership<'_>| self.announce_start(leadership, bees).then(|| run(leadership));
            // None as well if the leader lock is not free, or if waiting for the team would close a cycle of waits
            // between hives.
            let started =
                leadership.and_then(|leadership| self.wait_node.unless_deadlock(|| start(leadership)).flatten());
            started.unwrap_or_else(|| {
                self.run_alone(body);
                Ok(())
            })
        };
        // A region inside a region of the same hive is always a team of one.
        if nesting::is_inside_region_of(&self.team) {
            start_if_locked(None)
        } else {
            enter::with_leadership(&self.team, start_if_locked)
        }
    }

    /// Whether the calling thread, which holds the leader lock, may start a region of `bees` bees.
    ///
    /// If no other thread can be waiting for the calling one, it may. Otherwise no bee of the team may be in the middle
    /// of a task, because that task could be waiting for the calling thread; `try_announce_region` checks that and
    /// keeps those bees from beginning a task before they have come to the region.
    fn announce_start(&self, leadership: &Leadership<'_>, bees: u32) -> bool {
        !nesting::is_waited_for() || self.team.try_announce_region(leadership, bees)
    }

    /// Runs a region of at least two bees for the holder of the leader lock. Grows the hive first if it has fewer bees.
    #[inline]
    fn spmd_locked<P: RegionBody>(
        self: &Arc<Self>,
        leadership: &mut Leadership<'_>,
        bees: u32,
        body: &mut P,
    ) -> Result<(), SpmdError> {
        // Dropped before the caller releases the leader lock: the region of the next queen may have a pending resize of
        // its own.
        let _apply_resize = ApplyPendingResize(self);
        if bees > self.team.bees() {
            self.grow_to(bees).map_err(|error| SpmdError(SpmdProblem::Threads(error)))?;
        }
        self.team.run_region(leadership, bees, body);
        Ok(())
    }

    /// Runs a region whose team is the calling thread alone. Needs no leader lock.
    #[inline]
    pub(crate) fn run_alone<P: RegionBody>(self: &Arc<Self>, body: &P) {
        let region = SoloRegion { shared: self, context: RegionContext::alone(&self.team) };
        body.run(&region.context);
        // The usual case: there is no resize to apply and no panic to make up for, so the destructor has nothing to do.
        if region.context.has_nothing_pending() { std::mem::forget(region) } else { region.finish() }
    }

    /// Checks the size that the program has asked for. One comparison covers both limits: 0 wraps around to the largest
    /// number.
    #[inline]
    fn checked_bees(&self, bees: usize) -> Result<u32, SpmdError> {
        let max_bees = self.config.max_bees;
        if bees.wrapping_sub(1) < max_bees as usize && !self.is_forked() {
            return Ok(bees as u32);
        }
        Err(SpmdError(match bees {
            0 => SpmdProblem::NoBees,
            _ if bees > max_bees as usize => SpmdProblem::TooMany { requested: bees, max_bees: max_bees as usize },
            _ => SpmdProblem::Forked,
        }))
    }

    /// Grows the hive to `bees` bees, unless it has as many already.
    #[cold]
    fn grow_to(self: &Arc<Self>, bees: u32) -> Result<(), ThreadError> {
        self.with_started_workers(bees, |start| self.team.grow_to(bees, start))
    }

    /// Makes sure that the hive has a worker to run tasks; hires one if it has none.
    ///
    /// # Panics
    /// If the system makes no more threads, or in a forked child.
    pub(crate) fn ensure_worker(self: &Arc<Self>) {
        self.assert_not_forked();
        if !self.team.has_worker() {
            self.with_started_workers(MIN_BEES_WITH_WORKER, |start| self.team.hire(MIN_BEES_WITH_WORKER, start))
                .unwrap_or_else(|error| panic!("no worker to run tasks: {error}"));
        }
    }

    /// Changes the size of the hive: see [`Hive::resize`](crate::pool::handle::Hive::resize). Inside a region of this
    /// hive, the change takes effect when the region ends.
    pub(crate) fn resize(self: &Arc<Self>, bees: usize) -> Result<(), ResizeError> {
        let max_bees = self.config.max_bees as usize;
        let bees = match bees {
            0 => return Err(ResizeError(ResizeProblem::NoBees)),
            _ if bees > max_bees => return Err(ResizeError(ResizeProblem::TooMany { requested: bees, max_bees })),
            _ if self.is_forked() => return Err(ResizeError(ResizeProblem::Forked)),
            _ => bees as u32,
        };
        let resized = nesting::with_outermost_region(&self.team, |context| self.resize_after_region(bees, context));
        let resized = resized.unwrap_or_else(|| self.resize_now(bees));
        resized.map_err(|error| ResizeError(ResizeProblem::Threads(error)))
    }

    /// Changes the size of the hive at once.
    fn resize_now(self: &Arc<Self>, bees: u32) -> Result<(), ThreadError> {
        self.with_started_workers(bees, |start| self.team.resize(bees, start))
    }

    /// Makes the hive change its size when the region of `context` has ended. Hiring is the only step that can fail; it
    /// is done now, while there is a caller to return the error to.
    fn resize_after_region(self: &Arc<Self>, bees: u32, context: &RegionContext<'_>) -> Result<(), ThreadError> {
        self.with_started_workers(bees, |start| self.team.hire(bees, start))?;
        if context.bees() == 1 {
            context.set_pending_resize(bees);
        } else {
            // Relaxed: read in `ApplyPendingResize::drop`. The arrival of this bee at the end of the region publishes
            // the value to the queen.
            self.pending_resize.store(bees, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Applies a resize that was asked for inside a region. An error goes into the report, because the call that asked
    /// for the resize has returned.
    #[cold]
    fn apply_pending_resize(self: &Arc<Self>, bees: u32) {
        if self.is_forked() {
            return;
        }
        if let Err(error) = self.resize_now(bees) {
            self.add_warning(error.to_string());
        }
    }

    /// Waits until no surplus worker is on a core any more: see
    /// [`Hive::wait_until_parked`](crate::pool::handle::Hive::wait_until_parked).
    pub(crate) fn wait_until_parked(&self) {
        // Inside a region of this hive there is nothing to wait for: its surplus bees cannot leave before it ends.
        if self.is_forked() || nesting::is_inside_region_of(&self.team) {
            return;
        }
        if !nesting::is_waited_for() {
            return self.team.wait_until_parked();
        }
        // Another thread may be waiting for this one. A surplus worker that is in the middle of a task or of a region
        // may be that thread, or may even run this call, so such workers are not waited for. While the calling thread
        // holds the leader lock no region runs, which makes it certain that no worker is inside one.
        let is_leader =
            nesting::with_task_context(&self.team, |context| context.is_some_and(|context| context.id() == 0));
        let leadership = if is_leader { None } else { self.team.try_acquire_leadership() };
        self.team.wait_until_idle_parked(is_leader || leadership.is_some());
    }

    /// Makes a change for which workers may have to be hired, and returns when the new workers' threads are running.
    ///
    /// `change` gets a function that starts one worker; `bees` is the size that the hive is to have. After the return
    /// it is known what the new workers are bound to, and a fork does not find one of them holding a lock of the thread
    /// library.
    fn with_started_workers<R>(self: &Arc<Self>, bees: u32, change: impl FnOnce(&mut StartWorker<'_>) -> R) -> R {
        let running = LazyCell::new(|| Arc::new(Semaphore::new()));
        let mut started = 0;
        // One reservation covers all the threads of this change. It is made before the first thread, and held until all
        // of them are running and count for themselves.
        let mut reservation = None;
        let result = change(&mut |worker, epoch| {
            if reservation.is_none() {
                reservation = Some(reserve_threads(worker, bees, self.config.stack_size)?);
            }
            self.start_worker(worker, epoch, bees, Arc::clone(&running))?;
            started += 1;
            Ok(())
        });
        // Each new worker posts the semaphore once. That includes the case in which `change` has failed after some of
        // them.
        (0..started).for_each(|_| running.wait());
        result
    }

    /// Starts the thread of `worker`, whose first region is the one after `epoch`. The thread posts `running` when it
    /// is bound and registered.
    fn start_worker(
        self: &Arc<Self>,
        worker: u32,
        epoch: u64,
        bees: u32,
        running: Arc<Semaphore>,
    ) -> Result<(), ThreadError> {
        // Counted before the thread exists: the hive must not be taken for finished while the thread is on its way.
        let owner = LiveOwner::new(self);
        let place = self.place_map.claim_place(worker as usize).cloned();
        let mut thread = thread::Builder::new().name(format!("{}-{worker}", self.config.thread_name));
        if let Some(bytes) = self.config.stack_size {
            thread = thread.stack_size(bytes);
        }
        // A new thread inherits the mask of the thread that makes it. That thread may be bound to one core of another
        // hive, so it is unbound while it makes this one.
        let _unpinned = pinning::unbind();
        let entry = self
            .thread_hosts
            .host_for(worker, move || owner.shared().run_worker(worker, epoch, place.as_ref(), &running));
        // The signal mask is inherited, too: the worker has to begin with its signals blocked.
        let (spawned, blocked) = signal_mask::with_signals_blocked(|| thread.spawn(entry));
        if let Err(error) = blocked {
            self.add_warning(format!(
                "bees handle the program's signals as other threads do: pthread_sigmask failed: {error}"
            ));
        }
        let thread = spawned.map_err(|error| ThreadError {
            bee: worker,
            bees: bees as usize,
            cause: ThreadErrorCause::Refused(error),
        })?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// The main function of a worker's thread: bind it, run the start hook, run regions and tasks until the hive is
    /// dropped, run the exit hook.
    fn run_worker(&self, worker: u32, epoch: u64, place: Option<&Place>, running: &Semaphore) {
        // A panic here is a fault of hive: regions, tasks and hooks catch the panics of the program's code.
        let abort_on_unwind = AbortOnUnwind::new("in a worker's main function");
        self.wait_node.register_worker();
        let _on_core = self.team.policy().count_on_core();
        // The program may have bound the thread that hired this one. The worker uses the mask that the hive was built
        // with.
        if let Some(mask) = &self.machine_info.mask {
            self.warn_on_error(worker, pinning::adopt_mask(mask));
        }
        let bound = place.and_then(|place| self.warn_on_error(worker, pinning::bind(place)));
        // The report must not show a place that this worker is not bound to.
        if place.is_some() && bound.is_none() {
            self.place_map.release_place(worker as usize);
        }
        let policy = self.team.policy();
        let context = TaskContext::new(&self.team, worker);
        caller::with_context(&context, || {
            if self.config.hooks.start.is_none() {
                running.post();
            } else {
                // The post is inside of the task, so that a thread that starts a region afterwards sees that this
                // worker is busy with its start hook.
                context.run_as_task(|| {
                    running.post();
                    self.config.hooks.run_start_hook(worker);
                });
            }
            // A child process that was forked in the start hook must not go on, because it has none of the hive's other
            // threads.
            policy.abort_if_forked();
            Worker::new(&context, epoch).run();
            self.config.hooks.run_exit_hook(worker);
        });
        // The same for a child that was forked in a region, a task or the exit hook.
        policy.abort_if_forked();
        // From here on only destructors of thread-locals run on this thread.
        nesting::mark_worker_ending();
        abort_on_unwind.disarm();
    }

    /// Returns the value of `result`; turns an error into a warning in the report.
    fn warn_on_error<T>(&self, bee: u32, result: Result<T, BindError>) -> Option<T> {
        result.map_err(|error| self.add_warning(format!("bee {bee} is not bound as it should be: {error}"))).ok()
    }

    /// Ends all workers and waits for their threads.
    ///
    /// It does not wait for the calling thread if that is one of the workers, and not for any of them if they may be
    /// waiting for the calling thread: then the workers end by themselves, and the last one finishes the hive.
    pub(crate) fn shut_down(&self) {
        if self.is_forked() {
            return;
        }
        self.watchdog.stop();
        self.team.terminate_all();
        self.thread_hosts.clear();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        // A thread that is not one of the hive's workers joins them, unless that would close a cycle of waits between
        // hives.
        if !self.wait_node.is_current_hive() {
            self.wait_node.unless_deadlock(|| join_all_but_current(threads));
        } else if !self.hosts_rayon() {
            // One of the hive's own workers joins the others. They cannot be waiting for it, since everything that
            // they wait for borrows the hive; jobs of a rayon pool are the exception, hence the condition.
            join_all_but_current(threads);
            // Run now and not at the end of the calling worker's thread: the code that this worker is in the middle of
            // may be waiting for one of these tasks.
            self.team.run_leftover_tasks();
        }
        self.release_owner();
    }

    /// Whether jobs of a rayon pool run on the workers. Such jobs do not borrow the hive, so workers may be waiting for
    /// one another in them while the hive is dropped.
    fn hosts_rayon(&self) -> bool {
        #[cfg(feature = "rayon")]
        return self.config.host_rayon;
        #[cfg(not(feature = "rayon"))]
        return false;
    }

    /// Gives up one owner of the hive. The last owner runs the tasks that are still queued and writes the timeline.
    fn release_owner(&self) {
        // AcqRel: pairs with itself in the other owners. The last owner has seen everything that the others did before
        // they gave up theirs.
        if self.live_owners.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.team.run_leftover_tasks();
            self.write_final_trace();
        }
    }

    /// What writes the timeline; None if the hive is not traced.
    pub(crate) fn tracer(&self) -> Option<&Tracer> {
        self.tracer.as_ref()
    }

    /// What the bees hired so far have done.
    pub(crate) fn stats(&self) -> Stats {
        Stats::new(self.team.counters().map(Counts::of).collect())
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

impl Drop for Shared {
    fn drop(&mut self) {
        if self.is_forked() {
            // The threads belong to the parent process. Dropping a handle would detach a thread by an id that another
            // thread may have by now; see `Watchdog::forget_thread`.
            std::mem::take(self.threads.get_mut().unwrap_or_else(PoisonError::into_inner))
                .into_iter()
                .for_each(std::mem::forget);
            self.watchdog.forget_thread();
        }
    }
}

/// Reserves room for the threads of the workers `first..bees`.
fn reserve_threads(first: u32, bees: u32, stack: Option<usize>) -> Result<ThreadReservation, ThreadError> {
    let reservation = ThreadReservation::reserve(u64::from(bees.saturating_sub(first)), stack);
    reservation.map_err(|exhausted| ThreadError {
        bee: first,
        bees: bees as usize,
        cause: ThreadErrorCause::LimitReached(exhausted),
    })
}

/// Joins these threads, except the calling one.
fn join_all_but_current(threads: Vec<JoinHandle<()>>) {
    let current = thread::current().id();
    let others = threads.into_iter().filter(|thread| thread.thread().id() != current);
    others.for_each(|thread| thread.join().expect("a bee catches the panics of what it runs"));
}

/// A worker's share in the hive, counted in `live_owners`: made before the thread is, and dropped when all that the
/// thread does has ended.
struct LiveOwner(Arc<Shared>);

impl LiveOwner {
    fn new(shared: &Arc<Shared>) -> Self {
        // Relaxed: hands nothing over. The caller uses the hive, so some owner exists and keeps the count above 0
        // meanwhile. The AcqRel in `release_owner` orders what the owners do.
        shared.live_owners.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(shared))
    }

    fn shared(&self) -> &Shared {
        &self.0
    }
}

impl Drop for LiveOwner {
    fn drop(&mut self) {
        self.0.release_owner();
    }
}

/// Applies, when it is dropped after a region, the resize that a bee has asked for inside it. It does so whether the
/// region has returned, panicked or could not start.
pub(crate) struct ApplyPendingResize<'c>(pub(crate) &'c Arc<Shared>);

impl Drop for ApplyPendingResize<'_> {
    #[inline]
    fn drop(&mut self) {
        // Relaxed: pairs with the store in `Shared::resize_after_region`, which precedes the arrival of the storing bee
        // at the end of the region; the queen has seen that arrival.
        let bees = self.0.pending_resize.load(Ordering::Relaxed);
        if bees > 0 {
            // Relaxed: the next region's start publishes it to the bees that may store again.
            self.0.pending_resize.store(0, Ordering::Relaxed);
            self.0.apply_pending_resize(bees);
        }
    }
}

/// Takes back the announcement of a region when it is dropped, whether the region has returned, panicked or could not
/// start.
struct WithdrawAnnouncement<'c>(&'c Team);

impl Drop for WithdrawAnnouncement<'_> {
    fn drop(&mut self) {
        self.0.withdraw_announcement();
    }
}

/// A region whose team is the caller alone. Dropping it applies the resize that was asked for inside, as
/// `ApplyPendingResize` does for other regions.
struct SoloRegion<'c> {
    shared: &'c Arc<Shared>,
    context: RegionContext<'c>,
}

impl SoloRegion<'_> {
    /// Ends a region that has left a note in its context: a resize to apply, or a panic that was suppressed.
    ///
    /// # Panics
    /// If the region's body has returned although a call in it should have panicked, which it could not do in a
    /// destructor that ran because of another panic.
    #[cold]
    fn finish(self) {
        let went_without_barrier = self.context.has_suppressed_panic();
        drop(self);
        assert!(
            !went_without_barrier,
            "the only bee of a region has gone on after a call that should have panicked, in a destructor, where a \
             panic would have ended the process: the region cannot return as if nothing had happened"
        );
    }
}

impl Drop for SoloRegion<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(bees) = self.context.pending_resize() {
            self.shared.apply_pending_resize(bees);
        }
    }
}
