//! chili: joins that stay on their thread until a heartbeat shares one of them. It has no regions, scopes of tasks or
//! spawns.

use std::num::NonZero;

use chili::{Config, Scope, ThreadPool};

use crate::kernels::joins::Tree;
use crate::kernels::search::Node;
use crate::runtimes::tasks::Tasks;
use crate::system::cpus;

pub(crate) struct ChiliPool {
    pool: ThreadPool,
}

impl ChiliPool {
    /// The pool counts the calling thread among its threads; the heartbeat has one more.
    pub(crate) fn host<T>(cpus: &[usize], work: impl FnOnce(&mut Self) -> T) -> T {
        // chili binds no threads, but they inherit the binding of the thread that makes them. So the caller gets one
        // CPU, and the other threads share the rest.
        if let [_, others @ ..] = cpus {
            cpus::pin_to_any(others);
        }
        let pool = ThreadPool::with_config(Config { thread_count: NonZero::new(cpus.len()), ..Config::default() });
        cpus::pin(cpus[0]);
        work(&mut Self { pool })
    }
}

impl Tasks for ChiliPool {
    fn fib(&mut self, n: u64) -> Result<u64, String> {
        Ok(fib(&mut self.pool.scope(), n))
    }

    fn tree_sums(&mut self, tree: &Tree, times: u64) -> Result<u64, String> {
        let mut scope = self.pool.scope();
        Ok((0..times).map(|_| sum(&mut scope, tree)).sum())
    }

    fn search(&mut self, root: Node) -> Result<u64, String> {
        Ok(count(&mut self.pool.scope(), root))
    }
}

// These repeat functions of `kernels`, because chili hands its closures a scope, on which they have to go on.

fn fib(scope: &mut Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = scope.join(move |scope| fib(scope, n - 1), move |scope| fib(scope, n - 2));
    a + b
}

fn sum(scope: &mut Scope<'_>, tree: &Tree) -> u64 {
    let of = |scope: &mut Scope<'_>, child: Option<&Tree>| child.map_or(0, |child| sum(scope, child));
    let (left, right) =
        scope.join(move |scope| of(scope, tree.left.as_deref()), move |scope| of(scope, tree.right.as_deref()));
    tree.value + left + right
}

fn count(scope: &mut Scope<'_>, node: Node) -> u64 {
    match node.children() {
        0 => 1,
        children => 1 + count_children(scope, node, 0, children),
    }
}

fn count_children(scope: &mut Scope<'_>, node: Node, first: u32, end: u32) -> u64 {
    if end - first == 1 {
        return count(scope, node.child(first));
    }
    let middle = u32::midpoint(first, end);
    let (a, b) = scope.join(
        move |scope| count_children(scope, node, first, middle),
        move |scope| count_children(scope, node, middle, end),
    );
    a + b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::tasks::tests::joins_are_right;

    #[test]
    fn joins() {
        for threads in 1..=2 {
            ChiliPool::host(&vec![cpus::in_order_of_use()[0]; threads], joins_are_right);
        }
    }
}
