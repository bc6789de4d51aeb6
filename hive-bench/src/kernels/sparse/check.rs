//! Whether conjugate gradients did what they should. Runtimes add up in different orders, so no two answers have the
//! same bits. Two properties are checked instead:
//!
//! - The residual that the steps update is the residual of `x`. Whatever the sums are, each step changes both by the
//!   same amount, up to the rounding of that step, which is a part in 1e16 of `|A| |x| + |b|`. The tolerance is a part
//!   in 1e12: more than thousands of iterations lose by rounding, and far less than a lost number causes.
//! - The error `1 - x` is as small as plain loops make it in nine tenths of the iterations. Wrong sums lead to wrong
//!   steps, which hardly converge. The error is measured by the norm of the matrix, `sqrt(e . A e)`, in which every
//!   step makes it smaller. Rounding moves it by parts in 1e13 as long as the steps are few; later, and if eigenvalues
//!   lie far apart, it delays convergence by an iteration or so, differently for each runtime. The tolerance is a
//!   twentieth of the error, in case a tenth of the iterations gain less than that, and a part in 1e9 of the first
//!   error, for what rounding leaves.

use super::cg::System;
use crate::matrix::Csr;
use crate::runtimes::sequential::Sequential;

/// Of `|A| |x| + |b|`.
const RESIDUAL: f64 = 1e-12;
/// The tolerance for the error, as a factor.
const SLACK: f64 = 1.05;
/// Of the first error.
const REST: f64 = 1e-9;

/// The largest error that may be left after so many iterations, relative to the first error.
pub(crate) fn largest_error(matrix: &Csr, iterations: u64) -> Result<f64, String> {
    let mut system = System::new(&mut Sequential::<false>, matrix);
    system.by_loops(&mut Sequential::<false>, iterations * 9 / 10)?;
    match system.error() {
        error if error.is_finite() => Ok(error),
        _ => Err("conjugate gradients came to nothing: the matrix is not positive definite, or its numbers overflow"
            .to_owned()),
    }
}

impl System {
    /// Whether residual and error are as they should be.
    pub(crate) fn check(&self, largest_error: f64) -> Result<(), String> {
        let apart = self.residuals_apart();
        if apart > RESIDUAL || apart.is_nan() {
            return Err(format!(
                "wrong answer: the residual kept by steps and that of x are {apart:e} apart, of |A| |x| + |b|"
            ));
        }
        let (error, iterations) = (self.error(), self.scalars.done);
        if error <= SLACK * largest_error + REST {
            return Ok(());
        }
        Err(format!(
            "wrong answer: after {iterations} iterations the error is {error:e} of that at the beginning, more than \
             {largest_error:e}"
        ))
    }

    /// How far `r` and `b - A x` are apart, of `|A| |x| + |b|`.
    fn residuals_apart(&self) -> f64 {
        let matrix = &self.placed.matrix;
        let apart =
            norm(self.b.iter().zip(&self.r).zip(matrix.product(&self.x)).map(|((b, r), product)| b - product - r));
        let scale = matrix.largest_row() * norm(self.x.iter().copied()) + norm(self.b.iter().copied());
        if apart == 0.0 { 0.0 } else { apart / scale }
    }

    /// The error `1 - x` in the norm of the matrix, relative to the first error. Zero if the first error was zero, and
    /// NaN if the matrix defines no norm.
    fn error(&self) -> f64 {
        let error: Vec<f64> = self.x.iter().map(|x| 1.0 - x).collect();
        let products = self.placed.matrix.product(&error);
        let energy: f64 = products.iter().zip(&error).map(|(product, error)| product * error).sum();
        let first: f64 = self.b.iter().sum();
        let nothing_but_rounding = energy <= 0.0 && energy >= -REST * REST * first;
        if nothing_but_rounding { 0.0 } else { (energy / first).sqrt() }
    }
}

fn norm(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.map(|number| number * number).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Entry, Laplacian, Symmetry};
    use crate::runtimes::std_scope::StdScope;

    const ITERATIONS: u64 = 30;

    fn matrices() -> [Csr; 3] {
        // The Laplacian of a graph with edges here and there, plus the identity.
        let mut random = fastrand::Rng::with_seed(5);
        let entry = |row, column, value| Entry { row, column, value };
        let edges = (0..900).map(|_| (random.u32(1..300), random.u32(0..300))).filter(|(row, column)| row > column);
        let of_edge = |(row, column)| [entry(row, column, -1.0), entry(row, row, 1.0), entry(column, column, 1.0)];
        let graph: Vec<Entry> = edges.flat_map(of_edge).chain((0..300).map(|row| entry(row, row, 1.0))).collect();
        // Eigenvalues that lie far apart, which are the most sensitive to rounding.
        let spread = (0..200).map(|row| Entry { row, column: row, value: 10.0_f64.powf(f64::from(row) / 40.0) });
        [
            Laplacian::new(40).matrix(),
            Csr::from_entries(300, 300, Symmetry::Symmetric, &graph),
            Csr::from_entries(200, 200, Symmetry::Symmetric, &spread.collect::<Vec<_>>()),
        ]
    }

    fn solved(matrix: &Csr, threads: usize) -> System {
        let team = &mut StdScope { threads };
        let mut system = System::new(team, matrix);
        system.solve(team, ITERATIONS).unwrap();
        system
    }

    #[test]
    fn sums_in_another_order_are_right() {
        for matrix in matrices() {
            let largest = largest_error(&matrix, ITERATIONS).unwrap();
            assert!(largest < 0.9, "{largest}");
            for threads in 1..6 {
                solved(&matrix, threads).check(largest).unwrap();
            }
        }
    }

    #[test]
    fn a_lost_number_is_found() {
        let [grid, ..] = matrices();
        let largest = largest_error(&grid, ITERATIONS).unwrap();
        let mut system = solved(&grid, 2);
        system.x[800] += 1e-5;
        let error = system.check(largest).unwrap_err();
        assert!(error.contains("the residual kept by steps"), "{error}");
        system.x[800] = f64::NAN;
        assert!(system.check(largest).is_err());
    }

    #[test]
    fn wrong_steps_are_found() {
        let [grid, ..] = matrices();
        let largest = largest_error(&grid, ITERATIONS).unwrap();
        let mut system = System::new(&mut Sequential::<false>, &grid);
        for _ in 0..ITERATIONS {
            // As if the part of r . r of one thread had been lost.
            system.scalars.rr *= 0.9;
            system.by_loops(&mut Sequential::<false>, 1).unwrap();
        }
        let error = system.check(largest).unwrap_err();
        assert!(error.contains("after 30 iterations the error is"), "{error}");
    }
}
