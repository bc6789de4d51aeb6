//! Trees on the global hive, where there is one.

mod common;

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;

use common::{distinct, leaves, must_end};
use thread_tree::ThreadTree;

/// One test at a time: each uses the global hive.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn the_top_of_a_tree_that_fits_takes_bee_1_of_the_global_hive() {
    let _alone = ALONE.lock().unwrap();
    must_end(|| {
        hive::global().resize(4).unwrap();
        // Waits for the end of a task of the test before this one.
        hive::spmd(4, |_| ());
        let tree = ThreadTree::new_with_level(2);
        for _ in 0..200 {
            let bees = tree.top().join(|_| hive::current().unwrap(), |_| hive::current().unwrap());
            assert_eq!((bees.0.id, bees.1.id), (0, 1));
            assert_eq!([bees.0.hive, bees.1.hive], [hive::install(|| hive::current().unwrap().hive); 2]);
        }
        for _ in 0..200 {
            assert_eq!(distinct(&leaves(tree.top())), 4);
        }
        // One that does not fit has threads of its own only.
        let large = ThreadTree::new_with_level(3);
        let bees = large.top().join(|_| hive::current().unwrap(), |_| hive::current().unwrap());
        assert_eq!(bees.0.hive, bees.1.hive);
        assert_ne!(bees.0.hive, hive::install(|| hive::current().unwrap().hive));
        assert_eq!(distinct(&leaves(large.top())), 8);
    });
}

#[test]
fn a_busy_global_hive_is_not_waited_for() {
    let _alone = ALONE.lock().unwrap();
    must_end(|| {
        let tree = ThreadTree::new_with_level(1);
        hive::global().resize(2).unwrap();
        // Another thread's region, and a task, both of which wait for this thread.
        while_busy(|wait| _ = thread::spawn(|| hive::install(wait)), || joins_have_two_threads(&tree));
        while_busy(hive::spawn, || joins_have_two_threads(&tree));
    });
}

fn joins_have_two_threads(tree: &ThreadTree) {
    for _ in 0..100 {
        assert_eq!(distinct(&leaves(tree.top())), 2);
    }
}

/// Calls `test` while what `start` has started is in the middle of what it was given.
fn while_busy(start: impl FnOnce(Box<dyn FnOnce() + Send>), test: impl FnOnce()) {
    let (begun, has_begun) = channel();
    let (end, is_to_end) = channel::<()>();
    let (over, is_over) = channel::<()>();
    start(Box::new(move || {
        begun.send(()).unwrap();
        is_to_end.recv().unwrap();
        drop(over);
    }));
    has_begun.recv().unwrap();
    test();
    end.send(()).unwrap();
    assert!(is_over.recv().is_err(), "nothing is sent");
}

#[test]
fn inside_of_a_region_of_the_global_hive_both_closures_run_on_the_caller() {
    let _alone = ALONE.lock().unwrap();
    must_end(|| {
        hive::global().resize(2).unwrap();
        let tree = ThreadTree::new_with_level(1);
        for _ in 0..100 {
            assert_eq!(hive::spmd_map(2, |_| distinct(&leaves(tree.top()))), [1, 1]);
            // In the queen's place a region has its team, and so has a join.
            assert_eq!(hive::install(|| distinct(&leaves(tree.top()))), 2);
        }
    });
}
