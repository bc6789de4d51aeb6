//! Forte: joins that stay on their thread until a heartbeat shares one of them, as chili's do. It has scopes and spawns,
//! too, but no regions.

use forte::{ThreadPool, Worker};

use crate::kernels::join::Join;
use crate::kernels::recursion::Recursion;
use crate::runtimes::tasks::Tasks;
use crate::system::cpus;

/// A pool lives for ever. It has a thread less than the team, whose first thread is the caller.
pub(crate) struct FortePool(&'static ThreadPool);

impl FortePool {
    pub(crate) fn new(cpus: &[usize]) -> Result<Self, String> {
        // Forte binds no threads, so its threads and that of the heartbeat share what the caller leaves, as in chili.
        if let [_, others @ ..] = cpus {
            cpus::pin_to_any(others);
        }
        let pool: &ThreadPool = Box::leak(Box::new(ThreadPool::new()));
        let (wanted, made) = (cpus.len() - 1, pool.resize_to(cpus.len() - 1));
        cpus::pin(cpus[0]);
        if made == wanted { Ok(Self(pool)) } else { Err(format!("forte makes only {made} of {wanted} threads")) }
    }
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

impl Tasks for FortePool {
    fn recurse(&mut self, recursion: Recursion<'_>) -> u64 {
        self.0.with_worker(|worker| recursion.by(&mut ForteJoin(worker)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::tasks::tests::joins_are_right;

    #[test]
    fn joins() {
        for threads in 1..=2 {
            joins_are_right(&mut FortePool::new(&vec![cpus::in_order_of_use()[0]; threads]).unwrap());
        }
    }
}
