//! The matrix of round trips, and how it is measured.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget};
use serde::{Deserialize, Serialize};

use crate::measure::reference::round_trip;
use crate::stats::median;
use crate::system::progress;
use crate::system::topology::Place;

/// Cache lines for one pair in one pass: see [`round_trip::measure`].
const LINES: u32 = 8;
/// The order of the pairs, the same from run to run.
const SEED: u64 = 5;
/// If the measurement takes longer than this, the user is told before it begins.
const LONG: Duration = Duration::from_secs(2);

/// Round trips between CPUs: what `--json` writes. Row and column `i` belong to `cpus[i]`; both matrices are symmetric,
/// with 0 on the diagonal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Matrix {
    /// The processor's name.
    #[serde(default)]
    pub(crate) machine: String,
    /// The operating system's numbers.
    pub(crate) cpus: Vec<usize>,
    /// The median of all samples of all passes, in nanoseconds.
    pub(crate) round_trip_ns: Vec<Vec<f64>>,
    /// The median of the best pass, in nanoseconds: what it takes when nothing else runs.
    #[serde(default)]
    pub(crate) least_ns: Vec<Vec<f64>>,
}

impl Matrix {
    /// All pairs of different CPUs, by their rows.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        pairs(self.cpus.len())
    }
}

fn pairs(cpus: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..cpus).flat_map(|row| (0..row).map(move |column| (row, column)))
}

/// Measures every pair `passes` times. Says on standard error how long that takes.
pub(super) fn measure(machine: String, places: &[Place], passes: usize) -> Matrix {
    let cpus: Vec<usize> = places.iter().map(|place| place.cpu).collect();
    let mut pairs: Vec<_> = pairs(cpus.len()).collect();
    let bar = announce(&cpus, pairs.len() * passes);
    let mut samples = vec![Vec::new(); pairs.len()];
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    for _ in 0..passes {
        random.shuffle(&mut order);
        for &pair in &order {
            let (here, there) = &mut pairs[pair];
            samples[pair].push(round_trip::measure(cpus[*here], cpus[*there], LINES));
            // The result must not depend on which CPU begins.
            std::mem::swap(here, there);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let mut matrix = Matrix { machine, round_trip_ns: square(cpus.len()), least_ns: square(cpus.len()), cpus };
    for ((row, column), samples) in pairs.into_iter().zip(samples) {
        let (middle, least) = condensed(&samples);
        matrix.round_trip_ns[row][column] = middle;
        matrix.round_trip_ns[column][row] = middle;
        matrix.least_ns[row][column] = least;
        matrix.least_ns[column][row] = least;
    }
    matrix
}

fn square(side: usize) -> Vec<Vec<f64>> {
    vec![vec![0.0; side]; side]
}

/// The median of all, and that of the best pass.
fn condensed(passes: &[Vec<f64>]) -> (f64, f64) {
    let best = passes.iter().filter_map(|pass| median(pass)).fold(f64::INFINITY, f64::min);
    (median(&passes.concat()).unwrap_or(best), best)
}

/// A bar for so many measurements, after a first one that shows how long they take.
fn announce(cpus: &[usize], measurements: usize) -> ProgressBar {
    let [here, there, ..] = *cpus else {
        return ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
    };
    let begin = Instant::now();
    round_trip::measure(here, there, LINES);
    let expected = begin.elapsed() * u32::try_from(measurements).unwrap_or(u32::MAX);
    if expected > LONG {
        eprintln!("{measurements} measurements between {} CPUs take about {} s", cpus.len(), expected.as_secs() + 1);
    }
    progress::bar(measurements, Some(expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_once() {
        let matrix = Matrix { cpus: vec![4, 0, 2], ..Matrix::default() };
        assert_eq!(matrix.pairs().collect::<Vec<_>>(), [(1, 0), (2, 0), (2, 1)]);
        assert_eq!(Matrix::default().pairs().count(), 0);
    }

    #[test]
    fn all_samples_count_and_the_best_pass_is_kept() {
        assert_eq!(condensed(&[vec![90.0, 100.0, 110.0], vec![60.0, 70.0, 80.0]]), (85.0, 70.0));
    }

    #[test]
    fn nobody_is_far_from_itself() {
        let place = Place { cpu: crate::system::cpus::in_order_of_use()[0], ..Place::default() };
        let alone = measure("one".to_owned(), &[place], 2);
        assert_eq!((alone.round_trip_ns, alone.least_ns), (vec![vec![0.0]], vec![vec![0.0]]));
    }
}
