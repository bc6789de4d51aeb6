//! Trees inside of each other, in hives and in pools, and several callers of one tree. The global hive is built in some
//! of these tests, so it may be there in all of them.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;

use common::{distinct, leaves, must_end, sum};
use hive::{Hive, Schedule};
use thread_tree::{ThreadTree, ThreadTreeCtx};

/// What all work here adds up.
fn data() -> Vec<u64> {
    (0..1000).collect()
}

const SUM: u64 = 499_500;

#[test]
fn several_threads_use_one_tree() {
    must_end(|| {
        for level in 0..=3 {
            let (tree, data, barrier) = (ThreadTree::new_with_level(level), data(), Barrier::new(4));
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        barrier.wait();
                        (0..200).for_each(|_| assert_eq!(sum(tree.top(), &data, 2), SUM));
                    });
                }
            });
        }
    });
}

#[test]
fn a_caller_does_not_wait_for_another_one() {
    must_end(|| {
        let tree = ThreadTree::new_with_level(1);
        let (begun, has_begun) = channel();
        let (end, is_to_end) = channel::<()>();
        thread::scope(|scope| {
            let tree = &tree;
            let waits = move || {
                begun.send(()).unwrap();
                is_to_end.recv().unwrap();
            };
            scope.spawn(move || tree.top().join(|_| (), move |_| waits()));
            has_begun.recv().unwrap();
            assert_eq!(distinct(&leaves(tree.top())), 1);
            end.send(()).unwrap();
        });
        assert_eq!(distinct(&leaves(tree.top())), 2);
    });
}

#[test]
fn a_closure_may_begin_at_the_top_of_its_own_tree() {
    must_end(|| {
        let (tree, data) = (ThreadTree::new_with_level(2), data());
        let work = |place: ThreadTreeCtx<'_>| {
            let own = || sum(tree.top(), &data, 1);
            let below = place.join(|_| own(), |_| own());
            own() + below.0 + below.1
        };
        for _ in 0..100 {
            assert_eq!(tree.top().join(work, work), (3 * SUM, 3 * SUM));
        }
    });
}

#[test]
fn trees_in_trees_in_circles() {
    must_end(|| {
        fn nest(trees: &[Box<ThreadTree>], depth: usize) -> usize {
            if depth == 0 {
                return 1;
            }
            let tree = &trees[depth % trees.len()];
            let (a, b) = tree.top().join(|_| nest(trees, depth - 1), |_| nest(trees, depth - 1));
            a + b
        }
        let trees: Vec<_> = [1, 2, 1].map(ThreadTree::new_with_level).into();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..20).for_each(|_| assert_eq!(nest(&trees, 7), 128)));
            }
        });
        let (outer, inner) = (&trees[0], &trees[2]);
        // A tree in another one has its threads.
        let two = |_: ThreadTreeCtx<'_>| distinct(&leaves(inner.top()));
        assert_eq!(outer.top().join(two, |_| 0), (2, 0));
        assert_eq!(outer.top().join(|_| 0, two), (0, 2));
    });
}

#[test]
fn trees_in_regions_loops_and_tasks() {
    must_end(|| {
        let (tree, data) = (ThreadTree::new_with_level(2), data());
        let own = Hive::new(3).unwrap();
        for hive in [hive::global(), &own] {
            for _ in 0..20 {
                hive.spmd(3, |bee| {
                    assert_eq!(sum(tree.top(), &data, 2), SUM);
                    bee.barrier();
                    assert_eq!(sum(tree.top(), &data, 2), SUM);
                });
                hive.par_for((0..50, Schedule::Dynamic(1)), |range, _| {
                    range.for_each(|_| assert_eq!(sum(tree.top(), &data, 2), SUM));
                });
                hive.scope(|scope| {
                    (0..10).for_each(|_| scope.spawn(|_| assert_eq!(sum(tree.top(), &data, 2), SUM)));
                });
                let work = || sum(tree.top(), &data, 2);
                assert_eq!(hive.join(work, work), (SUM, SUM));
                assert_eq!(hive.install(work), SUM);
            }
        }
    });
}

#[test]
fn regions_loops_and_tasks_in_trees() {
    must_end(|| {
        let (tree, own) = (ThreadTree::new_with_level(2), Hive::new(2).unwrap());
        let ended = AtomicUsize::new(0);
        let work = |_: ThreadTreeCtx<'_>, _: usize| {
            for hive in [hive::global(), &own] {
                hive.spmd(2, |bee| bee.barrier());
                hive.par_for(0..10, |range, _| _ = ended.fetch_add(range.len(), Ordering::Relaxed));
                hive.scope(|scope| scope.spawn(|_| _ = ended.fetch_add(1, Ordering::Relaxed)));
                hive.join(|| ended.fetch_add(1, Ordering::Relaxed), || ended.fetch_add(1, Ordering::Relaxed));
            }
        };
        for _ in 0..50 {
            tree.top().join4(&work);
        }
        assert_eq!(ended.into_inner(), 50 * 4 * 2 * 13);
    });
}

#[test]
fn trees_in_pools_and_pools_in_trees() {
    must_end(|| {
        let (tree, data) = (ThreadTree::new_with_level(2), data());
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let work = || sum(tree.top(), &data, 2);
        for _ in 0..50 {
            pool.broadcast(|_| assert_eq!(work(), SUM));
            assert_eq!(pool.join(work, work), (SUM, SUM));
            let in_pool = |_: ThreadTreeCtx<'_>, _: usize| pool.join(work, work);
            let both = (SUM, SUM);
            assert_eq!(tree.top().join4(&in_pool), ((both, both), (both, both)));
        }
    });
}

#[test]
fn many_kinds_of_callers_at_once() {
    must_end(|| {
        let (tree, data) = (Arc::new(ThreadTree::new_with_level(1)), Arc::new(data()));
        let threads: Vec<_> = (0..4)
            .map(|number| {
                let (tree, data) = (Arc::clone(&tree), Arc::clone(&data));
                thread::spawn(move || {
                    for _ in 0..100 {
                        let work = || assert_eq!(sum(tree.top(), &data, 1), SUM);
                        match number {
                            0 => work(),
                            1 => hive::spmd(2, |_| work()),
                            2 => hive::scope(|scope| (0..4).for_each(|_| scope.spawn(|_| work()))),
                            _ => _ = rayon_core::join(work, work),
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
