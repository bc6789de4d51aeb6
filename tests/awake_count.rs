//! The count of the bees on a core is exact, whichever threads sleep. Builds with debug assertions report when it is
//! not.

#![cfg(all(target_os = "linux", debug_assertions))]

mod common;

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

use common::process::in_own_process;
use common::{Gate, proc_threads, sys, wait_until};
use hive::Hive;

/// Queens, which are never counted, sleep in scopes until the workers have ended their last tasks and go to sleep or
/// park. Another waiting thread reads the count meanwhile.
fn queens_sleep_while_bees_go(rounds: usize) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let reader = Hive::new(1).unwrap();
            while !over.load(Ordering::Relaxed) {
                reader.wait_until_parked();
            }
        });
        let hive = Hive::builder().bees(2).spin(Duration::ZERO).build().unwrap();
        for round in 0..rounds {
            let (queen, begun) = (AtomicI32::new(0), Gate::new());
            hive.resize(2).unwrap();
            hive.scope(|tasks| {
                tasks.spawn(|_| {
                    begun.arrive();
                    wait_until(|| queen.load(Ordering::Relaxed) != 0);
                    proc_threads::wait_until_asleep(&[queen.load(Ordering::Relaxed)]);
                    if round % 2 == 0 {
                        hive.resize(1).unwrap();
                    }
                });
                begun.wait_for(1);
                queen.store(sys::tid(), Ordering::Relaxed);
            });
        }
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_queen_asleep_was_never_counted() {
    in_own_process("a_queen_asleep_was_never_counted", || queens_sleep_while_bees_go(400));
}

/// The only thread of such a child was a worker of its parent's hive, and is not one of the child's.
#[test]
fn a_child_made_by_a_bee_counts_from_the_beginning() {
    in_own_process("a_child_made_by_a_bee_counts_from_the_beginning", || {
        let hive = Hive::new(2).unwrap();
        hive.broadcast(|_| sys::fork(|| queens_sleep_while_bees_go(100)).join());
    });
}
