//! Tasks that wait for one another: the bee that has to run the awaited task is notified.

#![cfg(target_os = "linux")]

mod common;

use common::process::in_own_process;
use common::task_helpers::builders;
use common::{Gate, keep, proc_threads, sys, wait_until};
use hive::Hive;

/// A bee that was notified of a task finds a mailbox task first, which lasts until the other task has been run. So the
/// other bee has to be notified.
#[test]
fn a_bee_that_finds_mail_passes_on_what_it_was_told_of() {
    in_own_process("a_bee_that_finds_mail_passes_on_what_it_was_told_of", || {
        for builder in builders() {
            let hive: &Hive = keep(builder.bees(3).build().unwrap());
            let bees = hive.broadcast(|_| sys::tid());
            for round in 0..200 {
                proc_threads::wait_until_asleep(&bees);
                let [ran, ended]: [&Gate; 2] = [(); 2].map(|()| keep(Default::default()));
                hive.spawn(|| ran.arrive());
                hive.spawn_on(1 + round % 2, || {
                    ran.wait_for(1);
                    ended.arrive();
                });
                ended.wait_for(1);
            }
        }
    });
}

/// A bee that is surplus and waits in the middle of a task is the only one that may run the tasks in its mailbox.
#[test]
fn a_surplus_bee_that_waits_runs_its_mail() {
    in_own_process("a_surplus_bee_that_waits_runs_its_mail", || {
        for builder in builders() {
            let hive: &Hive = keep(builder.bees(3).build().unwrap());
            for _ in 0..20 {
                hive.resize(3).unwrap();
                let [begun, mailed, ended]: [&Gate; 3] = [(); 3].map(|()| keep(Default::default()));
                // Bee 2 waits for a task that bee 1 has taken, and that lasts until bee 2 has run the task in its
                // mailbox.
                hive.spawn_on(2, || {
                    hive.scope(|scope| {
                        scope.spawn(|_| {
                            assert_eq!(hive::current().map(|bee| bee.id), Some(1));
                            begun.arrive();
                            mailed.wait_for(1);
                        });
                        begun.wait_for(1);
                    });
                    ended.arrive();
                });
                begun.wait_for(1);
                hive.resize(2).unwrap();
                hive.wait_until_parked();
                hive.spawn_on(2, || mailed.arrive());
                ended.wait_for(1);
                wait_until(|| hive.bees_not_yet_tucked_in() == 0);
            }
        }
    });
}
