//! The cases: what is measured, each with a check of its own result.

mod chunks;
mod cold;
mod iterators;
mod life;
mod matmul;
mod nbody;
mod sorts;
mod tasks;
mod tsp;

use std::time::{Duration, Instant};

/// Runs a case once and returns how long the part took that counts.
pub(crate) type Iteration = Box<dyn FnMut() -> Duration>;

/// Something to measure.
pub(crate) struct Case {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// What an iteration does, on a line.
    pub(crate) what: &'static str,
    /// Makes its data.
    pub(crate) prepare: fn() -> Iteration,
}

/// All cases, in the order of the table.
pub(crate) fn all() -> Vec<Case> {
    [
        tasks::cases(),
        iterators::cases(),
        chunks::cases(),
        sorts::cases(),
        cold::cases(),
        vec![nbody::case(), tsp::case(), life::case(), matmul::case()],
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A case.
fn case(name: &'static str, what: &'static str, prepare: fn() -> Iteration) -> Case {
    Case { name, what, prepare }
}

/// How long `f` takes, and what it returns.
fn timed<R>(f: impl FnOnce() -> R) -> (Duration, R) {
    let begin = Instant::now();
    let result = f();
    (begin.elapsed(), result)
}

/// An iteration that is `f`, whose result has to be `expected`.
fn checked<R: PartialEq + std::fmt::Debug + 'static>(expected: R, mut f: impl FnMut() -> R + 'static) -> Iteration {
    Box::new(move || {
        let (time, result) = timed(&mut f);
        assert_eq!(result, expected, "the result of the case");
        time
    })
}
