//! What a hive's handle and its bees' threads share: the team, the places, and how bees are hired.

use std::cell::LazyCell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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

/// As many as a team has room for at least: the queen, and a bee for the tasks that she cannot run. Where a hive may
/// not grow to two that bee is never a bee of a team.
const MIN_BEES_WITH_WORKER: u32 = 2;

/// What starts a bee's thread: given its number, and the region that the team has come to.
type StartWorker<'h> = dyn FnMut(u32, u64) -> Result<(), ThreadError> + 'h;

/// The shared part of a hive.
pub(crate) struct Shared {
    pub(crate) team: Team,
    pub(crate) config: Config,
    pub(crate) machine_info: MachineInfo,
    pub(crate) place_map: PlaceMap,
    pub(crate) barrier_choice: BarrierChoice,
    /// The size asked for from inside the region that is on, which the hive gets when that ends. 0: none. (A region whose team is its
    /// caller alone may be on beside it; its wishes are kept by its bee.)
    pending_resize: AtomicU32,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The hive's handle, and the bees' threads that have not ended.
    live_owners: AtomicUsize,
    pub(crate) wait_node: WaitNode,
    pub(crate) thread_hosts: ThreadHosts,
    watchdog: Watchdog,
    /// In a hive that is traced.
    tracer: Option<Tracer>,
    /// What went wrong after the hive was built.
    runtime_warnings: Mutex<Vec<String>>,
}

impl Shared {
    /// A pool of the queen alone.
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
        let policy = WaitPolicy::new(
            config.spin,
            config.poll_interval,
            machine_info.usable_cpus(),
            place_map.worker_cpus(config.bees as usize),
        );
        let start_line = calibrate_line::choose_start_line(&place_map, config.bees);
        let barrier_choice = BarrierChoice::for_config(&config, &machine_info, &place_map);
        let shape = Shape::new(barrier_choice.shape, &place_map.addresses(capacity), capacity);
        let team = Team::new(capacity, policy, start_line, sleep, place_map.neighbours(capacity), shape);
        let team = if config.watchdog_limit.is_some() { team.record_activity() } else { team };
        Arc::new(Self {
            team: if tracer.is_some() { team.record_trace() } else { team },
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

    /// Begins to watch the hive, and sees to its trace, if that is asked for.
    pub(crate) fn start_observers(self: &Arc<Self>) -> io::Result<()> {
        if self.tracer.is_some() {
            Tracer::write_at_exit(self);
        }
        self.config.watchdog_limit.map_or(Ok(()), |limit| self.watchdog.start(self, limit))
    }

    /// Hires the bees that the hive starts with.
    pub(crate) fn start_initial_workers(self: &Arc<Self>) -> Result<(), ThreadError> {
        self.grow_to(self.config.bees)
    }

    /// Runs a region: see [`crate::pool::handle::Hive::try_spmd`].
    #[inline]
    pub(crate) fn spmd<P: RegionBody>(self: &Arc<Self>, bees: usize, body: &mut P) -> Result<(), SpmdError> {
        let bees = self.checked_bees(bees)?;
        if bees == 1 {
            self.run_alone(body);
            return Ok(());
        }
        if nesting::is_inside_any() {
            return self.nested_spmd(bees, body);
        }
        self.spmd_locked(&mut self.team.acquire_leadership(), bees, body)
    }

    /// Runs a region of a thread that is inside a region, or runs tasks: as a team of one where it may not have the
    /// turn, and where bees that it needs may be waiting for the calling one.
    #[cold]
    fn nested_spmd<P: RegionBody>(self: &Arc<Self>, bees: u32, body: &mut P) -> Result<(), SpmdError> {
        let mut start_if_locked = |leadership: Option<&mut Leadership<'_>>| {
            // In this order: what `announce_start` has announced is followed by the region.
            let mut run = |leadership: &mut Leadership<'_>| {
                // Whatever becomes of the region.
                let _withdraw = WithdrawAnnouncement(&self.team);
                let _nested = self.team.mark_outside_help();
                self.spmd_locked(leadership, bees, body)
            };
            let mut start =
                |leadership: &mut Leadership<'_>| self.announce_start(leadership, bees).then(|| run(leadership));
            let started =
                leadership.and_then(|leadership| self.wait_node.unless_deadlock(|| start(leadership)).flatten());
            started.unwrap_or_else(|| {
                self.run_alone(body);
                Ok(())
            })
        };
        if nesting::is_inside_region_of(&self.team) {
            start_if_locked(None)
        } else {
            enter::with_leadership(&self.team, start_if_locked)
        }
    }

    /// Whether the calling thread, which has the turn, may start a region of so many. If others may be waiting for it, the region
    /// must not wait for any of them.
    fn announce_start(&self, leadership: &Leadership<'_>, bees: u32) -> bool {
        !nesting::is_waited_for() || self.team.try_announce_region(leadership, bees)
    }

    #[inline]
    fn spmd_locked<P: RegionBody>(
        self: &Arc<Self>,
        leadership: &mut Leadership<'_>,
        bees: u32,
        body: &mut P,
    ) -> Result<(), SpmdError> {
        // Dropped before the turn: another queen's region may have wishes of its own.
        let _apply_resize = ApplyPendingResize(self);
        if bees > self.team.bees() {
            self.grow_to(bees).map_err(|error| SpmdError(SpmdProblem::Threads(error)))?;
        }
        self.team.run_region(leadership, bees, body);
        Ok(())
    }

    /// Runs a region whose team is the caller alone.
    #[inline]
    pub(crate) fn run_alone<P: RegionBody>(self: &Arc<Self>, body: &P) {
        let region = SoloRegion { shared: self, context: RegionContext::alone(&self.team) };
        body.run(&region.context);
        if region.context.has_nothing_pending() { std::mem::forget(region) } else { region.finish() }
    }

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

    #[cold]
    fn grow_to(self: &Arc<Self>, bees: u32) -> Result<(), ThreadError> {
        self.with_started_workers(bees, |start| self.team.grow_to(bees, start))
    }

    /// Sees that there is a bee to run tasks.
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

    /// Resizes: see [`crate::pool::handle::Hive::resize`].
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

    fn resize_now(self: &Arc<Self>, bees: u32) -> Result<(), ThreadError> {
        self.with_started_workers(bees, |start| self.team.resize(bees, start))
    }

    /// Resizes when the region that `member` is in has ended. What may fail is done now, while there is somebody to tell.
    fn resize_after_region(self: &Arc<Self>, bees: u32, context: &RegionContext<'_>) -> Result<(), ThreadError> {
        self.with_started_workers(bees, |start| self.team.hire(bees, start))?;
        if context.bees() == 1 {
            context.set_pending_resize(bees);
        } else {
            // Relaxed: the bee's arrival publishes it to the queen.
            self.pending_resize.store(bees, Ordering::Relaxed);
        }
        Ok(())
    }

    #[cold]
    fn apply_pending_resize(self: &Arc<Self>, bees: u32) {
        if self.is_forked() {
            return;
        }
        if let Err(error) = self.resize_now(bees) {
            self.add_warning(error.to_string());
        }
    }

    /// Waits until surplus bees are off their cores: see [`crate::pool::handle::Hive::settle`].
    pub(crate) fn wait_until_parked(&self) {
        // From inside a region there is nothing to wait for: its bees cannot go before it ends.
        if self.is_forked() || nesting::is_inside_region_of(&self.team) {
            return;
        }
        if !nesting::is_waited_for() {
            return self.team.wait_until_parked();
        }
        // A surplus bee that is in the middle of something may be waiting for this thread, or be on it: in a task, or in a region.
        // No region is on while this thread has the turn.
        let is_leader =
            nesting::with_task_context(&self.team, |context| context.is_some_and(|context| context.id() == 0));
        let leadership = if is_leader { None } else { self.team.try_acquire_leadership() };
        self.team.wait_until_idle_parked(is_leader || leadership.is_some());
    }

    /// Makes a change for which bees may have to be hired, and returns when those hired are living: what they are bound to is then known, and
    /// a fork after this finds none of them holding a lock of the thread library.
    fn with_started_workers<R>(self: &Arc<Self>, bees: u32, change: impl FnOnce(&mut StartWorker<'_>) -> R) -> R {
        let running = LazyCell::new(|| Arc::new(Semaphore::new()));
        let mut started = 0;
        // For all of them, before the first one is made, and until they live.
        let mut reservation = None;
        let result = change(&mut |worker, epoch| {
            if reservation.is_none() {
                reservation = Some(reserve_threads(worker, bees, self.config.stack_size)?);
            }
            self.start_worker(worker, epoch, bees, Arc::clone(&running))?;
            started += 1;
            Ok(())
        });
        (0..started).for_each(|_| running.wait());
        result
    }

    /// Starts the thread of bee `member`, the team having come to region `epoch`. The thread posts `running`.
    fn start_worker(
        self: &Arc<Self>,
        worker: u32,
        epoch: u64,
        bees: u32,
        running: Arc<Semaphore>,
    ) -> Result<(), ThreadError> {
        let owner = LiveOwner::new(self);
        let place = self.place_map.claim_place(worker as usize).cloned();
        let mut thread = thread::Builder::new().name(format!("{}-{worker}", self.config.thread_name));
        if let Some(bytes) = self.config.stack_size {
            thread = thread.stack_size(bytes);
        }
        // A bee inherits the hiring thread's mask, which may be one core of another hive.
        let _unpinned = pinning::unbind();
        let entry = self
            .thread_hosts
            .host_for(worker, move || owner.shared().run_worker(worker, epoch, place.as_ref(), &running));
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

    /// What a bee's thread does.
    fn run_worker(&self, worker: u32, epoch: u64, place: Option<&Place>, running: &Semaphore) {
        let abort_on_unwind = AbortOnUnwind::new("in a worker's main function");
        self.wait_node.register_worker();
        let _on_core = self.team.policy().count_on_core();
        // The thread that hired this one may have been bound by its program.
        if let Some(mask) = &self.machine_info.mask {
            self.warn_on_error(worker, pinning::adopt_mask(mask));
        }
        let bound = place.and_then(|place| self.warn_on_error(worker, pinning::bind(place)));
        if place.is_some() && bound.is_none() {
            self.place_map.release_place(worker as usize);
        }
        let policy = self.team.policy();
        let context = TaskContext::new(&self.team, worker);
        caller::with_context(&context, || {
            if self.config.hooks.start.is_none() {
                running.post();
            } else {
                context.run_as_task(|| {
                    running.post();
                    self.config.hooks.run_start_hook(worker);
                });
            }
            // A child that was forked in a handler goes no further.
            policy.abort_if_forked();
            Worker::new(&context, epoch).run();
            self.config.hooks.run_exit_hook(worker);
        });
        policy.abort_if_forked();
        nesting::mark_worker_ending();
        abort_on_unwind.disarm();
    }

    fn warn_on_error<T>(&self, bee: u32, result: Result<T, BindError>) -> Option<T> {
        result.map_err(|error| self.add_warning(format!("bee {bee} is not bound as it should be: {error}"))).ok()
    }

    /// Ends all bees. Waits for their threads, except the calling one's if it is one of them, and except where they may
    /// be waiting for the calling one.
    pub(crate) fn shut_down(&self) {
        if self.is_forked() {
            return;
        }
        self.watchdog.stop();
        self.team.terminate_all();
        self.thread_hosts.clear();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        if !self.wait_node.is_current_hive() {
            self.wait_node.unless_deadlock(|| join_all_but_current(threads));
        } else if !self.hosts_rayon() {
            join_all_but_current(threads);
            // Not left to the calling thread's end: what it is in the middle of may be waiting for some of it.
            self.team.run_leftover_tasks();
        }
        self.release_owner();
    }

    /// Whether the bees may be waiting for one another in what a guest has them run.
    fn hosts_rayon(&self) -> bool {
        #[cfg(feature = "rayon")]
        return self.config.host_rayon;
        #[cfg(not(feature = "rayon"))]
        return false;
    }

    /// The last one out does what is left to do when all bees have ended.
    fn release_owner(&self) {
        // AcqRel: who is last has seen what all others did.
        if self.live_owners.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.team.run_leftover_tasks();
            self.write_final_trace();
        }
    }

    pub(crate) fn tracer(&self) -> Option<&Tracer> {
        self.tracer.as_ref()
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats::new(self.team.counters().map(Counts::of).collect())
    }

    /// What comes again and again is told once. In a forked child nobody is told: a thread of the parent's may have the lock.
    pub(crate) fn add_warning(&self, warning: String) {
        if self.is_forked() {
            return;
        }
        let mut warnings = self.runtime_warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    pub(crate) fn runtime_warnings(&self) -> Vec<String> {
        self.runtime_warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// # Panics
    /// In a forked child.
    pub(crate) fn assert_not_forked(&self) {
        assert!(!self.is_forked(), "this process is a forked child: the hive's threads are its parent's");
    }

    /// Whether the calling process is a forked child of the one that made this pool.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.team.policy().is_forked()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.is_forked() {
            // As in `forget_thread`.
            std::mem::take(self.threads.get_mut().unwrap_or_else(PoisonError::into_inner))
                .into_iter()
                .for_each(std::mem::forget);
            self.watchdog.forget_thread();
        }
    }
}

/// Room for the threads of the bees from `member` on, of a hive that is to have `bees` bees.
fn reserve_threads(first: u32, bees: u32, stack: Option<usize>) -> Result<ThreadReservation, ThreadError> {
    let reservation = ThreadReservation::reserve(u64::from(bees.saturating_sub(first)), stack);
    reservation.map_err(|exhausted| ThreadError {
        bee: first,
        bees: bees as usize,
        cause: ThreadErrorCause::LimitReached(exhausted),
    })
}

/// Waits for the end of these threads, but not for the calling one's.
fn join_all_but_current(threads: Vec<JoinHandle<()>>) {
    let current = thread::current().id();
    let others = threads.into_iter().filter(|thread| thread.thread().id() != current);
    others.for_each(|thread| thread.join().expect("a bee catches the panics of what it runs"));
}

/// A bee's thread, from before it is made until all that it does has ended.
struct LiveOwner(Arc<Shared>);

impl LiveOwner {
    fn new(shared: &Arc<Shared>) -> Self {
        // Relaxed: whoever calls this is inside.
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

/// Applies, after a region however it ends, the resize that was asked for inside.
pub(crate) struct ApplyPendingResize<'c>(pub(crate) &'c Arc<Shared>);

impl Drop for ApplyPendingResize<'_> {
    #[inline]
    fn drop(&mut self) {
        // Relaxed: stored by a bee before its arrival, which the queen has seen.
        let bees = self.0.pending_resize.load(Ordering::Relaxed);
        if bees > 0 {
            self.0.pending_resize.store(0, Ordering::Relaxed);
            self.0.apply_pending_resize(bees);
        }
    }
}

/// Takes back, after a region however it ends or fails to begin, that it was announced.
struct WithdrawAnnouncement<'c>(&'c Team);

impl Drop for WithdrawAnnouncement<'_> {
    fn drop(&mut self) {
        self.0.withdraw_announcement();
    }
}

/// As `ApplyPendingResize`, for a team of one.
struct SoloRegion<'c> {
    shared: &'c Arc<Shared>,
    context: RegionContext<'c>,
}

impl SoloRegion<'_> {
    /// Ends a region in which there was something to note.
    ///
    /// # Panics
    /// If its bee has returned, and has gone on after a call that should have panicked.
    #[cold]
    fn finish(self) {
        let went_without_barrier = self.context.has_suppressed_panic();
        drop(self);
        assert!(
            !went_without_barrier,
            "the only member of a region has gone on after a call that should have panicked, in a destructor, where a panic would have ended the process: the region \
             cannot return as if nothing had happened"
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
