//! An audio callback that counts its misses: every 2.7 ms (128 frames at 48 kHz) sixteen voices are filtered and mixed,
//! by a hive whose bees are kept awake. How many are late depends on the machine and on who else is on it, so it is
//! printed and not checked.
//!
//!     cargo run --release --example audio

use std::time::{Duration, Instant};

use hive::{PerBee, Stop};

const FRAMES: usize = 128;
const PERIOD: Duration = Duration::from_micros(FRAMES as u64 * 1_000_000 / 48_000);
const VOICES: usize = 16;
const CALLBACKS: usize = if cfg!(debug_assertions) { 20 } else { 400 };

/// A voice: an oscillator and a low-pass filter with a long impulse response.
struct Voice {
    phase: f32,
    step: f32,
    taps: [f32; 64],
}

impl Voice {
    fn new(number: usize) -> Self {
        Self { phase: 0.0, step: 0.01 * (number + 1) as f32, taps: [0.0; 64] }
    }

    fn play(&mut self, block: &mut [f32]) {
        for sample in block {
            self.phase = (self.phase + self.step).fract();
            self.taps.rotate_right(1);
            self.taps[0] = self.phase - 0.5;
            *sample += self.taps.iter().sum::<f32>() / (64.0 * VOICES as f32);
        }
    }
}

fn main() {
    let mut voices: Vec<Voice> = (0..VOICES).map(Voice::new).collect();
    let mut blocks = PerBee::new(hive::bees(), |_| [0.0_f32; FRAMES]);
    let (mut late, mut longest, mut loudest) = (0, Duration::ZERO, 0.0_f32);
    hive::keep_spinning(|| {
        let begin = Instant::now();
        for callback in 0..CALLBACKS {
            let due = begin + PERIOD * callback as u32;
            while Instant::now() < due {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            let (start, stop) = (Instant::now(), Stop::at(due + PERIOD));
            hive::par_items(&mut voices, hive::Schedule::Static, |voice, bee| {
                // A voice that would be late is left out: a click is better than a stall.
                if !stop.is_stopped() {
                    voice.play(&mut *blocks.get(bee));
                }
            });
            let mut mix = [0.0; FRAMES];
            for block in blocks.iter_mut() {
                mix.iter_mut().zip(&*block).for_each(|(mix, sample)| *mix += sample);
                block.fill(0.0);
            }
            loudest = mix.iter().fold(loudest, |loudest, sample| loudest.max(sample.abs()));
            longest = longest.max(start.elapsed());
            late += usize::from(Instant::now() > due + PERIOD);
        }
    });
    assert!(loudest > 0.0 && loudest < 1.0, "something was played, and nothing was clipped");
    println!("{CALLBACKS} callbacks of {PERIOD:?}: {late} late, the longest took {longest:?}");
}
