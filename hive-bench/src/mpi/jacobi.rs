//! Heat on a square plate: every cell becomes the mean of its four neighbours. The upper edge is hot, the other three
//! are cold, and the plate begins patterned, so that a row in the wrong place shows.

use std::mem;
use std::ops::Range;
use std::time::Duration;

use clap::{Args, value_parser};
use hive::{Bee, Hive, NumaVec, Parts, Placement, Schedule};

use super::answer::Answer;
use super::halo::Halo;
use super::problem::{Problem, Setting, Solver};
use super::rows::{Rows, addition};
use super::sum::Sum;
use crate::kernels::split;

/// The plate to compute.
#[derive(Args, Debug)]
pub(super) struct Plate {
    /// Cells along an edge, the fixed border not counted
    #[arg(long, value_name = "K", default_value_t = 512, value_parser = value_parser!(u32).range(1..=1 << 20))]
    side: u32,
}

impl Plate {
    /// Cells in a row with its border.
    const fn width(&self) -> usize {
        self.side as usize + 2
    }

    /// Two plates: `rows` and one more at either end, row 0 being the border.
    fn two(&self, hive: &Hive, rows: &Range<usize>) -> [NumaVec<f64>; 2] {
        let (width, last, first) = (self.width(), self.side as usize + 1, rows.start);
        let at_begin = |row: usize, column: usize| match (row, column) {
            (0, _) => 1.0,
            _ if row == last || column == 0 || column == last => 0.0,
            _ => ((7 * row + 13 * column) % 32) as f64 / 32.0,
        };
        let plate = || {
            hive.alloc((rows.len() + 2) * width, Placement::FirstTouch, |cell| {
                at_begin(first + cell / width, cell % width)
            })
        };
        [plate(), plate()]
    }
}

impl Problem for Plate {
    type Part = Rows;
    type Solver<'r> = Strip<'r>;

    fn name(&self) -> String {
        format!("Jacobi's method on {0} x {0} cells", self.side)
    }

    fn part(&self, setting: Setting<'_>) -> Result<Rows, String> {
        Ok(Rows::deal(self.side as usize, setting.blocks, setting.ranks.rank(), setting.ranks.count()))
    }

    fn solver<'r>(&self, setting: Setting<'r>, rows: Rows) -> Strip<'r> {
        let (width, own) = (self.width(), rows.own());
        let above = own.start.checked_sub(1).filter(|_| !own.is_empty());
        let below = (!own.is_empty() && own.end < rows.all()).then_some(own.end);
        let needed: Vec<usize> = above.into_iter().chain(below).collect();
        let [from, to] = self.two(setting.hive, &own);
        Strip {
            hive: setting.hive,
            width,
            ends: ends(own.len(), setting.hive.bees()),
            from,
            to,
            changes: vec![0.0; own.len()],
            has_above: above.is_some(),
            halo: Halo::new(setting.ranks, &rows, &needed, width),
            sum: Sum::new(setting, rows),
        }
    }

    fn alone(&self, setting: Setting<'_>, steps: usize) -> Result<Answer, String> {
        let (width, side, sum) = (self.width(), self.side as usize, addition(setting.blocks));
        let [mut from, mut to] = self.two(setting.hive, &(0..side));
        let mut sums = Vec::with_capacity(steps);
        for _ in 0..steps {
            let line = |row: usize| &from[row * width..][..width];
            setting.hive.par_rows_mut(&mut to[width..][..side * width], width, Schedule::Static, |rows, to, _| {
                for (out, row) in to.chunks_exact_mut(width).zip(rows) {
                    relax(out, [line(row), line(row + 1), line(row + 2)]);
                }
            });
            let change = |row: usize| squares(inner(&to[(row + 1) * width..][..width]), inner(line(row + 1)));
            sums.push(setting.hive.par_reduce(0..side, &sum, |rows| rows.map(change).sum()));
            mem::swap(&mut from, &mut to);
        }
        Ok(Answer { sums, values: from[width..][..side * width].to_vec() })
    }
}

/// The rows of one rank, and one more at either end: a border's, or another rank's.
pub(super) struct Strip<'r> {
    hive: &'r Hive,
    width: usize,
    /// Where the parts of this rank's rows end: the first row, the part of each bee, the last row. Only the first and
    /// the last need rows of other ranks.
    ends: Vec<usize>,
    from: NumaVec<f64>,
    to: NumaVec<f64>,
    /// Of each row: the sum of the squares of what its cells changed by.
    changes: Vec<f64>,
    has_above: bool,
    halo: Halo<'r>,
    sum: Sum<'r>,
}

impl Solver for Strip<'_> {
    fn step(&mut self) -> Result<f64, String> {
        self.sweep();
        mem::swap(&mut self.from, &mut self.to);
        let changes = &self.changes;
        Ok(self.sum.over(|rows| changes[rows].iter().sum()))
    }

    fn rows(&self) -> &Rows {
        self.sum.rows()
    }

    fn answer(&self) -> &[f64] {
        &self.from[self.own()]
    }

    fn waited(&self) -> Duration {
        self.halo.waited() + self.sum.waited()
    }
}

impl Strip<'_> {
    /// The cells of the own rows.
    fn own(&self) -> Range<usize> {
        self.width..self.from.len() - self.width
    }

    /// Computes all rows of this rank: those in the middle while rows of other ranks are under way, then the first and
    /// the last.
    fn sweep(&mut self) {
        let own = self.own();
        let Self { hive, width, ends, from, to, changes, has_above, halo, .. } = self;
        let (width, last) = (*width, ends.len() - 1);
        let cells: Vec<usize> = ends.iter().map(|row| row * width).collect();
        let (to, changes) = (Parts::cut_at(&mut to[own.clone()], &cells), Parts::cut_at(changes, ends));
        let bees = last - 1;
        let received = halo.exchange(&from[own], || {
            hive.spmd(bees, |bee| sweep_part(bee, 1 + bee.id(), from, [&to, &changes]));
        });
        let (above, below) = received.split_at(if *has_above { width } else { 0 });
        from[..above.len()].copy_from_slice(above);
        let end = from.len();
        from[end - below.len()..].copy_from_slice(below);
        hive.spmd(bees.min(2), |bee| {
            for part in [0, last].into_iter().skip(bee.id()).step_by(bee.bees()) {
                sweep_part(bee, part, from, [&to, &changes]);
            }
        });
    }
}

/// Computes the rows of a part. `from` begins a row before the first part.
fn sweep_part(bee: &Bee<'_>, part: usize, from: &[f64], [to, changes]: [&Parts<'_, f64>; 2]) {
    let rows = changes.range(part);
    if rows.is_empty() {
        return;
    }
    let width = to.range(part).len() / rows.len();
    let line = |row: usize| &from[row * width..][..width];
    let (mut to, mut changes) = (to.part_mut(bee, part), changes.part_mut(bee, part));
    for ((out, change), row) in to.chunks_exact_mut(width).zip(changes.iter_mut()).zip(rows) {
        *change = relax(out, [line(row), line(row + 1), line(row + 2)]);
    }
}

/// Where the parts of `rows` end: the first row, a share of the middle for each bee, the last row. Some may be
/// empty.
fn ends(rows: usize, bees: usize) -> Vec<usize> {
    let first = rows.min(1);
    let middle = rows.saturating_sub(2);
    let of_bees = (0..bees).map(|bee| first + split(bee, bees, middle).end);
    [first].into_iter().chain(of_bees).chain([rows]).collect()
}

/// Without the border.
fn inner(row: &[f64]) -> &[f64] {
    &row[1..row.len() - 1]
}

/// Each cell of `here` becomes the mean of its neighbours in `out`. The sum of the squares of what they changed by.
/// Never inlined, so that both ways have the same machine code.
#[inline(never)]
fn relax(out: &mut [f64], [up, here, down]: [&[f64]; 3]) -> f64 {
    let width = out.len();
    let (left, right) = (&here[..width - 2], &here[2..]);
    let around = inner(up).iter().zip(inner(down)).zip(left.iter().zip(right));
    for (cell, ((up, down), (left, right))) in out[1..width - 1].iter_mut().zip(around) {
        *cell = 0.25 * (up + down + left + right);
    }
    squares(inner(out), inner(here))
}

/// The sum of the squares of the differences, in four partial sums: adding one number after the other would take longer
/// than fetching them.
#[inline(never)]
fn squares(new: &[f64], old: &[f64]) -> f64 {
    const LANES: usize = 4;
    let mut sums = [0.0; LANES];
    let ((new, last_new), (old, last_old)) = (new.as_chunks::<LANES>(), old.as_chunks::<LANES>());
    for (new, old) in new.iter().zip(old) {
        for lane in 0..LANES {
            let change = new[lane] - old[lane];
            sums[lane] += change * change;
        }
    }
    let last: f64 = last_new.iter().zip(last_old).map(|(new, old)| (new - old) * (new - old)).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_last_row_are_parts_of_their_own() {
        assert_eq!(ends(10, 3), [1, 4, 7, 9, 10]);
        assert_eq!(ends(2, 2), [1, 1, 1, 2]);
        assert_eq!(ends(1, 2), [1, 1, 1, 1]);
        assert_eq!(ends(0, 1), [0, 0, 0]);
    }

    #[test]
    fn a_cell_becomes_the_mean_of_its_neighbours_and_the_border_stays() {
        let row = |base: f64| (0..8).map(|column| base + f64::from(column * column)).collect::<Vec<_>>();
        let (up, here, down, mut out) = (row(1.0), row(2.0), row(5.0), vec![9.0; 8]);
        let change = relax(&mut out, [&up, &here, &down]);
        assert_eq!((out[0], out[7]), (9.0, 9.0));
        // (1 + 5 + 2 + 2) / 4 above its square, of whose neighbours the mean is 1 / 2 higher.
        assert_eq!(out[3], 9.0 + 2.5 + 0.5);
        assert_eq!(change, 6.0);
    }
}
