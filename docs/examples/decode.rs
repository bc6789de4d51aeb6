//! The decode loop of a small transformer with random weights, all tokens in one region: each bee has some of the rows
//! of every matrix, and the bees meet after each. On one thread the loop gives the same tokens.
//!
//!     cargo run --release --example decode

use std::time::Instant;

use hive::{Bee, Parts};

const WIDTH: usize = 256;
const HIDDEN: usize = 4 * WIDTH;
const LAYERS: usize = if cfg!(debug_assertions) { 2 } else { 6 };
const VOCABULARY: usize = 512;
const TOKENS: usize = if cfg!(debug_assertions) { 4 } else { 32 };

/// A matrix by rows.
struct Matrix {
    rows: usize,
    values: Vec<f32>,
}

impl Matrix {
    fn random(rows: usize, columns: usize, seed: &mut u64) -> Self {
        let mut next = || {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((*seed >> 40) as f32 / (1_u64 << 23) as f32 - 1.0) / (columns as f32).sqrt()
        };
        Self { rows, values: (0..rows * columns).map(|_| next()).collect() }
    }

    /// The product of the bee's rows with `x`, which all bees read, into its part of `y`. Then the bees meet.
    fn multiply(&self, bee: &Bee<'_>, x: &[f32], y: &Parts<'_, f32>, then: impl Fn(f32) -> f32) {
        for part in y.of_bee(bee) {
            let rows = y.range(part);
            debug_assert!(rows.end <= self.rows);
            for (y, row) in y.part_mut(bee, part).iter_mut().zip(self.values[rows.start * x.len()..].chunks(x.len())) {
                *y = then(dot(row, x));
            }
        }
        bee.barrier();
    }
}

/// By lanes, so that the compiler uses vectors.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        (0..8).for_each(|lane| sums[lane] += a[lane] * b[lane]);
    }
    sums.iter().sum()
}

struct Layer {
    mix: Matrix,
    up: Matrix,
    down: Matrix,
}

struct Transformer {
    embedding: Matrix,
    layers: Vec<Layer>,
    output: Matrix,
}

impl Transformer {
    fn random() -> Self {
        let seed = &mut 7;
        let layer = |seed: &mut u64| Layer {
            mix: Matrix::random(WIDTH, WIDTH, seed),
            up: Matrix::random(HIDDEN, WIDTH, seed),
            down: Matrix::random(WIDTH, HIDDEN, seed),
        };
        Self {
            embedding: Matrix::random(VOCABULARY, WIDTH, seed),
            layers: (0..LAYERS).map(|_| layer(seed)).collect(),
            output: Matrix::random(VOCABULARY, WIDTH, seed),
        }
    }

    /// The tokens that follow `first`, on a team of `bees`.
    fn decode(&self, first: usize, bees: usize) -> Vec<usize> {
        let (mut mixed, mut hidden, mut moved, mut scores) =
            (vec![0.0; WIDTH], vec![0.0; HIDDEN], vec![0.0; WIDTH], vec![0.0; VOCABULARY]);
        let [mixed, hidden, moved, scores] =
            [&mut mixed, &mut hidden, &mut moved, &mut scores].map(|values| Parts::new(values, bees));
        let mut tokens = hive::spmd_map(bees, |bee| {
            let (mut token, mut tokens) = (first, Vec::new());
            for _ in 0..TOKENS {
                // The state is small, so each bee has a copy and adds to it what all have computed.
                let mut state = self.embedding.values[token * WIDTH..][..WIDTH].to_vec();
                for layer in &self.layers {
                    layer.mix.multiply(bee, &state, &mixed, f32::tanh);
                    state.iter_mut().zip(&mixed.whole(bee)[..]).for_each(|(state, mixed)| *state += mixed);
                    layer.up.multiply(bee, &state, &hidden, |x| x.max(0.0));
                    layer.down.multiply(bee, &hidden.whole(bee), &moved, |x| x);
                    state.iter_mut().zip(&moved.whole(bee)[..]).for_each(|(state, moved)| *state += moved);
                }
                self.output.multiply(bee, &state, &scores, |x| x);
                let best =
                    scores.whole(bee).iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(index, _)| index);
                token = best.expect("there are words");
                tokens.push(token);
                bee.barrier(); // all have read the scores
            }
            tokens
        });
        tokens.swap_remove(0)
    }
}

fn main() {
    let model = Transformer::random();
    let begin = Instant::now();
    let expected = model.decode(1, 1);
    let alone = begin.elapsed();
    let begin = Instant::now();
    let tokens = model.decode(1, hive::bees());
    let with_hive = begin.elapsed();
    assert_eq!(tokens, expected, "the same sums in the same order");
    let ratio = with_hive.as_secs_f64() / alone.as_secs_f64();
    println!("decoding {TOKENS} tokens, {LAYERS} layers of {WIDTH}: {ratio:.2} of the time of one thread");
}
