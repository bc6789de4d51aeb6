//! Sums over the rows of all ranks: first of each block by the bees of a hive, then over all blocks, along the tree
//! of hive's own fixed reductions.

use std::ops::Range;
use std::time::{Duration, Instant};

use ::mpi::Count;
use ::mpi::datatype::PartitionMut;
use ::mpi::traits::*;
use hive::Schedule;

use super::Setting;
use super::ranks::begins;
use super::rows::{Rows, addition};

/// Buffers that are used for every sum.
pub(super) struct Sum<'r> {
    setting: Setting<'r>,
    rows: Rows,
    own: Vec<f64>,
    all: Vec<f64>,
    begins: Vec<Count>,
    waited: Duration,
}

impl<'r> Sum<'r> {
    pub(super) fn new(setting: Setting<'r>, rows: Rows) -> Self {
        let own = vec![0.0; rows.blocks().len()];
        let all = vec![0.0; rows.counts().iter().map(|count| *count as usize).sum()];
        let begins = begins(rows.counts());
        Self { setting, rows, own, all, begins, waited: Duration::ZERO }
    }

    /// The sum over all rows of all ranks, the same to the last bit in each rank, and the same as `par_reduce` computes
    /// in one process. `map` sums up some of this rank's rows, its first being 0. All ranks must call it.
    pub(super) fn over(&mut self, map: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        let Self { setting: Setting { hive, ranks, blocks }, rows, own, all, begins, waited } = self;
        hive.par_for_mut(own, Schedule::Static, |blocks, sums, _| {
            for (sum, block) in sums.iter_mut().zip(&rows.blocks()[blocks]) {
                *sum = map(block.clone());
            }
        });
        let begin = Instant::now();
        let mut of_all = PartitionMut::new(&mut all[..], rows.counts(), &begins[..]);
        ranks.world().all_gather_varcount_into(&own[..], &mut of_all);
        *waited += begin.elapsed();
        addition(*blocks).combine(all.iter().copied())
    }

    pub(super) const fn rows(&self) -> &Rows {
        &self.rows
    }

    /// How long this rank has waited for the other ranks' sums.
    pub(super) const fn waited(&self) -> Duration {
        self.waited
    }
}
