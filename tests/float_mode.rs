//! Regions and loops run in their caller's floating-point mode on every bee, tasks in that of their hive.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]

mod common;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use common::held_workers::{BEES, Held, LEN, SCHEDULES, hives, wait_until_asleep};
use common::short_loops::{short_and_then, until_alone};
use common::task_helpers::join_on_two_bees;
use common::{panic_payload, proc_threads, run_exclusively, silence_panics};
use hive::{Hive, Reduction, Schedule};
use registers::{MODES, current, set};

/// A thread's floating-point mode is in these registers.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "instructions that std has no name for")]
mod registers {
    use std::arch::asm;

    /// MXCSR without the flags of exceptions, and above it the control word of the x87.
    pub(crate) type Mode = u64;

    /// Differences to the mode in which a program begins: small numbers flushed to zero, rounding up and down (in both
    /// registers), division by zero trapped, and the x87 rounding down alone.
    pub(crate) const MODES: [Mode; 5] = [0x8040, 0x4000 | 0x800 << 32, 0x2000 | 0x400 << 32, 0x200, 0x400 << 32];

    pub(crate) fn current() -> Mode {
        let (mut mxcsr, mut control) = (0_u32, 0_u16);
        // SAFETY: the instructions only write to these variables.
        unsafe { asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) &raw mut mxcsr, in(reg) &raw mut control) };
        Mode::from(mxcsr & 0xffc0) | Mode::from(control) << 32
    }

    pub(crate) fn set(mode: Mode) {
        let (mxcsr, control) = (mode as u32, (mode >> 32) as u16);
        // SAFETY: the mode is one of `MODES` or that of the beginning. What this program computes meanwhile is what it
        // tests.
        unsafe { asm!("ldmxcsr [{}]", "fldcw [{}]", in(reg) &raw const mxcsr, in(reg) &raw const control) };
    }
}

#[cfg(target_arch = "aarch64")]
#[expect(unsafe_code, reason = "a register that std has no name for")]
mod registers {
    use std::arch::asm;

    /// FPCR.
    pub(crate) type Mode = u64;

    /// Differences to the mode in which a program begins: small numbers flushed to zero, rounding up and down.
    pub(crate) const MODES: [Mode; 3] = [1 << 24, 1 << 22, 1 << 23];

    pub(crate) fn current() -> Mode {
        let mode;
        // SAFETY: a program may read this register.
        unsafe { asm!("mrs {}, fpcr", out(reg) mode) };
        mode
    }

    pub(crate) fn set(mode: Mode) {
        // SAFETY: the mode is one of `MODES` or that of the beginning. What this program computes meanwhile is what it
        // tests.
        unsafe { asm!("msr fpcr, {}", in(reg) mode) };
    }
}

/// Calls `run` in each of the modes, which it gets. The hives that it uses have been made in another. Afterwards the
/// thread has to be in the same mode still.
fn in_each_mode(mut run: impl FnMut(registers::Mode)) {
    struct SetOnDrop(registers::Mode);
    impl Drop for SetOnDrop {
        fn drop(&mut self) {
            set(self.0);
        }
    }
    let _first = SetOnDrop(current());
    for difference in MODES {
        let mode = current() ^ difference;
        let _before = SetOnDrop(current());
        set(mode);
        assert_eq!(current(), mode, "the processor has this mode");
        run(mode);
        assert_eq!(current(), mode, "the caller's mode is left alone");
    }
}

#[test]
fn every_bee_of_a_region_is_in_its_callers_mode() {
    let _alone = run_exclusively();
    let normal = current();
    for hive in hives() {
        in_each_mode(|mode| {
            assert_eq!(hive.spmd_map(BEES, |_| current()), [mode; BEES]);
            let modes = hive.spmd_map(BEES, |bee| {
                // A hive that a bee makes has the mode of that bee.
                let inner = Hive::new(2).unwrap();
                bee.barrier();
                inner.spmd_map(2, |_| current())
            });
            assert_eq!(modes, [[mode; 2]; BEES]);
        });
        assert_eq!(hive.spmd_map(BEES, |_| current()), [normal; BEES]);
    }
}

#[test]
fn every_part_of_a_loop_is_run_in_its_callers_mode() {
    let _alone = run_exclusively();
    for hive in hives() {
        in_each_mode(|mode| {
            for schedule in SCHEDULES {
                let run = || hive.par_for((0..LEN, schedule), |_, _| assert_eq!(current(), mode));
                run();
                wait_until_asleep(&hive, BEES - 1);
                run();
                let held = Held::workers(&hive, [1]);
                run();
                held.assert_held();
            }
        });
    }
}

#[test]
fn a_loop_that_its_caller_begins_alone_is_in_the_callers_mode_everywhere() {
    let _alone = run_exclusively();
    for hive in hives() {
        in_each_mode(|mode| {
            until_alone(&hive, || hive.par_for(0..12, |_, _| assert_eq!(current(), mode)));
            // Longer than expected, so that the workers are started when the first part has been run. If none of them
            // comes in time, then again.
            let (by_workers, caller) = (AtomicUsize::new(0), thread::current().id());
            while by_workers.load(Ordering::Relaxed) == 0 {
                short_and_then(&hive, |is_long, times| {
                    hive.par_for((0..BEES * times, Schedule::Static), |_, _| {
                        assert_eq!(current(), mode);
                        if is_long && thread::current().id() == caller {
                            thread::sleep(Duration::from_millis(5));
                        } else if is_long {
                            by_workers.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                });
            }
        });
    }
}

#[test]
fn tasks_are_in_the_mode_of_their_hive() {
    let _alone = run_exclusively();
    let normal = current();
    let assert_normal = || assert_eq!(current(), normal);
    for hive in hives() {
        in_each_mode(|mode| {
            join_on_two_bees(&hive, assert_normal, assert_normal);
            hive.install(|| {
                assert_normal();
                hive.join(assert_normal, assert_normal);
                assert_eq!(hive.spmd_map(BEES, |_| current()), [normal; BEES], "the mode of its caller, a task");
            });
            hive.scope(|scope| {
                assert_normal();
                (0..20).for_each(|_| scope.spawn(|_| assert_normal()));
            });
            // After regions in another mode, and inside of them.
            assert_eq!(hive.spmd_map(BEES, |_| current()), [mode; BEES]);
            assert_eq!(hive.broadcast(|_| current()), [normal; BEES - 1]);
            hive.spmd(BEES, |_| {
                hive.scope(|scope| {
                    assert_normal();
                    (0..20).for_each(|_| scope.spawn(|_| assert_normal()));
                });
                hive.join(assert_normal, assert_normal);
                assert_eq!(current(), mode);
            });
            let (sender, receiver) = channel();
            hive.spawn(move || sender.send(current()).unwrap());
            let spawned = loop {
                match receiver.try_recv() {
                    Ok(mode) => break mode,
                    Err(_) => hive::yield_now(),
                }
            };
            assert_eq!(spawned, normal);
        });
    }
}

/// Waits until all workers sleep in the kernel. By the counters alone a worker that was woken for a region may count as
/// asleep until it has ended its part.
fn wait_until_workers_sleep(hive: &Hive) {
    thread::sleep(Duration::from_millis(1));
    wait_until_asleep(hive, BEES - 1);
    proc_threads::wait_until_asleep(&proc_threads::named("hive-bee"));
}

#[test]
fn what_a_body_or_a_task_leaves_behind_on_a_worker_is_put_right() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    let normal = current();
    for hive in hives() {
        let change = |bee: usize| {
            if bee > 0 {
                set(normal ^ MODES[0]);
            }
        };
        for _ in 0..10 {
            hive.spmd(BEES, |bee| change(bee.id()));
            wait_until_workers_sleep(&hive);
            assert_eq!(hive.spmd_map(BEES, |_| current()), [normal; BEES]);
            let panicking = || {
                hive.spmd(BEES, |bee| {
                    change(bee.id());
                    assert_eq!(bee.id(), 0, "as expected");
                });
            };
            panic_payload(panicking);
            wait_until_workers_sleep(&hive);
            assert_eq!(hive.broadcast(|_| current()), [normal; BEES - 1]);
            hive.broadcast(change);
            assert_eq!(hive.spmd_map(BEES, |_| current()), [normal; BEES]);
            // In regions of another mode it is put right at once.
            in_each_mode(|_| {
                hive.spmd(BEES, |bee| change(bee.id()));
                panic_payload(panicking);
            });
            assert_eq!(hive.spmd_map(BEES, |_| current()), [normal; BEES]);
        }
    }
}

#[test]
fn a_worker_has_the_mode_of_its_hive_whoever_hires_it() {
    let _alone = run_exclusively();
    let normal = current();
    in_each_mode(|mode| {
        let later = thread::spawn(move || {
            set(normal);
            Hive::builder().bees(1).max_bees(BEES).start_handler(move |_| set(mode)).build().unwrap()
        });
        let hive = later.join().unwrap();
        hive.resize(BEES).unwrap();
        assert_eq!(hive.broadcast(|_| current()), [normal; BEES - 1]);
        assert_eq!(hive.spmd_map(BEES, |_| current()), [mode; BEES]);
    });
}

#[cfg(feature = "hwloc")]
#[test]
fn regions_over_several_hives_are_in_their_callers_mode() {
    use common::hive_sets::{TWO_BY_TWO, on_machine, two_hives_of_two};
    on_machine(TWO_BY_TWO, "regions_over_several_hives_are_in_their_callers_mode", &[], || {
        let normal = current();
        for set in two_hives_of_two() {
            in_each_mode(|mode| {
                assert_eq!(set.spmd_map(|_| current()), vec![mode; set.bees()]);
                let modes = set.on_each(|_, hive| hive.spmd_map(2, |_| current()));
                assert_eq!(modes, vec![vec![mode; 2]; set.len()]);
            });
            assert_eq!(set.spmd_map(|_| current()), vec![normal; set.bees()]);
        }
    });
}

/// A machine on which workers lead groups, one of which stands in for bees that are held.
#[cfg(feature = "hwloc")]
#[test]
fn bees_of_several_groups_are_in_their_callers_mode() {
    use hive::{BarrierShape, Pin};
    let machine = [("HWLOC_SYNTHETIC", "pack:2 [numa(memory=1GB)] l3:2 core:2 pu:1"), ("HWLOC_THISSYSTEM", "0")];
    common::process::in_own_process_with("bees_of_several_groups_are_in_their_callers_mode", &machine, || {
        for shape in [BarrierShape::Cluster, BarrierShape::Node] {
            let hive = Hive::builder().bees(8).pin(Pin::Core).barrier(shape).build().unwrap();
            let normal = current();
            in_each_mode(|mode| {
                assert_eq!(hive.spmd_map(8, |_| current()), [mode; 8]);
                for held in [[3, 7], [1, 5]] {
                    let held = Held::workers(&hive, held);
                    hive.par_for((0..LEN, Schedule::Static), |_, _| assert_eq!(current(), mode));
                    held.assert_held();
                }
                assert_eq!(hive.broadcast(|_| current()), [normal; 7]);
            });
        }
    });
}

#[test]
fn deterministic_reductions_have_the_same_bits_in_every_mode() {
    let _alone = run_exclusively();
    // Each product is below the smallest normal number.
    let x: Vec<f64> = (0..10_000).map(|i| 1e-308 * (1.0 + f64::from(i % 97) / 1000.0)).collect();
    let sum = Reduction::deterministic(0.0, |a: f64, b| a + b);
    let map = |range: Range<usize>| x[range].iter().map(|x| std::hint::black_box(*x) * 0.1).sum::<f64>();
    let normal = hive::install(|| sum.combine(sum.blocks_of(0..x.len()).map(map)).to_bits());
    let mut differing = 0;
    for hive in hives() {
        let reduce = |schedule| hive.par_reduce((0..x.len(), schedule), &sum, map).to_bits();
        in_each_mode(|_| {
            let right = sum.combine(sum.blocks_of(0..x.len()).map(map)).to_bits();
            differing += u32::from(right != normal);
            for schedule in [Schedule::Static, Schedule::Dynamic(50)] {
                assert!((0..100).all(|_| reduce(schedule) == right), "{schedule:?}");
                wait_until_asleep(&hive, BEES - 1);
                assert_eq!(reduce(schedule), right);
                let held = Held::workers(&hive, [2]);
                assert_eq!(reduce(schedule), right);
                drop(held);
                assert_eq!(hive.install(|| reduce(schedule)), normal, "in a task");
                assert!(hive.spmd_map(BEES, |_| reduce(schedule)).iter().all(|bits| *bits == right));
            }
        });
    }
    assert!(differing > 0, "no mode has made a difference");
}
