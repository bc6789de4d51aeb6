//! How long a worker leaves the start line's cache line alone after it has arrived at the end of a region, before it
//! polls the line for the next start.
//!
//! Every poll takes the cache line away from the core that holds it. A poll between the queen's reading of the arrival
//! and her next start makes her fetch the line back before she can write the start: that costs about half a round trip,
//! twice. Polling too late delays the worker's start. The best delay depends on the machine, on where in it the line
//! lies, and on the program, so each worker finds its own by trial.
//!
//! `Worker::run` (`protocol/worker/main_loop.rs`) calls [`BackOff::delay`] after each of its arrivals. Where regions do
//! not follow each other closely the delay changes nothing, because it is over before the next start.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The delays to choose from, in nanoseconds. Half a round trip takes 60 ns between neighbouring cores and some
/// hundreds between sockets.
const DELAYS_NS: [u32; 20] = [0, 16, 32, 48, 56, 64, 72, 80, 88, 96, 112, 128, 144, 168, 192, 224, 256, 320, 384, 448];

/// The index in `DELAYS_NS` of the delay that a new worker starts with.
const INITIAL_DELAY: usize = 7;

/// How many times a search goes through all delays.
const PASSES: usize = 4;

/// How many samples of one delay are taken in one pass. They are timed together, because reading the clock at every
/// sample would make their lengths uneven.
const SAMPLES: u32 = 12;

/// Samples before the first search, and the most samples between two searches. A search takes 960 samples, each of them
/// up to twice as long as one with the best delay.
const FIRST_PAUSE: u32 = 128;
const LONGEST_PAUSE: u32 = 1 << 17;

/// Samples that take longer than this on average are not dominated by cache lines: a search that meets them is
/// abandoned.
const LONGEST_SAMPLE: Duration = Duration::from_micros(2);

/// The delay of one worker, and the search for a better one. A *sample* is the time from one arrival of the worker to
/// its next.
///
/// The worker alternates between two phases. It pauses, with the chosen delay, for a number of samples that grows with
/// each finished search, up to `LONGEST_PAUSE`; then it searches, trying every delay in turn.
pub(crate) struct BackOff {
    /// The delay in use, as a number of iterations of `run_iterations`.
    iterations: u32,
    /// Samples until the phase changes: until a search begins or, during a search, until the next delay is tried.
    samples_left: u32,
    /// The index of the delay that the last search has chosen.
    chosen: usize,
    /// How many samples the present or last pause has. A search that finishes makes the next pause eight times as long.
    next_pause: u32,
    /// The search under way; None during a pause.
    search: Option<DelaySearch>,
}

impl BackOff {
    pub(crate) fn new() -> Self {
        let iterations = iterations_of(INITIAL_DELAY);
        Self { iterations, samples_left: FIRST_PAUSE, chosen: INITIAL_DELAY, next_pause: FIRST_PAUSE, search: None }
    }

    /// Waits for the chosen delay without touching the start line. Call it right after an arrival.
    #[inline(always)]
    pub(crate) fn delay(&mut self) {
        self.samples_left -= 1;
        if self.samples_left == 0 {
            self.advance_search(Instant::now());
        }
        run_iterations(self.iterations);
    }

    /// Takes the next step when `samples_left` has come to 0: begins a search, tries the next delay, or ends the
    /// search.
    #[cold]
    fn advance_search(&mut self, now: Instant) {
        let Some(mut search) = self.search.take() else {
            return self.try_next_delay(DelaySearch { step: 0, since: now, least_times: [u32::MAX; DELAYS_NS.len()] });
        };
        let elapsed = now - search.since;
        if elapsed > SAMPLES * LONGEST_SAMPLE {
            return self.pause_search(self.chosen, self.next_pause);
        }
        let least = &mut search.least_times[search.delay()];
        // The cast loses nothing: the samples took no more than `SAMPLES * LONGEST_SAMPLE`, far below `u32::MAX`
        // nanoseconds.
        *least = (*least).min(elapsed.as_nanos() as u32);
        (search.step, search.since) = (search.step + 1, now);
        if search.step < PASSES * DELAYS_NS.len() {
            return self.try_next_delay(search);
        }
        self.pause_search(choose_delay(&search.least_times, self.chosen), (self.next_pause * 8).min(LONGEST_PAUSE));
    }

    /// Uses the delay that the search is at for its next samples.
    fn try_next_delay(&mut self, search: DelaySearch) {
        (self.iterations, self.samples_left) = (iterations_of(search.delay()), SAMPLES);
        self.search = Some(search);
    }

    /// Uses `delay` for the next `pause` samples, without a search.
    fn pause_search(&mut self, delay: usize, pause: u32) {
        (self.iterations, self.samples_left) = (iterations_of(delay), pause);
        (self.chosen, self.next_pause) = (delay, pause);
    }
}

/// For each delay, the time of its samples in nanoseconds, in the pass where that was shortest. Disturbances only make
/// samples longer, so the shortest time is the one least disturbed.
type LeastTimes = [u32; DELAYS_NS.len()];

/// A search under way: it tries every delay in turn, `PASSES` times.
struct DelaySearch {
    /// How many delays have been tried so far.
    step: usize,
    /// When the samples of the delay on trial began.
    since: Instant,
    least_times: LeastTimes,
}

impl DelaySearch {
    /// The index of the delay on trial.
    fn delay(&self) -> usize {
        self.step % DELAYS_NS.len()
    }
}

/// The index of the best delay. That stays `chosen` unless another delay is better by more than noise, a thirty-second
/// part.
fn choose_delay(least_times: &LeastTimes, chosen: usize) -> usize {
    let best = (0..least_times.len()).min_by_key(|&delay| least_times[delay]).unwrap_or(chosen);
    if least_times[best] < least_times[chosen] - least_times[chosen] / 32 { best } else { chosen }
}

/// Lets time pass without touching shared memory, in finer steps than a PAUSE instruction would give, which takes up to
/// 60 ns.
#[inline(always)]
fn run_iterations(iterations: u32) {
    for iteration in 0..iterations {
        black_box(iteration);
    }
}

/// Waits as long as a worker does that has not searched yet. The calibration of the start line uses this, so that its
/// workers poll as real ones do.
pub(crate) fn delay_initially() {
    run_iterations(iterations_of(INITIAL_DELAY));
}

/// How many iterations of `run_iterations` the delay with this index takes.
fn iterations_of(delay: usize) -> u32 {
    DELAYS_NS[delay] * iterations_per_64_ns() / 64
}

/// The speed of `run_iterations`, measured at the first call in the process.
fn iterations_per_64_ns() -> u32 {
    // Not a `OnceLock`: a child that is forked while another thread fills it would find it half filled for ever. Here
    // two threads may measure at the same time, which does no harm.
    static MEASURED: AtomicU32 = AtomicU32::new(0);
    // Relaxed, here and below: no other memory is published with the number.
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
    // A microsecond or two. The first worker of a process measures before its first region, which waits for it.
    const SAMPLE: u32 = 2_000;
    let sample = || {
        let start = Instant::now();
        run_iterations(SAMPLE);
        start.elapsed()
    };
    // The shortest of a few samples counts, because this thread may lose its core during one of them.
    let least = (0..5).map(|_| sample()).min().unwrap_or_default().as_nanos().max(1);
    (64 * u128::from(SAMPLE) / least).clamp(1, 1_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets `samples` samples pass, each of which takes `cost(delay in nanoseconds)`.
    fn run(back_off: &mut BackOff, clock: &mut Instant, samples: u32, cost: impl Fn(u32) -> u64) {
        for _ in 0..samples {
            let on_trial = back_off.search.as_ref().map_or(back_off.chosen, DelaySearch::delay);
            *clock += Duration::from_nanos(cost(DELAYS_NS[on_trial]));
            back_off.samples_left -= 1;
            if back_off.samples_left == 0 {
                back_off.advance_search(*clock);
            }
        }
    }

    const SAMPLES_OF_SEARCH: u32 = (DELAYS_NS.len() * PASSES) as u32 * SAMPLES;

    /// The delay, in nanoseconds, that the first search finds.
    fn delay_found(cost: impl Fn(u32) -> u64) -> u32 {
        let mut back_off = BackOff::new();
        run(&mut back_off, &mut Instant::now(), FIRST_PAUSE + SAMPLES_OF_SEARCH, cost);
        assert!(back_off.search.is_none());
        DELAYS_NS[back_off.chosen]
    }

    #[test]
    fn the_best_delay_is_found_beyond_plateaus() {
        // As measured: a delay that is too short makes a region much slower, with a plateau in between; one that is too
        // long makes the start late.
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
