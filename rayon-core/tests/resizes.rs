//! Pools that use fewer of their threads for a while.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::{next, pool};
use hive::adapters::task_pool::resizing::{limit_threads, most_in_use, resize};
use rayon_core::{
    ThreadPool, ThreadPoolBuilder, hive_rayon_get_num_threads, hive_rayon_set_num_threads, join, scope, spawn,
};

/// The limit is one of the process, so one test at a time.
static LIMIT: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    LIMIT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes the size of a pool by a job in it.
fn resize_in(pool: &ThreadPool, threads: usize) -> usize {
    pool.install(|| resize(threads)).expect("a job of the pool")
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Runs many jobs and returns how many each thread has run. Each job takes long enough for others to come.
fn jobs_by_thread(pool: &ThreadPool, threads: usize) -> Vec<usize> {
    let counts: Vec<_> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
    pool.scope(|scope| {
        for _ in 0..200 {
            scope.spawn(|_| {
                let index = rayon_core::current_thread_index().expect("a thread of the pool");
                counts[index].fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_micros(100));
            });
        }
    });
    counts.into_iter().map(AtomicUsize::into_inner).collect()
}

/// Runs as many jobs as that which wait for each other, so that each has to be on a thread of its own.
fn meet(pool: &ThreadPool, threads: usize) {
    let barrier = Barrier::new(threads);
    pool.scope(|scope| (0..threads).for_each(|_| scope.spawn(|_| _ = barrier.wait())));
}

#[test]
fn threads_that_were_given_up_run_no_jobs_until_they_come_back() {
    let _alone = alone();
    let pool = pool(4);
    meet(&pool, 4);
    assert_eq!(pool.install(|| resize(2)), Some(2));
    // What was begun before may still be there, and nothing that begins later.
    pool.broadcast(|_| ());
    let jobs = jobs_by_thread(&pool, 4);
    assert_eq!(jobs[0] + jobs[1], 200, "{jobs:?}");
    assert_eq!(pool.install(|| resize(100)), Some(4), "it has no more");
    meet(&pool, 4);
}

#[test]
fn a_program_sees_the_threads_that_the_pool_was_built_with() {
    let _alone = alone();
    let pool = pool(3);
    assert_eq!(pool.install(|| resize(1)), Some(1));
    assert_eq!((pool.current_num_threads(), pool.install(rayon_core::current_num_threads)), (3, 3));
    // Each thread runs its part of a broadcast, and all at the same time.
    let barrier = Barrier::new(3);
    let run = |context: rayon_core::BroadcastContext<'_>| {
        barrier.wait();
        (context.index(), context.num_threads())
    };
    assert_eq!(pool.broadcast(run), [(0, 3), (1, 3), (2, 3)]);
    assert_eq!(resize(1), None, "this thread has no pool");
}

#[test]
fn no_thread_is_made_or_ended() {
    let _alone = alone();
    let pool = pool(4);
    let threads = pool.broadcast(|_| thread::current().id());
    for size in [1, 4, 2, 3, 1, 4] {
        limit_threads(size);
        meet(&pool, size);
        assert_eq!(pool.broadcast(|_| thread::current().id()), threads);
    }
    limit_threads(usize::MAX);
}

/// A thread that is given up in the middle of a job ends that, and what it has queued is run by others.
#[test]
fn a_job_goes_on_and_what_it_has_queued_is_run() {
    let _alone = alone();
    let pool = pool(2);
    let (begun, has_begun) = channel();
    let (end, is_to_end) = channel::<()>();
    let is_to_end = Mutex::new(is_to_end);
    let (ran, has_run) = channel();
    // On thread 1, which is the one that has to go.
    pool.spawn_broadcast(move |context| {
        if context.index() == 1 {
            let ran = ran.clone();
            spawn(move || ran.send(rayon_core::current_thread_index()).unwrap());
            begun.send(()).unwrap();
            next(&is_to_end.lock().unwrap());
        }
    });
    next(&has_begun);
    assert_eq!(resize_in(&pool, 1), 1);
    assert_eq!(next(&has_run), Some(0));
    end.send(()).unwrap();
    drop(pool);
}

#[test]
fn a_limit_holds_for_pools_that_are_there_and_for_those_that_come() {
    let _alone = alone();
    let first = pool(3);
    hive_rayon_set_num_threads(2);
    let second = pool(3);
    for pool in [&first, &second] {
        pool.broadcast(|_| ());
        assert_eq!(jobs_by_thread(pool, 3)[2], 0);
        assert_eq!(resize_in(pool, 3), 2, "the limit holds");
    }
    assert_eq!(hive_rayon_get_num_threads(), 2);
    // What a caller does who limits the threads for a while.
    let before = hive_rayon_get_num_threads();
    hive_rayon_set_num_threads(1);
    hive_rayon_set_num_threads(before);
    limit_threads(usize::MAX);
    assert_eq!(resize_in(&first, 3), 3);
    let all = i32::try_from(thread::available_parallelism().unwrap().get()).unwrap();
    hive_rayon_set_num_threads(1);
    assert_eq!(hive_rayon_get_num_threads(), 1);
    hive_rayon_set_num_threads(all.max(3));
    assert_eq!(resize_in(&pool(5), 5), 5, "no limit is left behind");
    hive_rayon_set_num_threads(-1);
    assert_eq!(hive_rayon_get_num_threads(), 1, "less is not possible");
    limit_threads(usize::MAX);
    assert_eq!(resize_in(&first, 3), 3);
    drop((first, second));
}

/// The thread that has built the pool is one of its threads and runs jobs only while it waits, so with a size of 1
/// another one comes where it is needed.
#[test]
fn a_pool_of_the_calling_thread_hangs_at_no_size() {
    let _alone = alone();
    thread::spawn(|| {
        let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
        assert_eq!(resize(1), Some(1));
        let (ran, has_run) = channel();
        pool.spawn(move || ran.send(()).unwrap());
        next(&has_run);
        let elsewhere = thread::scope(|scope| scope.spawn(|| pool.install(|| fib(12))).join().unwrap());
        assert_eq!(elsewhere, 144);
    })
    .join()
    .unwrap();
}

/// A spawn handler and a start handler run while the pool is being built, under locks.
#[test]
fn handlers_may_change_the_size_of_the_pool_that_is_being_built() {
    let _alone = alone();
    let (resized, has_resized) = channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .start_handler(move |_| {
            let _ = resized.send(resize(2));
        })
        .spawn_handler(move |thread| {
            thread::Builder::new().spawn(|| thread.run())?;
            limit_threads(usize::MAX);
            // The handler has changed the size before this one returns.
            assert_eq!(next(&has_resized), Some(2));
            Ok(())
        })
        .build()
        .unwrap();
    pool.broadcast(|_| ());
    assert_eq!(jobs_by_thread(&pool, 3)[2], 0);
}

#[test]
fn sizes_change_at_random_while_jobs_run() {
    const RESIZES: usize = if cfg!(miri) { 100 } else { 20_000 };
    let _alone = alone();
    let (first, second) = (pool(3), pool(2));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = 1_u64;
            for _ in 0..RESIZES {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let threads = 1 + (random >> 33) as usize % 3;
                match random >> 62 {
                    0 => limit_threads(threads),
                    1 => _ = resize_in(&first, threads),
                    2 => _ = resize_in(&second, threads),
                    _ => _ = most_in_use(),
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(first.install(|| second.install(|| fib(11)) + fib(8)), 89 + 21);
                    let mut values = vec![0; 50];
                    first.install(|| fill_by_jobs(&mut values));
                    assert!(values.iter().enumerate().all(|(index, &value)| value == index));
                    assert_eq!(second.broadcast(|context| context.index()), [0, 1]);
                }
            });
        }
    });
    limit_threads(usize::MAX);
}

fn fill_by_jobs(values: &mut [usize]) {
    scope(|scope| {
        for (index, value) in values.iter_mut().enumerate() {
            scope.spawn(move |_| *value = index);
        }
    });
}

/// A thread that is given up leaves its CPU: it uses no time.
#[test]
#[cfg(target_os = "linux")]
fn a_thread_that_was_given_up_uses_no_time() {
    let _alone = alone();
    let pool = pool(2);
    let tids = pool.broadcast(|_| {
        // SAFETY: the call takes nothing.
        unsafe { libc::gettid() }
    });
    resize_in(&pool, 1);
    pool.broadcast(|_| ());
    let switches = || {
        let status = std::fs::read_to_string(format!("/proc/self/task/{}/status", tids[1])).expect("it is there");
        let of = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).expect("Linux has it");
            line.split_whitespace().nth(1).and_then(|count| count.parse::<u64>().ok()).expect("a number")
        };
        of("voluntary_ctxt_switches") + of("nonvoluntary_ctxt_switches")
    };
    // It goes to sleep once more after the broadcast, within a time that is not known.
    let stat = || std::fs::read_to_string(format!("/proc/self/task/{}/stat", tids[1])).expect("it is there");
    // After the name, which is in parentheses.
    let is_asleep = || stat().rsplit_once(')').expect("a name").1.trim_start().starts_with('S');
    let begin = Instant::now();
    let mut before = switches();
    loop {
        assert_eq!(pool.install(|| fib(15)), 610);
        thread::sleep(Duration::from_millis(5));
        let now = switches();
        if now == before && is_asleep() {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "it never sleeps");
        before = now;
    }
    for _ in 0..50 {
        assert_eq!(pool.install(|| fib(12)), 144);
    }
    assert_eq!(switches(), before, "it has been on a CPU meanwhile");
}
