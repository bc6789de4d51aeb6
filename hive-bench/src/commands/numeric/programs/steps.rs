//! Programs in steps over two arrays, each of which reads one and writes rows of the other.

use std::ops::Range;

use hive::{Hive, Parts};

use super::Program;
use crate::commands::numeric::loops::Loops;

/// What is done in each step.
pub(crate) trait Steps: Default + Sync {
    /// Rows of an array, with all that is never written, such as edges.
    const ROWS: usize;
    /// Numbers in a row.
    const WIDTH: usize = 1;
    const STEPS: usize;

    /// What both arrays hold at the beginning.
    fn start() -> Vec<f64> {
        super::numbers(Self::ROWS * Self::WIDTH)
    }

    /// The rows that a step writes.
    fn written(_step: usize) -> Range<usize> {
        0..Self::ROWS
    }

    /// Writes some rows. They hold what the step before the last one has left there.
    fn step(&self, step: usize, from: &[f64], rows: Range<usize>, to: &mut [f64]);
}

/// The steps, and what both arrays hold at the beginning.
pub(crate) struct InSteps<S>(S, Vec<f64>);

impl<S: Steps> Default for InSteps<S> {
    fn default() -> Self {
        Self(S::default(), S::start())
    }
}

impl<S: Steps> Program for InSteps<S> {
    fn run(&self, by: &impl Loops) -> Vec<f64> {
        let (mut from, mut to) = (self.1.clone(), self.1.clone());
        for step in 0..S::STEPS {
            let Range { start, end } = S::written(step);
            by.rows(&mut to[start * S::WIDTH..end * S::WIDTH], S::WIDTH, |rows, to| {
                self.0.step(step, &from, start + rows.start..start + rows.end, to);
            });
            (from, to) = (to, from);
        }
        from
    }

    fn run_in_region(&self, hive: &Hive) -> Option<Vec<f64>> {
        let (mut arrays, bees) = ([self.1.clone(), self.1.clone()], hive.bees());
        let [even, odd] = arrays.each_mut().map(|array| Parts::rows(array, S::WIDTH, bees));
        hive.spmd(bees, |bee| {
            let (mut from, mut to) = (&even, &odd);
            let part = to.range(bee.id());
            let (begin, end) = (part.start / S::WIDTH, part.end / S::WIDTH);
            for step in 0..S::STEPS {
                let written = S::written(step);
                let rows = written.start.clamp(begin, end)..written.end.clamp(begin, end);
                let own = (rows.start - begin) * S::WIDTH..(rows.end - begin) * S::WIDTH;
                self.0.step(step, &from.whole(bee), rows, &mut to.own_mut(bee)[own]);
                bee.barrier();
                (from, to) = (to, from);
            }
        });
        drop((even, odd));
        let [even, odd] = arrays;
        Some(if S::STEPS % 2 == 0 { even } else { odd })
    }
}
