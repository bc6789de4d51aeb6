//! Products of matrices that are large enough to be divided, by one thread and by several: their values are those of
//! the definition. `run` makes a test of it, because ndarray's own tests multiply small matrices only.

use ndarray::parallel::prelude::*;
use ndarray::{Array1, Array2, Zip};

/// A matrix of small whole numbers, whose products are exact.
fn matrix(rows: usize, columns: usize, seed: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 31 + j * 17 + seed) % 13) as f64 - 6.0)
}

/// The product by the definition.
fn by_definition(a: &Array2<f64>, b: &Array2<f64>) -> Array2<f64> {
    let columns = b.t().to_owned();
    Array2::from_shape_fn((a.nrows(), b.ncols()), |(i, j)| {
        let row = a.row(i);
        row.iter().zip(columns.row(j)).map(|(x, y)| x * y).sum()
    })
}

/// Two matrices, and their product.
fn factors(seed: usize) -> (Array2<f64>, Array2<f64>, Array2<f64>) {
    let (a, b) = (matrix(300 + seed, 257, seed), matrix(257, 190, seed + 5));
    let product = by_definition(&a, &b);
    (a, b, product)
}

#[test]
fn of_one_thread() {
    for seed in 0..4 {
        let (a, b, product) = factors(seed);
        for _ in 0..20 {
            assert_eq!(a.dot(&b), product);
        }
        let column = Array1::from_iter(b.column(0).iter().copied());
        assert_eq!(a.dot(&column), product.column(0));
    }
}

#[test]
fn of_several_threads() {
    std::thread::scope(|scope| {
        for seed in 0..4 {
            scope.spawn(move || {
                let (a, b, product) = factors(seed);
                (0..20).for_each(|_| assert_eq!(a.dot(&b), product));
            });
        }
    });
}

#[test]
fn in_parallel_iterators() {
    let all: Vec<_> = (0..8).map(factors).collect();
    for _ in 0..4 {
        all.par_iter().for_each(|(a, b, product)| assert_eq!(a.dot(b), *product));
    }
    let (a, b, product) = &all[0];
    let mut sums = Array1::zeros(product.nrows());
    Zip::from(&mut sums).and(a.rows()).par_for_each(|sum, row| *sum = row.dot(b).sum());
    assert_eq!(sums, product.sum_axis(ndarray::Axis(1)));
}

#[test]
fn in_joins_of_rayon() {
    let (a, b, product) = factors(1);
    for _ in 0..20 {
        let both = rayon_join(|| a.dot(&b), || a.dot(&b));
        assert!(both.0 == product && both.1 == product);
    }
}

/// Two closures on rayon's threads, by way of the iterators that ndarray has.
fn rayon_join<R: Send>(a: impl Fn() -> R + Sync, b: impl Fn() -> R + Sync) -> (R, R) {
    let mut results: Vec<R> = vec![0, 1].into_par_iter().map(|half| if half == 0 { a() } else { b() }).collect();
    let second = results.pop().expect("two results");
    (results.pop().expect("two results"), second)
}
