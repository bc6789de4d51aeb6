//! Runs the plan: one child at a time, nothing beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cases;
use crate::catalog::{Case, RuntimeId};
use crate::effort::Effort;
use crate::kernels::sparse::Given;
use crate::launch;
use crate::plan::Step;
use crate::results::{Absent, Job, Record};
use crate::runtimes;

/// Splits what is wanted into what can be had, and what cannot and why.
pub(crate) fn what_is_there(wanted: &[RuntimeId]) -> (Vec<RuntimeId>, Vec<Absent>) {
    let (mut present, mut absent) = (Vec::new(), Vec::new());
    for &runtime in wanted {
        match runtimes::availability(runtime) {
            Ok(()) => present.push(runtime),
            Err(reason) => absent.push(Absent { runtime, reason }),
        }
    }
    (present, absent)
}

/// What holds for all children.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) effort: Effort,
    pub(crate) given: Given,
    pub(crate) poll: Option<Duration>,
}

/// How long a run takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    /// As planned.
    pub(crate) expected: Duration,
    /// At most, unless the first round takes longer than that.
    pub(crate) deadline: Option<Duration>,
}

/// Runs all steps in their order; those of later rounds only as long as there is time.
pub(crate) fn run(steps: &[Step], cpus: &[usize], terms: &Terms, time: Time) -> Vec<Record> {
    let Terms { effort, poll, .. } = *terms;
    let cases: BTreeSet<Case> = steps.iter().map(|step| step.case).collect();
    let checksums: BTreeMap<_, _> =
        cases.iter().map(|case| (*case, cases::expected_checksum(*case, &effort))).collect();
    let bar = progress_bar(steps.len(), time.expected);
    let begin = Instant::now();
    let has_time = |step: &&Step| step.round == 0 || time.deadline.is_none_or(|deadline| begin.elapsed() < deadline);
    let run_step = |step: &Step| {
        bar.set_message(format!("{}: {} of {}", step.runtime.name(), step.case.name(), step.members));
        let Step { round, case, members, runtime } = *step;
        let given = terms.given.clone();
        let job = Job { runtime, case, members, cpus: cpus.to_vec(), effort, checksum: checksums[&case], given, poll };
        let (outcome, seconds) = launch::run(&job);
        bar.inc(1);
        Record { round, runtime, case, members, seconds, outcome }
    };
    let records = steps.iter().take_while(has_time).map(run_step).collect();
    bar.finish_and_clear();
    records
}

/// On a terminal only. Drawn between children, never during one: no thread ticks.
pub(crate) fn progress_bar(steps: usize, expected: Duration) -> ProgressBar {
    let seconds = expected.as_secs() + 1;
    let template = format!("{{bar:40}} {{pos}}/{{len}}  {{elapsed}} of about {seconds}s  {{msg}}");
    let style = ProgressStyle::with_template(&template);
    let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr());
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
