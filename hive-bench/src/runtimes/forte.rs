//! Forte: joins that stay on their thread until a heartbeat shares one of them, as chili's do. It has no regions; its
//! scopes and spawns are not measured.

use forte::{ThreadPool, Worker};

use crate::kernels::join::Join;
use crate::kernels::recursion::Recursion;
use crate::runtimes::tasks::Tasks;
use crate::system::cpus;

/// A pool lives for ever. It has a thread less than the team, whose first thread is the caller; the heartbeat has one
/// more.
pub(crate) fn pool(cpus: &[usize]) -> &'static ThreadPool {
    let pool: &ThreadPool = Box::leak(Box::new(ThreadPool::new()));
    let made = cpus::beside_caller(cpus, || pool.resize_to(cpus.len() - 1));
    assert_eq!(made, cpus.len() - 1, "Forte makes as many threads as it is asked for");
    pool
}

/// Forte hands its closures the worker that runs them, on which they go on.
struct ForteJoin<'w>(&'w Worker);

impl Join for ForteJoin<'_> {
    type Nested<'n> = ForteJoin<'n>;

    #[inline(always)]
    fn join(
        &mut self,
        a: impl FnOnce(&mut ForteJoin<'_>) -> u64 + Send,
        b: impl FnOnce(&mut ForteJoin<'_>) -> u64 + Send,
    ) -> u64 {
        let (a, b) = self.0.join(|worker| a(&mut ForteJoin(worker)), |worker| b(&mut ForteJoin(worker)));
        a + b
    }
}

impl Tasks for &'static ThreadPool {
    fn recurse(&mut self, recursion: Recursion<'_>) -> u64 {
        self.with_worker(|worker| recursion.by(&mut ForteJoin(worker)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::tasks::tests::pools_join_right;

    #[test]
    fn joins() {
        pools_join_right(pool);
    }
}
