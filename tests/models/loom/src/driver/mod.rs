//! Runs the models, and the mutants against the models, each in a process of its own.
//!
//! `main` calls this for `models` and `mutants`. A model passes if loom finds nothing; a mutant passes if some model
//! rejects it.

mod child;
mod hints;
mod pool;

use std::time::{Duration, Instant};

use child::{Limits, Outcome};

use crate::models::{self, Model};
use crate::mutation::{self, Mutant};

/// The models that take longest. They begin first, so that none of them runs alone at the end.
const LONGEST_MODELS: [&str; 5] =
    ["task_wake_range", "sleep_two", "handler_grow", "task_inside_spin_two", "task_inside_spin_both"];
/// Far more than any model takes.
const MODEL_TIME: Duration = Duration::from_secs(300);
/// For one model with few preemptions and one mutant.
const TRIAL_TIME: Duration = Duration::from_secs(60);
/// For one model as it is and one mutant.
const FULL_TRIAL_TIME: Duration = Duration::from_secs(120);
/// How many models are tried first on a mutant, in the order of the hints, and for how long each.
const LIKELY_MODELS: usize = 4;
const LIKELY_TIME: Duration = Duration::from_secs(5);

/// Runs all models whose names contain `filter`. Returns whether all passed.
pub(crate) fn run_models(filter: &str) -> bool {
    let mut models: Vec<_> = models::all().into_iter().filter(|model| model.name.contains(filter)).collect();
    models.sort_by_key(|model| !LONGEST_MODELS.contains(&model.name));
    let limits = Limits { preemptions: None, time: MODEL_TIME };
    let passed = pool::map(&models, |model| match child::run(model.name, None, limits) {
        Outcome::Passed(said) => {
            println!("ok      {:22} {said}", model.name);
            true
        }
        Outcome::Rejected(reason) | Outcome::Broken(reason) => {
            println!("FAILED  {:22} {reason}", model.name);
            false
        }
    });
    summary("models", &passed)
}

/// Runs each mutant whose name contains `filter` until a model rejects it. Returns whether all were rejected, and
/// whether each line of the lists that say something about mutants still says it about one that there is.
pub(crate) fn run_mutants(filter: &str) -> bool {
    let all = mutation::all();
    let stale = [hints::stale(&all), mutation::stale(&all)].concat();
    stale.iter().for_each(|line| println!("STALE     {line}"));
    let (spared, mutants): (Vec<_>, Vec<_>) =
        all.into_iter().filter(|mutant| mutant.name.contains(filter)).partition(|mutant| mutant.skip_reason.is_some());
    for mutant in &spared {
        println!("spared    {:8} {:44} {}", mutant.kind, mutant.name, mutant.skip_reason.unwrap_or_default());
    }
    let passed = pool::map(&mutants, run_mutant);
    summary("mutants", &passed) && stale.is_empty()
}

fn summary(what: &str, passed: &[bool]) -> bool {
    let failed = passed.iter().filter(|passed| !**passed).count();
    println!("{what}: {} passed, {failed} failed", passed.len() - failed);
    failed == 0
}

fn run_mutant(mutant: &Mutant) -> bool {
    let start = Instant::now();
    let mut troubles = Vec::new();
    for (model, limits) in trials(mutant) {
        match child::run(model.name, Some(&mutant.name), limits) {
            Outcome::Passed(_) => {}
            Outcome::Rejected(reason) => {
                let seconds = start.elapsed().as_secs_f64();
                println!(
                    "killed    {:8} {:44} {seconds:5.1} s by {}: {}",
                    mutant.kind,
                    mutant.name,
                    model.name,
                    first_words(&reason)
                );
                return true;
            }
            Outcome::Broken(reason) => troubles.push(format!("; {}: {}", model.name, first_words(&reason))),
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("SURVIVED  {:8} {:44} {seconds:5.1} s{}", mutant.kind, mutant.name, troubles.concat());
    false
}

/// Returns the models to try, in order, with their limits: the few that are most likely to reject the mutant, with one
/// preemption, with two, and as they are; then all models in the same way, for longer.
fn trials(mutant: &Mutant) -> Vec<(Model, Limits)> {
    let models = hints::in_order(mutant);
    let likely = &models[..LIKELY_MODELS];
    let rounds = [
        with_preemptions(likely, 1, LIKELY_TIME),
        with_preemptions(likely, 2, LIKELY_TIME),
        as_they_are(likely, LIKELY_TIME),
        with_preemptions(&models, 1, TRIAL_TIME),
        with_preemptions(&models, 2, TRIAL_TIME),
        as_they_are(&models, FULL_TRIAL_TIME),
    ];
    rounds.concat()
}

fn as_they_are(models: &[Model], time: Duration) -> Vec<(Model, Limits)> {
    models.iter().map(|model| (*model, Limits { preemptions: None, time })).collect()
}

/// The models that are explored with so many preemptions or more, limited to that many.
fn with_preemptions(models: &[Model], preemptions: usize, time: Duration) -> Vec<(Model, Limits)> {
    let limits = Limits { preemptions: Some(preemptions), time };
    let explored = models.iter().filter(|model| model.preemptions.is_none_or(|own| own >= preemptions));
    explored.map(|model| (*model, limits)).collect()
}

fn first_words(reason: &str) -> String {
    const MOST: usize = 110;
    let mut words: String = reason.chars().take(MOST).collect();
    if words.len() < reason.len() {
        words.push_str("...");
    }
    words
}
