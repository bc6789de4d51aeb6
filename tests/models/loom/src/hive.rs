//! The hive of a model: a team, and its bees on threads of loom's.

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
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::shape::{BarrierShape, Shape};
use crate::protocol::tasks::sleep::Sleep;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::worker::main_loop::Worker;
use crate::sync::{Semaphore, WaitPolicy};
use crate::{exploration, failure};

/// Polls once and then sleeps.
pub(crate) const PARK: WaitPolicy = WaitPolicy::Polls(0);

/// Polls twice and then sleeps.
pub(crate) const SPIN_THEN_PARK: WaitPolicy = WaitPolicy::Polls(1);

/// Never sleeps.
pub(crate) const SPIN: WaitPolicy = WaitPolicy::Endless;

struct ModelBody<F>(F);

impl<F: Fn(&RegionContext<'_>) + Sync> RegionBody for ModelBody<F> {
    fn run(&self, context: &RegionContext<'_>) {
        (self.0)(context);
    }
}

/// A modelled hive. Clones share it.
#[derive(Clone)]
pub(crate) struct Hive {
    pub(crate) team: Arc<Team>,
    /// The bees' hands, for tasks that use them.
    task_contexts: Rc<RefCell<Vec<SharedTaskContext>>>,
}

/// The hand of a bee, for what runs on that bee. Not seen by loom, whose threads take turns on one of the system's.
#[derive(Clone)]
pub(crate) struct SharedTaskContext(Rc<Cell<*const TaskContext<'static>>>);

#[expect(unsafe_code, reason = "lets the parts of regions use it")]
// SAFETY: loom's threads take turns on one of the system's.
unsafe impl Sync for SharedTaskContext {}

impl SharedTaskContext {
    fn new() -> Self {
        Self(Rc::new(Cell::new(ptr::null())))
    }

    /// Calls `run` with the hand. On the bee itself.
    #[expect(unsafe_code, reason = "follows a pointer to further up the stack")]
    pub(crate) fn with(&self, f: impl FnOnce(&TaskContext<'_>)) {
        // SAFETY: a task of the bee runs while its life does, which has the hand.
        f(unsafe { &*self.0.get() });
    }
}

impl Hive {
    /// Of the queen alone.
    pub(crate) fn new(max_bees: u32, policy: WaitPolicy) -> Self {
        Self::with(max_bees, policy, Sleep::without_tasks())
    }

    fn with(max_bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        Self::with_addresses(&[], max_bees, policy, sleep)
    }

    /// With the first bees at these addresses, in groups by node.
    fn with_addresses(addresses: &[Location], max_bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        let shape = Shape::new(BarrierShape::Node, addresses, max_bees);
        let team = Team::new(max_bees, policy, LineChoice::new(1), sleep, Neighbours::new(addresses), shape);
        Self { team: Arc::new(team), task_contexts: Rc::default() }
    }

    /// Of the queen alone, who may have a bee for tasks.
    pub(crate) fn queen_only_with_tasks(max_bees: u32, sleep: Sleep) -> Self {
        Self::with(max_bees, PARK, sleep)
    }

    /// Of `bees` bees, who poll, and as many parked ones as make up `started`. How they come to that is not explored; what follows is.
    pub(crate) fn with_workers(workers: u32, bees: u32, policy: WaitPolicy) -> Self {
        Self::with_starting_workers(workers, bees, policy).explore(workers)
    }

    /// Of a bee on each of these nodes, who poll.
    pub(crate) fn on_nodes(nodes: &[usize], policy: WaitPolicy) -> Self {
        Self::on_nodes_with_tasks(nodes, policy, Sleep::without_tasks())
    }

    /// The same, and the bees run tasks and sleep by `sleep`.
    pub(crate) fn on_nodes_with_tasks(nodes: &[usize], policy: WaitPolicy, sleep: Sleep) -> Self {
        let addresses: Vec<Location> = nodes.iter().map(|&node| [None, None, Some(node)]).collect();
        let bees = nodes.len() as u32;
        Self::with_addresses(&addresses, bees, policy, sleep).start_workers(bees, bees).explore(bees)
    }

    /// Of `bees` bees, who poll. The play is still to begin.
    pub(crate) fn with_workers_unexplored(bees: u32, policy: WaitPolicy) -> Self {
        let hive = Self::with_starting_workers(bees, bees, policy);
        hive.let_workers_park(bees);
        hive
    }

    /// As `staffed`, and the bees run tasks and sleep by `sleep`.
    pub(crate) fn with_tasks(hired: u32, bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        Self::with(hired, policy, sleep).start_workers(hired, bees).explore(hired)
    }

    /// As `with_tasks`, of `bees` bees, with room for `max_bees`.
    pub(crate) fn with_max_bees(max_bees: u32, bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        Self::with(max_bees, policy, sleep).start_workers(bees, bees).explore(bees)
    }

    /// As `with_tasks`, with `bees` bees who poll, and the last bee is the queen's nearest.
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
        // Each gets as far as it can before the others.
        (0..2 * hired).for_each(|_| thread::yield_now());
    }

    /// As `staffed`, and the bees have just been woken for the first time. The play is still to begin.
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

    /// The hand of bee `id`.
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

    /// Hires parked bees, each with a start handler, so that the hive has those of a hive of `bees` bees.
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

    /// Has the bee that tasks need, as the library does.
    pub(crate) fn ensure_worker(&self) {
        if !self.team.has_worker() {
            self.add_workers_with_handler(2, |_| ());
        }
    }

    pub(crate) fn grow_to(&self, bees: u32) {
        self.team.grow_to(bees, |id, epoch| self.try_spawn_worker(id, epoch)).unwrap_or_else(|never| match never {});
    }

    /// Runs a region that nobody panics in. As the library does, it grows the hive first if it is too small.
    pub(crate) fn region(&self, bees: u32, body: impl Fn(&RegionContext<'_>) + Sync) {
        if self.try_region(bees, body).is_err() {
            failure::fail("a region in which nobody panicked ended by a panic");
        }
    }

    /// Runs a region and returns the payload that it ends with. The turn is given back after the unwinding, because loom's threads
    /// share one thread's count of panics.
    pub(crate) fn try_region(&self, bees: u32, body: impl Fn(&RegionContext<'_>) + Sync) -> std::thread::Result<()> {
        if bees == 1 {
            // As the library does, without the team.
            return catch_unwind(AssertUnwindSafe(|| body(&RegionContext::alone(&self.team))));
        }
        let mut lock = self.team.acquire_leadership();
        if bees > self.team.bees() {
            self.grow_to(bees);
        }
        catch_unwind(AssertUnwindSafe(|| self.team.run_region(&mut lock, bees, &mut ModelBody(body))))
    }

    /// Runs a region if it need not wait for any task, as the library does for a thread that others may be waiting for. No other
    /// region is on.
    pub(crate) fn nested_region(&self, bees: u32, body: impl Fn(&RegionContext<'_>) + Sync) {
        let mut lock = self.team.acquire_leadership();
        if self.team.try_announce_region(&lock, bees) {
            self.team.run_region(&mut lock, bees, &mut ModelBody(body));
            self.team.withdraw_announcement();
        }
    }

    /// Ends the bees, in one order of steps.
    pub(crate) fn end(self) {
        exploration::stop_exploring();
        self.terminate();
    }

    /// Ends the bees. That their threads end is for loom to see, which calls a thread that does not a deadlock.
    pub(crate) fn terminate(self) {
        self.team.terminate_all();
    }
}

/// A thread beside the queen's and the bees'.
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

    /// Waits for the end of its work. Not by loom's `join`, which prints.
    pub(crate) fn join(self) {
        self.done.wait();
    }
}
