//! A small neural network: four layers of 512 x 512, each a few tens of microseconds of work. All layers in one region,
//! with a barrier after each; as a batch after batch, and as one answer every two milliseconds.
//!
//!     cargo run --release --example network [-- --compare]

mod compare;

use std::time::Duration;

use hive::{Parts, Schedule};
use rayon::prelude::*;

const WIDTH: usize = if cfg!(debug_assertions) { 128 } else { 512 };
const LAYERS: usize = 4;
const BATCH: usize = 8;

struct Network {
    /// The weights of each layer, a row for each of its outputs.
    layers: Vec<Vec<f32>>,
}

/// The two vectors that the layers read and write in turn: `count` inputs of `WIDTH` elements, element by element, so
/// that a layer's outputs of one row lie side by side.
struct Values {
    count: usize,
    even: Vec<f32>,
    odd: Vec<f32>,
}

impl Values {
    fn new(count: usize) -> Self {
        Self { count, even: vec![0.0; WIDTH * count], odd: vec![0.0; WIDTH * count] }
    }

    fn fill(&mut self, inputs: &[f32]) {
        self.even.copy_from_slice(inputs);
    }

    /// After an even number of layers the outputs are where the inputs were.
    fn outputs(&self) -> &[f32] {
        &self.even
    }
}

impl Network {
    fn new() -> Self {
        let weight = |i: u64| (compare::random(i) - 0.5) as f32 / 6.0;
        let layer = |l: usize| (0..WIDTH * WIDTH).map(|i| weight((l * WIDTH * WIDTH + i) as u64)).collect();
        Self { layers: (0..LAYERS).map(layer).collect() }
    }

    /// The outputs of one row of weights, for all inputs.
    fn row(weights: &[f32], inputs: &[f32], outputs: &mut [f32]) {
        // As many sums at once as vector registers hold, or one of these for each input.
        if outputs.len() == 1 {
            let mut sums = [0.0; 16];
            for (w, x) in weights.chunks_exact(16).zip(inputs.chunks_exact(16)) {
                sums.iter_mut().zip(w.iter().zip(x)).for_each(|(sum, (w, x))| *sum += w * x);
            }
            outputs[0] = sums.iter().sum::<f32>();
        } else {
            let mut sums = [0.0; BATCH];
            for (w, x) in weights.iter().zip(inputs.chunks_exact(BATCH)) {
                sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += w * x);
            }
            outputs.copy_from_slice(&sums);
        }
        outputs.iter_mut().for_each(|y| *y = y.max(0.0));
    }

    /// All rows of a layer whose outputs are `outputs`, of which the first is row `first`.
    fn rows(weights: &[f32], first: usize, inputs: &[f32], outputs: &mut [f32], count: usize) {
        let weights = weights[first * WIDTH..].chunks_exact(WIDTH);
        weights.zip(outputs.chunks_exact_mut(count)).for_each(|(row, out)| Self::row(row, inputs, out));
    }

    fn alone(&self, values: &mut Values) {
        for weights in &self.layers {
            Self::rows(weights, 0, &values.even, &mut values.odd, values.count);
            std::mem::swap(&mut values.even, &mut values.odd);
        }
    }

    fn in_one_region(&self, values: &mut Values) {
        let (bees, count) = (hive::bees(), values.count);
        let even = Parts::rows(&mut values.even, count, bees);
        let odd = Parts::rows(&mut values.odd, count, bees);
        hive::spmd(bees, |bee| {
            let (mut from, mut to) = (&even, &odd);
            for weights in &self.layers {
                {
                    let inputs = from.whole(bee); // what all bees have written before the barrier
                    for part in (bee.id()..bees).step_by(bee.bees()) {
                        let first = to.range(part).start / count;
                        Self::rows(weights, first, &inputs, &mut to.part_mut(bee, part), count);
                    }
                }
                bee.barrier();
                (from, to) = (to, from);
            }
        });
    }

    fn by_loops(&self, values: &mut Values) {
        for weights in &self.layers {
            let (inputs, count) = (&values.even, values.count);
            hive::par_rows_mut(&mut values.odd, count, Schedule::Static, |rows, outputs, _| {
                Self::rows(weights, rows.start, inputs, outputs, count);
            });
            std::mem::swap(&mut values.even, &mut values.odd);
        }
    }

    fn by_rayon(&self, values: &mut Values) {
        const ROWS: usize = 64;
        for weights in &self.layers {
            let (inputs, count) = (&values.even, values.count);
            values.odd.par_chunks_mut(ROWS * count).enumerate().for_each(|(i, outputs)| {
                Self::rows(weights, i * ROWS, inputs, outputs, count);
            });
            std::mem::swap(&mut values.even, &mut values.odd);
        }
    }
}

fn main() {
    let network = Network::new();
    for count in [1, BATCH] {
        let inputs: Vec<f32> = (0..WIDTH * count).map(|i| compare::random(i as u64) as f32).collect();
        let answer = |infer: fn(&Network, &mut Values)| {
            let mut values = Values::new(count);
            values.fill(&inputs);
            infer(&network, &mut values);
            values.outputs().to_vec()
        };
        let expected = answer(Network::alone);
        assert!(expected.iter().any(|y| *y > 0.0), "the network says something");
        for infer in [Network::in_one_region, Network::by_loops, Network::by_rayon] {
            assert!(answer(infer) == expected, "each row is summed up by one thread, so the bits are the same");
        }
        println!("{count} inputs through {LAYERS} layers of {WIDTH} by {} bees: the same as alone", hive::bees());
        if compare::wanted() {
            let mut all = [(); 5].map(|()| Values::new(count));
            let [a, b, c, d, e] = &mut all;
            let run = |values: &mut Values, infer: fn(&Network, &mut Values)| {
                values.fill(&inputs);
                infer(&network, values);
            };
            let mut ways: [compare::Way<'_>; 5] = [
                ("one thread", &mut || run(a, Network::alone)),
                ("Rayon", &mut || run(b, Network::by_rayon)),
                ("Rayon, in a scope", &mut || rayon::scope(|_| run(c, Network::by_rayon))),
                ("hive, a loop for each layer", &mut || run(d, Network::by_loops)),
                ("hive, in one region", &mut || run(e, Network::in_one_region)),
            ];
            compare::compare(&format!("neural network, {count} inputs"), &mut ways);
            if count == 1 {
                compare::compare_paced("one inference at a time", Duration::from_millis(2), &mut ways);
            }
        }
    }
}
