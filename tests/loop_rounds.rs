//! A loop that runs repeatedly in one region, with bees that do not stay together. No bee waits for another because of
//! the number of rounds, and each index of each round is run once.
//!
//! See `docs/loops.md`.

#![cfg(target_os = "linux")]

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use common::{Gate, run_exclusively};
use hive::{Bee, Hive, Loop, Schedule};

/// The schedules in which chunks go to the bees that come for them.
const SCHEDULES: [Schedule; 4] = [Schedule::Dynamic(1), Schedule::Guided(1), Schedule::Factoring, Schedule::Affinity];

const INDICES: usize = 5;

/// How often each index of each round has been run.
struct Runs(Vec<AtomicU8>);

impl Runs {
    fn new(rounds: usize) -> Self {
        Self((0..rounds * INDICES).map(|_| AtomicU8::new(0)).collect())
    }

    /// Runs a bee's part of this round.
    fn run_round(&self, bee: &Bee<'_>, shared: &Loop, round: usize) {
        bee.for_each(shared, |indices| {
            for index in indices {
                self.0[round * INDICES + index].fetch_add(1, Ordering::Relaxed);
            }
        });
    }

    #[track_caller]
    fn assert_once_each(&self, what: &str) {
        let wrong = self.0.iter().position(|runs| runs.load(Ordering::Relaxed) != 1);
        if let Some(wrong) = wrong {
            let runs = self.0[wrong].load(Ordering::Relaxed);
            panic!("{what}: index {} of round {} came {runs} times", wrong % INDICES, wrong / INDICES);
        }
    }
}

/// A channel that the bees of a team share.
struct SharedChannel(Mutex<Sender<()>>, Mutex<Receiver<()>>);

impl SharedChannel {
    fn new() -> Self {
        let (sender, receiver) = channel();
        Self(Mutex::new(sender), Mutex::new(receiver))
    }

    fn send(&self) {
        self.0.lock().unwrap().send(()).unwrap();
    }

    fn wait(&self) {
        self.1.lock().unwrap().recv().unwrap();
    }
}

/// Two bees run so far ahead of the third, which waits for both. More rounds than 16 bits can count.
#[test]
fn who_runs_far_ahead_waits_for_nobody() {
    const ROUNDS: usize = 70_000;
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    for schedule in SCHEDULES {
        let (shared, runs, line) = (Loop::new(0..INDICES, schedule), Runs::new(ROUNDS), SharedChannel::new());
        hive.spmd(3, |bee| {
            if bee.id() == 1 {
                (0..2).for_each(|_| line.wait());
            }
            (0..ROUNDS).for_each(|round| runs.run_round(bee, &shared, round));
            if bee.id() != 1 {
                line.send();
            }
        });
        runs.assert_once_each(&format!("{schedule:?}"));
    }
}

/// One bee at a time runs some rounds while the others wait for it. Whatever their number is, no bee waits in the loop.
#[test]
fn bees_may_wait_for_one_another_between_any_two_rounds() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    // The third number: rounds, each of which may take a time slice or two on a busy machine if its step is one.
    let cases =
        [(Schedule::Dynamic(1), 1, 4_000), (Schedule::Guided(1), 64, 40_000), (Schedule::Affinity, 4096, 40_000)];
    for (schedule, step, rounds) in cases {
        let (shared, runs) = (Loop::new(0..INDICES, schedule), Runs::new(rounds));
        let lines = [SharedChannel::new(), SharedChannel::new()];
        hive.spmd(2, |bee| {
            let own = bee.id();
            for first in (0..rounds).step_by(step) {
                // The first bee begins.
                if own == 1 || first > 0 {
                    lines[own].wait();
                }
                (first..(first + step).min(rounds)).for_each(|round| runs.run_round(bee, &shared, round));
                lines[1 - own].send();
            }
        });
        runs.assert_once_each(&format!("{schedule:?}"));
    }
}

/// The bees run all rounds one after the other, each when the one before it has finished. Several regions of the same
/// loop, with teams of any size.
#[test]
fn the_next_region_begins_with_new_words() {
    const ROUNDS: usize = 36_000;
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    for schedule in SCHEDULES {
        let shared = Loop::new(0..INDICES, schedule);
        for team in [4, 2, 3] {
            let (runs, gates) = (Runs::new(ROUNDS), [(); 4].map(|()| Gate::new()));
            hive.spmd(team, |bee| {
                // The bee before this one has finished.
                gates[(team + bee.id() - 1) % team].wait_for(usize::from(bee.id() != 1));
                (0..ROUNDS).for_each(|round| runs.run_round(bee, &shared, round));
                gates[bee.id()].arrive();
            });
            runs.assert_once_each(&format!("{schedule:?}, a team of {team}"));
        }
    }
}

/// A team is in the middle of a loop, one of its bees before it has begun, while another hive's team runs the same loop
/// from beginning to end. Each index is run once by each team.
#[test]
fn two_hives_run_one_loop_at_the_same_time() {
    let _alone = run_exclusively();
    // Words that are large enough for the one are so for the other.
    let (first, second) = (Hive::new(2).unwrap(), Hive::new(2).unwrap());
    for schedule in SCHEDULES {
        let (shared, runs) = (Loop::new(0..INDICES, schedule), [(); 2].map(|()| Runs::new(1)));
        let (is_in_the_middle, is_over) = (Gate::new(), Gate::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                first.spmd(2, |bee| {
                    if bee.id() == 1 {
                        is_over.wait_for(1);
                    }
                    bee.for_each(&shared, |indices| {
                        is_in_the_middle.arrive();
                        is_over.wait_for(1);
                        indices.for_each(|index| _ = runs[0].0[index].fetch_add(1, Ordering::Relaxed));
                    });
                });
            });
            is_in_the_middle.wait_for(1);
            second.spmd(2, |bee| runs[1].run_round(bee, &shared, 0));
            is_over.arrive();
        });
        runs.iter().for_each(|runs| runs.assert_once_each(&format!("{schedule:?}")));
    }
}

/// A loop that was first run by a team of two, and then by larger ones of the same hive and of another.
#[test]
fn a_loop_is_run_by_teams_of_any_size() {
    let _alone = run_exclusively();
    let (small, large) = (Hive::new(2).unwrap(), Hive::new(4).unwrap());
    for schedule in SCHEDULES {
        let shared = Loop::new(0..INDICES, schedule);
        for (hive, bees) in [(&small, 2), (&large, 4), (&small, 3), (&small, 6), (&large, 2), (&small, 2)] {
            let runs = Runs::new(1);
            hive.spmd(bees, |bee| runs.run_round(bee, &shared, 0));
            runs.assert_once_each(&format!("{schedule:?}, a team of {bees}"));
        }
    }
}
