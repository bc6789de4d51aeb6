//! What a reader must know before any figure: what is absent, what failed, and what disturbed the run.

use std::collections::BTreeMap;

use crate::record::{Outcome, Record, Run};

/// The runtimes that could not be had, those with one reason together.
pub(super) fn absent(run: &Run) -> Vec<String> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for absent in &run.absent {
        reasons.entry(&absent.reason).or_default().push(absent.runtime.name());
    }
    reasons.iter().map(|(reason, names)| format!("absent: {}: {reason}", names.join(", "))).collect()
}

/// Failed runners, threads on the wrong CPU, a time that was too short, a machine that was not idle.
pub(crate) fn troubles(run: &Run) -> Vec<String> {
    let cpus = &run.machine.cpus;
    let mut notes: Vec<String> = run.records.iter().filter_map(|record| trouble(record, cpus)).collect();
    notes.sort();
    notes.dedup();
    if run.undecided > 0 {
        notes.push(format!("note: the time was over before {} cases were decided", run.undecided));
    }
    notes.extend(run.disturbance.warnings().into_iter().map(|warning| format!("warning: {warning}")));
    notes
}

fn trouble(record: &Record, cpus: &[usize]) -> Option<String> {
    let who = format!("{} {} of {}", record.runtime.name(), record.case.name(), record.threads);
    match &record.outcome {
        Outcome::Failed(reason) => Some(format!("failed: {who}: {reason}")),
        Outcome::Measured(measured) => {
            let seen_on = &measured.seen_on;
            let is_anywhere = || !record.runtime.has_regions() && seen_on.iter().all(|cpu| cpus.contains(cpu));
            let misplaced = record.runtime.is_pinned() && !cpus.starts_with(seen_on) && !is_anywhere();
            misplaced.then(|| format!("warning: {who}: threads ran on CPUs {seen_on:?}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::RuntimeId;
    use crate::report::figures::tests::{key, record};

    #[test]
    fn a_failure_and_a_wrong_place_are_reported() {
        let mut broken = record(key(RuntimeId::ForkUnion), 0, &[], &[]);
        broken.outcome = Outcome::Failed("gone".to_owned());
        assert_eq!(trouble(&broken, &[0, 1]).unwrap(), "failed: forkunion region of 2: gone");

        let mut squeezed = record(key(RuntimeId::Libomp), 0, &[1.0], &[]);
        if let Outcome::Measured(measured) = &mut squeezed.outcome {
            measured.seen_on = vec![0, 0];
        }
        assert!(trouble(&squeezed, &[0, 1]).unwrap().contains("[0, 0]"));
        assert_eq!(trouble(&squeezed, &[0, 0]), None);
        // Its parts may run anywhere in the team.
        squeezed.runtime = RuntimeId::Tbb;
        assert_eq!(trouble(&squeezed, &[0, 1]), None);
        assert!(trouble(&squeezed, &[1, 2]).unwrap().contains("[0, 0]"));
    }
}
