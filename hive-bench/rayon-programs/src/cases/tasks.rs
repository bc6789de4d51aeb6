//! Joins, scopes, spawns, broadcasts.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use super::{Case, Iteration, case, checked, timed};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("join-fib", "fib(24) by recursive join without a cutoff: 75,024 joins", || checked(46_368, || fib(24))),
        case("lone-join", "64 joins of two halves of about 10 us each, one after another, in the pool", || {
            Box::new(|| rayon::scope(|_| lone_joins()))
        }),
        case("lone-join-outside", "the same, called by a thread outside of the pool", || Box::new(lone_joins)),
        case(
            "join-list",
            "200 pieces of about 10 us, a join each: one half is a piece, the other all that follow",
            || {
                let in_order = (1..=200).map(some_work).fold(0, |sum, piece| sum ^ piece);
                checked(in_order, || rayon::scope(|_| list(200)))
            },
        ),
        case("install-outside", "64 empty calls of install by a thread outside of the pool", install_outside),
        case("nested-scopes", "scopes in tasks of scopes, 6 deep with 4 tasks each: 5,460 tasks", || {
            checked(5_460, || {
                let tasks = AtomicUsize::new(0);
                nested_scopes(6, &tasks);
                tasks.into_inner()
            })
        }),
        case("spawns", "20,000 tasks spawned in one scope by one thread", || checked(20_000, || spawns(20_000))),
        case("spawns-tree", "16,383 tasks in one scope, each of which spawns two more", || {
            checked(16_383, || {
                let tasks = AtomicUsize::new(0);
                rayon::scope(|scope| spawn_two(scope, 14, &tasks));
                tasks.into_inner()
            })
        }),
        case("broadcast", "64 broadcasts, called in the pool", broadcasts),
        case("blocked-joins", "200 joins in joins; in the last one a wait, not by Rayon, for a spawned job", || {
            Box::new(blocked(|| blocked_joins(200)))
        }),
        case("blocked-spawns", "64 empty jobs, and a wait, not by Rayon, by the thread that has spawned them", || {
            Box::new(blocked(|| blocked_spawns(64)))
        }),
    ]
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// About 10 us of work that cannot be left out.
fn some_work(seed: u64) -> u64 {
    let mut x = seed | 1;
    for _ in 0..3_000 {
        x = black_box(x.wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(17));
    }
    x
}

fn lone_joins() -> std::time::Duration {
    let (time, right) = timed(|| {
        (0..64).all(|i| {
            let (a, b) = rayon::join(|| some_work(i), || some_work(i));
            a == b
        })
    });
    assert!(right, "both halves of a join did the same");
    time
}

/// As a parallel walk along a list does: the half that the calling thread begins with is the rest of the list.
fn list(pieces: u64) -> u64 {
    if pieces == 0 {
        return 0;
    }
    let (rest, piece) = rayon::join(|| list(pieces - 1), || some_work(pieces));
    rest ^ piece
}

fn install_outside() -> Iteration {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(rayon::current_num_threads()).build().expect("a pool");
    checked(2_016, move || (0..64).map(|i| pool.install(|| i)).sum::<u32>())
}

fn nested_scopes(depth: u32, tasks: &AtomicUsize) {
    if depth == 0 {
        return;
    }
    rayon::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|_| {
                // Only the sum matters, and the scope's end makes it visible.
                tasks.fetch_add(1, Ordering::Relaxed);
                nested_scopes(depth - 1, tasks);
            });
        }
    });
}

fn spawns(count: usize) -> usize {
    let tasks = AtomicUsize::new(0);
    rayon::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|_| {
                // As in `nested_scopes`.
                tasks.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    tasks.into_inner()
}

fn spawn_two<'a>(scope: &rayon::Scope<'a>, depth: u32, tasks: &'a AtomicUsize) {
    if depth == 0 {
        return;
    }
    // As in `nested_scopes`.
    tasks.fetch_add(1, Ordering::Relaxed);
    for _ in 0..2 {
        scope.spawn(move |scope| spawn_two(scope, depth - 1, tasks));
    }
}

fn broadcasts() -> Iteration {
    Box::new(|| {
        let n = rayon::current_num_threads();
        rayon::scope(|_| {
            let (time, sum) = timed(|| {
                (0..64).map(|_| rayon::broadcast(|context| context.index()).into_iter().sum::<usize>()).sum::<usize>()
            });
            assert_eq!(sum, 64 * n * (n - 1) / 2, "each thread takes part in each broadcast");
            time
        })
    })
}

/// `blocking`, in a pool of its own, which has a thread more than are asked for: one blocks.
fn blocked(blocking: impl Fn() + Sync) -> impl FnMut() -> std::time::Duration {
    let threads = rayon::current_num_threads() + 1;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    move || pool.install(|| timed(&blocking).0)
}

fn blocked_joins(depth: u32) {
    if depth == 0 {
        return blocked_spawns(1);
    }
    rayon::join(|| blocked_joins(depth - 1), || ());
}

fn blocked_spawns(count: usize) {
    let (sender, receiver) = channel();
    for _ in 0..count {
        let sender = sender.clone();
        rayon::spawn(move || sender.send(()).expect("the thread waits for it"));
    }
    drop(sender);
    assert_eq!(receiver.iter().count(), count);
}
