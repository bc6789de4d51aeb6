//! The hive's protocols under shuttle: the files of `hive/protocol/` and `hive/loops/`, included as they are, with
//! shuttle's primitives in the place of `crate::sync`.
//!
//! The program runs long scenarios with many bees in random schedules; loom, in the neighbouring crate, runs short ones
//! in all schedules. See `tests/models/README.md`.

#[allow(dead_code, unused_imports, reason = "the scenes use what they need")]
#[path = "../../../../hive/protocol/mod.rs"]
mod protocol;

mod checked_region;
mod hive;
#[allow(dead_code, reason = "whole, as in the library")]
mod loops;
#[path = "../../common/observe.rs"]
mod observe;
#[path = "../../../../hive/on_drop.rs"]
mod on_drop;
mod panic_filter;
#[path = "../../common/region.rs"]
mod region;
mod scenarios;
mod sync;

use std::env;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use scenarios::{SCENARIOS, Scenario};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};

/// The seed: each run has the same schedules. `SHUTTLE_RANDOM_SEED` gives others.
const SEED: u64 = 0xbee;

/// How often priorities change in one execution of PCT.
const PCT_DEPTH: usize = 4;

/// How many scenarios run at a time.
const PROCESSES: usize = 2;

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let filter = match arguments[..] {
        [] => "",
        ["list"] => {
            SCENARIOS.iter().for_each(|scene| println!("{:10} {}", scene.name, scene.description));
            return ExitCode::SUCCESS;
        }
        ["scenario", name] => {
            let scene = SCENARIOS.iter().find(|scene| scene.name == name);
            return exit_code(scene.is_some_and(run_both_schedulers));
        }
        [filter] => filter,
        _ => {
            eprintln!("usage: [list | scenario NAME | PART_OF_NAME]");
            return ExitCode::FAILURE;
        }
    };
    let scenes: Vec<_> = SCENARIOS.iter().filter(|scene| scene.name.contains(filter)).collect();
    let passed = run_all(&scenes);
    println!("scenarios: {passed} passed, {} failed", scenes.len() - passed);
    exit_code(passed == scenes.len())
}

fn exit_code(passed: bool) -> ExitCode {
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the scenarios, each in a process of its own, and returns how many passed. A scenario has one thread, on which
/// shuttle switches between those of the script.
fn run_all(scenes: &[&Scenario]) -> usize {
    let (next, passed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let program = env::current_exe().expect("this program has a path");
    // Relaxed, both: the numbers hand nothing else over, and the end of the threads orders the last of them.
    let run_some = || {
        while let Some(scene) = scenes.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ended = Command::new(&program).args(["scenario", scene.name]).status().expect("this program runs");
            passed.fetch_add(usize::from(ended.success()), Ordering::Relaxed);
        }
    };
    thread::scope(|scope| (0..PROCESSES).for_each(|_| _ = scope.spawn(run_some)));
    passed.into_inner()
}

/// Runs a scenario under both schedulers. Returns whether it passed.
fn run_both_schedulers(scenario: &Scenario) -> bool {
    let start = Instant::now();
    let random = run(scenario, RandomScheduler::new_from_seed(SEED, scenario.executions));
    let by_priority = run(scenario, PctScheduler::new_from_seed(SEED, PCT_DEPTH, scenario.executions / 4));
    let seconds = start.elapsed().as_secs_f64();
    match (random, by_priority) {
        (Some(random), Some(by_priority)) => {
            println!("ok      {:10} {random} random and {by_priority} PCT executions in {seconds:.1} s", scenario.name);
            true
        }
        _ => {
            println!("FAILED  {:10} the schedule that failed is above", scenario.name);
            false
        }
    }
}

/// Runs a scenario under one scheduler and returns the number of executions. None: a schedule failed, and shuttle has
/// printed it.
fn run(scenario: &Scenario, scheduler: impl Scheduler + 'static) -> Option<usize> {
    let mut config = Config::new();
    config.silence_warnings = true;
    let script = scenario.script;
    let runner = Runner::new(scheduler, config);
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        runner.run(move || {
            panic_filter::ignore_barrier_mismatch();
            script();
        })
    }))
    .ok()
}
