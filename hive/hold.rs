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

/// Times that a search goes through all holds. What disturbs one pass disturbs all holds alike.
const PASSES: u32 = 4;

/// Laps of one hold in one pass, of which the first is still about the hold before.
const LAPS: u32 = 8;

/// Laps before the first search, and, at most, between two. A search is 640 laps, each up to twice as long as needed.
const FIRST_REST: u32 = 128;
const LONGEST_REST: u32 = 1 << 16;

/// A lap that takes longer is not about cache lines, and is left out.
const LONGEST_LAP: Duration = Duration::from_micros(2);

/// A bee's hold, and what it learns about it. A lap goes from one arrival of the bee to its next.
pub(crate) struct Hold {
    chosen: usize,
    lap_began: Option<Instant>,
    /// Laps left before the next search, and before the one after it.
    rest: u32,
    next_rest: u32,
    search: Option<Search>,
}

impl Hold {
    pub(crate) fn new() -> Self {
        Self { chosen: FIRST, lap_began: None, rest: FIRST_REST, next_rest: FIRST_REST, search: None }
    }

    /// Lets the line be. Call right after an arrival.
    #[inline(always)]
    pub(crate) fn keep(&mut self) {
        // The clock is read in every lap, not just in a search: it takes a part of the hold.
        let now = Instant::now();
        let lap = self.lap_began.replace(now).map_or(LONGEST_LAP, |began| now - began);
        if lap < LONGEST_LAP {
            self.rest = self.rest.saturating_sub(1);
            if self.rest == 0 {
                self.learn(lap);
            }
        }
        let hold = self.search.as_ref().map_or(self.chosen, |search| search.hold);
        idle(HOLDS[hold]);
    }

    #[cold]
    fn learn(&mut self, lap: Duration) {
        let search = self.search.get_or_insert_default();
        if let Some(sums) = search.note(lap) {
            self.chosen = choose(&sums, self.chosen);
            self.search = None;
            self.next_rest = (self.next_rest * 8).min(LONGEST_REST);
            self.rest = self.next_rest;
        }
    }
}

/// The laps of each hold, summed in nanoseconds.
type Sums = [u32; HOLDS.len()];

/// A search that goes on: every hold is tried in turn, a few times over.
#[derive(Default)]
struct Search {
    pass: u32,
    /// The hold on trial, and the laps that it has had in this pass.
    hold: usize,
    laps: u32,
    sums: Sums,
}

impl Search {
    /// Takes a lap of the hold on trial, and goes on to the next when it has had enough. The sums, when all have.
    fn note(&mut self, lap: Duration) -> Option<Sums> {
        if self.laps > 0 {
            // A lap is shorter than LONGEST_LAP.
            self.sums[self.hold] += lap.as_nanos() as u32;
        }
        self.laps += 1;
        if self.laps == LAPS {
            self.laps = 0;
            self.hold += 1;
        }
        if self.hold == HOLDS.len() {
            self.hold = 0;
            self.pass += 1;
        }
        (self.pass == PASSES).then_some(self.sums)
    }
}

/// The best hold; `chosen` again unless another is better by more than noise.
fn choose(sums: &Sums, chosen: usize) -> usize {
    let best = (0..sums.len()).min_by_key(|&hold| sums[hold]).unwrap_or(chosen);
    if sums[best] < sums[chosen] - sums[chosen] / 32 { best } else { chosen }
}

/// Lets so many nanoseconds pass without touching memory that is shared, in finer grains than a PAUSE has, which takes up to 60.
#[inline(always)]
fn idle(nanoseconds: u32) {
    for turn in 0..nanoseconds * turns_per_64_ns() / 64 {
        black_box(turn);
    }
}

/// The turns of the loop in `idle` that take 64 ns.
#[inline(always)]
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

#[cold]
fn measure_turns() -> u32 {
    const SAMPLE: u32 = 10_000;
    let sample = || {
        let start = Instant::now();
        (0..SAMPLE).for_each(|turn| {
            black_box(turn);
        });
        start.elapsed()
    };
    // The least of a few: this thread may have lost its core in one.
    let least = (0..5).map(|_| sample()).min().unwrap_or_default().as_nanos().max(1);
    (64 * u128::from(SAMPLE) / least).clamp(1, 1_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hold that is found where a lap takes `cost(hold in nanoseconds)`.
    fn found(cost: impl Fn(u32) -> u64) -> u32 {
        let mut search = Search::default();
        let sums = loop {
            let lap = Duration::from_nanos(cost(HOLDS[search.hold]));
            if let Some(sums) = search.note(lap) {
                break sums;
            }
        };
        HOLDS[choose(&sums, FIRST)]
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
    fn searches_grow_rare() {
        let mut hold = Hold::new();
        let search_laps = HOLDS.len() as u32 * PASSES * LAPS;
        for rest in [FIRST_REST, 8 * FIRST_REST, 64 * FIRST_REST, 512 * FIRST_REST, LONGEST_REST] {
            assert_eq!((hold.rest, hold.search.is_some()), (rest, false));
            hold.rest = 0;
            (0..search_laps).for_each(|_| hold.learn(Duration::from_nanos(100)));
        }
    }
}
