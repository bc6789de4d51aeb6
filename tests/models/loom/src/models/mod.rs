//! The models. Each is a small script for a hive, which loom runs in every order of steps that the model's bound on
//! preemptions allows.

mod barrier;
mod caller_latch;
mod deadlock;
mod end;
mod exchange;
mod groups;
mod latecomers;
mod loops;
mod panics;
mod queen_lock;
mod resize;
mod scopes;
mod signals;
mod start;
mod tasks;
mod wait_until_parked;
mod waits;
mod work_ranges;
mod worker_start;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::exploration;
use crate::failure;
use crate::mutation;
use crate::sync::with_states;

/// A script, and how far it is explored.
#[derive(Clone, Copy)]
pub(crate) struct Model {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// The most preemptions in one execution. None: all executions are run.
    pub(crate) preemptions: Option<usize>,
    pub(crate) script: fn(),
}

impl Model {
    /// A script that is run in every order.
    const fn exhaustive(name: &'static str, description: &'static str, script: fn()) -> Self {
        Self { name, description, preemptions: None, script }
    }

    /// A script that is run in every order with up to `preemptions` preemptions.
    const fn bounded(preemptions: usize, name: &'static str, description: &'static str, script: fn()) -> Self {
        Self { name, description, preemptions: Some(preemptions), script }
    }
}

/// Returns all models.
pub(crate) fn all() -> Vec<Model> {
    let groups = [
        start::MODELS,
        barrier::MODELS,
        groups::MODELS,
        panics::MODELS,
        resize::MODELS,
        wait_until_parked::MODELS,
        end::MODELS,
        latecomers::MODELS,
        worker_start::MODELS,
        queen_lock::MODELS,
        waits::MODELS,
        tasks::MODELS,
        caller_latch::MODELS,
        scopes::MODELS,
        exchange::MODELS,
        signals::MODELS,
        deadlock::MODELS,
        work_ranges::MODELS,
        loops::MODELS,
    ];
    groups.into_iter().flatten().copied().collect()
}

/// Runs the model called `name` in this process, and prints how many executions it took.
pub(crate) fn run(name: &str) {
    static EXECUTIONS: AtomicU64 = AtomicU64::new(0);
    let models = all();
    let model = models.iter().find(|model| model.name == name).unwrap_or_else(|| panic!("no model is called {name:?}"));
    failure::install_panic_hook();
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 20_000;
    builder.expect_explicit_explore = true;
    if builder.preemption_bound.is_none() {
        builder.preemption_bound = model.preemptions;
    }
    let script = model.script;
    let start = Instant::now();
    builder.check(move || {
        with_states(Vec::clear);
        exploration::reset();
        script();
        EXECUTIONS.fetch_add(1, Ordering::Relaxed);
    });
    let executions = EXECUTIONS.load(Ordering::Relaxed);
    assert!(executions > 0, "no execution came to its end");
    let hits = mutation::hits().map(|hits| format!(", the broken operation ran {hits} times")).unwrap_or_default();
    println!("{executions} executions in {:.1} s{hits}", start.elapsed().as_secs_f64());
}
