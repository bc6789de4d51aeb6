//! Closures that panic.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::{distinct, leaves, must_end, panic_of, text_of};
use thread_tree::ThreadTree;

#[test]
fn a_panic_goes_on_when_both_closures_have_ended() {
    must_end(|| {
        for level in 1..=2 {
            let tree = ThreadTree::new_with_level(level);
            for _ in 0..20 {
                let ended = AtomicUsize::new(0);
                let slow = || {
                    thread::sleep(Duration::from_millis(2));
                    ended.fetch_add(1, Ordering::Relaxed);
                };
                assert_eq!(text_of(|| tree.top().join(|_| panic!("a"), |_| slow())), "a");
                assert_eq!(ended.load(Ordering::Relaxed), 1);
                assert_eq!(text_of(|| tree.top().join(|_| slow(), |_| panic!("b"))), "b");
                assert_eq!(ended.load(Ordering::Relaxed), 2);
                assert_eq!(text_of(|| tree.top().join::<_, _, (), ()>(|_| panic!("a"), |_| panic!("b"))), "a");
            }
            assert_eq!(distinct(&leaves(tree.top())), 1 << level, "it is as good as before");
        }
    });
}

#[test]
fn the_same_holds_where_both_run_on_the_calling_thread() {
    must_end(|| {
        let tree = ThreadTree::new_with_level(1);
        let ended = AtomicUsize::new(0);
        let more = || ended.fetch_add(1, Ordering::Relaxed);
        tree.top().join(
            |_| {
                // The tree is in use.
                assert_eq!(text_of(|| tree.top().join(|_| panic!("a"), |_| more())), "a");
                assert_eq!(text_of(|| tree.top().join(|_| more(), |_| panic!("b"))), "b");
                assert_eq!(text_of(|| tree.top().join::<_, _, (), ()>(|_| panic!("a"), |_| panic!("b"))), "a");
            },
            |_| (),
        );
        assert_eq!(ended.load(Ordering::Relaxed), 2);
        // Below all levels the second closure is not run.
        let alone = ThreadTree::new_level0();
        assert_eq!(text_of(|| alone.top().join(|_| panic!("a"), |_| more())), "a");
        assert_eq!(text_of(|| alone.top().join(|_| more(), |_| panic!("b"))), "b");
        assert_eq!(ended.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn a_panic_from_far_below_comes_to_the_top() {
    must_end(|| {
        let tree = ThreadTree::new_with_level(3);
        for bad in 0..8_usize {
            let work = |part: usize| if part == bad { std::panic::panic_any(part) } else { part };
            let panic = panic_of(|| {
                tree.top().join(|it| it.join4(&|_, part| work(part)), |it| it.join4(&|_, part| work(part + 4)))
            });
            assert_eq!(panic.downcast_ref(), Some(&bad));
        }
        assert_eq!(distinct(&leaves(tree.top())), 8);
    });
}

#[test]
fn what_closures_own_and_return_is_dropped_once() {
    let token = Arc::new(());
    for level in 0..=1 {
        let tree = ThreadTree::new_with_level(level);
        let (a, b) = (Arc::clone(&token), Arc::clone(&token));
        assert_eq!(
            text_of(|| tree.top().join(
                move |_| a,
                move |_| {
                    let _b = b;
                    panic!("b")
                }
            )),
            "b"
        );
        let (a, b) = (Arc::clone(&token), Arc::clone(&token));
        assert_eq!(
            text_of(|| tree.top().join(
                move |_| {
                    let _a = a;
                    panic!("a")
                },
                move |_| b
            )),
            "a"
        );
        let (a, b) = (Arc::clone(&token), Arc::clone(&token));
        let both = tree.top().join(move |_| a, move |_| b);
        assert_eq!(Arc::strong_count(&token), 3);
        drop(both);
        assert_eq!(Arc::strong_count(&token), 1);
    }
}

#[test]
fn a_payload_whose_drop_panics_does_no_harm() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("a payload's drop");
        }
    }
    must_end(|| {
        let tree = ThreadTree::new_with_level(1);
        let both = || tree.top().join::<_, _, (), ()>(|_| panic!("a"), |_| std::panic::panic_any(Bad));
        assert_eq!(text_of(both), "a");
        tree.top().join(|_| assert_eq!(text_of(both), "a"), |_| ());
        assert_eq!(distinct(&leaves(tree.top())), 2);
    });
}
