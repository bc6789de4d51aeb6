//! paralight's iterators on a hive whose workers are in the middle of tasks. `latecomers.rs` has the hive's own loops.

#![cfg(all(target_os = "linux", feature = "paralight"))]

mod common;

use std::panic::panic_any;
use std::sync::atomic::AtomicUsize;

use common::held_workers::{BEES, Held, LEN, hives};
use common::task_helpers::{DropCounter, Payload, assert_hive_and_tasks_work, payload_of};
use common::{run_exclusively, silence_panics};
use paralight::prelude::*;

#[test]
fn pipelines_of_paralight_do_not_wait_for_workers_in_tasks() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for hive in hives() {
        for held_ids in [1..BEES, 2..BEES] {
            let (held, drops) = (Held::workers(&hive, held_ids), AtomicUsize::new(0));
            let mut data = vec![1_usize; LEN];
            data.par_iter_mut().with_thread_pool(&hive).for_each(|value| *value += 1);
            assert!(data.iter().all(|&value| value == 2));
            let sum = (0..LEN).into_par_iter().with_thread_pool(&hive).map(|index| index).reduce(|| 0, |a, b| a + b);
            assert_eq!(sum, LEN * (LEN - 1) / 2);
            let items: Vec<_> = (0..LEN).map(|index| (index, DropCounter(&drops))).collect();
            let payload = payload_of(|| {
                items.into_par_iter().with_thread_pool(&hive).for_each(|(index, _)| {
                    if index == LEN - 1 {
                        panic_any(Payload("the last"));
                    }
                });
            });
            held.assert_held();
            assert_eq!((payload, drops.into_inner()), ("the last", LEN));
        }
        assert_hive_and_tasks_work(&hive, BEES);
    }
}
