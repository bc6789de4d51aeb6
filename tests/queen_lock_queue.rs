//! Queens that wait for another queen's long region: they sleep, use hardly any CPU, and all get the queen lock.
//!
//! See `docs/queen-lock.md`.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use common::process::in_own_process;
use common::{proc_threads, sys};
use hive::Hive;

/// Registering takes many milliseconds beside another thread, so a region that has to build the global hive first does
/// not wait for it.
#[test]
fn a_first_region_beside_other_threads_registers_for_no_heavy_fences() {
    in_own_process("a_first_region_beside_other_threads_registers_for_no_heavy_fences", || {
        thread::spawn(thread::park);
        hive::spmd(2, |_| ());
        hive::par_for(0..100, |_, _| ());
        assert!(!sys::has_membarrier(), "not later either, when it would hold up a region");
        assert_eq!(hive::spmd_map(2, |bee| bee.id()), [0, 1]);
    });
}

/// Who builds a hive has the time.
#[test]
fn a_hive_that_the_program_builds_is_registered_for_heavy_fences_before_its_regions() {
    in_own_process("a_hive_that_the_program_builds_is_registered_for_heavy_fences_before_its_regions", || {
        thread::spawn(thread::park);
        let hive = Hive::new(2).unwrap();
        let is_registered = sys::has_membarrier();
        hive.par_for(0..100, |_, _| ());
        assert_eq!(sys::has_membarrier(), is_registered, "it is possible here");
    });
}

/// How long the region lasts that they wait for. A thread that looked every millisecond would wake some 250 times
/// meanwhile.
const REGION: Duration = Duration::from_millis(300);

/// More often than a waiter wakes in that time whose checks become rarer and rarer.
const MAX_WAKES: u64 = 30;

/// Starts `count` threads that start a region each, and returns their numbers once all of them sleep.
fn start_waiters(hive: &Arc<Hive>, count: usize, served: &Arc<AtomicUsize>) -> (Vec<i32>, Vec<thread::JoinHandle<()>>) {
    let queens = (0..count).map(|_| {
        let (hive, served) = (Arc::clone(hive), Arc::clone(served));
        let (sender, receiver) = mpsc::channel();
        let queen = thread::spawn(move || {
            sender.send(sys::tid()).unwrap();
            hive.spmd(2, |bee| _ = served.fetch_add(usize::from(bee.is_queen()), Ordering::Relaxed));
        });
        (receiver.recv().unwrap(), queen)
    });
    let (tids, queens): (Vec<_>, Vec<_>) = queens.unzip();
    proc_threads::wait_until_asleep(&tids);
    (tids, queens)
}

/// How often each of these threads wakes within [`REGION`].
fn wake_counts(tids: &[i32]) -> Vec<u64> {
    let sleeps = || tids.iter().map(|&tid| proc_threads::sleep_count(tid)).collect::<Vec<_>>();
    let (before, cpu) = (sleeps(), sys::cpu_time());
    thread::sleep(REGION);
    let used = sys::cpu_time() - cpu;
    let wakes = sleeps().into_iter().zip(before).map(|(after, before)| after - before).collect();
    println!("{} waiting queens: {used:?} of CPU time in {REGION:?}; wakes: {wakes:?}", tids.len());
    wakes
}

#[test]
fn queens_who_wait_for_a_long_region_sleep() {
    in_own_process("queens_who_wait_for_a_long_region_sleep", || {
        const QUEENS: usize = 100;
        let hive = Arc::new(Hive::new(2).unwrap());
        let served = Arc::new(AtomicUsize::new(0));
        let seen = hive.spmd_map(2, |bee| {
            bee.is_queen().then(|| {
                let (tids, queens) = start_waiters(&hive, QUEENS, &served);
                let wakes = wake_counts(&tids);
                assert_eq!(served.load(Ordering::Relaxed), 0);
                (wakes, queens)
            })
        });
        let (wakes, queens) = seen.into_iter().flatten().next().expect("the queen has seen them");
        queens.into_iter().for_each(|queen| queen.join().unwrap());
        assert_eq!(served.load(Ordering::Relaxed), QUEENS, "queens who had their turn");
        assert!(wakes.iter().all(|&wakes| wakes <= MAX_WAKES), "wakes of each while she waited: {wakes:?}");
    });
}
