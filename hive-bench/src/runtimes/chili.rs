//! chili: joins that stay on their thread until a heartbeat shares one of them. It has no regions, scopes of tasks or
//! spawns.

use std::num::NonZero;

use chili::{Config, Scope, ThreadPool};

use crate::kernels::join::Join;
use crate::kernels::recursion::Recursion;
use crate::runtimes::tasks::Tasks;
use crate::system::cpus;

/// The pool counts the calling thread among its threads; the heartbeat has one more.
pub(crate) fn pool(cpus: &[usize]) -> ThreadPool {
    let config = Config { thread_count: NonZero::new(cpus.len()), ..Config::default() };
    cpus::beside_caller(cpus, || ThreadPool::with_config(config))
}

/// chili hands its closures a scope, on which they have to go on.
impl Join for Scope<'_> {
    type Nested<'n> = Scope<'n>;

    #[inline(always)]
    fn join(
        &mut self,
        a: impl FnOnce(&mut Scope<'_>) -> u64 + Send,
        b: impl FnOnce(&mut Scope<'_>) -> u64 + Send,
    ) -> u64 {
        let (a, b) = Scope::join(self, a, b);
        a + b
    }
}

impl Tasks for ThreadPool {
    fn recurse(&mut self, recursion: Recursion<'_>) -> u64 {
        recursion.by(&mut self.scope())
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
