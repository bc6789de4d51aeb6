//! Workers that are there and have no CPU: a signal keeps a worker from going on, wherever it is. Loops do not wait for
//! it unless it has begun its part, and each part is run once. A queen who sits on the worker's CPU, from which the
//! worker moves away. And a worker that another thread keeps off its CPU, which the queen brings to her own.
//!
//! Each test runs in a process of its own, because signals and binding are those of the process.

#![cfg(target_os = "linux")]

mod common;

use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, hint, iter, thread};

use common::held_thread::hold;
use common::process::{build_bound, in_own_process, is_child, rerun, run_in_child};
use common::{Rng, assert_hive_works, assert_loops_work, kernel, proc_threads, run_exclusively, sys, wait_until};
use hive::{Bee, Hive};

/// A hive whose workers poll for ever, and their threads.
fn polling_hive(bees: usize) -> (Hive, Vec<i32>) {
    let hive = Hive::builder().bees(bees).spin(Duration::MAX).build().unwrap();
    let tids = hive.spmd_map(bees, |_| sys::tid());
    (hive, tids[1..].to_vec())
}

#[test]
fn a_loop_does_not_wait_for_a_worker_that_polls_and_has_no_cpu() {
    in_own_process("a_loop_does_not_wait_for_a_worker_that_polls_and_has_no_cpu", || {
        for bees in [2, 3] {
            let (hive, workers) = polling_hive(bees);
            // Not before there is a hive, which registers the process for it.
            if !sys::has_membarrier() {
                return println!("skipped: without membarrier it does wait");
            }
            let before = hive.stats().total().stand_ins;
            let held = hold(workers[0]);
            // The worker can only be held in its wait for the next region: none is running.
            (0..200).for_each(|_| assert_loops_work(&hive, 100));
            assert!(hive.stats().total().stand_ins > before, "nobody has run its parts");
            drop(held);
            assert_hive_works(&hive, bees);
            assert_loops_work(&hive, 100);
        }
    });
}

/// Ends another thread, also where an assertion fails.
struct EndOnDrop<'b>(&'b AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_loop_that_a_worker_misses_is_not_begun_by_it_later() {
    in_own_process("a_loop_that_a_worker_misses_is_not_begun_by_it_later", || {
        let (hive, workers) = polling_hive(2);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let _end = EndOnDrop(&is_over);
            scope.spawn(|| {
                let mut dice = Rng::new(3);
                while !is_over.load(Ordering::Relaxed) {
                    // It is held for up to four milliseconds: in its wait, before its part or in the middle of it.
                    let held = hold(workers[0]);
                    thread::sleep(Duration::from_micros(1 << dice.next_up_to(12)));
                    drop(held);
                    thread::sleep(Duration::from_micros(1 << dice.next_up_to(10)));
                }
            });
            for round in 0..1_000 {
                assert_loops_work(&hive, 1 + round % 97);
                if round % 10 == 0 {
                    assert_hive_works(&hive, 2);
                }
            }
        });
    });
}

/// A directory in which two programs tell each other how far they are, and which of them this is.
const MEETING: &str = "HIVE_TEST_MEETING";
const PROGRAM: &str = "HIVE_TEST_PROGRAM";

/// A hive of two bees by default, and where its worker may be.
struct Subject {
    hive: Hive,
    worker: i32,
    /// The CPU that the worker is bound to, and another one of its node.
    own: Vec<usize>,
    other: usize,
}

impl Subject {
    /// None: there is nothing to test.
    fn new() -> Option<Self> {
        let cpus = proc_threads::own_cpus();
        if cpus.len() < 2 {
            println!("skipped: there is only CPU {cpus:?}");
            return None;
        }
        let [hive] = build_bound(|| [Hive::builder().bees(2).build().unwrap()])?;
        // The kernel may have put this thread on the worker's CPU already.
        let look = |bee: &Bee<'_>| (sys::tid(), bee.place().map(|place| place.cpus().to_vec()));
        let (worker, own) = loop {
            if let (worker, Some(own)) = hive.spmd_map(2, look).remove(1) {
                break (worker, own);
            }
            thread::sleep(Duration::from_millis(2));
        };
        // Where the kernel does not list nodes, all CPUs count as one.
        let listed = kernel::cpus().and_then(|cpus| cpus.into_iter().find(|cpu| [cpu.number] == own[..]));
        let node = listed.map_or_else(|| cpus.clone(), |cpu| cpu.node);
        let Some(&other) = cpus.iter().find(|cpu| !own.contains(cpu) && node.contains(cpu)) else {
            println!("skipped: the worker may run on no other CPU");
            return None;
        };
        Some(Self { hive, worker, own, other })
    }

    /// Runs short regions until the worker's mask is as it should be.
    fn run_until(&self, is_expected: impl Fn(&[usize]) -> bool) {
        wait_until(|| {
            self.hive.spmd(2, |bee| (0..20).for_each(|_| bee.barrier()));
            is_expected(&proc_threads::cpus(self.worker))
        });
    }
}

#[test]
fn a_worker_leaves_the_cpu_on_which_the_queen_waits_for_it_and_comes_back() {
    in_own_process("a_worker_leaves_the_cpu_on_which_the_queen_waits_for_it_and_comes_back", || {
        let Some(subject) = Subject::new() else { return };
        let Subject { hive, own, other, .. } = &subject;
        sys::bind(own);
        subject.run_until(|mask| !mask.contains(&own[0]));
        wait_until(|| hive.spmd_map(2, |bee| bee.place().is_none())[1]);
        assert_eq!(sys::own_mask(), *own, "the program's thread keeps its mask");
        sys::bind(&[*other]);
        subject.run_until(|mask| mask == own);
    });
}

#[test]
fn a_worker_that_has_lost_its_cpu_is_brought_to_the_queen_and_goes_back() {
    in_own_process("a_worker_that_has_lost_its_cpu_is_brought_to_the_queen_and_goes_back", || {
        let Some(subject) = Subject::new() else { return };
        let Subject { hive, own, other, .. } = &subject;
        sys::bind(&[*other]);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let _end = EndOnDrop(&is_over);
            scope.spawn(|| {
                sys::bind(own);
                while !is_over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
            // At the end of a region, and at a barrier.
            for meets in [false, true] {
                let is_brought = |bee: &Bee<'_>| {
                    let begin = Instant::now();
                    let mut looks = iter::repeat_with(|| sys::own_mask().contains(other) && bee.place().is_none());
                    let is_brought = bee.id() == 1 && looks.any(|is| is || begin.elapsed() > Duration::from_millis(2));
                    let is_brought = is_brought && sys::own_mask().contains(other);
                    if meets {
                        bee.barrier();
                    }
                    is_brought
                };
                wait_until(|| hive.spmd_map(2, is_brought)[1]);
            }
        });
        assert_eq!(sys::own_mask(), [*other], "the program's thread keeps its mask");
        subject.run_until(|mask| mask == own);
        assert!(!hive.report().to_string().contains("changed from outside"), "{}", hive.report());
    });
}

/// Whichever program comes first, and although the workers of the second one are not bound. With more CPUs the share of
/// each program is more than one.
#[test]
fn loops_of_two_programs_that_share_two_cpus_run_on_their_callers() {
    let name = "loops_of_two_programs_that_share_two_cpus_run_on_their_callers";
    if is_child() {
        run_in_child(|| {
            if proc_threads::own_cpus().len() != 2 || kernel::cpus().is_none_or(|all| all.len() != 2) {
                return println!("skipped: this machine or process has not two CPUs");
            }
            let hive = Hive::new(2).unwrap();
            let lone_loops = || hive.stats().total().lone_loops;
            let run_loop = || hive.par_for(0..20_000, |range, _| range.for_each(|i| _ = black_box(i)));
            // Whether nearly all loops do, in a time of six of the longest pauses without the rule (`help.rs`).
            let run_alone = || {
                let (begin, before) = (Instant::now(), lone_loops());
                let runs = iter::repeat_with(run_loop).take_while(|()| begin.elapsed() < Duration::from_millis(500));
                let runs = runs.count() as u64;
                lone_loops() - before > runs * 4 / 5
            };
            let seen = |program| Path::new(&env::var_os(MEETING).unwrap()).join(program);
            wait_until(run_alone);
            fs::write(seen(env::var(PROGRAM).unwrap()), "").unwrap();
            // The other program may have to see that as well.
            wait_until(|| {
                run_alone();
                ["0", "1"].into_iter().all(|program| seen(program.to_owned()).exists())
            });
        });
    }
    let _alone = run_exclusively();
    let directory = tempfile::tempdir().unwrap();
    let meeting = (MEETING, directory.path().to_str().unwrap());
    let both = thread::scope(|scope| {
        let other = scope.spawn(|| rerun(name, &[meeting, (PROGRAM, "1")]));
        [rerun(name, &[meeting, (PROGRAM, "0")]), other.join().expect("no panic")]
    });
    both.into_iter().for_each(|ended| drop(ended.unwrap()));
}
