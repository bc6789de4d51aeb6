//! How long a bee lets the signal's cache line be after its arrival, before it polls it for the next start.
//!
//! A poll takes the line away from whoever holds it. One that comes between the queen's reading of the arrival and her next
//! start makes her fetch the line back first: about half a round trip, twice. One that comes late is late. The right moment
//! depends on the machine, on where in it the line lies, and on the program, so it is found by trial.
//! Where regions do not follow each other closely a hold changes nothing, because it is over before the next start.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The holds to choose from, in nanoseconds. Half a round trip is 60 between neighbours and some hundreds between sockets.
const HOLDS: [u32; 20] = [0, 16, 32, 48, 56, 64, 72, 80, 88, 96, 112, 128, 144, 168, 192, 224, 256, 320, 384, 448];

/// The place in `HOLDS` to start from.
const FIRST: usize = 7;

/// Times that a search goes through all holds.
const PASSES: u32 = 4;

/// Laps of one hold in one pass, timed together: reading the clock in each would make their lengths uneven.
const LAPS: u32 = 12;

/// Laps before the first search, and, at most, between two. A search is 960 laps, each up to twice as long as needed.
const FIRST_REST: u32 = 128;
const LONGEST_REST: u32 = 1 << 17;

/// Laps that take longer are not about cache lines, and a search among them is given up.
const LONGEST_LAP: Duration = Duration::from_micros(2);

/// A bee's hold, and what it learns about it. A lap goes from one arrival of the bee to its next.
pub(crate) struct Hold {
    /// Turns of `idle`.
    turns: u32,
    /// Laps before something else is done about it.
    laps: u32,
    chosen: usize,
    next_rest: u32,
    search: Option<Search>,
}

impl Hold {
    pub(crate) fn new() -> Self {
        Self { turns: turns(FIRST), laps: FIRST_REST, chosen: FIRST, next_rest: FIRST_REST, search: None }
    }

    /// Lets the line be. Call right after an arrival.
    #[inline(always)]
    pub(crate) fn keep(&mut self) {
        self.laps -= 1;
        if self.laps == 0 {
            self.go_on(Instant::now());
        }
        idle(self.turns);
    }

    #[cold]
    fn go_on(&mut self, now: Instant) {
        match self.search.take() {
            None => self.try_next(Search::new(now)),
            Some(mut search) => match search.note(now) {
                Progress::Next => self.try_next(search),
                Progress::Found(least) => self.rest_with(choose(&least, self.chosen), (self.next_rest * 8).min(LONGEST_REST)),
                Progress::GivenUp => self.rest_with(self.chosen, self.next_rest),
            },
        }
    }

    fn try_next(&mut self, search: Search) {
        (self.turns, self.laps) = (turns(search.hold), LAPS);
        self.search = Some(search);
    }

    fn rest_with(&mut self, hold: usize, rest: u32) {
        (self.turns, self.laps) = (turns(hold), rest);
        (self.chosen, self.next_rest) = (hold, rest);
    }
}

/// What the laps of each hold took, in nanoseconds, in the pass in which they took the least: what disturbs them only makes them longer.
type Least = [u32; HOLDS.len()];

/// A search that goes on: every hold is tried in turn, a few times over.
struct Search {
    pass: u32,
    /// The hold on trial, and since when.
    hold: usize,
    since: Instant,
    least: Least,
}

/// What comes after the laps of one hold.
enum Progress {
    Next,
    Found(Least),
    GivenUp,
}

impl Search {
    fn new(now: Instant) -> Self {
        Self { pass: 0, hold: 0, since: now, least: [u32::MAX; HOLDS.len()] }
    }

    /// Takes the time of the laps of the hold on trial, which end now.
    fn note(&mut self, now: Instant) -> Progress {
        let took = now - self.since;
        if took > LAPS * LONGEST_LAP {
            return Progress::GivenUp;
        }
        // No more than LONGEST_LAP for each lap: far from what the type holds.
        self.least[self.hold] = self.least[self.hold].min(took.as_nanos() as u32);
        self.since = now;
        self.hold += 1;
        if self.hold == HOLDS.len() {
            self.hold = 0;
            self.pass += 1;
        }
        if self.pass == PASSES { Progress::Found(self.least) } else { Progress::Next }
    }
}

/// The best hold; `chosen` again unless another is better by more than noise.
fn choose(least: &Least, chosen: usize) -> usize {
    let best = (0..least.len()).min_by_key(|&hold| least[hold]).unwrap_or(chosen);
    if least[best] < least[chosen] - least[chosen] / 32 { best } else { chosen }
}

/// Lets time pass without touching memory that is shared, in finer grains than a PAUSE has, which takes up to 60 ns.
#[inline(always)]
fn idle(turns: u32) {
    for turn in 0..turns {
        black_box(turn);
    }
}

/// Lets the line be for as long as a bee does that has learnt nothing yet.
pub(crate) fn keep_first() {
    idle(turns(FIRST));
}

/// The turns of `idle` that a hold takes.
fn turns(hold: usize) -> u32 {
    HOLDS[hold] * turns_per_64_ns() / 64
}

fn turns_per_64_ns() -> u32 {
    // Not a OnceLock: one that another thread was filling when this process was forked would never be full.
    static MEASURED: AtomicU32 = AtomicU32::new(0);
    // Relaxed, here and below: only the number itself is shared.
    match MEASURED.load(Ordering::Relaxed) {
        0 => {
            let turns = measure_turns();
            MEASURED.store(turns, Ordering::Relaxed);
            turns
        }
        turns => turns,
    }
}

fn measure_turns() -> u32 {
    const SAMPLE: u32 = 10_000;
    let sample = || {
        let start = Instant::now();
        idle(SAMPLE);
        start.elapsed()
    };
    // The least of a few: this thread may have lost its core in one.
    let least = (0..5).map(|_| sample()).min().unwrap_or_default().as_nanos().max(1);
    (64 * u128::from(SAMPLE) / least).clamp(1, 1_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets `laps` go by that take `cost(hold in nanoseconds)` each.
    fn run(hold: &mut Hold, clock: &mut Instant, laps: u32, cost: impl Fn(u32) -> u64) {
        for _ in 0..laps {
            let on_trial = hold.search.as_ref().map_or(hold.chosen, |search| search.hold);
            *clock += Duration::from_nanos(cost(HOLDS[on_trial]));
            hold.laps -= 1;
            if hold.laps == 0 {
                hold.go_on(*clock);
            }
        }
    }

    const SEARCH: u32 = HOLDS.len() as u32 * PASSES * LAPS;

    /// The hold that is found in the first search.
    fn found(cost: impl Fn(u32) -> u64) -> u32 {
        let mut hold = Hold::new();
        run(&mut hold, &mut Instant::now(), FIRST_REST + SEARCH, cost);
        assert!(hold.search.is_none());
        HOLDS[hold.chosen]
    }

    #[test]
    fn the_best_hold_is_found_beyond_plateaus() {
        // As measured: too short is much too slow, with a flat part in between; too long is late.
        let lap = |best: u32| move |hold: u32| if hold < best { 240 - u64::from(hold.min(32)) } else { 60 + u64::from(hold) };
        assert_eq!(found(lap(72)), 72);
        assert_eq!(found(lap(96)), 96);
        assert_eq!(found(lap(16)), 16);
    }

    #[test]
    fn noise_does_not_change_the_hold() {
        assert_eq!(found(|hold| if hold == 16 { 99 } else { 100 }), HOLDS[FIRST]);
    }

    #[test]
    fn laps_that_are_not_about_cache_lines_teach_nothing() {
        assert_eq!(found(|hold| if hold == 16 { 3_000 } else { 9_000 }), HOLDS[FIRST]);
    }

    #[test]
    fn searches_grow_rare() {
        let (mut hold, mut clock) = (Hold::new(), Instant::now());
        for rest in [FIRST_REST, 8 * FIRST_REST, 64 * FIRST_REST, 512 * FIRST_REST, LONGEST_REST, LONGEST_REST] {
            assert_eq!((hold.laps, hold.search.is_some()), (rest, false));
            run(&mut hold, &mut clock, rest + SEARCH, |_| 100);
        }
    }
}
