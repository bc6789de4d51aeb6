//! The hive of a scene: a crew, and its bees on threads of shuttle's.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use shuttle::thread::{self, JoinHandle};

use crate::crew::{Address, BarrierShape, Crew, Hand, Life, Member, Neighbours, Part, Shape, Sleep, Stage};
use crate::scenes::draw;
use crate::sync::WaitPolicy;

struct Body<F>(F);

impl<F: Fn(&Member<'_>) + Sync> Part for Body<F> {
    fn run(&self, member: &Member<'_>) {
        (self.0)(member);
    }
}

/// Addresses of some of the first of `members`, on up to three nodes of up to three clusters. Of none: then all are in one group.
fn anywhere(members: u32) -> Vec<Address> {
    let (nodes, clusters) = (draw(1, 3), draw(1, 3));
    let cluster = || draw(0, nodes * clusters - 1) as usize;
    let address = |cluster: usize| [None, Some(cluster), Some(cluster / clusters as usize)];
    (0..draw(0, members)).map(|_| address(cluster())).collect()
}

/// A modelled hive. Clones share it.
#[derive(Clone)]
pub(crate) struct Hive {
    pub(crate) crew: Arc<Crew>,
    /// Nobody holds this lock while other threads run.
    bees: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Hive {
    /// Of `bees` members, which may grow to `max_bees`, in whatever groups.
    pub(crate) fn new(max_bees: u32, bees: u32) -> Self {
        Self::with(max_bees, bees, WaitPolicy { polls: false }, Sleep::without_tasks())
    }

    /// As `new`, and the bees run tasks and sleep by `sleep`.
    pub(crate) fn with(max_bees: u32, bees: u32, policy: WaitPolicy, sleep: Sleep) -> Self {
        let addresses = anywhere(max_bees);
        let shape = Shape::new(BarrierShape::Cluster, &addresses, max_bees);
        let crew = Crew::new(max_bees, policy, Stage::new(1), sleep, Neighbours::new(&addresses), shape);
        let hive = Self { crew: Arc::new(crew), bees: Arc::default() };
        hive.grow_to(bees);
        hive
    }

    fn hire(&self, id: u32, epoch: u64) -> Result<(), Infallible> {
        let crew = Arc::clone(&self.crew);
        let bee = thread::spawn(move || Life::new(&Hand::new(&crew, id), epoch).live());
        self.bees.lock().expect("no panic under this lock").push(bee);
        Ok(())
    }

    pub(crate) fn resize(&self, bees: u32) {
        self.crew.resize(bees, |id, epoch| self.hire(id, epoch)).unwrap_or_else(|never| match never {});
    }

    pub(crate) fn grow_to(&self, bees: u32) {
        self.crew.grow_to(bees, |id, epoch| self.hire(id, epoch)).unwrap_or_else(|never| match never {});
    }

    /// Runs a region and returns the payload that it ends with. The turn is given back after the unwinding, because shuttle's
    /// threads share one thread's count of panics.
    pub(crate) fn try_region(&self, team: u32, body: impl Fn(&Member<'_>) + Sync) -> thread::Result<()> {
        if team == 1 {
            // As the library does, without the crew.
            return catch_unwind(AssertUnwindSafe(|| body(&Member::alone(&self.crew))));
        }
        let mut turn = self.crew.take_turn();
        if team > self.crew.bees() {
            self.grow_to(team);
        }
        catch_unwind(AssertUnwindSafe(|| self.crew.region(&mut turn, team, &mut Body(body))))
    }

    /// Runs a region that nobody panics in.
    pub(crate) fn region(&self, team: u32, body: impl Fn(&Member<'_>) + Sync) {
        assert!(self.try_region(team, body).is_ok(), "a region in which nobody panicked ended by a panic");
    }

    /// Runs `work` beside the caller.
    pub(crate) fn beside(&self, work: impl FnOnce(&Self) + Send + 'static) -> JoinHandle<()> {
        let hive = self.clone();
        thread::spawn(move || work(&hive))
    }

    /// Ends the bees and waits for their threads. Shuttle finds a deadlock if one does not end.
    pub(crate) fn end(self) {
        self.crew.dismiss_all();
        let bees = std::mem::take(&mut *self.bees.lock().expect("no panic under this lock"));
        bees.into_iter().for_each(|bee| bee.join().expect("a bee does not panic"));
    }
}
