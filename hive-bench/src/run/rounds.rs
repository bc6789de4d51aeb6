//! Measurements in interleaved rounds, for the commands that measure several ways in several rows: `crowd` and
//! `numeric`.

use std::time::Duration;

use crate::system::progress;

/// The order within a round, the same from run to run.
const SEED: u64 = 7;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    pub(crate) rounds: u16,
    pub(crate) rows: usize,
    /// In each row they take turns, in an order of its own in each round.
    pub(crate) ways: usize,
    /// About what one measurement takes.
    pub(crate) each: Duration,
}

/// Of each row, of each round, of each way: what was measured, or nothing where that failed.
pub(crate) type All<T> = Vec<Vec<Vec<Option<T>>>>;

impl Rounds {
    /// Measures everything, by row and way; `name` says which measurement it is. A way that fails in a row does not
    /// keep the others from being measured; its error is printed, and the second result is false.
    pub(crate) fn measure<T: Clone>(
        &self,
        name: impl Fn(usize, usize) -> String,
        measure: impl Fn(usize, usize) -> Result<T, String>,
    ) -> (All<T>, bool) {
        let measurements = self.rows * self.ways * usize::from(self.rounds);
        let expected = self.each * measurements as u32;
        eprintln!("{measurements} measurements take about {} s", expected.as_secs() + 1);
        let bar = progress::bar(measurements, Some(expected));
        let mut random = fastrand::Rng::with_seed(SEED);
        let mut order: Vec<usize> = (0..self.ways).collect();
        let (mut all, mut fine) = (vec![Vec::new(); self.rows], true);
        for _ in 0..self.rounds {
            for (row, rounds) in all.iter_mut().enumerate() {
                let mut round = vec![None; self.ways];
                random.shuffle(&mut order);
                for &way in &order {
                    bar.set_message(name(row, way));
                    match measure(row, way) {
                        Ok(measured) => round[way] = Some(measured),
                        Err(error) => {
                            fine = false;
                            bar.suspend(|| eprintln!("{}: {error}", name(row, way)));
                        }
                    }
                    bar.inc(1);
                }
                rounds.push(round);
            }
        }
        bar.finish_and_clear();
        (all, fine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_left_out() {
        let rounds = Rounds { rounds: 2, rows: 2, ways: 3, each: Duration::ZERO };
        let measure = |row, way| if way == 1 { Err("no".to_owned()) } else { Ok(10 * row + way) };
        let (all, fine) = rounds.measure(|row, way| format!("{way} in {row}"), measure);
        assert_eq!(all, [vec![vec![Some(0), None, Some(2)]; 2], vec![vec![Some(10), None, Some(12)]; 2]]);
        assert!(!fine);
    }
}
