//! A product of matrices by halves.

use super::{Case, Iteration, timed};
use crate::numbers::Numbers;

const SIZE: usize = 256;
/// The largest blocks that are multiplied by a plain loop.
const BLOCK: usize = 32;

/// A square matrix that consists of four of half its size, one after another, down to blocks, whose rows follow one
/// another.
type Matrix = Vec<f64>;

pub(super) fn case() -> Case {
    super::case(
        "matmul",
        "a product of two matrices of 256 x 256 by recursive join, down to blocks of 32 x 32",
        prepare,
    )
}

fn prepare() -> Iteration {
    // Small whole numbers, whose products and sums are exact in any order.
    let draw = |seed| -> Matrix { Numbers::list(seed, SIZE * SIZE).iter().map(|x| (x % 16) as f64).collect() };
    let (a, b) = (draw(9), draw(10));
    let sum_of_row: Vec<f64> = (0..SIZE).map(|y| (0..SIZE).map(|x| b[index(y, x)]).sum()).collect();
    let expected: Vec<f64> = (0..SIZE).map(|y| (0..SIZE).map(|x| a[index(y, x)] * sum_of_row[x]).sum()).collect();
    Box::new(move || {
        let mut c = vec![0.0; SIZE * SIZE];
        let (time, ()) = timed(|| add_product(&mut c, &a, &b, SIZE));
        // The sums of the rows of the product are the product of a and the sums of the rows of b.
        let found: Vec<f64> = (0..SIZE).map(|y| (0..SIZE).map(|x| c[index(y, x)]).sum()).collect();
        assert_eq!(found, expected, "the sums of the product's rows");
        time
    })
}

/// Where the number of row `y` and column `x` is.
fn index(y: usize, x: usize) -> usize {
    let (mut y, mut x, mut size, mut index) = (y, x, SIZE, 0);
    while size > BLOCK {
        size /= 2;
        index += (2 * (y / size) + x / size) * size * size;
        (y, x) = (y % size, x % size);
    }
    index + y * size + x
}

/// Adds a b to c. All three have `size` rows and columns.
fn add_product(c: &mut [f64], a: &[f64], b: &[f64], size: usize) {
    if size <= BLOCK {
        for (row_of_c, row_of_a) in c.chunks_exact_mut(size).zip(a.chunks_exact(size)) {
            for (factor, row_of_b) in row_of_a.iter().zip(b.chunks_exact(size)) {
                row_of_c.iter_mut().zip(row_of_b).for_each(|(c, b)| *c += factor * b);
            }
        }
        return;
    }
    let part = c.len() / 4;
    let (upper, lower) = c.split_at_mut(2 * part);
    let quarter = |number: usize| number * part..(number + 1) * part;
    let half = |c: &mut [f64], row: usize| {
        let (left, right) = c.split_at_mut(part);
        let times = |c: &mut [f64], column: usize| {
            for k in 0..2 {
                add_product(c, &a[quarter(2 * row + k)], &b[quarter(2 * k + column)], size / 2);
            }
        };
        rayon::join(|| times(left, 0), || times(right, 1));
    };
    rayon::join(|| half(upper, 0), || half(lower, 1));
}
