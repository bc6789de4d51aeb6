//! Threads made for each region. The kernel places them: a thread that is made on a pinned one starts there, and moving itself
//! away first would cost more than it gains.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;

use crate::kernels::{disjoint::Disjoint, jacobi};
use crate::runtimes::tasks::Tasks;
use crate::runtimes::{Runtime, jacobi_member};

pub(crate) struct StdScope {
    members: usize,
}

impl StdScope {
    pub(crate) fn host<T>(members: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        work(&mut Self { members })
    }
}

impl Runtime for StdScope {
    fn members(&self) -> usize {
        self.members
    }

    fn region<F: Fn(usize) + Sync>(&mut self, members: usize, body: F) {
        let body = &body;
        thread::scope(|scope| {
            for id in 1..members {
                scope.spawn(move || body(id));
            }
            body(0);
        });
    }

    fn sums(&mut self, times: u64) -> f64 {
        let number = |id: usize| black_box(id + 1) as f64;
        let once = || {
            thread::scope(|scope| {
                let others: Vec<_> = (1..self.members).map(|id| scope.spawn(move || number(id))).collect();
                others.into_iter().fold(number(0), |sum, other| sum + other.join().expect("no member panics"))
            })
        };
        (0..times).map(|_| once()).sum()
    }

    fn barriers(&mut self, times: u64) -> Result<(), String> {
        let barrier = Barrier::new(self.members);
        self.region(self.members, |_| {
            for _ in 0..times {
                barrier.wait();
            }
        });
        Ok(())
    }

    fn jacobi_one_region(&mut self, steps: u64, plates: &mut jacobi::Plates) -> Result<(), String> {
        let members = self.members;
        let barrier = Barrier::new(members);
        let (even, odd) = (Disjoint::new(&mut plates.even), Disjoint::new(&mut plates.odd));
        self.region(members, |id| {
            jacobi_member(id, members, steps, [&even, &odd], || {
                barrier.wait();
            });
        });
        Ok(())
    }
}

/// Threads are no tasks.
impl Tasks for StdScope {}
