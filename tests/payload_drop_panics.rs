//! Panics whose payload panics when it is dropped: the payload of a task that goes no further is disposed of without
//! harm.
//!
//! Each test runs in a process of its own, because a panic of a drop during unwinding aborts the process.

#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::process::{aborts_in_own_process, in_own_process};
use common::task_helpers::{DropCounter, Payload, assert_hive_and_tasks_work, builders, join_on_two_bees, payload_of};
use common::{assert_contains_all, panic_payload, silence_panics};
use hive::Hive;

/// A payload whose drop panics, and so aborts the process if it happens during unwinding.
struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        resume_unwind(Box::new(()));
    }
}

#[test]
fn a_payload_whose_drop_panics_is_got_rid_of_by_a_join() {
    in_own_process("a_payload_whose_drop_panics_is_got_rid_of_by_a_join", || {
        silence_panics("as expected");
        fn nest(hive: &Hive, depth: usize) {
            assert_eq!(payload_of(|| _ = hive.join(|| panic_any(Payload("a")), || panic_any(PanicsOnDrop))), "a");
            if depth > 0 {
                hive.join(|| nest(hive, depth - 1), || ());
            }
        }
        for builder in builders() {
            let hive = builder.bees(2).build().unwrap();
            hive.install(|| {
                let apart = || _ = join_on_two_bees(&hive, || panic_any(Payload("a")), || panic_any(PanicsOnDrop));
                assert_eq!(payload_of(apart), "a");
                // Deep enough for joins that buffer their second half and for those that do not.
                nest(&hive, 20);
            });
            assert_hive_and_tasks_work(&hive, 2);
        }
    });
}

#[test]
fn a_payload_whose_drop_panics_is_got_rid_of_by_a_scope() {
    in_own_process("a_payload_whose_drop_panics_is_got_rid_of_by_a_scope", || {
        silence_panics("as expected");
        for builder in builders() {
            for bees in [1, 4] {
                let hive = builder.clone().bees(bees).build().unwrap();
                let (order, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let first = hive.install(|| {
                    panic_payload(|| {
                        hive.scope(|scope| {
                            for _ in 0..10 {
                                scope.spawn(|_| {
                                    let _ended = DropCounter(&ended);
                                    match order.fetch_add(1, Ordering::Relaxed) {
                                        0 => panic_any(Payload("task")),
                                        _ => panic_any(PanicsOnDrop),
                                    }
                                });
                            }
                        });
                    })
                });
                // Of several bees that panic at once, any may be the first.
                assert!(bees > 1 || first.is::<Payload>());
                let _ = catch_unwind(AssertUnwindSafe(|| drop(first)));
                assert_eq!(ended.into_inner(), 10);
                assert_hive_and_tasks_work(&hive, bees);
            }
        }
    });
}

#[test]
fn a_payload_whose_drop_panics_is_got_rid_of_when_a_scope_s_body_panics() {
    in_own_process("a_payload_whose_drop_panics_is_got_rid_of_when_a_scope_s_body_panics", || {
        silence_panics("as expected");
        for builder in builders() {
            let hive = builder.bees(2).build().unwrap();
            let panicked = payload_of(|| {
                hive.scope(|scope| {
                    scope.spawn(|_| panic_any(PanicsOnDrop));
                    panic_any(Payload("body"));
                });
            });
            assert_eq!(panicked, "body");
            assert_hive_and_tasks_work(&hive, 2);
        }
    });
}

#[test]
fn a_payload_whose_drop_panics_is_got_rid_of_by_a_broadcast() {
    in_own_process("a_payload_whose_drop_panics_is_got_rid_of_by_a_broadcast", || {
        silence_panics("as expected");
        for builder in builders() {
            let hive = builder.bees(4).build().unwrap();
            let ran = AtomicUsize::new(0);
            std::mem::forget(panic_payload(|| {
                hive.broadcast(|_| {
                    ran.fetch_add(1, Ordering::Relaxed);
                    panic_any(PanicsOnDrop);
                });
            }));
            assert_eq!(ran.into_inner(), 3);
            assert_hive_and_tasks_work(&hive, 4);
        }
    });
}

/// The second payload is not dropped before the abort, because its panic would unwind out of the task, whose memory is
/// gone.
#[test]
fn a_panic_handler_that_panics_with_what_panics_when_dropped_aborts() {
    let output = aborts_in_own_process("a_panic_handler_that_panics_with_what_panics_when_dropped_aborts", || {
        let hive = Hive::builder().bees(2).panic_handler(|_| panic_any(PanicsOnDrop)).build().unwrap();
        hive.spawn(|| panic!("nobody waits for this"));
        drop(hive);
    });
    assert_contains_all(&output, &["nobody waits for this", "hive: the panic_handler has panicked"]);
}

#[test]
fn a_panic_handler_that_drops_what_panics_when_dropped_aborts() {
    let output = aborts_in_own_process("a_panic_handler_that_drops_what_panics_when_dropped_aborts", || {
        let hive = Hive::builder().bees(2).panic_handler(drop).build().unwrap();
        hive.spawn(|| panic_any(PanicsOnDrop));
        drop(hive);
    });
    assert_contains_all(&output, &["hive: the panic_handler has panicked"]);
}

#[test]
fn without_a_panic_handler_a_payload_that_panics_when_dropped_aborts() {
    let output = aborts_in_own_process("without_a_panic_handler_a_payload_that_panics_when_dropped_aborts", || {
        let hive = Hive::new(2).unwrap();
        hive.spawn(|| panic_any(PanicsOnDrop));
        drop(hive);
    });
    assert_contains_all(&output, &["the hive has no panic_handler"]);
}
