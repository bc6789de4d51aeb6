//! The hive of a model: a team of the library's own protocol, whose workers run on loom's threads.
//!
//! It does what the library's pool does around the protocol: it starts the workers' threads, grows the hive for a
//! region, and ends it. Each model builds one of these hives. Most constructors leave the start of the hive unexplored
//! and begin the exploration when all workers wait for their first region.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use loom::thread;

use crate::protocol::Team;
use crate::protocol::neighbours::{Location, Neighbours};
use crate::protocol::region::body::RegionBody;
use crate::protocol::region::line_choice::LineChoice;
use crate::protocol::region::parts_in_turn::PartsInTurn;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::shape::{BarrierShape, Shape};
use crate::protocol::tasks::sleep::Sleep;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::worker::main_loop::Worker;
use crate::sync::{AtomicU32, Deadline, Semaphore, WaitPolicy};
use crate::{exploration, failure};

/// Poll once and then sleep.
pub(crate) const PARK: WaitPolicy = WaitPolicy::Polls(0);

/// Poll twice and then sleep.
pub(crate) const SPIN_THEN_PARK: WaitPolicy = WaitPolicy::Polls(1);

/// Never sleep.
pub(crate) const SPIN: WaitPolicy = WaitPolicy::Endless;

/// The body of a region: a closure. `RUNS_ANYWHERE`: whether another bee may run a part of it in a bee's name.
struct ModelBody<F, const RUNS_ANYWHERE: bool>(F);

impl<F: Fn(&RegionContext<'_>) + Sync, const RUNS_ANYWHERE: bool> RegionBody for ModelBody<F, RUNS_ANYWHERE> {
    #[inline(always)]
    fn runs_anywhere(&self) -> bool {
        RUNS_ANYWHERE
    }

    fn run(&self, context: &RegionContext<'_>) {
        (self.0)(context);
    }
}

/// How a loop is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopStart {
    /// On the workers, of whom those that sleep are woken.
    AtOnce,
    /// On the workers only if the queen's own part is long.
    IfLong,
    /// On so many bees, fewer than the loop has parts.
    InTurn(u32),
}

/// A modelled hive. Clones share it.
#[derive(Clone)]
pub(crate) struct Hive {
    pub(crate) team: Arc<Team>,
    /// The task contexts of the bees by number, for tasks that use the context of the bee that runs them.
    task_contexts: Rc<RefCell<Vec<SharedTaskContext>>>,
}

/// The task context of a bee, for code that runs on that bee. loom does not see accesses to it; they cannot race,
/// because all of loom's threads run by turns on one thread of the system.
#[derive(Clone)]
pub(crate) struct SharedTaskContext(Rc<Cell<*const TaskContext<'static>>>);

#[expect(unsafe_code, reason = "lets the parts of regions use it")]
// SAFETY: loom's threads run by turns on one thread of the system.
unsafe impl Sync for SharedTaskContext {}

impl SharedTaskContext {
    fn new() -> Self {
        Self(Rc::new(Cell::new(ptr::null())))
    }

    /// Calls `f` with the task context. Must be called on the bee itself.
    #[expect(unsafe_code, reason = "follows a pointer to further up the stack")]
    pub(crate) fn with(&self, f: impl FnOnce(&TaskContext<'_>)) {
        // SAFETY: a task of the bee runs while the bee's main loop runs, and that loop's thread holds the context.
        f(unsafe { &*self.0.get() });
    }
}

impl Hive {
    /// A hive of the queen alone, without tasks.
    pub(crate) fn new(max_bees: u32, policy: WaitPolicy) -> Self {
        Self::with(max_bees, policy, Sleep::without_tasks())
    }

    fn with(max_bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        Self::with_addresses(&[], max_bees, policy, sleep)
    }

    /// A hive of the queen alone. `addresses` are the locations of the first bees, which are grouped by node.
    fn with_addresses(addresses: &[Location], max_bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        let shape = Shape::new(BarrierShape::Node, addresses, max_bees);
        let team = Team::new(max_bees, policy, LineChoice::new(1), sleep, Neighbours::new(addresses), shape, None);
        Self { team: Arc::new(team), task_contexts: Rc::default() }
    }

    /// A hive of the queen alone, which can get a worker to run tasks.
    pub(crate) fn queen_only_with_tasks(max_bees: u32, sleep: Sleep) -> Self {
        Self::with(max_bees, PARK, sleep)
    }

    /// A hive of `bees` bees that poll, and of parked ones up to `workers` in all (the count includes the queen). How
    /// they get there is not explored; what follows is.
    pub(crate) fn with_workers(workers: u32, bees: u32, policy: WaitPolicy) -> Self {
        Self::with_starting_workers(workers, bees, policy).explore(workers)
    }

    /// A hive with a bee on each of these nodes. All poll.
    pub(crate) fn on_nodes(nodes: &[usize], policy: WaitPolicy) -> Self {
        Self::on_nodes_with_tasks(nodes, policy, Sleep::without_tasks())
    }

    /// The same as `on_nodes`, but the bees run tasks and sleep by the protocol `sleep`.
    pub(crate) fn on_nodes_with_tasks(nodes: &[usize], policy: WaitPolicy, sleep: Sleep) -> Self {
        let addresses: Vec<Location> = nodes.iter().map(|&node| [None, None, Some(node)]).collect();
        let bees = nodes.len() as u32;
        Self::with_addresses(&addresses, bees, policy, sleep).start_workers(bees, bees).explore(bees)
    }

    /// A hive of `bees` bees that poll. Exploration has not begun.
    pub(crate) fn with_workers_unexplored(bees: u32, policy: WaitPolicy) -> Self {
        let hive = Self::with_starting_workers(bees, bees, policy);
        hive.let_workers_park(bees);
        hive
    }

    /// As `with_workers`, but the bees run tasks and sleep by the protocol `sleep`.
    pub(crate) fn with_tasks(hired: u32, bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        Self::with(hired, policy, sleep).start_workers(hired, bees).explore(hired)
    }

    /// As `with_tasks`, with `bees` bees and room for `max_bees`.
    pub(crate) fn with_max_bees(max_bees: u32, bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        Self::with(max_bees, policy, sleep).start_workers(bees, bees).explore(bees)
    }

    /// As `with_tasks`, with `bees` bees that poll, the last of which is the nearest to the queen.
    pub(crate) fn with_last_nearest(bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        let core = |bee: u32| if bee + 1 == bees { 0 } else { bee as usize };
        let addresses: Vec<Location> = (0..bees).map(|bee| [Some(core(bee)), None, None]).collect();
        Self::with_addresses(&addresses, bees, policy, sleep).start_workers(bees, bees).explore(bees)
    }

    fn explore(self, hired: u32) -> Self {
        self.let_workers_park(hired);
        exploration::explore();
        self
    }

    fn let_workers_park(&self, hired: u32) {
        // Each yield lets a worker run as far as it can. After these, all workers wait for their first region or are
        // parked.
        (0..2 * hired).for_each(|_| thread::yield_now());
    }

    /// As `with_workers`, but the workers have just been woken for the first time, and exploration has not begun.
    pub(crate) fn with_starting_workers(hired: u32, bees: u32, policy: WaitPolicy) -> Self {
        Self::new(hired, policy).start_workers(hired, bees)
    }

    fn start_workers(self, hired: u32, bees: u32) -> Self {
        let started = RefCell::new(Vec::new());
        let start = |id, epoch| {
            started.borrow_mut().push((id, epoch));
            Ok::<(), Infallible>(())
        };
        self.team.hire(hired, start).unwrap_or_else(|never| match never {});
        self.team.grow_to(bees, start).unwrap_or_else(|never| match never {});
        started.take().into_iter().for_each(|(id, epoch)| self.spawn_worker(id, epoch));
        self
    }

    fn spawn_worker(&self, id: u32, epoch: u64) {
        self.spawn_worker_with_handler(id, epoch, |_| ());
    }

    fn spawn_worker_with_handler(&self, id: u32, epoch: u64, start_handler: impl FnOnce(&TaskContext<'_>) + 'static) {
        let team = Arc::clone(&self.team);
        let context_slot = self.task_context_of(id);
        thread::spawn(move || {
            let context = TaskContext::new(&team, id);
            context_slot.0.set(ptr::from_ref(&context).cast());
            start_handler(&context);
            Worker::new(&context, epoch).run();
        });
    }

    /// The task context of bee `id`.
    pub(crate) fn task_context_of(&self, id: u32) -> SharedTaskContext {
        let mut contexts = self.task_contexts.borrow_mut();
        while contexts.len() <= id as usize {
            contexts.push(SharedTaskContext::new());
        }
        contexts[id as usize].clone()
    }

    fn try_spawn_worker(&self, id: u32, epoch: u64) -> Result<(), Infallible> {
        self.spawn_worker(id, epoch);
        Ok(())
    }

    pub(crate) fn resize(&self, bees: u32) {
        self.team.resize(bees, |id, epoch| self.try_spawn_worker(id, epoch)).unwrap_or_else(|never| match never {});
    }

    /// Hires parked workers, each with a start handler, until the hive has as many as a hive of `bees` bees.
    pub(crate) fn add_workers_with_handler(
        &self,
        bees: u32,
        start_handler: impl Fn(&TaskContext<'_>) + Clone + 'static,
    ) {
        let result = self.team.hire(bees, |id, epoch| {
            self.spawn_worker_with_handler(id, epoch, start_handler.clone());
            Ok::<(), Infallible>(())
        });
        result.unwrap_or_else(|never| match never {});
    }

    /// Hires the one worker that tasks need if there is none, as the library does.
    pub(crate) fn ensure_worker(&self) {
        if !self.team.has_worker() {
            self.add_workers_with_handler(2, |_| ());
        }
    }

    pub(crate) fn grow_to(&self, bees: u32) {
        self.team.grow_to(bees, |id, epoch| self.try_spawn_worker(id, epoch)).unwrap_or_else(|never| match never {});
    }

    /// Runs a region in which no bee panics. As the library does, it grows the hive first if the hive is too small.
    pub(crate) fn region(&self, bees: u32, body: impl Fn(&RegionContext<'_>) + Sync) {
        if self.try_region(bees, body).is_err() {
            failure::fail("a region in which nobody panicked ended by a panic");
        }
    }

    /// Runs a region of so many bees as the hive has had. If it has become smaller it stays so, as in the library where
    /// that happens after the call has read its size.
    pub(crate) fn region_of_earlier_size(&self, bees: u32, body: impl Fn(&RegionContext<'_>) + Sync) {
        let mut lock = self.team.become_queen();
        self.team.run_region(&mut lock, bees, &mut ModelBody::<_, false>(body));
    }

    /// Runs the parts of a loop: as `region`, but the queen stands in for workers that are away.
    pub(crate) fn loop_region(&self, bees: u32, start: LoopStart, body: impl Fn(&RegionContext<'_>) + Sync) {
        if self.try_loop_region(bees, start, body).is_err() {
            failure::fail("a loop in which nobody panicked ended by a panic");
        }
    }

    /// Runs the parts of a loop and returns the payload of the panic that it ends with. As in the library, a hive that
    /// has been made smaller stays so.
    pub(crate) fn try_loop_region(
        &self,
        bees: u32,
        start: LoopStart,
        body: impl Fn(&RegionContext<'_>) + Sync,
    ) -> std::thread::Result<()> {
        let mut body = ModelBody::<_, true>(body);
        match start {
            LoopStart::AtOnce => {
                let mut lock = self.team.become_queen();
                if !self.team.is_hired(bees as usize - 1) {
                    self.grow_to(bees);
                }
                catch_unwind(AssertUnwindSafe(|| self.team.run_region(&mut lock, bees, &mut body)))
            }
            LoopStart::IfLong => {
                let mut lock = self.team.become_queen();
                let run = || self.team.run_region_if_long(&mut lock, bees, &body, Deadline);
                catch_unwind(AssertUnwindSafe(run)).map(|_is_started| ())
            }
            LoopStart::InTurn(team) => {
                let mut lock = self.team.become_queen();
                let next = AtomicU32::new(1);
                let run_part = |part: &RegionContext<'_>| body.run_part(part);
                let mut in_turn = PartsInTurn::new(&run_part, bees, &next);
                catch_unwind(AssertUnwindSafe(|| self.team.run_region(&mut lock, team, &mut in_turn)))
            }
        }
    }

    /// Runs a region and returns the payload of the panic that it ends with. The queen lock is released only after the
    /// unwinding, because loom's threads share one thread's panic count.
    pub(crate) fn try_region(&self, bees: u32, body: impl Fn(&RegionContext<'_>) + Sync) -> std::thread::Result<()> {
        self.try_run(bees, ModelBody::<_, false>(body))
    }

    fn try_run(&self, bees: u32, mut body: impl RegionBody) -> std::thread::Result<()> {
        if bees == 1 {
            // As the library does: a region of the queen alone does not use the team.
            return catch_unwind(AssertUnwindSafe(|| body.run(&RegionContext::alone(&self.team))));
        }
        let mut lock = self.team.become_queen();
        if bees > self.team.bees() {
            self.grow_to(bees);
        }
        catch_unwind(AssertUnwindSafe(|| self.team.run_region(&mut lock, bees, &mut body)))
    }

    /// Runs a region if no task has to be waited for, as the library does for a thread that others may be waiting for.
    /// No other region may be running.
    pub(crate) fn nested_region(&self, bees: u32, body: impl Fn(&RegionContext<'_>) + Sync) {
        let mut lock = self.team.become_queen();
        if self.team.try_announce_region(&lock, bees) {
            self.team.run_region(&mut lock, bees, &mut ModelBody::<_, false>(body));
            self.team.withdraw_announcement();
        }
    }

    /// Terminates the bees, in one order of steps.
    pub(crate) fn end(self) {
        exploration::stop_exploring();
        self.terminate();
    }

    /// Terminates the bees. Nothing waits for their threads: loom reports a deadlock if one of them does not end.
    pub(crate) fn terminate(self) {
        self.team.terminate_all();
    }
}

/// A thread beside the queen's and the workers'.
pub(crate) struct OtherThread {
    done: Arc<Semaphore>,
}

impl OtherThread {
    pub(crate) fn spawn(hive: &Hive, work: impl FnOnce(&Hive) + 'static) -> Self {
        let done = Arc::new(Semaphore::new());
        let (hive, signal) = (hive.clone(), Arc::clone(&done));
        thread::spawn(move || {
            work(&hive);
            drop(hive);
            signal.post();
        });
        Self { done }
    }

    /// Waits for the end of the thread's work. It does not use loom's `join`, which prints.
    pub(crate) fn join(self) {
        self.done.wait();
    }
}
