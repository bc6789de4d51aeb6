//! Conjugate gradients: solves `A x = b` for a symmetric, positive definite matrix, `b` being `A` times ones. Each rank
//! has some rows of the matrix and of all vectors.

mod part;
mod product;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, value_parser};
use hive::{Hive, NumaVec, Placement, Schedule};

use super::answer::Answer;
use super::problem::{Problem, Setting, Solver};
use super::rows::{Rows, addition};
use super::sum::Sum;
use crate::kernels::sparse::{Scalars, add, redirect};
use crate::matrix::{self, Csr, Laplacian, Loaded, SomeRows};
use crate::record::fit_for_cg;

use product::Product;

/// The system to solve.
#[derive(Args, Debug)]
pub(super) struct System {
    /// Points along an edge of the square grid whose Laplacian the matrix is
    #[arg(long, value_name = "K", default_value_t = 128)]
    #[arg(value_parser = value_parser!(u32).range(1..=i64::from(Laplacian::LARGEST_SIDE)))]
    side: u32,
    /// Use this matrix instead: a Matrix Market file, gzipped or not, that all ranks can read
    #[arg(long, value_name = "FILE", conflicts_with = "side")]
    matrix: Option<PathBuf>,
}

/// A rank's rows, with all columns.
pub(super) struct Part {
    rows: Rows,
    matrix: Csr,
}

impl Problem for System {
    type Part = Part;
    type Solver<'r> = Equations<'r>;

    fn name(&self) -> String {
        let matrix = self.matrix.as_ref().map(|file| file.display().to_string());
        let matrix = matrix.unwrap_or_else(|| format!("the Laplacian of a grid of {0} x {0} points", self.side));
        format!("conjugate gradients on {matrix}")
    }

    fn part(&self, setting: Setting<'_>) -> Result<Part, String> {
        let deal = |all: usize| Rows::deal(all, setting.blocks, setting.ranks.rank(), setting.ranks.count());
        let Some(file) = &self.matrix else {
            let laplacian = Laplacian::new(self.side);
            let rows = deal(laplacian.rows() as usize);
            let own = rows.own();
            return Ok(Part { matrix: laplacian.some_rows(own.start as u32..own.end as u32), rows });
        };
        let SomeRows { matrix, rows_of_whole, symmetry } =
            matrix::rows_of_file(file, |all| deal(all).own()).map_err(|error| format!("--matrix {error}"))?;
        let fit = fit_for_cg(rows_of_whole, matrix.columns(), symmetry);
        fit.map_err(|why_not| format!("--matrix {}: {why_not}", file.display()))?;
        Ok(Part { rows: deal(rows_of_whole), matrix })
    }

    fn solver<'r>(&self, setting: Setting<'r>, Part { rows, matrix }: Part) -> Equations<'r> {
        let hive = setting.hive;
        let len = rows.own().len();
        let vector = |value: f64| hive.alloc(len, Placement::FirstTouch, |_| value);
        let (x, mut r, q) = (vector(0.0), vector(0.0), vector(0.0));
        let mut product = Product::new(setting, &rows, &matrix, 1.0);
        let mut sum = Sum::new(setting, rows);
        product.times(&mut r);
        hive.par_for_mut(product.vector_mut(), Schedule::Static, |rows, p, _| p.copy_from_slice(&r[rows]));
        let rr = sum.over(|rows| dot(&r[rows.clone()], &r[rows]));
        Equations { hive, product, x, r, q, sum, scalars: Scalars::begin(rr) }
    }

    fn alone(&self, setting: Setting<'_>, steps: usize) -> Result<Answer, String> {
        let matrix = match &self.matrix {
            Some(file) => matrix::file(file).map(|Loaded { matrix, .. }| matrix)?,
            None => Laplacian::new(self.side).matrix(),
        };
        alone(setting, &matrix, steps)
    }
}

/// The system on the way to its solution.
pub(super) struct Equations<'r> {
    hive: &'r Hive,
    /// Of the matrix and `p`, the direction of the next step.
    product: Product<'r>,
    x: NumaVec<f64>,
    /// The residual `b - A x`, updated in each step.
    r: NumaVec<f64>,
    /// `A p`.
    q: NumaVec<f64>,
    sum: Sum<'r>,
    scalars: Scalars,
}

impl Solver for Equations<'_> {
    fn step(&mut self) -> Result<f64, String> {
        let Self { hive, product, x, r, q, sum, scalars } = self;
        product.times(q);
        let p = product.vector();
        let pq = sum.over(|rows| dot(&p[rows.clone()], &q[rows]));
        let step = scalars.step(pq).ok_or_else(|| scalars.breakdown(pq))?;
        hive.par_for_mut(x, Schedule::Static, |rows, x, _| add(x, step, &p[rows]));
        hive.par_for_mut(r, Schedule::Static, |rows, r, _| add(r, -step, &q[rows]));
        let rr = sum.over(|rows| dot(&r[rows.clone()], &r[rows]));
        let kept = scalars.next_iteration(rr);
        hive.par_for_mut(product.vector_mut(), Schedule::Static, |rows, p, _| redirect(p, &r[rows], kept));
        Ok(rr)
    }

    fn rows(&self) -> &Rows {
        self.sum.rows()
    }

    fn answer(&self) -> &[f64] {
        &self.x
    }

    fn waited(&self) -> Duration {
        self.product.waited() + self.sum.waited()
    }
}

/// The whole system in one process, written as for a single hive: no halo, and hive's own reduction.
fn alone(setting: Setting<'_>, matrix: &Csr, steps: usize) -> Result<Answer, String> {
    let (hive, len) = (setting.hive, matrix.rows());
    let sum = addition(setting.blocks);
    let dot = |a: &[f64], b: &[f64]| hive.par_reduce(0..len, &sum, |rows| dot(&a[rows.clone()], &b[rows]));
    let mut r = matrix.product(&vec![1.0; len]);
    let (mut x, mut q, mut p) = (vec![0.0; len], vec![0.0; len], r.clone());
    let mut scalars = Scalars::begin(dot(&r, &r));
    let mut sums = Vec::with_capacity(steps);
    for _ in 0..steps {
        hive.par_for_mut(&mut q, Schedule::Static, |rows, q, _| matrix.multiply(q, &p, rows));
        let pq = dot(&p, &q);
        let step = scalars.step(pq).ok_or_else(|| scalars.breakdown(pq))?;
        hive.par_for_mut(&mut x, Schedule::Static, |rows, x, _| add(x, step, &p[rows]));
        hive.par_for_mut(&mut r, Schedule::Static, |rows, r, _| add(r, -step, &q[rows]));
        let rr = dot(&r, &r);
        let kept = scalars.next_iteration(rr);
        hive.par_for_mut(&mut p, Schedule::Static, |rows, p, _| redirect(p, &r[rows], kept));
        sums.push(rr);
    }
    Ok(Answer { sums, values: x })
}

/// In order: a block is short, and its sum has to be the same whichever rank has it.
#[inline(never)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
