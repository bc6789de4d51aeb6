//! Heat on a square plate: every cell becomes the mean of its four neighbours. The upper edge is hot, the other three
//! are cold, and the plate begins patterned, so that a row in the wrong place shows.

use std::mem;
use std::ops::Range;
use std::time::{Duration, Instant};

use ::mpi::datatype::PartitionMut;
use ::mpi::request::{self, WaitGuard};
use ::mpi::traits::*;
use hive::{Hive, NumaVec, Placement, Schedule};

use super::Setting;
use super::ranks::begins;
use super::rows::{Rows, addition};

/// The rows of one rank, and one more at either end: a border's, or another rank's.
pub(super) struct Strip<'r> {
    setting: Setting<'r>,
    pub(super) rows: Rows,
    width: usize,
    from: NumaVec<f64>,
    to: NumaVec<f64>,
    /// The rows of the ranks above and below, as they arrive.
    received: [Vec<f64>; 2],
    /// The sums of this rank's blocks, and of all ranks' blocks.
    sums: [Vec<f64>; 2],
    /// How long this rank has waited for others, after it had done everything that it could meanwhile.
    pub(super) waited: Duration,
}

impl<'r> Strip<'r> {
    /// This rank's share of a plate with so many cells along an edge, the fixed border not counted.
    pub(super) fn new(setting: Setting<'r>, side: usize) -> Self {
        let rows = Rows::deal(side, setting.blocks, setting.ranks.rank(), setting.ranks.count());
        let [from, to] = two_plates(setting.hive, side, &rows.own);
        let blocks = rows.counts.iter().map(|count| *count as usize).sum();
        let sums = [rows.blocks.len(), blocks].map(|len| vec![0.0; len]);
        let received = [(); 2].map(|()| vec![0.0; side + 2]);
        Self { setting, rows, width: side + 2, from, to, received, sums, waited: Duration::ZERO }
    }

    /// One step by all ranks: the rows in the middle while rows of other ranks are under way, then the first and the
    /// last. Returns the sum of the squares of what all cells changed by.
    pub(super) fn step(&mut self) -> f64 {
        let Self { setting: Setting { ranks, hive, .. }, rows, width, from, to, received, waited, .. } = self;
        let (hive, width, end) = (*hive, *width, from.len() - *width);
        let (first, last) = ((2 * width).min(end), (end - width).max(2 * width).min(end));
        let edges = [&from[width..2 * width], &from[end - width..end]];
        let messages = rows.neighbours.iter().zip(edges).zip(received.each_mut());
        request::scope(|scope| {
            let mut under_way = Vec::new();
            for ((neighbour, edge), received) in messages {
                let Some(rank) = neighbour else { continue };
                let other = ranks.world().process_at_rank(*rank);
                under_way.push(WaitGuard::from(other.immediate_receive_into(scope, &mut received[..])));
                under_way.push(WaitGuard::from(other.immediate_send(scope, edge)));
            }
            sweep(hive, width, from, &mut to[first..last], 1);
            let begin = Instant::now();
            // Waits for all of them.
            drop(under_way);
            *waited += begin.elapsed();
        });
        for ((neighbour, received), row) in rows.neighbours.iter().zip(received).zip([0, end]) {
            if neighbour.is_some() {
                from[row..row + width].copy_from_slice(received);
            }
        }
        sweep(hive, width, from, &mut to[width..first], 0);
        sweep(hive, width, from, &mut to[last..end], last / width - 1);
        mem::swap(from, to);
        self.sum_of_changes()
    }

    /// The sum over all rows of all ranks, the same to the last bit in each rank, and the same as `par_reduce` computes
    /// in one process: first of each block by the bees of a hive, then over all blocks, along the tree of hive's own
    /// fixed reductions.
    fn sum_of_changes(&mut self) -> f64 {
        let Self { setting: Setting { ranks, hive, blocks }, rows, width, from, to, sums, waited, .. } = self;
        let ([own, all], begins) = (sums, begins(&rows.counts));
        hive.par_for_mut(own, Schedule::Static, |blocks, sums, _| {
            for (sum, block) in sums.iter_mut().zip(&rows.blocks[blocks]) {
                *sum = changes(*width, from, to, block.clone());
            }
        });
        let begin = Instant::now();
        ranks
            .world()
            .all_gather_varcount_into(&own[..], &mut PartitionMut::new(&mut all[..], &rows.counts[..], begins));
        *waited += begin.elapsed();
        addition(*blocks).combine(all.iter().copied())
    }

    /// The own rows with their borders, one after the other.
    pub(super) fn answer(&self) -> &[f64] {
        &self.from[self.width..self.from.len() - self.width]
    }
}

/// So many steps on all rows by this process alone, written as for a single hive: no halo, and hive's own reduction.
/// Returns the sum of each step, and all rows.
pub(super) fn alone(setting: Setting<'_>, side: usize, steps: u32) -> (Vec<f64>, Vec<f64>) {
    let (width, sum) = (side + 2, addition(setting.blocks));
    let [mut from, mut to] = two_plates(setting.hive, side, &(0..side));
    let mut sums = Vec::new();
    for _ in 0..steps {
        sweep(setting.hive, width, &from, &mut to[width..][..side * width], 0);
        mem::swap(&mut from, &mut to);
        sums.push(setting.hive.par_reduce(0..side, &sum, |rows| changes(width, &from, &to, rows)));
    }
    (sums, from[width..][..side * width].to_vec())
}

/// Two plates: `rows` and one more at either end, row 0 being the border.
fn two_plates(hive: &Hive, side: usize, rows: &Range<usize>) -> [NumaVec<f64>; 2] {
    let (width, last, first) = (side + 2, side + 1, rows.start);
    let at_begin = |row: usize, column: usize| match (row, column) {
        (0, _) => 1.0,
        _ if row == last || column == 0 || column == last => 0.0,
        _ => ((7 * row + 13 * column) % 32) as f64 / 32.0,
    };
    [(); 2].map(|()| {
        hive.alloc((rows.len() + 2) * width, Placement::FirstTouch, |cell| at_begin(first + cell / width, cell % width))
    })
}

/// Computes the rows of `to`, the first of which is row `first` below the first row of `from`.
fn sweep(hive: &Hive, width: usize, from: &[f64], to: &mut [f64], first: usize) {
    if to.is_empty() {
        return;
    }
    hive.par_rows_mut(to, width, Schedule::Static, |rows, to, _| {
        for (out, row) in to.chunks_exact_mut(width).zip(rows) {
            let line = |down: usize| &from[(first + row + down) * width..][..width];
            relax(out, [line(0), line(1), line(2)]);
        }
    });
}

/// The sum of the squares of what some rows have changed by; row 0 is the second of both.
fn changes(width: usize, new: &[f64], old: &[f64], rows: Range<usize>) -> f64 {
    let inner = |plate, row: usize| without_border(&<[f64]>::split_at(plate, (row + 1) * width).1[..width]);
    rows.map(|row| squares(inner(new, row), inner(old, row))).sum()
}

fn without_border(row: &[f64]) -> &[f64] {
    &row[1..row.len() - 1]
}

/// Each cell of `here` becomes the mean of its neighbours in `out`.
fn relax(out: &mut [f64], [up, here, down]: [&[f64]; 3]) {
    let around = without_border(up).iter().zip(without_border(down)).zip(here.iter().zip(&here[2..]));
    for (cell, ((up, down), (left, right))) in out[1..].iter_mut().zip(around) {
        *cell = 0.25 * (up + down + left + right);
    }
}

/// The sum of the squares of the differences, in order.
#[inline(never)]
fn squares(new: &[f64], old: &[f64]) -> f64 {
    new.iter().zip(old).map(|(new, old)| (new - old) * (new - old)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_becomes_the_mean_of_its_neighbours_and_the_border_stays() {
        let row = |base: f64| (0..8).map(|column| base + f64::from(column * column)).collect::<Vec<_>>();
        let (up, here, down, mut out) = (row(1.0), row(2.0), row(5.0), vec![9.0; 8]);
        relax(&mut out, [&up, &here, &down]);
        assert_eq!((out[0], out[7]), (9.0, 9.0));
        // (1 + 5 + 2 + 2) / 4 above its square, of whose neighbours the mean is 1 / 2 higher.
        assert_eq!(out[3], 9.0 + 2.5 + 0.5);
        assert_eq!(changes(4, &[0.0, 0.0, 0.0, 0.0, 9.0, 1.0, 2.0, 9.0], &[0.0; 8], 0..1), 5.0);
    }
}
