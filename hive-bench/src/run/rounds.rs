//! Measurements in interleaved rounds, for the commands that measure several ways in several rows: `crowd`,
//! `numeric` and `latency`.

use std::time::Duration;

use crate::system::progress;

/// The order within a round, the same from run to run.
const SEED: u64 = 7;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    pub(crate) rounds: u16,
    /// About what one measurement takes.
    pub(crate) each: Duration,
}

/// What a row is about, and of each round, of each way, what was measured, or nothing where that failed.
pub(crate) type Row<R, T> = (R, Vec<Vec<Option<T>>>);

impl Rounds {
    /// Measures everything, by row and way; `name` says which measurement it is. In each row the ways take turns, in an
    /// order of its own in each round. A way that fails in a row does not keep the others from being measured; its
    /// error is printed, and the second result is false.
    pub(crate) fn measure<R: Copy, W: Copy, T: Clone>(
        &self,
        rows: impl IntoIterator<Item = R>,
        ways: &[W],
        name: impl Fn(R, W) -> String,
        measure: impl Fn(R, W) -> Result<T, String>,
    ) -> (Vec<Row<R, T>>, bool) {
        let mut rows: Vec<Row<R, T>> = rows.into_iter().map(|row| (row, Vec::new())).collect();
        let measurements = rows.len() * ways.len() * usize::from(self.rounds);
        let expected = self.each * measurements as u32;
        eprintln!("{measurements} measurements take about {} s", expected.as_secs() + 1);
        let bar = progress::bar(measurements, Some(expected));
        let mut random = fastrand::Rng::with_seed(SEED);
        let mut order: Vec<usize> = (0..ways.len()).collect();
        let mut fine = true;
        for _ in 0..self.rounds {
            for (row, rounds) in &mut rows {
                let mut round = vec![None; ways.len()];
                random.shuffle(&mut order);
                for &way in &order {
                    let name = || name(*row, ways[way]);
                    bar.set_message(name());
                    match measure(*row, ways[way]) {
                        Ok(measured) => round[way] = Some(measured),
                        Err(error) => {
                            fine = false;
                            bar.suspend(|| eprintln!("{}: {error}", name()));
                        }
                    }
                    bar.inc(1);
                }
                rounds.push(round);
            }
        }
        bar.finish_and_clear();
        (rows, fine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_left_out() {
        let rounds = Rounds { rounds: 2, each: Duration::ZERO };
        let measure = |row, way| if way == 1 { Err("no".to_owned()) } else { Ok(10 * row + way) };
        let (all, fine) = rounds.measure([0, 1], &[0, 1, 2], |row, way| format!("{way} in {row}"), measure);
        let of_rows = [vec![vec![Some(0), None, Some(2)]; 2], vec![vec![Some(10), None, Some(12)]; 2]];
        assert_eq!(all, [0, 1].into_iter().zip(of_rows).collect::<Vec<_>>());
        assert!(!fine);
    }
}
