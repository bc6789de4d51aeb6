//! What a tree computes, and on how many threads. No test here builds the global hive.

mod common;

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use common::{distinct, leaves, must_end, sum, text_of};
use thread_tree::{ThreadTree, ThreadTreeCtx};

#[test]
fn a_tree_of_level_n_has_2_to_the_n_threads_with_the_calling_one_first() {
    for level in 0..=6 {
        let tree = ThreadTree::new_with_level(level);
        assert_eq!(tree.is_parallel(), level > 0);
        assert_eq!(tree.top().is_parallel(), level > 0);
        let first = leaves(tree.top());
        assert_eq!((first.len(), distinct(&first)), (1 << level, 1 << level));
        assert_eq!(first[0], thread::current().id());
        assert_eq!(leaves(tree.top()), first, "the threads stay where they are");
    }
}

#[test]
fn all_leaves_run_at_the_same_time() {
    must_end(|| {
        let tree = ThreadTree::new_with_level(2);
        for _ in 0..200 {
            let barrier = Barrier::new(4);
            tree.top().join4(&|_, _| _ = barrier.wait());
            let barrier = Barrier::new(3);
            tree.top().join3l(&|_, _| _ = barrier.wait());
            tree.top().join3r(&|_, _| _ = barrier.wait());
            let barrier = Barrier::new(2);
            tree.top().join(|_| _ = barrier.wait(), |_| _ = barrier.wait());
        }
    });
}

#[test]
fn the_parts_have_their_numbers_and_places() {
    for level in 0..=4 {
        let tree = ThreadTree::new_with_level(level);
        let part = |place: ThreadTreeCtx<'_>, part: usize| (part, place.is_parallel());
        let (high, low) = (level > 1, level > 2);
        assert_eq!(tree.top().join3l(&part), (((0, low), (1, low)), (2, high)));
        assert_eq!(tree.top().join3r(&part), ((0, high), ((1, low), (2, low))));
        assert_eq!(tree.top().join4(&part), (((0, low), (1, low)), ((2, low), (3, low))));
    }
}

#[test]
fn a_recursion_may_be_deeper_than_the_tree() {
    let data: Vec<u64> = (0..10_000).collect();
    for level in [0, 1, 3, 5] {
        let tree = ThreadTree::new_with_level(level);
        for extra in [0, 1, 6] {
            assert_eq!(sum(tree.top(), &data, extra), 49_995_000);
        }
    }
}

#[test]
fn closures_borrow_and_results_may_be_of_any_size() {
    let tree = ThreadTree::new_with_level(1);
    let mut data = vec![1_u32; 1000];
    let text = String::from("honey");
    for round in 0..1000 {
        let (low, high) = data.split_at_mut(500);
        let moved = text.clone();
        let (a, b) = tree.top().join(
            |_| {
                low.iter_mut().for_each(|it| *it += 1);
                [round; 300]
            },
            move |_| {
                high.iter_mut().for_each(|it| *it += 2);
                (moved, Box::new(round))
            },
        );
        assert_eq!((a, b), ([round; 300], (text.clone(), Box::new(round))));
    }
    assert!(data[..500].iter().all(|it| *it == 1001) && data[500..].iter().all(|it| *it == 2001));
    // Larger than what is left of many a stack's page.
    let (large, small) = ([1_u8; 20_000], [2_u8; 3]);
    let sums = tree.top().join(move |_| large.iter().map(|it| u32::from(*it)).sum::<u32>(), move |_| small.len());
    assert_eq!(sums, (20_000, 3));
}

#[test]
fn level_0_runs_on_the_calling_thread_and_is_a_constant() {
    static ALONE: ThreadTree = ThreadTree::new_level0();
    const ALSO: ThreadTree = ThreadTree::new_level0();
    let calls = AtomicUsize::new(0);
    let part = |_: ThreadTreeCtx<'_>, part: usize| {
        assert_eq!(calls.fetch_add(1, Ordering::Relaxed), part);
        thread::current().id()
    };
    let me = thread::current().id();
    assert_eq!(ALONE.top().join4(&part), ((me, me), (me, me)));
    assert!(!ALSO.top().is_parallel() && !ALONE.is_parallel());
}

#[test]
fn levels_above_12_are_refused() {
    assert!(ThreadTree::new_with_level(12).is_parallel(), "it has no thread before a join needs one");
    assert!(text_of(|| ThreadTree::new_with_level(13)).contains("12"));
    assert!(text_of(|| ThreadTree::new_with_level(usize::MAX)).contains("12"));
}

#[test]
fn the_types_have_the_traits_of_the_original_ones() {
    fn of_tree<T: Send + Sync + UnwindSafe + RefUnwindSafe + Unpin + std::fmt::Debug>() {}
    fn of_place<T: Copy + Clone + UnwindSafe + RefUnwindSafe + std::fmt::Debug + Unpin>(_: T) {}
    of_tree::<ThreadTree>();
    let tree = ThreadTree::new_with_level(3);
    of_place(tree.top());
    assert_eq!(format!("{tree:?}"), "ThreadTree { level: 3, .. }");
    assert!(format!("{:?}", tree.top()).contains("level: 3"));
}

#[test]
fn a_place_can_be_used_many_times_by_the_closure_that_has_it() {
    let tree = ThreadTree::new_with_level(2);
    let count = AtomicUsize::new(0);
    let work = |place: ThreadTreeCtx<'_>| {
        for _ in 0..1000 {
            place.join(|_| count.fetch_add(1, Ordering::Relaxed), |_| count.fetch_add(1, Ordering::Relaxed));
        }
    };
    tree.top().join(work, work);
    assert_eq!(count.into_inner(), 4000);
}

/// Constants and statics may refer to a tree without threads.
#[test]
fn a_tree_of_level_0_is_a_constant() {
    const BOTTOM: &ThreadTree = &ThreadTree::new_level0();
    static ALSO: &ThreadTree = &ThreadTree::new_level0();
    for tree in [BOTTOM, ALSO] {
        assert_eq!(tree.top().join(|_| 1, |_| 2), (1, 2));
    }
}
