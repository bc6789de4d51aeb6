//! A sandbox that the program sets up when its pools exist, and that ends the process at every system call that Rust's
//! standard library does not make.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../../tests/common/seccomp.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod seccomp;

use std::thread;
use std::time::Duration;

use rayon_core::{ThreadPool, ThreadPoolBuilder, broadcast, join, scope, spawn, yield_now};
use seccomp::{CALLS_OF_STD, die_of_all_syscalls_but};

fn fib(n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Everything that goes on in a pool, from outside of it and inside.
fn use_pool(pool: &ThreadPool, pause: Duration) {
    thread::sleep(pause);
    assert_eq!((fib(16), pool.install(|| fib(16))), (987, 987));
    thread::sleep(pause);
    let mut sums = vec![0; 100];
    scope(|scope| sums.iter_mut().for_each(|sum| scope.spawn(move |_| *sum = 1)));
    assert_eq!(sums.iter().sum::<u32>(), 100);
    thread::sleep(pause);
    assert_eq!(broadcast(|context| context.index()).len(), rayon_core::current_num_threads());
    let (sender, receiver) = std::sync::mpsc::channel();
    spawn(move || {
        yield_now();
        sender.send(1).unwrap();
    });
    assert_eq!(receiver.recv(), Ok(1));
    // A thread of the pool that others help after it has slept.
    pool.install(|| {
        thread::sleep(pause);
        let busy = || (0..2_000_000).fold(1_u64, |a, b| a.wrapping_mul(b | 1));
        join(busy, busy)
    });
}

/// The only test of this program: the sandbox is there to the end.
#[test]
fn pools_go_on_where_all_calls_but_those_of_std_end_the_process() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    assert_eq!(join(|| 1, || 2), (1, 2));
    if !die_of_all_syscalls_but(&CALLS_OF_STD) {
        return;
    }
    for pause in [0, 1, 5, 20, 60].map(Duration::from_millis).into_iter().cycle().take(40) {
        use_pool(&pool, pause);
    }
    drop(pool);
}
