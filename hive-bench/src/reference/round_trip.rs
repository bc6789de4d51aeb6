//! The round trip: one cache line to another CPU and back, by plain loads and stores.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::cpus;
use crate::timing::nanoseconds;

/// There and back this often for one sample.
const BOUNCES: u64 = 4000;

/// Alone on its cache line, and on the line that is fetched along with it.
#[repr(align(128))]
struct Ball(AtomicU64);

impl Ball {
    fn wait_for(&self, value: u64) {
        // No PAUSE: the question is what the line costs. Acquire: pairs with the Release in `throw`.
        while self.0.load(Ordering::Acquire) != value {}
    }

    fn throw(&self, value: u64) {
        // Release: pairs with the Acquire in `wait_for`.
        self.0.store(value, Ordering::Release);
    }
}

/// Nanoseconds a round trip between two CPUs, a sample for each of many bounces; the first samples warm up.
pub(crate) fn measure(here: usize, there: usize, samples: u32) -> Vec<f64> {
    let ball = Ball(AtomicU64::new(0));
    let throws = (u64::from(samples) + 2) * BOUNCES;
    thread::scope(|scope| {
        scope.spawn(|| {
            cpus::pin(there);
            for bounce in 0..throws {
                ball.wait_for(2 * bounce + 1);
                ball.throw(2 * bounce + 2);
            }
        });
        scope.spawn(|| throw_and_time(&ball, here, throws)).join().expect("the thrower does not panic")
    })
}

fn throw_and_time(ball: &Ball, cpu: usize, throws: u64) -> Vec<f64> {
    cpus::pin(cpu);
    let mut samples = Vec::new();
    for first in (0..throws).step_by(usize::try_from(BOUNCES).expect("a small number")) {
        let took = nanoseconds(|| {
            for bounce in first..first + BOUNCES {
                ball.throw(2 * bounce + 1);
                ball.wait_for(2 * bounce + 2);
            }
        });
        samples.push(took / BOUNCES as f64);
    }
    samples.split_off(2)
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
