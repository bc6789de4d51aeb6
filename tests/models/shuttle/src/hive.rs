//! The hive of a scenario: a team of the library's own protocol, whose workers run on shuttle's threads.
//!
//! It does what the library's pool does around the protocol: it starts the workers' threads, grows the hive for a
//! region, and ends it.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use shuttle::thread::{self, JoinHandle};

use crate::protocol::Team;
use crate::protocol::neighbours::{Location, Neighbours};
use crate::protocol::region::body::RegionBody;
use crate::protocol::region::line_choice::LineChoice;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::shape::{BarrierShape, Shape};
use crate::protocol::tasks::sleep::Sleep;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::worker::main_loop::Worker;
use crate::scenarios::random_in;
use crate::sync::WaitPolicy;

struct ModelBody<F>(F);

impl<F: Fn(&RegionContext<'_>) + Sync> RegionBody for ModelBody<F> {
    #[inline(always)]
    fn runs_anywhere(&self) -> bool {
        false
    }

    fn run(&self, context: &RegionContext<'_>) {
        (self.0)(context);
    }
}

/// Draws the locations of the first few of `bees` bees, on up to three nodes in up to three clusters. If it draws none,
/// all bees are in one group.
fn random_addresses(bees: u32) -> Vec<Location> {
    let (nodes, clusters) = (random_in(1, 3), random_in(1, 3));
    let cluster = || random_in(0, nodes * clusters - 1) as usize;
    let address = |cluster: usize| [None, Some(cluster), Some(cluster / clusters as usize)];
    (0..random_in(0, bees)).map(|_| address(cluster())).collect()
}

/// A modelled hive. Clones share it.
#[derive(Clone)]
pub(crate) struct Hive {
    pub(crate) team: Arc<Team>,
    /// The workers' threads. No thread holds this lock while other threads run.
    workers: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Hive {
    /// A hive of `bees` bees in random groups, which may grow to `max_bees`.
    pub(crate) fn new(max_bees: u32, bees: u32) -> Self {
        Self::with(max_bees, bees, WaitPolicy { polls: false }, Sleep::without_tasks())
    }

    /// As `new`, but the bees run tasks and sleep by the protocol `sleep`.
    pub(crate) fn with(max_bees: u32, bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        let addresses = random_addresses(max_bees);
        let shape = Shape::new(BarrierShape::Cluster, &addresses, max_bees);
        let team = Team::new(max_bees, policy, LineChoice::new(1), sleep, Neighbours::new(&addresses), shape, None);
        let hive = Self { team: Arc::new(team), workers: Arc::default() };
        hive.grow_to(bees);
        hive
    }

    fn spawn_worker(&self, id: u32, epoch: u64) -> Result<(), Infallible> {
        let team = Arc::clone(&self.team);
        let worker = thread::spawn(move || Worker::new(&TaskContext::new(&team, id), epoch).run());
        self.workers.lock().expect("no panic under this lock").push(worker);
        Ok(())
    }

    pub(crate) fn resize(&self, bees: u32) {
        self.team.resize(bees, |id, epoch| self.spawn_worker(id, epoch)).unwrap_or_else(|never| match never {});
    }

    pub(crate) fn grow_to(&self, bees: u32) {
        self.team.grow_to(bees, |id, epoch| self.spawn_worker(id, epoch)).unwrap_or_else(|never| match never {});
    }

    /// Runs a region and returns the payload of the panic that it ends with. The queen lock is released only after the
    /// unwinding, because shuttle's threads share one thread's panic count.
    pub(crate) fn try_region(&self, bees: u32, body: impl Fn(&RegionContext<'_>) + Sync) -> thread::Result<()> {
        if bees == 1 {
            // As the library does: a region of the queen alone does not use the team.
            return catch_unwind(AssertUnwindSafe(|| body(&RegionContext::alone(&self.team))));
        }
        let mut lock = self.team.become_queen();
        if bees > self.team.bees() {
            self.grow_to(bees);
        }
        catch_unwind(AssertUnwindSafe(|| self.team.run_region(&mut lock, bees, &mut ModelBody(body))))
    }

    /// Runs a region in which no bee panics.
    pub(crate) fn region(&self, bees: u32, body: impl Fn(&RegionContext<'_>) + Sync) {
        assert!(self.try_region(bees, body).is_ok(), "a region in which nobody panicked ended by a panic");
    }

    /// Runs `work` on a thread of its own.
    pub(crate) fn beside(&self, work: impl FnOnce(&Self) + Send + 'static) -> JoinHandle<()> {
        let hive = self.clone();
        thread::spawn(move || work(&hive))
    }

    /// Terminates the bees and waits for their threads. Shuttle reports a deadlock if one does not end.
    pub(crate) fn end(self) {
        self.team.terminate_all();
        let workers = std::mem::take(&mut *self.workers.lock().expect("no panic under this lock"));
        workers.into_iter().for_each(|bee| bee.join().expect("a bee does not panic"));
    }
}
