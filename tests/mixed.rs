//! Everything at the same time: regions, joins, scopes, spawns, mail, broadcasts, installs, resizes, and other hives that come and go with work in flight. All that is
//! run has a number; none is lost, and none is run twice.

#![cfg(target_os = "linux")]

mod common;

use std::io::{Write, stderr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use common::ledger::Ledger;
use common::tasks::{PROTOCOLS, builders};
use common::{Dice, alone, assert_works, process, task};
use hive::{Builder, Hive};

/// Members of the hive at its largest.
const MOST: usize = 4;

/// Without progress for this long, a mix hangs.
const HANGS: Duration = Duration::from_secs(60);

/// Tasks that nobody waits for, queued at the same time.
const IN_FLIGHT: u64 = 500;

/// More numbers than a minute can use.
const NUMBERS: u64 = 1 << 28;

/// More numbers than all threads together use in one step.
const STEP: u64 = 1 << 16;

/// How long one of so many mixes takes: all together 5 s, or with HIVE_STRESS set a minute for each protocol.
fn length(mixes: u32) -> Duration {
    let is_long = std::env::var_os("HIVE_STRESS").is_some();
    let protocols = u32::try_from(PROTOCOLS.len()).expect("a short list");
    if is_long { Duration::from_secs(60) * protocols / mixes } else { Duration::from_secs(5) / mixes }
}

/// HIVE_TEST_SEED, to have a mix's dice again; else the time.
fn seed() -> u64 {
    let asked = std::env::var("HIVE_TEST_SEED").ok().map(|seed| seed.parse().expect("HIVE_TEST_SEED: a number"));
    asked.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs()))
}

/// What the threads of a mix share.
struct Mix<'h> {
    hive: &'h Hive,
    ledger: Arc<Ledger>,
    over: AtomicBool,
    /// Steps done so far, by all.
    steps: AtomicU64,
    /// What each thread is doing.
    doing: Mutex<Vec<(&'static str, String)>>,
}

impl Mix<'_> {
    /// One thread of the mix: `step` after step until it is over.
    fn act(&self, name: &'static str, seed: u64, mut step: impl FnMut(&Actor<'_>, &mut Dice)) {
        let own = {
            let mut doing = self.doing();
            doing.push((name, "nothing yet".to_owned()));
            doing.len() - 1
        };
        let mut dice = Dice::new(seed.wrapping_add(1 + own as u64));
        let actor = Actor { mix: self, own };
        while !self.over.load(Ordering::Relaxed) && self.ledger.has_room(STEP) {
            step(&actor, &mut dice);
            self.steps.fetch_add(1, Ordering::Relaxed);
        }
        actor.says(format_args!("its end"));
    }

    fn doing(&self) -> std::sync::MutexGuard<'_, Vec<(&'static str, String)>> {
        self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> (u64, u64) {
        (self.steps.load(Ordering::Relaxed), self.ledger.crossed())
    }

    /// Aborts with what was last going on, if nothing goes on any more before `ended`.
    fn watch(&self, ended: &AtomicBool, seed: u64, what: &str) {
        let (mut last, mut since) = (self.progress(), Instant::now());
        while !ended.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(10));
            let now = self.progress();
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > HANGS {
                let (hive, issued) = (self.hive, self.ledger.issued());
                let doing: String = self.doing().iter().map(|(name, doing)| format!("  {name}: {doing}\n")).collect();
                let threads = task::list(None);
                // Past the capture of the tests' output.
                let _ = writeln!(
                    stderr(),
                    "seed {seed}, {what}: no progress for {HANGS:?}; {} of {issued} run; {hive:?}\n{doing}{threads}",
                    now.1
                );
                process::print_stacks(std::process::id());
                std::process::abort();
            }
        }
    }
}

/// What a thread of a mix does over and over.
type Step = fn(&Actor<'_>, &mut Dice);

/// A thread of a mix.
struct Actor<'m> {
    mix: &'m Mix<'m>,
    own: usize,
}

impl Actor<'_> {
    /// Notes what the thread does next.
    fn says(&self, what: std::fmt::Arguments<'_>) {
        use std::fmt::Write;
        let mut doing = self.mix.doing();
        let place = &mut doing[self.own].1;
        place.clear();
        let _ = place.write_fmt(what);
    }

    /// Waits until there is room for more tasks that nobody waits for.
    fn wait_for_room(&self) {
        let ledger = &self.mix.ledger;
        while ledger.issued().saturating_sub(ledger.crossed()) > IN_FLIGHT && !self.mix.over.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    }
}

/// Numbers crossed off by joins, in halves.
fn by_joins(hive: &Hive, ledger: &Ledger, first: u64, count: u64) {
    match count {
        0 => {}
        1 => ledger.cross(first),
        _ => {
            let half = count / 2;
            hive.join(|| by_joins(hive, ledger, first, half), || by_joins(hive, ledger, first + half, count - half));
        }
    }
}

/// Numbers crossed off by tasks of nested scopes, with joins in the smallest.
fn by_scopes(hive: &Hive, ledger: &Ledger, first: u64, count: u64) {
    if count < 8 {
        return by_joins(hive, ledger, first, count);
    }
    let quarter = count / 4;
    hive.scope(|scope| {
        for part in 0..3 {
            scope.spawn(move |scope| {
                let first = first + part * quarter;
                // The first of them by a task of this same scope.
                scope.spawn(move |_| ledger.cross(first));
                by_scopes(hive, ledger, first + 1, quarter - 1);
            });
        }
        by_scopes(hive, ledger, first + 3 * quarter, count - 3 * quarter);
    });
}

fn region(actor: &Actor<'_>, dice: &mut Dice) {
    let (hive, ledger) = (actor.mix.hive, &*actor.mix.ledger);
    let (n, barriers, joined) = (dice.roll(MOST), dice.roll(3) - 1, dice.roll(64) as u64 - 1);
    actor.says(format_args!("a region of {n} with {barriers} barriers and {joined} joined on each"));
    let numbers = ledger.issue(n as u64 * (1 + joined));
    hive.spmd(n, |bee| {
        assert_eq!(bee.count(), n);
        let first = numbers.start + bee.id() as u64 * (1 + joined);
        ledger.cross(first);
        (0..barriers).for_each(|_| bee.barrier());
        by_joins(hive, ledger, first + 1, joined);
    });
}

fn joins(actor: &Actor<'_>, dice: &mut Dice) {
    let ledger = &actor.mix.ledger;
    let numbers = ledger.issue(dice.roll(300) as u64);
    actor.says(format_args!("joins of {numbers:?}"));
    by_joins(actor.mix.hive, ledger, numbers.start, numbers.end - numbers.start);
}

fn scopes(actor: &Actor<'_>, dice: &mut Dice) {
    let ledger = &actor.mix.ledger;
    let numbers = ledger.issue(dice.roll(200) as u64);
    actor.says(format_args!("scopes of {numbers:?}"));
    by_scopes(actor.mix.hive, ledger, numbers.start, numbers.end - numbers.start);
}

/// Tasks that nobody waits for: for anybody, and for one bee.
fn spawns(actor: &Actor<'_>, dice: &mut Dice) {
    let numbers = actor.mix.ledger.issue(dice.roll(16) as u64);
    actor.says(format_args!("spawns of {numbers:?}"));
    for number in numbers {
        let ledger = Arc::clone(&actor.mix.ledger);
        let task = move || ledger.cross(number);
        match dice.roll(2 * MOST) {
            bee if bee < MOST => actor.mix.hive.spawn_on(bee, task),
            _ => actor.mix.hive.spawn(task),
        }
    }
    actor.says(format_args!("the wait for room"));
    actor.wait_for_room();
}

fn broadcast(actor: &Actor<'_>, _: &mut Dice) {
    let ledger = &actor.mix.ledger;
    let numbers = ledger.issue(MOST as u64 - 1);
    actor.says(format_args!("a broadcast of {numbers:?}"));
    let bees = actor.mix.hive.broadcast(|bee| {
        ledger.cross(numbers.start + bee as u64 - 1);
        assert_eq!(hive::current().map(|(_, member)| member), Some(bee));
        bee
    });
    assert!(bees.iter().copied().eq(1..=bees.len()), "{bees:?}");
    // Those of bees that were surplus.
    (numbers.start + bees.len() as u64..numbers.end).for_each(|number| ledger.cross(number));
}

fn install(actor: &Actor<'_>, dice: &mut Dice) {
    let (hive, ledger) = (actor.mix.hive, &actor.mix.ledger);
    let numbers = ledger.issue(1 + dice.roll(50) as u64);
    actor.says(format_args!("an install of {numbers:?}"));
    let spawned = numbers.end - 1;
    hive.install(|| {
        let own = Arc::clone(ledger);
        hive.spawn(move || own.cross(spawned));
        by_scopes(hive, ledger, numbers.start, spawned - numbers.start);
    });
}

fn resize(actor: &Actor<'_>, dice: &mut Dice) {
    let bees = dice.roll(MOST);
    actor.says(format_args!("a resize to {bees}"));
    actor.mix.hive.resize(bees).unwrap();
    (0..dice.roll(20)).for_each(|_| thread::yield_now());
}

/// A hive that is dropped with work in flight.
fn other_hive(actor: &Actor<'_>, dice: &mut Dice, builder: &Builder) {
    let (bees, spawned, joined) = (dice.roll(3), dice.roll(50) as u64, dice.roll(50) as u64);
    let ledger = &actor.mix.ledger;
    let numbers = ledger.issue(spawned + joined);
    actor.says(format_args!("another hive, of {bees}, with {spawned} spawned and {joined} joined of {numbers:?}"));
    let hive = builder.clone().bees(bees).build().unwrap();
    let (first, joins) = (numbers.start, numbers.start + spawned);
    for number in first..joins {
        let ledger = Arc::clone(ledger);
        let task = move || ledger.cross(number);
        if bees > 1 && dice.roll(3) == 1 { hive.spawn_on(bees - 1, task) } else { hive.spawn(task) }
    }
    by_joins(&hive, ledger, joins, joined);
    if dice.roll(2) == 1 {
        hive.resize(1).unwrap();
    }
}

/// Runs everything at the same time on a hive of `builder`'s.
fn mix(builder: &Builder, length: Duration, seed: u64, what: &str) {
    let hive = builder.clone().bees(MOST).build().unwrap();
    let ledger = Arc::new(Ledger::new(NUMBERS));
    let mix = Mix {
        hive: &hive,
        ledger: Arc::clone(&ledger),
        over: AtomicBool::new(false),
        steps: AtomicU64::new(0),
        doing: Mutex::default(),
    };
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let (mix, ended) = (&mix, &ended);
        scope.spawn(move || mix.watch(ended, seed, what));
        thread::scope(|scope| {
            let once: [(_, Step); 5] =
                [("queen", region), ("scoper", scopes), ("broadcaster", broadcast), ("installer", install), ("resizer", resize)];
            let (joiners, spawners) = ([("joiner", joins as Step); 2], [("spawner", spawns as Step); 4]);
            for (name, step) in once.into_iter().chain(joiners).chain(spawners) {
                scope.spawn(move || mix.act(name, seed, step));
            }
            scope.spawn(move || mix.act("keeper of hives", seed, |actor, dice| other_hive(actor, dice, builder)));
            thread::sleep(length);
            mix.over.store(true, Ordering::Relaxed);
        });
        // What nobody waits for, in a hive of any size.
        while ledger.crossed() < ledger.issued() {
            thread::yield_now();
        }
        ended.store(true, Ordering::Relaxed);
    });
    ledger.assert_complete();
    assert!(mix.doing().iter().all(|(_, doing)| doing == "its end"));
    hive.resize(1).unwrap();
    hive.settle();
    assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (1, 0));
    assert_eq!(hive.stats().total().rescues, 0, "tasks that nobody was woken for: {}", hive.stats());
    assert_works(&hive, MOST);
}

/// Prints the seed of a mix that fails.
struct Seed<'w>(u64, &'w str);

impl Drop for Seed<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{} failed with HIVE_TEST_SEED={}", self.1, self.0);
        }
    }
}

#[test]
fn stress_everything_at_the_same_time_is_run_once() {
    let _alone = alone();
    let (builders, seed): (Vec<_>, _) = (builders().collect(), seed());
    for builder in &builders {
        let what = format!("{builder:?}");
        let _seed = Seed(seed, &what);
        mix(builder, length(builders.len() as u32), seed, &what);
    }
}
