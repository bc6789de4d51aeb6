//! Closures that panic when they are dropped, given to loops and to calls that are refused. The rest is in
//! `value_drop_panics.rs`.
//!
//! Each test runs in a process of its own, because a panic of a drop during unwinding aborts the process.

#![cfg(target_os = "linux")]

mod common;

use common::drop_panics::{PanicsOnDrop, with_drop_count};
use common::process::in_own_process;
use common::task_helpers::{assert_hive_and_tasks_work, payload_of};
use common::{assert_contains_all, panic_message, silence_panics};
use hive::{Hive, Schedule, Stop};

/// Calls of loops, each of which takes a closure that panics while the value is live.
const LOOPS: [fn(&Hive, PanicsOnDrop); 8] = [
    |hive, captured| hive.par_for(0..8, move |_, _| captured.panic()),
    |hive, captured| _ = hive.par_map(0..8, move |_| captured.panic::<u8>()),
    |hive, captured| hive.par_items(0..8, Schedule::Static, move |_, _| captured.panic()),
    |hive, captured| _ = hive.par_for_until(0..8, &Stop::new(), move |_, _| captured.panic()),
    |hive, captured| _ = hive.par_find(0..8, move |_| captured.panic::<bool>()),
    |hive, captured| _ = hive.par_sum(0..8, move |_| captured.panic::<f64>()),
    |hive, captured| _ = hive.par_min_max(0..8, move |_| captured.panic::<bool>()),
    |hive, captured| _ = hive.par_argmin(0..8, move |_| captured.panic::<bool>()),
];

#[test]
fn captures_whose_drop_panics_do_not_stop_the_panic_of_a_loop() {
    in_own_process("captures_whose_drop_panics_do_not_stop_the_panic_of_a_loop", || {
        silence_panics("as expected");
        for n in [2, 3, 12] {
            let hive = Hive::new(n).unwrap();
            for call in LOOPS {
                with_drop_count(|alive| assert_eq!(payload_of(|| call(&hive, PanicsOnDrop::new(alive))), "its own"));
            }
            // Results are not lost if the closure's drop panics when all are there.
            with_drop_count(|alive| {
                let captured = PanicsOnDrop::new(alive);
                let map = move |_| (captured.is_armed(), PanicsOnDrop::new(alive));
                assert_eq!(payload_of(|| _ = hive.par_map(0..8, map)), "the drop");
            });
            assert_hive_and_tasks_work(&hive, n);
        }
    });
}

#[test]
fn what_is_refused_is_dropped_quietly() {
    in_own_process("what_is_refused_is_dropped_quietly", || {
        let hive = Hive::new(2).unwrap();
        with_drop_count(|alive| {
            let captured = || PanicsOnDrop::new(alive);
            let refused: [&dyn Fn(); 8] = [
                &|| {
                    let captured = captured();
                    hive.spmd(0, move |_| _ = captured.is_armed())
                },
                &|| {
                    let captured = captured();
                    hive.spawn_on(7, move || _ = captured.is_armed())
                },
                &|| {
                    hive.spmd(2, |_| {
                        let captured = captured();
                        hive.broadcast(move |_| _ = captured.is_armed());
                    })
                },
                &|| {
                    let captured = captured();
                    hive.par_for((0..8, Schedule::Dynamic(0)), move |_, _| _ = captured.is_armed())
                },
                &|| {
                    let captured = captured();
                    hive.par_rows_mut(&mut [0; 8], 0, Schedule::Static, move |_, _, _| _ = captured.is_armed())
                },
                &|| {
                    let (captured, mut arrays) = (captured(), ([0; 3], [0; 4]));
                    let slices = (&mut arrays.0, &mut arrays.1);
                    hive.par_zip_mut(slices, Schedule::Static, move |_, _, _| _ = captured.is_armed())
                },
                &|| {
                    let captured = captured();
                    hive.par_tiles_mut(&mut [0; 8], 4, [0, 2], Schedule::Static, move |_, _| _ = captured.is_armed())
                },
                &|| {
                    let captured = captured();
                    _ = hive.par_map(0..usize::MAX, move |_| captured.is_armed())
                },
            ];
            let messages = [
                "no region of 0",
                "has no such bee",
                "spawn_on each bee instead",
                "at least one index",
                "a row of 0",
                "different numbers",
                "a tile of 0",
                "capacity overflow",
            ];
            refused
                .iter()
                .zip(messages)
                .for_each(|(refused, message)| assert_contains_all(&panic_message(refused), &[message]));
        });
        assert_hive_and_tasks_work(&hive, 2);
    });
}
