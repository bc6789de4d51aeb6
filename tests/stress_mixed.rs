//! Everything at the same time: regions, joins, scopes, spawned tasks, mailbox tasks, broadcasts, installs and resizes,
//! while other hives are built and dropped with work in flight. Everything that is run has a number; no number is lost,
//! and none is run twice.

#![cfg(target_os = "linux")]

mod common;

use std::io::{Write, stderr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use common::completion_log::CompletionLog;
use common::task_helpers::{PROTOCOLS, builders};
use common::{Rng, assert_hive_works, is_stress, proc_threads, process, run_exclusively};
use hive::{Builder, Hive};

/// The number of bees of the hive at its largest.
const MAX_BEES: usize = 4;

/// A mix that makes no progress for this long hangs.
const HANG_TIME: Duration = Duration::from_secs(60);

/// The most tasks that are queued at the same time without a thread that waits for them.
const IN_FLIGHT: u64 = 500;

/// More numbers than a minute can use.
const MAX_TASKS: u64 = 1 << 28;

/// More numbers than all threads together use in one step.
const STEP: u64 = 1 << 16;

/// How long each of `mixes` mixes takes: all together 5 s, or a minute for each protocol if HIVE_TEST_STRESS is set.
fn length(mixes: u32) -> Duration {
    let is_long = is_stress();
    let protocols = u32::try_from(PROTOCOLS.len()).expect("a short list");
    if is_long { Duration::from_secs(60) * protocols / mixes } else { Duration::from_secs(5) / mixes }
}

/// HIVE_TEST_SEED, to repeat a mix with the same random numbers; otherwise the time.
fn seed() -> u64 {
    let requested = std::env::var("HIVE_TEST_SEED").ok().map(|seed| seed.parse().expect("HIVE_TEST_SEED: a number"));
    requested.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs()))
}

/// What the threads of a mix share.
struct StressRun<'h> {
    hive: &'h Hive,
    log: Arc<CompletionLog>,
    is_over: AtomicBool,
    /// How many steps all threads have done so far.
    steps: AtomicU64,
    /// What each thread is doing.
    activities: Mutex<Vec<(&'static str, String)>>,
}

impl StressRun<'_> {
    /// Runs one thread of the mix: `step` again and again until the time is over.
    fn run_actor(&self, name: &'static str, seed: u64, mut step: impl FnMut(&Actor<'_>, &mut Rng)) {
        let index = {
            let mut doing = self.activities();
            doing.push((name, "nothing yet".to_owned()));
            doing.len() - 1
        };
        let mut dice = Rng::new(seed.wrapping_add(1 + index as u64));
        let actor = Actor { mix: self, index };
        while !self.is_over.load(Ordering::Relaxed) && self.log.can_allocate(STEP) {
            step(&actor, &mut dice);
            self.steps.fetch_add(1, Ordering::Relaxed);
        }
        actor.set_activity(format_args!("its end"));
    }

    fn activities(&self) -> std::sync::MutexGuard<'_, Vec<(&'static str, String)>> {
        self.activities.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> (u64, u64) {
        (self.steps.load(Ordering::Relaxed), self.log.completed())
    }

    /// Aborts, and prints what each thread was doing, if there is no more progress before `ended`.
    fn watch(&self, ended: &AtomicBool, seed: u64, what: &str) {
        let (mut last, mut since) = (self.progress(), Instant::now());
        while !ended.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(10));
            let now = self.progress();
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > HANG_TIME {
                let (hive, issued) = (self.hive, self.log.allocated());
                let doing: String =
                    self.activities().iter().map(|(name, doing)| format!("  {name}: {doing}\n")).collect();
                let threads = proc_threads::list(None);
                // Written past the capture of the tests' output.
                let _ = writeln!(
                    stderr(),
                    "seed {seed}, {what}: no progress for {HANG_TIME:?}; {} of {issued} run; \
                     {hive:?}\n{doing}{threads}",
                    now.1
                );
                process::print_stacks(std::process::id());
                std::process::abort();
            }
        }
    }
}

/// What a thread of a mix does repeatedly.
type Step = fn(&Actor<'_>, &mut Rng);

/// A thread of a mix.
struct Actor<'m> {
    mix: &'m StressRun<'m>,
    index: usize,
}

impl Actor<'_> {
    /// Records what the thread does next.
    fn set_activity(&self, what: std::fmt::Arguments<'_>) {
        use std::fmt::Write;
        let mut doing = self.mix.activities();
        let place = &mut doing[self.index].1;
        place.clear();
        let _ = place.write_fmt(what);
    }

    /// Waits until there is room for more tasks that no thread waits for.
    fn wait_for_capacity(&self) {
        let ledger = &self.mix.log;
        while ledger.allocated().saturating_sub(ledger.completed()) > IN_FLIGHT
            && !self.mix.is_over.load(Ordering::Relaxed)
        {
            thread::yield_now();
        }
    }
}

/// Completes the numbers by joins, each of which halves them.
fn by_joins(hive: &Hive, ledger: &CompletionLog, first: u64, count: u64) {
    match count {
        0 => {}
        1 => ledger.complete(first),
        _ => {
            let half = count / 2;
            hive.join(|| by_joins(hive, ledger, first, half), || by_joins(hive, ledger, first + half, count - half));
        }
    }
}

/// Completes the numbers by tasks of nested scopes, with joins in the smallest ones.
fn by_scopes(hive: &Hive, ledger: &CompletionLog, first: u64, count: u64) {
    if count < 8 {
        return by_joins(hive, ledger, first, count);
    }
    let quarter = count / 4;
    hive.scope(|scope| {
        for part in 0..3 {
            scope.spawn(move |scope| {
                let first = first + part * quarter;
                // The first number is completed by a task of this same scope.
                scope.spawn(move |_| ledger.complete(first));
                by_scopes(hive, ledger, first + 1, quarter - 1);
            });
        }
        by_scopes(hive, ledger, first + 3 * quarter, count - 3 * quarter);
    });
}

fn region(actor: &Actor<'_>, dice: &mut Rng) {
    let (hive, ledger) = (actor.mix.hive, &*actor.mix.log);
    let (n, barriers, joined) = (dice.next_up_to(MAX_BEES), dice.next_up_to(3) - 1, dice.next_up_to(64) as u64 - 1);
    actor.set_activity(format_args!("a region of {n} with {barriers} barriers and {joined} joined on each"));
    let numbers = ledger.allocate(n as u64 * (1 + joined));
    hive.spmd(n, |bee| {
        assert_eq!(bee.bees(), n);
        let first = numbers.start + bee.id() as u64 * (1 + joined);
        ledger.complete(first);
        (0..barriers).for_each(|_| bee.barrier());
        by_joins(hive, ledger, first + 1, joined);
    });
}

fn joins(actor: &Actor<'_>, dice: &mut Rng) {
    let ledger = &actor.mix.log;
    let numbers = ledger.allocate(dice.next_up_to(300) as u64);
    actor.set_activity(format_args!("joins of {numbers:?}"));
    by_joins(actor.mix.hive, ledger, numbers.start, numbers.end - numbers.start);
}

fn scopes(actor: &Actor<'_>, dice: &mut Rng) {
    let ledger = &actor.mix.log;
    let numbers = ledger.allocate(dice.next_up_to(200) as u64);
    actor.set_activity(format_args!("scopes of {numbers:?}"));
    by_scopes(actor.mix.hive, ledger, numbers.start, numbers.end - numbers.start);
}

/// Tasks that no thread waits for: for any bee, and for one bee.
fn spawns(actor: &Actor<'_>, dice: &mut Rng) {
    let numbers = actor.mix.log.allocate(dice.next_up_to(16) as u64);
    actor.set_activity(format_args!("spawns of {numbers:?}"));
    for number in numbers {
        let ledger = Arc::clone(&actor.mix.log);
        let task = move || ledger.complete(number);
        match dice.next_up_to(2 * MAX_BEES) {
            bee if bee < MAX_BEES => actor.mix.hive.spawn_on(bee, task),
            _ => actor.mix.hive.spawn(task),
        }
    }
    actor.set_activity(format_args!("the wait for room"));
    actor.wait_for_capacity();
}

fn broadcast(actor: &Actor<'_>, _: &mut Rng) {
    let ledger = &actor.mix.log;
    let numbers = ledger.allocate(MAX_BEES as u64 - 1);
    actor.set_activity(format_args!("a broadcast of {numbers:?}"));
    let bees = actor.mix.hive.broadcast(|bee| {
        ledger.complete(numbers.start + bee as u64 - 1);
        assert_eq!(hive::current().map(|bee| bee.id), Some(bee));
        bee
    });
    assert!(bees.iter().copied().eq(1..=bees.len()), "{bees:?}");
    // The numbers that were meant for bees that were surplus.
    (numbers.start + bees.len() as u64..numbers.end).for_each(|number| ledger.complete(number));
}

fn install(actor: &Actor<'_>, dice: &mut Rng) {
    let (hive, ledger) = (actor.mix.hive, &actor.mix.log);
    let numbers = ledger.allocate(1 + dice.next_up_to(50) as u64);
    actor.set_activity(format_args!("an install of {numbers:?}"));
    let spawned = numbers.end - 1;
    hive.install(|| {
        let own = Arc::clone(ledger);
        hive.spawn(move || own.complete(spawned));
        by_scopes(hive, ledger, numbers.start, spawned - numbers.start);
    });
}

fn resize(actor: &Actor<'_>, dice: &mut Rng) {
    let bees = dice.next_up_to(MAX_BEES);
    actor.set_activity(format_args!("a resize to {bees}"));
    actor.mix.hive.resize(bees).unwrap();
    (0..dice.next_up_to(20)).for_each(|_| thread::yield_now());
}

/// A hive that is dropped with work in flight.
fn other_hive(actor: &Actor<'_>, dice: &mut Rng, builder: &Builder) {
    let (bees, spawned, joined) = (dice.next_up_to(3), dice.next_up_to(50) as u64, dice.next_up_to(50) as u64);
    let ledger = &actor.mix.log;
    let numbers = ledger.allocate(spawned + joined);
    actor.set_activity(format_args!(
        "another hive, of {bees}, with {spawned} spawned and {joined} joined of {numbers:?}"
    ));
    let hive = builder.clone().bees(bees).build().unwrap();
    let (first, joins) = (numbers.start, numbers.start + spawned);
    for number in first..joins {
        let ledger = Arc::clone(ledger);
        let task = move || ledger.complete(number);
        if bees > 1 && dice.next_up_to(3) == 1 { hive.spawn_on(bees - 1, task) } else { hive.spawn(task) }
    }
    by_joins(&hive, ledger, joins, joined);
    if dice.next_up_to(2) == 1 {
        hive.resize(1).unwrap();
    }
}

/// Runs everything at the same time on a hive of `builder`.
fn run_stress(builder: &Builder, length: Duration, seed: u64, what: &str) {
    let hive = builder.clone().bees(MAX_BEES).build().unwrap();
    let ledger = Arc::new(CompletionLog::new(MAX_TASKS));
    let mix = StressRun {
        hive: &hive,
        log: Arc::clone(&ledger),
        is_over: AtomicBool::new(false),
        steps: AtomicU64::new(0),
        activities: Mutex::default(),
    };
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let (mix, ended) = (&mix, &ended);
        scope.spawn(move || mix.watch(ended, seed, what));
        thread::scope(|scope| {
            let once: [(_, Step); 5] = [
                ("queen", region),
                ("scoper", scopes),
                ("broadcaster", broadcast),
                ("installer", install),
                ("resizer", resize),
            ];
            let (joiners, spawners) = ([("joiner", joins as Step); 2], [("spawner", spawns as Step); 4]);
            for (name, step) in once.into_iter().chain(joiners).chain(spawners) {
                scope.spawn(move || mix.run_actor(name, seed, step));
            }
            scope.spawn(move || mix.run_actor("keeper of hives", seed, |actor, dice| other_hive(actor, dice, builder)));
            thread::sleep(length);
            mix.is_over.store(true, Ordering::Relaxed);
        });
        // What no thread waits for has to be completed in a hive of any size.
        while ledger.completed() < ledger.allocated() {
            thread::yield_now();
        }
        ended.store(true, Ordering::Relaxed);
    });
    ledger.assert_complete();
    assert!(mix.activities().iter().all(|(_, doing)| doing == "its end"));
    hive.resize(1).unwrap();
    hive.wait_until_parked();
    assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (1, 0));
    assert_eq!(hive.stats().total().rescues, 0, "tasks that nobody was woken for: {}", hive.stats());
    assert_hive_works(&hive, MAX_BEES);
}

/// Prints the seed of a mix that fails.
struct SeedReport<'w>(u64, &'w str);

impl Drop for SeedReport<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{} failed with HIVE_TEST_SEED={}", self.1, self.0);
        }
    }
}

#[test]
fn stress_everything_at_the_same_time_is_run_once() {
    let _alone = run_exclusively();
    let (builders, seed): (Vec<_>, _) = (builders().collect(), seed());
    for builder in &builders {
        let what = format!("{builder:?}");
        let _seed = SeedReport(seed, &what);
        run_stress(builder, length(builders.len() as u32), seed, &what);
    }
}
