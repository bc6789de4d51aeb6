//! hive's targets, compared with what was measured. A missed target does not change the exit code.

use std::fmt::{self, Display, Write};

use crate::catalog::{Case, RuntimeId, Unit};
use crate::record::Reference;
use crate::report::figures::{Figures, Key};
use crate::report::tables::{amount, number, reference_name};
use crate::stats::Spread;

/// A target: the measured figure is at most `bound`.
#[derive(Clone)]
pub(crate) struct Target {
    /// What is compared with what, in words.
    what: String,
    /// The same by the names of cases and runtimes.
    brief: String,
    bound: f64,
    unit: Option<Unit>,
    measured: Option<Spread>,
}

/// Whether a target is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Met,
    Missed,
    /// The rounds lie on both sides of the bound, or there are fewer than three.
    Inconclusive,
    NotMeasured,
}

const OPENMP: [RuntimeId; 4] =
    [RuntimeId::Libgomp, RuntimeId::LibgompActive, RuntimeId::Libomp, RuntimeId::LibompActive];

/// All targets, whether or not they were measured.
pub(crate) fn all(figures: &Figures) -> Vec<Target> {
    [polling(figures), after_idleness(figures), idle(figures), tasks(figures), sleep(figures)].concat()
}

/// The targets that were measured, a line each.
pub(crate) fn text(figures: &Figures) -> String {
    let targets = all(figures);
    let (tested, untested): (Vec<_>, Vec<_>) = targets.iter().partition(|target| target.measured.is_some());
    let mut text = "what hive promises, on this machine and in this run\n".to_owned();
    for target in tested {
        let _ = writeln!(text, "  {target}");
    }
    if !untested.is_empty() {
        let _ = writeln!(text, "  not measured: {} more", untested.len());
    }
    text
}

fn polling(figures: &Figures) -> Vec<Target> {
    let of = |what: &str, bound, (case, threads), reference| {
        to_reference(figures, what, bound, hive(case, threads), reference)
    };
    let (region, barrier) = ((Case::Region, 2), (Case::Barrier, 2));
    vec![
        of("empty region of two / round trip", 1.15, region, Reference::RoundTrip),
        to_best_rival(figures, "empty region of two", Case::Region, &rivals()),
        of("barrier of two / round trip", 1.1, barrier, Reference::RoundTrip),
        to_best_rival(figures, "barrier of two", Case::Barrier, &OPENMP),
        of("team of one / uncontended mutex", 2.0, (Case::Region, 1), Reference::Mutex),
        of("regions of 1, 2, 1, 2, ... / mean of the two", 1.1, (Case::AlternatingSizes, 2), Reference::Mean),
    ]
}

fn after_idleness(figures: &Figures) -> Vec<Target> {
    let mut targets = Vec::new();
    for (case, gap) in [(Case::Idle2ms, "2 ms"), (Case::Idle20ms, "20 ms"), (Case::Idle200ms, "200 ms")] {
        let key = hive(case, 2);
        let spinning = Key { runtime: RuntimeId::HiveSpin, ..key };
        let region = format!("region of two after {gap}");
        targets.push(to_reference(figures, &format!("{region} / bare hand-over"), 1.2, key, Reference::HandOver));
        targets.push(to_runtime(figures, &format!("{region} / rayon from a worker"), 1.0, key, RuntimeId::RayonWorker));
        let what = format!("{region}, spinning without bound / ForkUnion");
        targets.push(to_runtime(figures, &what, 1.0, spinning, RuntimeId::ForkUnion));
    }
    targets
}

fn idle(figures: &Figures) -> Vec<Target> {
    vec![
        cpu(figures, "CPU time while idle", Case::CpuIdle, RuntimeId::Hive),
        cpu(figures, "CPU time while parked", Case::CpuParked, RuntimeId::Hive),
    ]
}

fn tasks(figures: &Figures) -> Vec<Target> {
    let mut targets = Vec::new();
    for threads in [1, 2] {
        for (rival, bound) in [(RuntimeId::RayonWorker, 0.5), (RuntimeId::Chili, 1.2)] {
            let what = format!("fib by joins, team of {threads} / {}", rival.name());
            targets.push(to_runtime(figures, &what, bound, hive(Case::JoinFib, threads), rival));
        }
    }
    let spawns = ("spawns by one of two", Case::SpawnSingle);
    for (what, case) in [spawns, ("search of an unbalanced tree by two", Case::TreeSearch)] {
        let what = format!("{what} / rayon from a worker");
        targets.push(to_runtime(figures, &what, 1.0, hive(case, 2), RuntimeId::RayonWorker));
    }
    for (rival, bound) in [(RuntimeId::RayonOutside, 0.6), (RuntimeId::RayonWorker, 1.0)] {
        let what = format!("region of two with all bees asleep / {}", rival.name());
        targets.push(to_runtime(figures, &what, bound, hive(Case::IdleAsleep, 2), rival));
    }
    targets
}

fn sleep(figures: &Figures) -> Vec<Target> {
    let start = |case: Case| {
        let what = format!("start of a task of a team of two, {} / rayon from outside", case.name());
        to_runtime(figures, &what, 1.0, hive(case, 2), RuntimeId::RayonOutside)
    };
    let use_of = |runtime: RuntimeId| {
        let what = format!("CPU time from 1 s after the last task on, {}", runtime.name());
        cpu(figures, &what, Case::IdleUse2s, runtime)
    };
    let sleepers = RuntimeId::ALL
        .iter()
        .copied()
        .filter(|runtime| runtime.is_hive() && runtime.can(Case::IdleUse2s) && *runtime != RuntimeId::HiveSpin);
    Case::WAKE.into_iter().map(start).chain(sleepers.map(use_of)).collect()
}

const fn hive(case: Case, threads: usize) -> Key {
    Key { case, threads, runtime: RuntimeId::Hive }
}

fn rivals() -> Vec<RuntimeId> {
    RuntimeId::ALL.iter().copied().filter(|runtime| !runtime.is_hive()).collect()
}

/// What a target is about, by the names of cases and runtimes.
fn brief(key: Key, against: Option<&str>) -> String {
    let runtime = if key.runtime == RuntimeId::Hive { String::new() } else { format!(" of {}", key.runtime.name()) };
    let against = against.map_or_else(String::new, |against| format!(" vs {against}"));
    format!("{}/{}{runtime}{against}", key.case.name(), key.threads)
}

/// As a multiple of what the same process measured.
fn to_reference(figures: &Figures, what: &str, bound: f64, key: Key, reference: Reference) -> Target {
    let brief = brief(key, Some(reference_name(reference)));
    Target { what: what.to_owned(), brief, bound, unit: None, measured: figures.to_reference(key, reference) }
}

/// As a multiple of what a rival took in the same round.
fn to_runtime(figures: &Figures, what: &str, bound: f64, key: Key, rival: RuntimeId) -> Target {
    let brief = brief(key, Some(rival.name()));
    Target { what: what.to_owned(), brief, bound, unit: None, measured: figures.to_runtime(key, rival) }
}

/// Against the rival that comes closest.
fn to_best_rival(figures: &Figures, what: &str, case: Case, rivals: &[RuntimeId]) -> Target {
    let key = hive(case, 2);
    let against = |rival: &RuntimeId| Some((*rival, figures.to_runtime(key, *rival)?));
    let closest = rivals.iter().filter_map(against).max_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));
    let name = closest.map_or("any rival", |(rival, _)| rival.name());
    let what = format!("{what} / the best rival ({name})");
    Target { what, brief: brief(key, Some(name)), bound: 1.0, unit: None, measured: closest.map(|(_, spread)| spread) }
}

/// CPU use at the largest size, which should be too small to measure.
fn cpu(figures: &Figures, what: &str, case: Case, runtime: RuntimeId) -> Target {
    let sizes = figures.groups().into_iter().filter(|(of, _)| *of == case).map(|(_, threads)| threads);
    let key = sizes.max().map(|threads| Key { case, threads, runtime });
    let brief = key.map_or_else(|| case.name().to_owned(), |key| brief(key, None));
    let measured = key.and_then(|key| figures.value(key));
    Target { what: what.to_owned(), brief, bound: 0.1, unit: Some(Unit::PercentOfCpu), measured }
}

impl Target {
    /// CPU use hardly varies and is measured once, so one round decides.
    pub(crate) fn state(&self) -> State {
        match self.measured {
            None => State::NotMeasured,
            Some(measured) if measured.straddles(self.bound) => State::Inconclusive,
            Some(measured) if measured.rounds < 3 && self.unit.is_none() => State::Inconclusive,
            Some(measured) if measured.median <= self.bound => State::Met,
            Some(_) => State::Missed,
        }
    }

    /// Whether the median is beyond the bound, however certain that is.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.measured.is_some_and(|measured| measured.median > self.bound)
    }

    /// By the names of cases and runtimes, for a narrow screen.
    pub(crate) fn in_brief(&self) -> String {
        let measured = self.measured.map_or_else(|| "not measured".to_owned(), |measured| self.amount(measured.median));
        let spread = self.measured.filter(|measured| measured.rounds > 1).map_or_else(String::new, |measured| {
            format!(" ({}-{})", self.amount(measured.lower_quartile), self.amount(measured.upper_quartile))
        });
        format!("{}: {measured}{spread}, bound {}", self.brief, self.amount(self.bound))
    }

    fn amount(&self, value: f64) -> String {
        self.unit.map_or_else(|| number(value), |unit| amount(value, unit))
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(measured) = self.measured else {
            return write!(f, "not measured   {}", self.what);
        };
        let state = if measured.median <= self.bound { "holds" } else { "DOES NOT HOLD" };
        let value = self.amount(measured.median);
        write!(f, "{state:<14} {}: {value}, promised {}", self.what, self.amount(self.bound))?;
        if measured.straddles(self.bound) {
            let (lower, upper) = (self.amount(measured.lower_quartile), self.amount(measured.upper_quartile));
            write!(f, " (the rounds disagree: {lower} - {upper})")?;
        } else if measured.rounds < 3 && self.unit.is_none() {
            write!(f, " (fewer than three rounds)")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::tests::{key, record};

    #[test]
    fn tasks_are_held_against_their_rivals() {
        let of = |case, threads, runtime, value| record(Key { case, threads, runtime }, 0, &[value], &[]);
        let records = [
            of(Case::JoinFib, 1, RuntimeId::Hive, 5.0),
            of(Case::JoinFib, 1, RuntimeId::Chili, 4.0),
            of(Case::JoinFib, 1, RuntimeId::RayonWorker, 15.0),
            of(Case::Wake20ms, 2, RuntimeId::Hive, 70.0),
            of(Case::Wake20ms, 2, RuntimeId::RayonOutside, 50.0),
            of(Case::IdleUse2s, 2, RuntimeId::HiveTickle, 0.02),
        ];
        let text = text(&Figures::of(&records));
        assert!(text.contains("holds          fib by joins, team of 1 / rayon-worker: 0.33, promised 0.50"), "{text}");
        assert!(text.contains("DOES NOT HOLD  fib by joins, team of 1 / chili: 1.25, promised 1.20"), "{text}");
        assert!(
            text.contains("DOES NOT HOLD  start of a task of a team of two, wake-20ms / rayon from outside: 1.40"),
            "{text}"
        );
        assert!(text.contains("hive-tickle: 0.020 %, promised 0.100 %"), "{text}");
    }

    #[test]
    fn the_closest_rival_decides() {
        let reference = [(Reference::RoundTrip, 100.0)];
        let mut records = Vec::new();
        for round in 0..3 {
            records.push(record(key(RuntimeId::Hive), round, &[110.0], &reference));
            records.push(record(key(RuntimeId::HiveSpin), round, &[50.0], &reference));
            records.push(record(key(RuntimeId::ForkUnion), round, &[100.0], &reference));
            records.push(record(key(RuntimeId::Libgomp), round, &[600.0], &reference));
        }
        let text = text(&Figures::of(&records));
        assert!(text.contains("holds          empty region of two / round trip: 1.10, promised 1.15"), "{text}");
        assert!(text.contains("DOES NOT HOLD  empty region of two / the best rival (forkunion): 1.10"), "{text}");
        assert!(text.contains("not measured: "), "{text}");
    }

    #[test]
    fn a_target_is_met_or_missed_only_where_the_rounds_agree() {
        let target = |measured: &[f64]| {
            let region = hive(Case::Region, 2);
            let measured = Spread::of(measured);
            Target { what: String::new(), brief: brief(region, Some("forkunion")), bound: 1.0, unit: None, measured }
        };
        let missed = target(&[1.2, 1.3, 1.4]);
        assert_eq!((missed.state(), missed.is_exceeded()), (State::Missed, true));
        assert_eq!(missed.in_brief(), "region/2 vs forkunion: 1.30 (1.25-1.35), bound 1.00");
        assert_eq!(target(&[0.8, 0.9, 0.9]).state(), State::Met);
        assert_eq!(target(&[0.8, 1.1, 1.4]).state(), State::Inconclusive);
        assert_eq!((target(&[5.0]).state(), target(&[5.0]).is_exceeded()), (State::Inconclusive, true));
        assert_eq!(target(&[]).state(), State::NotMeasured);
    }
}
