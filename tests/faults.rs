//! A system that refuses: threads, semaphores, waits, affinity and signal masks, at each call in turn. What was asked
//! for is then an error or a panic that says so, or is done without; nothing hangs, and when the system is itself again
//! the hive is as good as before.

#![cfg(target_os = "linux")]

#[path = "faults/calls.rs"]
mod calls;
mod common;

use std::sync::mpsc::channel;

use calls::{Call, Fault};
use common::process::in_own_process;
use common::tasks::{assert_all_works, builders};
use common::{assert_says, hush, message_of};

#[test]
fn a_bee_that_could_not_be_made_is_no_bee() {
    in_own_process("a_bee_that_could_not_be_made_is_no_bee", || {
        hush("no ");
        for builder in builders() {
            let hive = builder.bees(1).max_bees(4).build().unwrap();
            for _ in 0..3 {
                {
                    let fault = Fault::new(Call::MakeThread, 1..=1, libc::EAGAIN);
                    let words = ["no bee to run tasks", "the system made no thread for member 1 of 2"];
                    assert_says(&message_of(|| hive.spawn(|| ())), &words);
                    assert!(fault.has_struck());
                }
                assert_says(&message_of(|| hive.spawn_on(1, || ())), &["has no such bee"]);
                assert_eq!(hive.stats().members().len(), 1);
                hive.settle();
                assert_eq!(hive.bees_not_yet_tucked_in(), 0);
                assert!(hive.broadcast(|bee| bee).is_empty());
            }
            let (sender, receiver) = channel();
            hive.spawn(move || sender.send(hive::current().unwrap().1).unwrap());
            assert_eq!(receiver.recv(), Ok(1));
            assert_all_works(&hive, 4);
        }
    });
}
