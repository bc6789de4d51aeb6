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
const DELAYS_NS: [u32; 20] = [0, 16, 32, 48, 56, 64, 72, 80, 88, 96, 112, 128, 144, 168, 192, 224, 256, 320, 384, 448];

/// The place in `DELAYS_NS` to start from.
const INITIAL_DELAY: usize = 7;

/// Times that a search goes through all holds.
const PASSES: u32 = 4;

/// Laps of one hold in one pass, timed together: reading the clock in each would make their lengths uneven.
const SAMPLES: u32 = 12;

/// Laps before the first search, and, at most, between two. A search is 960 laps, each up to twice as long as needed.
const FIRST_PAUSE: u32 = 128;
const LONGEST_PAUSE: u32 = 1 << 17;

/// Laps that take longer are not about cache lines, and a search among them is given up.
const LONGEST_SAMPLE: Duration = Duration::from_micros(2);

/// A bee's hold, and what it learns about it. A lap goes from one arrival of the bee to its next.
pub(crate) struct BackOff {
    /// Turns of `idle`.
    iterations: u32,
    /// Laps before something else is done about it.
    samples_left: u32,
    chosen: usize,
    next_pause: u32,
    search: Option<DelaySearch>,
}

impl BackOff {
    pub(crate) fn new() -> Self {
        Self {
            iterations: iterations_of(INITIAL_DELAY),
            samples_left: FIRST_PAUSE,
            chosen: INITIAL_DELAY,
            next_pause: FIRST_PAUSE,
            search: None,
        }
    }

    /// Lets the line be. Call right after an arrival.
    #[inline(always)]
    pub(crate) fn delay(&mut self) {
        self.samples_left -= 1;
        if self.samples_left == 0 {
            self.advance_search(Instant::now());
        }
        run_iterations(self.iterations);
    }

    #[cold]
    fn advance_search(&mut self, now: Instant) {
        match self.search.take() {
            None => self.try_next_delay(DelaySearch::new(now)),
            Some(mut search) => match search.record(now) {
                SearchStep::NextDelay => self.try_next_delay(search),
                SearchStep::Found(least_times) => {
                    self.pause_search(choose_delay(&least_times, self.chosen), (self.next_pause * 8).min(LONGEST_PAUSE))
                }
                SearchStep::Abandoned => self.pause_search(self.chosen, self.next_pause),
            },
        }
    }

    fn try_next_delay(&mut self, search: DelaySearch) {
        (self.iterations, self.samples_left) = (iterations_of(search.delay), SAMPLES);
        self.search = Some(search);
    }

    fn pause_search(&mut self, delay: usize, pause: u32) {
        (self.iterations, self.samples_left) = (iterations_of(delay), pause);
        (self.chosen, self.next_pause) = (delay, pause);
    }
}

/// What the laps of each hold took, in nanoseconds, in the pass in which they took the least: what disturbs them only makes them longer.
type LeastTimes = [u32; DELAYS_NS.len()];

/// A search that goes on: every hold is tried in turn, a few times over.
struct DelaySearch {
    pass: u32,
    /// The hold on trial, and since when.
    delay: usize,
    since: Instant,
    least_times: LeastTimes,
}

/// What comes after the laps of one hold.
enum SearchStep {
    NextDelay,
    Found(LeastTimes),
    Abandoned,
}

impl DelaySearch {
    fn new(now: Instant) -> Self {
        Self { pass: 0, delay: 0, since: now, least_times: [u32::MAX; DELAYS_NS.len()] }
    }

    /// Takes the time of the laps of the hold on trial, which end now.
    fn record(&mut self, now: Instant) -> SearchStep {
        let elapsed = now - self.since;
        if elapsed > SAMPLES * LONGEST_SAMPLE {
            return SearchStep::Abandoned;
        }
        // No more than LONGEST_LAP for each lap: far from what the type holds.
        self.least_times[self.delay] = self.least_times[self.delay].min(elapsed.as_nanos() as u32);
        self.since = now;
        self.delay += 1;
        if self.delay == DELAYS_NS.len() {
            self.delay = 0;
            self.pass += 1;
        }
        if self.pass == PASSES { SearchStep::Found(self.least_times) } else { SearchStep::NextDelay }
    }
}

/// The best hold; `chosen` again unless another is better by more than noise.
fn choose_delay(least_times: &LeastTimes, chosen: usize) -> usize {
    let best = (0..least_times.len()).min_by_key(|&delay| least_times[delay]).unwrap_or(chosen);
    if least_times[best] < least_times[chosen] - least_times[chosen] / 32 { best } else { chosen }
}

/// Lets time pass without touching memory that is shared, in finer grains than a PAUSE has, which takes up to 60 ns.
#[inline(always)]
fn run_iterations(iterations: u32) {
    for iteration in 0..iterations {
        black_box(iteration);
    }
}

/// Lets the line be for as long as a bee does that has learnt nothing yet.
pub(crate) fn delay_initially() {
    run_iterations(iterations_of(INITIAL_DELAY));
}

/// The turns of `idle` that a hold takes.
fn iterations_of(delay: usize) -> u32 {
    DELAYS_NS[delay] * iterations_per_64_ns() / 64
}

fn iterations_per_64_ns() -> u32 {
    // Not a OnceLock: one that another thread was filling when this process was forked would never be full.
    static MEASURED: AtomicU32 = AtomicU32::new(0);
    // Relaxed, here and below: only the number itself is shared.
    match MEASURED.load(Ordering::Relaxed) {
        0 => {
            let iterations = measure_iterations();
            MEASURED.store(iterations, Ordering::Relaxed);
            iterations
        }
        turns => turns,
    }
}

fn measure_iterations() -> u32 {
    const SAMPLE: u32 = 10_000;
    let sample = || {
        let start = Instant::now();
        run_iterations(SAMPLE);
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
    fn run(back_off: &mut BackOff, clock: &mut Instant, samples: u32, cost: impl Fn(u32) -> u64) {
        for _ in 0..samples {
            let on_trial = back_off.search.as_ref().map_or(back_off.chosen, |search| search.delay);
            *clock += Duration::from_nanos(cost(DELAYS_NS[on_trial]));
            back_off.samples_left -= 1;
            if back_off.samples_left == 0 {
                back_off.advance_search(*clock);
            }
        }
    }

    const SAMPLES_OF_SEARCH: u32 = DELAYS_NS.len() as u32 * PASSES * SAMPLES;

    /// The hold that is found in the first search.
    fn delay_found(cost: impl Fn(u32) -> u64) -> u32 {
        let mut back_off = BackOff::new();
        run(&mut back_off, &mut Instant::now(), FIRST_PAUSE + SAMPLES_OF_SEARCH, cost);
        assert!(back_off.search.is_none());
        DELAYS_NS[back_off.chosen]
    }

    #[test]
    fn the_best_delay_is_found_beyond_plateaus() {
        // As measured: too short is much too slow, with a flat part in between; too long is late.
        let sample = |best: u32| {
            move |delay: u32| if delay < best { 240 - u64::from(delay.min(32)) } else { 60 + u64::from(delay) }
        };
        assert_eq!(delay_found(sample(72)), 72);
        assert_eq!(delay_found(sample(96)), 96);
        assert_eq!(delay_found(sample(16)), 16);
    }

    #[test]
    fn noise_does_not_change_the_delay() {
        assert_eq!(delay_found(|delay| if delay == 16 { 99 } else { 100 }), DELAYS_NS[INITIAL_DELAY]);
    }

    #[test]
    fn samples_that_are_not_about_cache_lines_change_nothing() {
        assert_eq!(delay_found(|delay| if delay == 16 { 3_000 } else { 9_000 }), DELAYS_NS[INITIAL_DELAY]);
    }

    #[test]
    fn searches_become_rare() {
        let (mut back_off, mut clock) = (BackOff::new(), Instant::now());
        for pause in [FIRST_PAUSE, 8 * FIRST_PAUSE, 64 * FIRST_PAUSE, 512 * FIRST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE] {
            assert_eq!((back_off.samples_left, back_off.search.is_some()), (pause, false));
            run(&mut back_off, &mut clock, pause + SAMPLES_OF_SEARCH, |_| 100);
        }
    }
}
