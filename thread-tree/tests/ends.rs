//! When a tree's threads end, that they sleep, and that a tree works where there are none.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "forks, and reads a clock")]

#[path = "../../tests/common/child.rs"]
mod child;
mod common;

use std::fs;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use child::in_a_child;
use common::{distinct, leaves, must_end};
use thread_tree::ThreadTree;

/// One test at a time: each counts the threads of the process.
static ALONE: Mutex<()> = Mutex::new(());

/// How many threads of trees the process has.
fn tree_threads() -> usize {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let names = threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("comm")).unwrap_or_default());
    names.filter(|name| name.starts_with("thread-tree")).count()
}

/// Waits until the process has so many threads of trees: one that has been joined is listed for a moment longer.
fn wait_for_tree_threads(count: usize) {
    while tree_threads() != count {
        thread::yield_now();
    }
}

#[test]
fn threads_begin_with_the_joins_that_need_them_and_end_with_their_tree() {
    let _alone = ALONE.lock().unwrap();
    must_end(|| {
        wait_for_tree_threads(0);
        let first = ThreadTree::new_with_level(2);
        let second = ThreadTree::new_with_level(3);
        assert_eq!(tree_threads(), 0);
        first.top().join(|_| (), |_| ());
        assert_eq!(tree_threads(), 1);
        assert_eq!((distinct(&leaves(first.top())), tree_threads()), (4, 3));
        assert_eq!((distinct(&leaves(second.top())), tree_threads()), (8, 10));
        drop(first);
        wait_for_tree_threads(7);
        assert_eq!(distinct(&leaves(second.top())), 8);
        drop(second);
        wait_for_tree_threads(0);
    });
}

#[test]
fn a_tree_may_be_dropped_by_another_thread_and_inside_of_another_tree() {
    let _alone = ALONE.lock().unwrap();
    must_end(|| {
        let outer = ThreadTree::new_with_level(1);
        for _ in 0..20 {
            let tree = ThreadTree::new_with_level(1);
            assert_eq!(distinct(&leaves(tree.top())), 2);
            thread::spawn(move || drop(tree)).join().unwrap();
            let (left, right) = (ThreadTree::new_with_level(1), ThreadTree::new_with_level(2));
            leaves(left.top());
            outer.top().join(
                move |_| drop(left),
                move |_| {
                    assert_eq!(distinct(&leaves(right.top())), 4);
                    drop(right);
                },
            );
        }
        wait_for_tree_threads(1);
    });
}

/// The CPU time that the process has used.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` lives during the call.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn idle_threads_and_callers_that_wait_for_long_sleep() {
    let _alone = ALONE.lock().unwrap();
    must_end(|| {
        let tree = ThreadTree::new_with_level(3);
        leaves(tree.top());
        // Until all have gone to sleep; this ends as soon as a tenth of a second costs a hundredth of that.
        let sleeps = || {
            let before = cpu_time();
            thread::sleep(Duration::from_millis(100));
            cpu_time() - before < Duration::from_millis(1)
        };
        while !sleeps() {}
        // The caller, and the threads below, wait for one closure.
        let wait = |_: thread_tree::ThreadTreeCtx<'_>| while !sleeps() {};
        tree.top().join(|_| (), |place| place.join(wait, |_| ()));
    });
}

#[test]
fn in_a_forked_child_the_parent_s_trees_run_on_the_caller_and_new_ones_have_threads() {
    let _alone = ALONE.lock().unwrap();
    let tree = ThreadTree::new_with_level(2);
    let unused = ThreadTree::new_with_level(1);
    assert_eq!(distinct(&leaves(tree.top())), 4);
    // Idle threads hold no locks.
    thread::sleep(Duration::from_millis(50));
    let status = in_a_child(|| {
        let new = ThreadTree::new_with_level(2);
        let count = |tree: &ThreadTree| distinct(&leaves(tree.top())) as i32;
        100 * count(&tree) + 10 * count(&unused) + count(&new)
    });
    assert_eq!(status, 124);
    // In the middle of a join, on the caller and on the other thread.
    let in_join = || in_a_child(|| 10 * i32::from(tree.top().join(|_| true, |_| true) == (true, true)) + 1);
    assert_eq!(unused.top().join(|_| in_join(), |_| 0), (11, 0));
    assert_eq!(unused.top().join(|_| 0, |_| in_join()), (0, 11));
    assert_eq!(distinct(&leaves(tree.top())), 4, "the parent goes on");
}

#[test]
fn without_threads_from_the_system_both_closures_run_on_the_caller() {
    let _alone = ALONE.lock().unwrap();
    let status = in_a_child(|| {
        let none = libc::rlimit { rlim_cur: 64 << 20, rlim_max: libc::RLIM_INFINITY };
        // Stacks do not fit into the address space any more.
        // SAFETY: `none` lives during the call.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const none) }, 0);
        let tree = ThreadTree::new_with_level(2);
        distinct(&leaves(tree.top())) as i32
    });
    assert_eq!(status, 1);
}
