//! The product of a matrix and a vector, both dealt out to ranks by rows.

use std::ops::Range;
use std::time::Duration;

use hive::{Hive, NumaVec, Placement, Schedule};

use super::part::Local;
use crate::matrix::Csr;
use crate::mpi::halo::Halo;
use crate::mpi::problem::Setting;
use crate::mpi::rows::Rows;

/// A matrix and the vector that it is multiplied with.
pub(super) struct Product<'r> {
    hive: &'r Hive,
    local: Local,
    /// This rank's part, then the values that it needs from other ranks.
    vector: NumaVec<f64>,
    halo: Halo<'r>,
}

impl<'r> Product<'r> {
    /// Of a vector of equal values. `matrix` has this rank's rows, and all columns. All ranks must call it.
    pub(super) fn new(setting: Setting<'r>, rows: &Rows, matrix: &Csr, value: f64) -> Self {
        let local = Local::new(matrix, &rows.own());
        let halo = Halo::new(setting.ranks, rows, &local.needed, 1);
        let vector = setting.hive.alloc(local.matrix.columns(), Placement::FirstTouch, |_| value);
        Self { hive: setting.hive, local, vector, halo }
    }

    /// This rank's part of the vector.
    pub(super) fn vector(&self) -> &[f64] {
        &self.vector[..self.local.matrix.rows()]
    }

    /// This rank's part of the vector, to change it.
    pub(super) fn vector_mut(&mut self) -> &mut [f64] {
        &mut self.vector[..self.local.matrix.rows()]
    }

    /// This rank's part of the product: first the rows that need no values of other ranks, while those values are under
    /// way, then the other rows. All ranks must call it.
    pub(super) fn times(&mut self, product: &mut [f64]) {
        let Self { hive, local: Local { matrix, inner, border, .. }, vector, halo } = self;
        let own = matrix.rows();
        let received = halo.exchange(&vector[..own], || multiply(hive, matrix, vector, product, inner));
        vector[own..].copy_from_slice(received);
        multiply(hive, matrix, vector, product, border);
    }

    /// How long this rank has waited for others' parts.
    pub(super) const fn waited(&self) -> Duration {
        self.halo.waited()
    }
}

/// Some rows of the product.
fn multiply(hive: &Hive, matrix: &Csr, vector: &[f64], product: &mut [f64], runs: &[Range<usize>]) {
    if runs.is_empty() {
        return;
    }
    hive.par_for_mut(product, Schedule::Static, |rows, product, _| {
        let first = runs.partition_point(|run| run.end <= rows.start);
        for run in runs[first..].iter().take_while(|run| run.start < rows.end) {
            let own = run.start.max(rows.start)..run.end.min(rows.end);
            matrix.multiply(&mut product[own.start - rows.start..own.end - rows.start], vector, own);
        }
    });
}
