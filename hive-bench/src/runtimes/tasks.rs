//! Tasks, behind one interface: joins, scopes and spawns, each as the documentation of the runtime says. What a runtime
//! lacks panics; `RuntimeId::can` keeps it out of the plan.

use std::hint;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::kernels::recursion::Recursion;
use crate::runtimes::cannot;

/// A team that is up and running, with the calling thread in the place that the runtime has for it.
pub(crate) trait Tasks {
    /// The number that a recursion ends in, by the runtime's joins.
    fn recurse(&mut self, _recursion: Recursion<'_>) -> u64 {
        cannot()
    }

    /// One thread spawns so many tasks, each of which calls `task`; returns when all have run.
    fn spawn_from_one<F: Fn() + Copy + Send + Sync>(&mut self, _tasks: u64, _task: F) {
        cannot()
    }

    /// Each thread at once spawns so many tasks; returns when all have run.
    fn spawn_from_all<F: Fn() + Copy + Send + Sync>(&mut self, _tasks_each: u64, _task: F) {
        cannot()
    }

    /// Spawns a task from outside of the team. No thread of the runtime waits for it.
    fn spawn_outside<F: FnOnce() + Send + 'static>(&mut self, _task: F) {
        cannot()
    }
}

/// Where the producers of `spawn_from_all` wait until all have begun.
pub(crate) struct Start {
    missing: AtomicUsize,
}

impl Start {
    /// A runtime may begin one producer only after another has ended. Then the wait ends after this time, and the
    /// runtime is measured as it is.
    const TIME_LIMIT: Duration = Duration::from_millis(1);

    pub(crate) const fn of(producers: usize) -> Self {
        Self { missing: AtomicUsize::new(producers) }
    }

    pub(crate) fn wait(&self) {
        let begin = Instant::now();
        // Relaxed: nothing else is read after it.
        self.missing.fetch_sub(1, Ordering::Relaxed);
        while self.missing.load(Ordering::Relaxed) > 0 && begin.elapsed() < Self::TIME_LIMIT {
            hint::spin_loop();
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::kernels::join::InOrder;
    use crate::kernels::joins::Tree;
    use crate::kernels::search::Node;
    use crate::system::cpus;

    /// All recursions, small ones.
    pub(crate) fn recursions(tree: &Tree) -> [Recursion<'_>; 5] {
        let sums = Recursion::Sums { tree, times: 3 };
        [Recursion::Fib(15), Recursion::Search(Node::root(4)), sums, Recursion::Queens(6), Recursion::Skynet(100)]
    }

    /// They come out right.
    pub(crate) fn joins_are_right(team: &mut impl Tasks) {
        for recursion in recursions(&Tree::full(6)) {
            assert_eq!(team.recurse(recursion), recursion.by(&mut InOrder));
        }
    }

    /// So they do on pools of one thread and of two.
    pub(crate) fn pools_join_right<T: Tasks>(pool: impl Fn(&[usize]) -> T) {
        let cpu = cpus::in_order_of_use()[0];
        [&[cpu][..], &[cpu, cpu]].into_iter().for_each(|cpus| joins_are_right(&mut pool(cpus)));
    }

    pub(crate) fn spawns_are_right(team: &mut impl Tasks) {
        let runs = AtomicU64::new(0);
        let task = || {
            runs.fetch_add(1, Ordering::Relaxed);
        };
        team.spawn_from_one(100, task);
        assert_eq!(runs.load(Ordering::Relaxed), 100);
        team.spawn_from_all(50, task);
        assert_eq!(runs.load(Ordering::Relaxed), 200);
    }

    pub(crate) fn posts_arrive(team: &mut impl Tasks) {
        let (sender, receiver) = std::sync::mpsc::channel();
        team.spawn_outside(move || sender.send(17).unwrap());
        assert_eq!(receiver.recv(), Ok(17));
    }

    #[test]
    fn a_producer_that_is_alone_gives_up_waiting() {
        let start = Start::of(2);
        start.wait();
        start.wait();
    }
}
