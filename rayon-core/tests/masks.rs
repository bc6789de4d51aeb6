//! The CPUs that the threads of a pool may run on. A thread that sleeps may leave out the CPU of the one that wakes it,
//! and has its whole mask back before it runs anything. (Whether it learns to do so is the kernel's doing, too. That it
//! does when it is late is tested in `hive/sys/waker_avoidance.rs`.)
#![cfg(target_os = "linux")]

use std::mem::MaybeUninit;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rayon_core::ThreadPoolBuilder;

/// The mask of the calling thread.
fn mask() -> Vec<usize> {
    // SAFETY: a `cpu_set_t` is plain numbers, for which zeros are valid.
    let mut set: libc::cpu_set_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the pointer is to a set of the size that is given.
    let status = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    assert_eq!(status, 0, "more CPUs than the C library's set has");
    // SAFETY: the numbers are within the set.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// Works for some time, and returns the masks that the thread has before and after it.
fn work() -> [Vec<usize>; 2] {
    let (before, begin) = (mask(), Instant::now());
    while begin.elapsed() < Duration::from_micros(400) {}
    [before, mask()]
}

#[test]
fn whatever_runs_in_a_pool_runs_with_the_whole_mask() {
    let all = mask();
    let check = || work().iter().for_each(|mask| assert_eq!(*mask, all));
    for threads in [2, 3] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        // The pool's threads sleep, and are woken by one of them for joins that take long enough for them to learn.
        for _ in 0..60 {
            pool.install(|| {
                sleep(Duration::from_millis(2));
                rayon_core::join(|| rayon_core::join(check, check), || rayon_core::join(check, check));
            });
        }
        pool.broadcast(|_| check());
    }
}
