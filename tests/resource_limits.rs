//! Numbers that are out of range, and a system that starts no more threads.

#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::hint::black_box;
use std::thread;
use std::time::Duration;

use common::process::in_own_process_with;
use common::{assert_contains_all, assert_hive_works, panic_message, proc_threads, run_exclusively, sys};
use hive::{Builder, Error, Hive};

fn error(builder: Builder) -> String {
    builder.build().expect_err("out of range").to_string()
}

#[test]
fn what_is_out_of_range_is_named_with_its_limits() {
    let _alone = run_exclusively();
    let builder = Hive::builder;
    assert_contains_all(&error(builder().bees(0)), &["at least 1 bee", "0 bees were asked for"]);
    assert_contains_all(&error(builder().bees(9).max_bees(8)), &["9 bees", "limit is 8"]);
    assert_contains_all(&error(builder().bees(1).max_bees(0)), &["max_bees is 0", "from 1 to 65535"]);
    assert_contains_all(&error(builder().bees(1).max_bees(1 << 40)), &["1099511627776", "from 1 to 65535"]);
    assert_contains_all(&error(builder().bees(2_000)), &["2000 bees", "limit is 1024"]);
    assert_contains_all(&error(builder().bees(usize::MAX).max_bees(usize::MAX)), &[&usize::MAX.to_string(), "65535"]);
    // What is advised is what the builder takes.
    assert_contains_all(&error(builder().bees(65_535)), &["raise max_bees"]);
    assert_contains_all(&error(builder().bees(65_536)), &["ask for fewer: no hive has more than 65535"]);
    assert_contains_all(&error(builder().bees(2).thread_name("a\0b")), &["a\\0b", "NUL"]);
    assert_contains_all(&Hive::new(0).unwrap_err().to_string(), &["at least 1 bee"]);
    let hive = builder().bees(1).max_bees(65_535).build().unwrap();
    assert_eq!((hive.bees(), hive.max_bees()), (1, 65_535));
    let small = builder().bees(1).max_bees(2).build().unwrap();
    for (bees, advice) in [(65_535, "max_bees(65535)"), (usize::MAX, "ask for fewer: no hive has more than 65535")] {
        assert_contains_all(&small.resize(bees).unwrap_err().to_string(), &["limit is 2", advice]);
        assert_contains_all(&small.try_spmd(bees, |_| ()).unwrap_err().to_string(), &["limit is 2", advice]);
    }
}

#[test]
fn names_and_stacks_of_any_size_are_taken() {
    let _alone = run_exclusively();
    for name in ["", "a name that is longer than the system shows", "bienenkönigin"] {
        let hive = Hive::builder().bees(2).thread_name(name).build().unwrap();
        let names = hive.spmd_map(3, |_| thread::current().name().map(ToOwned::to_owned));
        assert_eq!(names[1..], [1, 2].map(|bee| Some(format!("{name}-{bee}"))));
    }
    for bytes in [0, 1, 100_001] {
        let hive = Hive::builder().bees(2).stack_size(bytes).build().unwrap();
        hive.spmd(2, |_| ());
    }
}

/// Runs in a process of its own, which would crash if the stacks had the default size.
#[test]
fn bees_have_the_stacks_that_were_asked_for() {
    fn deep(depth: usize) -> usize {
        let frame = black_box([depth as u8; 16 << 10]);
        if depth == 0 { 0 } else { usize::from(frame[depth] == depth as u8) + deep(depth - 1) }
    }
    in_own_process_with("bees_have_the_stacks_that_were_asked_for", &[], || {
        let hive = Hive::builder().bees(2).stack_size(64 << 20).build().unwrap();
        // From the start and for bees that are hired later: 16 MiB and more.
        let depths = hive.spmd_map(3, |bee| if bee.is_queen() { 1_000 } else { deep(1_000) });
        assert_eq!(depths, [1_000; 3]);
    });
}

/// A stack too large for the address space either gives an error of the system's or none; it gives no panic and does
/// not end the process.
#[test]
fn absurd_stacks_are_errors() {
    in_own_process_with("absurd_stacks_are_errors", &[], || {
        for bytes in [usize::MAX, usize::MAX / 2 + 1, isize::MAX as usize, 1 << 48] {
            let error =
                Hive::builder().bees(2).stack_size(bytes).build().expect_err("no room for its stack").to_string();
            assert_contains_all(&error, &["bee 1 of 2"]);
        }
    });
}

/// A stack size of which only a few fit.
const STACK: usize = 256 << 20;
const THREAD_NAME: &str = "limited";

fn builder() -> Builder {
    Hive::builder().stack_size(STACK).thread_name(THREAD_NAME)
}

/// Leaves room for three more threads with such a stack, and for little else.
fn limit_to_three_threads() -> bool {
    // Whatever is needed once, such as the description of the machine, is made before.
    assert_hive_works(&Hive::new(2).unwrap(), 2);
    limit_address_space_to(3 * STACK + STACK / 2)
}

/// Leaves room for this many bytes. False: a sanitizer has inflated this process, which cannot be limited like this.
fn limit_address_space_to(bytes: usize) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.strip_suffix("kB")).unwrap();
    let size = size.trim().parse::<usize>().unwrap() << 10;
    if size > 1 << 40 {
        println!("skipped: the address space is {} TiB already", size >> 40);
        return false;
    }
    sys::limit_address_space((size + bytes) as u64);
    true
}

/// Without malloc arenas of the threads' own, whose size the test cannot control.
const ONE_ARENA: &[(&str, &str)] = &[("MALLOC_ARENA_MAX", "1")];

#[test]
fn a_hive_whose_threads_cannot_all_be_made_is_not_built_and_leaves_none() {
    in_own_process_with("a_hive_whose_threads_cannot_all_be_made_is_not_built_and_leaves_none", ONE_ARENA, || {
        if !limit_to_three_threads() {
            return;
        }
        for _ in 0..3 {
            let error: Error = builder().bees(8).build().expect_err("only three bees have room");
            assert_contains_all(&error.to_string(), &["8 bees", "room for 3", "ulimit -v", "stack_size"]);
            proc_threads::wait_until_ended(THREAD_NAME);
        }
        // A hive that has room is built.
        assert_hive_works(&builder().bees(4).build().unwrap(), 4);
    });
}

#[test]
fn a_hive_that_cannot_grow_keeps_its_size_and_works() {
    in_own_process_with("a_hive_that_cannot_grow_keeps_its_size_and_works", ONE_ARENA, || {
        let hive = builder().bees(2).build().unwrap();
        assert_hive_works(&hive, 2);
        if !limit_to_three_threads() {
            return;
        }
        for _ in 0..3 {
            let error = hive.try_spmd(8, |_| unreachable!("it cannot start")).unwrap_err();
            assert_contains_all(&error.to_string(), &["8 bees", "room for", "ulimit -v"]);
            assert_contains_all(&panic_message(|| hive.spmd(8, |_| unreachable!())), &["8 bees", "try_spmd"]);
            assert_eq!(hive.bees(), 2);
            let error = hive.resize(8).unwrap_err();
            assert_contains_all(&error.to_string(), &["8 bees"]);
            // From inside of a region as well; then nothing is left to be done at the region's end.
            hive.spmd(2, |_| assert!(hive.resize(8).is_err()));
            assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (2, 0));
            assert_hive_works(&hive, 2);
            // Bees that have room are hired.
            assert_hive_works(&hive, 5);
            hive.resize(2).unwrap();
            hive.wait_until_parked();
        }
        drop(hive);
        proc_threads::wait_until_ended(THREAD_NAME);
        // There is room again.
        assert_hive_works(&builder().bees(4).build().unwrap(), 4);
    });
}

/// If a bee's stack has room and what its thread needs besides has none, the thread would end the process.
#[test]
fn with_whatever_room_there_is_a_hive_is_built_or_an_error() {
    in_own_process_with("with_whatever_room_there_is_a_hive_is_built_or_an_error", ONE_ARENA, || {
        const PAGE: usize = 4 << 10;
        for pages in 0.. {
            if !limit_address_space_to(STACK - 16 * PAGE + pages * PAGE) {
                return;
            }
            // Otherwise the process would have ended.
            if builder().bees(2).build().is_ok() {
                return;
            }
        }
    });
}

/// The number of memory mappings that the kernel allows, and the number that the process has.
fn mappings() -> (usize, usize) {
    let most = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse().unwrap();
    (most, fs::read_to_string("/proc/self/maps").unwrap().lines().count())
}

/// A thread that is started when no mapping is left for the stack of its signal handlers ends the process.
#[test]
fn threads_that_there_are_no_mappings_for_are_an_error_and_those_that_there_are_for_are_made() {
    let test = "threads_that_there_are_no_mappings_for_are_an_error_and_those_that_there_are_for_are_made";
    in_own_process_with(test, ONE_ARENA, || {
        const LEFT: usize = 1_000;
        let (most, used) = mappings();
        if most > 1 << 20 {
            println!("skipped: {most} mappings take too long to make");
            return;
        }
        sys::make_mappings(most - used - LEFT);
        let error = Hive::new(LEFT).unwrap_err().to_string();
        assert_contains_all(
            &error,
            &["1000 bees", "999 more threads", "vm.max_map_count", &most.to_string(), "fewer bees"],
        );
        let (_, rest) = error.split_once("room for ").unwrap();
        let room: usize = rest.split_once(':').unwrap().0.parse().unwrap();
        assert!((50..LEFT).contains(&room), "{error}");
        let hive = Hive::builder().bees(room / 2).spin(Duration::ZERO).build().unwrap();
        assert_hive_works(&hive, room / 2);
        let refused = hive.try_spmd(LEFT, |_| unreachable!("it cannot start")).unwrap_err().to_string();
        assert_contains_all(&refused, &["1000 bees", "vm.max_map_count"]);
        assert_contains_all(&hive.resize(LEFT).unwrap_err().to_string(), &["vm.max_map_count"]);
        // As many workers as the error said, and the queen besides.
        assert_hive_works(&hive, room + 1);
        drop(hive);
        assert_hive_works(&Hive::new(2).unwrap(), 2);
    });
}

/// Nor is there a mapping for the threads by which a hive measures and is watched.
#[test]
fn where_no_mapping_is_left_no_thread_is_made_at_all() {
    in_own_process_with("where_no_mapping_is_left_no_thread_is_made_at_all", ONE_ARENA, || {
        let (most, _) = mappings();
        if most > 1 << 20 {
            println!("skipped: {most} mappings take too long to make");
            return;
        }
        // Whatever is needed once, such as the description of the machine, is made before, with memory that is there
        // from then on.
        assert_hive_works(&Hive::new(2).unwrap(), 2);
        drop(Hive::new(1).unwrap());
        let (_, used) = mappings();
        sys::make_mappings(most - used - 1);
        let error = Hive::new(2).unwrap_err().to_string();
        assert_contains_all(&error, &["2 bees", "1 more thread,", "room for 0", "vm.max_map_count"]);
        let watched = Hive::builder().bees(1).deadlock_watchdog(Some(Duration::from_secs(9))).build();
        assert_contains_all(&watched.unwrap_err().to_string(), &["no thread for the watchdog", "vm.max_map_count"]);
        assert_hive_works(&Hive::new(1).unwrap(), 1);
    });
}

/// As a variable in the environment may ask for by mistake.
#[test]
fn a_global_hive_of_far_too_many_starts_alone() {
    let (most, _) = mappings();
    // A thread takes two mappings or more.
    let asked = most / 2;
    if asked > 65_535 {
        println!("skipped: there is room for as many threads as a hive may have");
        return;
    }
    let variables = [("HIVE_NUM_BEES", &*asked.to_string())];
    let report = in_own_process_with("a_global_hive_of_far_too_many_starts_alone", &variables, || {
        assert_eq!(hive::global().bees(), 1);
        println!("{}", hive::global().report());
        assert_hive_works(hive::global(), 3);
    });
    assert_contains_all(&report, &["queen alone", &format!("{asked} bees were asked for"), "there is room for"]);
}

#[test]
fn the_global_hive_starts_alone_and_says_so() {
    let report = in_own_process_with(
        "the_global_hive_starts_alone_and_says_so",
        &[("HIVE_NUM_BEES", "8"), ("RUST_MIN_STACK", "268435456")],
        || {
            if !limit_to_three_threads() {
                println!("its queen alone: bee 4 of 8");
                return;
            }
            assert_eq!(hive::global().bees(), 1);
            println!("{}", hive::global().report());
            assert_hive_works(hive::global(), 3);
            assert!(hive::try_spmd(8, |_| ()).is_err());
            assert_hive_works(hive::global(), 3);
        },
    );
    assert_contains_all(&report, &["queen alone", "8 bees"]);
}
