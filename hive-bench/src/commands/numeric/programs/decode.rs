//! A small transformer that decodes token after token: norms, products of a matrix and a vector, attention with its
//! softmax, all of them short loops.

use std::array;

use super::{Program, fewer_in_tests, matrix, numbers};
use crate::commands::numeric::loops::Loops;

const TOKENS: usize = fewer_in_tests(16);
const LAYERS: usize = 4;
const WIDTH: usize = 128;
const HEAD: usize = 32;
/// Of the feed-forward network.
const INNER: usize = 4 * WIDTH;

struct Layer {
    /// Rows for query, key and value.
    attention: Vec<f64>,
    out: Vec<f64>,
    up: Vec<f64>,
    down: Vec<f64>,
}

pub(crate) struct Decode([Layer; LAYERS]);

/// Queries, keys and values of all tokens so far, one after the other in each.
type Cache = Vec<Vec<f64>>;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum()
}

/// A matrix times `x`; each element goes through `then`, which gets its row as well.
fn times(by: &impl Loops, matrix: &[f64], x: &[f64], then: impl Fn(usize, f64) -> f64 + Sync) -> Vec<f64> {
    let mut product = vec![0.0; matrix.len() / x.len()];
    by.rows(&mut product, 1, |rows, product| {
        rows.zip(product).for_each(|(row, y)| *y = then(row, dot(&matrix[row * x.len()..][..x.len()], x)));
    });
    product
}

fn norm(by: &impl Loops, x: &[f64]) -> Vec<f64> {
    let squares = by.sum(x.len(), |range| x[range].iter().map(|x| x * x).sum());
    let scale = 1.0 / (1e-6 + squares / x.len() as f64).sqrt();
    x.iter().map(|x| scale * x).collect()
}

/// What each head makes of the tokens so far.
fn attention(by: &impl Loops, cache: &Cache) -> Vec<f64> {
    let mut mixed = vec![0.0; WIDTH];
    by.rows(&mut mixed, HEAD, |heads, mixed| {
        for (head, mixed) in heads.zip(mixed.chunks_exact_mut(HEAD)) {
            let part = |token: usize, which: usize| &cache[token][which * WIDTH + head * HEAD..][..HEAD];
            let last = cache.len() - 1;
            let mut weights: [f64; TOKENS] = array::from_fn(|token| dot(part(last, 0), part(token.min(last), 1)));
            let largest = weights.iter().copied().fold(f64::MIN, f64::max);
            weights.iter_mut().for_each(|weight| *weight = (*weight - largest).exp());
            let sum: f64 = weights[..=last].iter().sum();
            for (token, weight) in weights[..=last].iter().enumerate() {
                mixed.iter_mut().zip(part(token, 2)).for_each(|(x, value)| *x += weight / sum * value);
            }
        }
    });
    mixed
}

impl Layer {
    fn decode(&self, by: &impl Loops, cache: &mut Cache, state: &[f64]) -> Vec<f64> {
        cache.push(times(by, &self.attention, &norm(by, state), |_, y| y));
        let state = times(by, &self.out, &attention(by, cache), |row, y| state[row] + y);
        let inner = times(by, &self.up, &norm(by, &state), |_, y| y.max(0.0));
        times(by, &self.down, &inner, |row, y| state[row] + y)
    }
}

impl Default for Decode {
    fn default() -> Self {
        Self(array::from_fn(|_| Layer {
            attention: matrix(3 * WIDTH, WIDTH),
            out: matrix(WIDTH, WIDTH),
            up: matrix(INNER, WIDTH),
            down: matrix(WIDTH, INNER),
        }))
    }
}

impl Program for Decode {
    /// The sums of its norms are in whatever order, and each token's rounding goes into the next.
    const TOLERANCE: f64 = 1e-9;

    fn run(&self, by: &impl Loops) -> Vec<f64> {
        let (mut state, mut caches) = (numbers(WIDTH), [const { Cache::new() }; LAYERS]);
        for _ in 0..TOKENS {
            for (layer, cache) in self.0.iter().zip(&mut caches) {
                state = layer.decode(by, cache, &state);
            }
            state = norm(by, &state);
        }
        state
    }
}
