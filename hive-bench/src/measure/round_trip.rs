//! The round trip: one cache line to another CPU and back, by plain loads and stores.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::measure::timing::nanoseconds;
use crate::system::cpus;

/// Round trips in one sample, and as many before it, until the line moves between the two caches steadily.
const BOUNCES: u64 = 1200;
const WARM_UP: u64 = 200;

/// Alone on its cache line, and on the neighbouring line that the processor fetches along with it.
#[derive(Default)]
#[repr(align(128))]
struct Ball(AtomicU64);

/// Ends one poll before the next begins. A processor that has more polls under way when the line arrives has to discard
/// them, which makes a round trip half as long again.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "std has no safe name for this instruction")]
pub(super) fn one_poll_at_a_time() {
    // SAFETY: every x86-64 has it.
    unsafe { std::arch::x86_64::_mm_lfence() }
}

/// On other processors this is the spin-loop hint, which does the same on ARM.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn one_poll_at_a_time() {
    std::hint::spin_loop();
}

impl Ball {
    fn wait_for(&self, value: u64) {
        // No PAUSE: the question is what the line costs. Acquire: pairs with the Release in `throw`.
        while self.0.load(Ordering::Acquire) != value {
            one_poll_at_a_time();
        }
    }

    fn throw(&self, value: u64) {
        // Release: pairs with the Acquire in `wait_for`.
        self.0.store(value, Ordering::Release);
    }

    fn send_and_await(&self, bounces: Range<u64>) {
        for bounce in bounces {
            self.throw(2 * bounce + 1);
            self.wait_for(2 * bounce + 2);
        }
    }

    fn send_back(&self, bounces: Range<u64>) {
        for bounce in bounces {
            self.wait_for(2 * bounce + 1);
            self.throw(2 * bounce + 2);
        }
    }
}

/// Nanoseconds for a round trip between two CPUs: a sample for each of `lines` cache lines, of many round trips each.
///
/// Many lines are used, because the part of the chip that keeps track of a line depends on its address: a distant part
/// makes the round trip up to half as long again.
pub(crate) fn measure(here: usize, there: usize, lines: u32) -> Vec<f64> {
    let balls: Vec<Ball> = (0..lines).map(|_| Ball::default()).collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            cpus::pin(there);
            balls.iter().for_each(|ball| ball.send_back(0..WARM_UP + BOUNCES));
        });
        let thrower = scope.spawn(|| {
            cpus::pin(here);
            let throw_and_time = |ball: &Ball| {
                ball.send_and_await(0..WARM_UP);
                nanoseconds(|| ball.send_and_await(WARM_UP..WARM_UP + BOUNCES)) / BOUNCES as f64
            };
            balls.iter().map(throw_and_time).collect()
        });
        thrower.join().expect("the thrower does not panic")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_samples_asked_for() {
        let cpus = cpus::in_order_of_use();
        if let [here, there, ..] = cpus[..] {
            let samples = measure(here, there, 1);
            assert_eq!(samples.len(), 1);
            assert!(samples[0] > 0.0);
        }
    }
}
