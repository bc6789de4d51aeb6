//! Signals: bees take no signals except a profiler's, and a storm of signals breaks nothing.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

use common::process::in_own_process;
use common::{Gate, Rng, assert_hive_works, proc_threads, rounds_for, sys, wait_until};
use hive::Hive;

const BLOCKED: [i32; 8] = [
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGALRM,
    libc::SIGHUP,
    libc::SIGCHLD,
    libc::SIGIO,
];

const FAULTS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];

const OF_PROFILERS: [i32; 2] = [libc::SIGPROF, libc::SIGVTALRM];

/// The threads of all workers.
fn bee_tids(hive: &Hive, n: usize) -> Vec<i32> {
    let gate = Gate::new();
    let mut tids = hive.spmd_map(n, |_| {
        gate.arrive_and_wait(n);
        sys::tid()
    });
    tids.remove(0);
    tids
}

#[test]
fn bees_block_all_signals_but_faults_and_profilers_and_their_maker_s_mask_is_as_it_was() {
    in_own_process("bees_block_all_signals_but_faults_and_profilers_and_their_maker_s_mask_is_as_it_was", || {
        sys::block_signal(libc::SIGUSR2);
        let own = || proc_threads::status(sys::tid(), "SigBlk");
        let before = own();
        let hive = Hive::new(3).unwrap();
        assert_eq!(own(), before);
        // Workers that are hired when the hive is built, when a region needs them, when the hive is resized, and from
        // inside of a region.
        assert_hive_works(&hive, 5);
        hive.resize(6).unwrap();
        assert_eq!(own(), before);
        hive.spmd(3, |bee| {
            if bee.id() == 1 {
                hive.resize(8).unwrap()
            }
        });
        assert_eq!(own(), before);
        assert!(
            proc_threads::has_blocked(sys::tid(), libc::SIGUSR2)
                && !proc_threads::has_blocked(sys::tid(), libc::SIGUSR1)
        );
        let bees = bee_tids(&hive, 8);
        assert_eq!(bees.len(), 7);
        for bee in bees {
            for signal in BLOCKED {
                assert!(proc_threads::has_blocked(bee, signal), "signal {signal} would be handled on a bee");
            }
            for fault in FAULTS {
                assert!(!proc_threads::has_blocked(bee, fault), "fault {fault} would not be reported");
            }
            for signal in OF_PROFILERS {
                assert!(!proc_threads::has_blocked(bee, signal), "a profiler by signal {signal} would not see bees");
            }
        }
        // Workers block what the thread that makes them blocks.
        sys::block_signal(libc::SIGPROF);
        let hive = Hive::new(2).unwrap();
        let [bee] = bee_tids(&hive, 2)[..] else { unreachable!() };
        assert!(proc_threads::has_blocked(bee, libc::SIGPROF) && !proc_threads::has_blocked(bee, libc::SIGVTALRM));
    });
}

/// As a profiler does it: a thread that uses CPU time is interrupted where it is.
#[test]
fn a_profiler_s_timer_interrupts_bees() {
    in_own_process("a_profiler_s_timer_interrupts_bees", || {
        let _profiler = sys::start_profiling(Duration::from_millis(1));
        let hive = Hive::builder().bees(2).spin(Duration::ZERO).build().unwrap();
        hive.spmd(2, |bee| {
            if !bee.is_queen() {
                let before = sys::profile_signals_here();
                // The queen sleeps meanwhile, so this is the only thread that uses CPU time.
                let end = sys::cpu_time() + Duration::from_secs(5);
                while sys::profile_signals_here() < before + 10 && sys::cpu_time() < end {}
                assert!(
                    sys::profile_signals_here() >= before + 10,
                    "the bee has been interrupted {} times",
                    sys::profile_signals_here() - before
                );
            }
        });
    });
}

#[test]
fn stress_regions_and_tasks_and_naps_under_a_profiler() {
    in_own_process("stress_regions_and_tasks_and_naps_under_a_profiler", || {
        let _profiler = sys::start_profiling(Duration::from_micros(200));
        for spin in [Duration::ZERO, Duration::from_micros(50)] {
            for poll in [None, Some(Duration::from_micros(200))] {
                let hive = Hive::builder().bees(4).spin(spin).poll(poll).build().unwrap();
                let mut dice = Rng::new(3);
                for _ in 0..300 {
                    assert_hive_works(&hive, dice.next_up_to(6));
                    assert_eq!(common::task_helpers::fib_by_joins(&hive, 10), 55);
                    assert_eq!(hive.broadcast(|bee| bee).len(), hive.bees() - 1);
                    hive.resize(dice.next_up_to(6)).unwrap();
                    hive.wait_until_parked();
                }
            }
        }
        assert!(sys::profile_signals() > 0, "no signal came");
    });
}

/// Sends alarms to a thread at intervals.
fn send_signals(tid: &AtomicI32, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let tid = tid.load(Ordering::Acquire);
        if tid != 0 {
            sys::send_sigalrm(tid);
        }
        thread::sleep(Duration::from_micros(300));
    }
}

#[test]
fn stress_regions_resizes_and_settling_under_a_storm_of_alarms() {
    in_own_process("stress_regions_resizes_and_settling_under_a_storm_of_alarms", || {
        // To the process, and to the two threads that use the hive.
        let _alarms = sys::start_alarms(Duration::from_millis(1));
        let over = AtomicBool::new(false);
        let users: [AtomicI32; 2] = Default::default();
        let hives = [Duration::ZERO, Duration::from_micros(200)]
            .map(|spin| Hive::builder().bees(4).spin(spin).build().unwrap());
        let done = Gate::new();
        thread::scope(|scope| {
            for user in &users {
                scope.spawn(|| send_signals(user, &over));
            }
            for (number, hive) in (1..).zip(&hives) {
                for user in &users {
                    let done = &done;
                    scope.spawn(move || {
                        user.store(sys::tid(), Ordering::Release);
                        let mut dice = Rng::new(5);
                        for _ in rounds_for(20, 500) {
                            assert_hive_works(hive, dice.next_up_to(6));
                            hive.resize(dice.next_up_to(6)).unwrap();
                            hive.wait_until_parked();
                            // Long enough for the queen to sleep until it ends. Yields would be shorter than that on a
                            // quiet machine, and time slices long on a busy one.
                            hive.spmd(3, |bee| {
                                if bee.id() == 2 {
                                    thread::sleep(Duration::from_micros(300));
                                }
                                bee.barrier();
                            });
                            drop(Hive::new(2).unwrap());
                        }
                        user.store(0, Ordering::Release);
                        done.arrive();
                    });
                }
                done.wait_for(2 * number);
            }
            over.store(true, Ordering::Relaxed);
        });
        assert!(sys::alarm_count() > 20, "only {} alarms came", sys::alarm_count());
    });
}

#[test]
fn a_queen_that_sleeps_until_a_region_s_end_sleeps_on_after_a_signal() {
    in_own_process("a_queen_that_sleeps_until_a_region_s_end_sleeps_on_after_a_signal", || {
        let _alarms = sys::start_alarms(Duration::from_secs(1_000));
        let hive = Hive::builder().bees(2).spin(Duration::ZERO).build().unwrap();
        let queen = sys::tid();
        let ended = AtomicBool::new(false);
        for _ in 0..5 {
            hive.spmd(2, |bee| {
                if !bee.is_queen() {
                    for _ in 0..5 {
                        proc_threads::wait_until_asleep(&[queen]);
                        let rung = sys::alarm_count();
                        sys::send_sigalrm(queen);
                        wait_until(|| sys::alarm_count() > rung);
                    }
                    proc_threads::wait_until_asleep(&[queen]);
                    ended.store(true, Ordering::Relaxed);
                }
            });
            assert!(ended.swap(false, Ordering::Relaxed));
        }
    });
}
