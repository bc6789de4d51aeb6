//! What hive promises, against what was measured. Says which promise holds; never changes the exit code.

use std::fmt::{self, Display, Write};

use crate::catalog::{Case, RuntimeId, Unit};
use crate::figures::{Figures, Key};
use crate::results::Reference;
use crate::stats::Spread;
use crate::tables::{amount, number};

/// A promise: what was measured is at most so much.
#[derive(Clone)]
struct Promise {
    what: String,
    bound: f64,
    unit: Option<Unit>,
    measured: Option<Spread>,
}

const OPENMP: [RuntimeId; 4] =
    [RuntimeId::Libgomp, RuntimeId::LibgompActive, RuntimeId::Libomp, RuntimeId::LibompActive];

/// The promises that were put to the test, a line each.
pub(crate) fn all(figures: &Figures) -> String {
    let promises = [hot(figures), cold(figures), idle(figures), tasks(figures), sleep(figures)].concat();
    let (tested, untested): (Vec<_>, Vec<_>) = promises.iter().partition(|promise| promise.measured.is_some());
    let mut text = "what hive promises, on this machine and in this run\n".to_owned();
    for promise in tested {
        let _ = writeln!(text, "  {promise}");
    }
    if !untested.is_empty() {
        let _ = writeln!(text, "  not measured: {} more", untested.len());
    }
    text
}

fn hot(figures: &Figures) -> Vec<Promise> {
    let of = |case, members, reference| figures.to_reference(hive(case, members), reference);
    vec![
        ratio("empty region of two / round trip", 1.15, of(Case::Region, 2, Reference::RoundTrip)),
        against_rivals(figures, "empty region of two", Case::Region, &rivals()),
        ratio("barrier of two / round trip", 1.1, of(Case::Barrier, 2, Reference::RoundTrip)),
        against_rivals(figures, "barrier of two", Case::Barrier, &OPENMP),
        ratio("team of one / uncontended mutex", 2.0, of(Case::Region, 1, Reference::Mutex)),
        ratio("regions of 1, 2, 1, 2, ... / mean of the two", 1.1, of(Case::Alternate, 2, Reference::Mean)),
    ]
}

fn cold(figures: &Figures) -> Vec<Promise> {
    let mut promises = Vec::new();
    for (case, gap) in [(Case::Idle2ms, "2 ms"), (Case::Idle20ms, "20 ms"), (Case::Idle200ms, "200 ms")] {
        let key = hive(case, 2);
        let limit = figures.to_reference(key, Reference::HandOver);
        promises.push(ratio(&format!("region of two after {gap} / bare hand-over"), 1.2, limit));
        let rayon = figures.to_runtime(key, RuntimeId::RayonWorker);
        promises.push(ratio(&format!("region of two after {gap} / rayon from a worker"), 1.0, rayon));
        let hot = figures.to_runtime(Key { runtime: RuntimeId::HiveHot, ..key }, RuntimeId::ForkUnion);
        promises.push(ratio(&format!("region of two after {gap}, spinning without bound / ForkUnion"), 1.0, hot));
    }
    promises
}

fn idle(figures: &Figures) -> Vec<Promise> {
    vec![
        cpu(figures, "CPU time while idle", Case::CpuIdle, RuntimeId::Hive),
        cpu(figures, "CPU time while parked", Case::CpuParked, RuntimeId::Hive),
    ]
}

/// None that can be told, at the largest size.
fn cpu(figures: &Figures, what: &str, case: Case, runtime: RuntimeId) -> Promise {
    let sizes = figures.groups().into_iter().filter(|(of, _)| *of == case).map(|(_, members)| members);
    let measured = sizes.max().and_then(|members| figures.value(Key { case, members, runtime }));
    Promise { what: what.to_owned(), bound: 0.1, unit: Some(Unit::PercentOfCpu), measured }
}

fn tasks(figures: &Figures) -> Vec<Promise> {
    let mut promises = Vec::new();
    for members in [1, 2] {
        let key = hive(Case::JoinFib, members);
        for (rival, bound) in [(RuntimeId::RayonWorker, 0.5), (RuntimeId::Chili, 1.2)] {
            let what = format!("fib by joins, team of {members} / {}", rival.name());
            promises.push(ratio(&what, bound, figures.to_runtime(key, rival)));
        }
    }
    for (what, case) in
        [("a flood of spawns by one of two", Case::SpawnFlood), ("search of an unbalanced tree by two", Case::Steal)]
    {
        let rayon = figures.to_runtime(hive(case, 2), RuntimeId::RayonWorker);
        promises.push(ratio(&format!("{what} / rayon from a worker"), 1.0, rayon));
    }
    for (rival, bound) in [(RuntimeId::RayonOutside, 0.6), (RuntimeId::RayonWorker, 1.0)] {
        let rayon = figures.to_runtime(hive(Case::Cold, 2), rival);
        promises.push(ratio(&format!("region of two with all bees asleep / {}", rival.name()), bound, rayon));
    }
    promises
}

fn sleep(figures: &Figures) -> Vec<Promise> {
    let mut promises = Vec::new();
    for case in Case::WAKE {
        let rayon = figures.to_runtime(hive(case, 2), RuntimeId::RayonOutside);
        promises.push(ratio(
            &format!("start of a task of a team of two, {} / rayon from outside", case.name()),
            1.0,
            rayon,
        ));
    }
    for runtime in RuntimeId::ALL.iter().copied().filter(|runtime| runtime.is_hive() && *runtime != RuntimeId::HiveHot)
    {
        promises.push(cpu(
            figures,
            &format!("CPU time from 1 s after the last task on, {}", runtime.name()),
            Case::IdleUse2s,
            runtime,
        ));
    }
    promises
}

const fn hive(case: Case, members: usize) -> Key {
    Key { case, members, runtime: RuntimeId::Hive }
}

fn rivals() -> Vec<RuntimeId> {
    RuntimeId::ALL.iter().copied().filter(|runtime| !runtime.is_hive()).collect()
}

fn ratio(what: &str, bound: f64, measured: Option<Spread>) -> Promise {
    Promise { what: what.to_owned(), bound, unit: None, measured }
}

/// Against the rival that comes closest.
fn against_rivals(figures: &Figures, what: &str, case: Case, rivals: &[RuntimeId]) -> Promise {
    let against = |rival: &RuntimeId| Some((*rival, figures.to_runtime(hive(case, 2), *rival)?));
    let closest = rivals.iter().filter_map(against).max_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));
    let name = closest.map_or("any rival", |(rival, _)| rival.name());
    ratio(&format!("{what} / the best rival ({name})"), 1.0, closest.map(|(_, spread)| spread))
}

impl Promise {
    fn amount(&self, value: f64) -> String {
        self.unit.map_or_else(|| number(value), |unit| amount(value, unit))
    }
}

impl Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(measured) = self.measured else {
            return write!(f, "not measured   {}", self.what);
        };
        let verdict = if measured.median <= self.bound { "holds" } else { "DOES NOT HOLD" };
        let value = self.amount(measured.median);
        write!(f, "{verdict:<14} {}: {value}, promised {}", self.what, self.amount(self.bound))?;
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
    use crate::figures::tests::{key, record};

    #[test]
    fn tasks_are_held_against_their_rivals() {
        let of = |case, members, runtime, value| record(Key { case, members, runtime }, 0, &[value], &[]);
        let records = [
            of(Case::JoinFib, 1, RuntimeId::Hive, 5.0),
            of(Case::JoinFib, 1, RuntimeId::Chili, 4.0),
            of(Case::JoinFib, 1, RuntimeId::RayonWorker, 15.0),
            of(Case::Wake20ms, 2, RuntimeId::Hive, 70.0),
            of(Case::Wake20ms, 2, RuntimeId::RayonOutside, 50.0),
            of(Case::IdleUse2s, 2, RuntimeId::HiveTickle, 0.02),
        ];
        let text = all(&Figures::of(&records));
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
            records.push(record(key(RuntimeId::HiveHot), round, &[50.0], &reference));
            records.push(record(key(RuntimeId::ForkUnion), round, &[100.0], &reference));
            records.push(record(key(RuntimeId::Libgomp), round, &[600.0], &reference));
        }
        let text = all(&Figures::of(&records));
        assert!(text.contains("holds          empty region of two / round trip: 1.10, promised 1.15"), "{text}");
        assert!(text.contains("DOES NOT HOLD  empty region of two / the best rival (forkunion): 1.10"), "{text}");
        assert!(text.contains("not measured: "), "{text}");
    }
}
