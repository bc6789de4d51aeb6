//! hive's targets, compared with what was measured. A missed target does not change the exit code.

use std::fmt::{self, Display, Write};

use crate::catalog::{Case, RuntimeId, Unit, names};
use crate::record::Reference;
use crate::report::figures::{Against, Figures, Key, least};
use crate::report::tables::{amount, number};
use crate::stats::Spread;

/// A target: the measured figure is at most `bound`.
#[derive(Clone)]
pub(crate) struct Target {
    /// What is compared with what, by the names of cases and runtimes.
    name: String,
    bound: f64,
    unit: Option<Unit>,
    measured: Option<Spread>,
}

names! {
    /// Whether a target is met.
    State {
        Met "holds";
        Missed "DOES NOT HOLD";
        /// The rounds lie on both sides of the bound, or there are fewer than three.
        Inconclusive "inconclusive";
        NotMeasured "not measured";
    }
}

/// All targets, whether or not they were measured.
pub(crate) fn all(figures: &Figures) -> Vec<Target> {
    let to = |key, reference, bound| Target::of(figures, key, Against::Reference(reference), bound);
    let beside = |key, rival, bound| Target::of(figures, key, Against::Runtime(rival), bound);
    let two = |case| hive(case, 2);
    let mut targets = vec![
        to(two(Case::Region), Reference::RoundTrip, 1.15),
        Target::beside_the_best(figures, Case::Region, |rival| rival.is_rival(Case::Region)),
        to(two(Case::Barrier), Reference::RoundTrip, 1.1),
        Target::beside_the_best(figures, Case::Barrier, RuntimeId::is_openmp),
        to(hive(Case::Region, 1), Reference::Mutex, 2.0),
        to(two(Case::AlternatingSizes), Reference::Mean, 1.1),
    ];
    for case in [Case::Idle2ms, Case::Idle20ms, Case::Idle200ms] {
        targets.push(to(two(case), Reference::HandOver, 1.2));
        targets.push(beside(two(case), RuntimeId::RayonWorker, 1.0));
        targets.push(beside(Key { runtime: RuntimeId::HiveSpin, ..two(case) }, RuntimeId::ForkUnion, 1.0));
    }
    targets.extend([Case::CpuIdle, Case::CpuParked].map(|case| Target::no_use(figures, case, RuntimeId::Hive)));
    for threads in [1, 2] {
        targets.push(beside(hive(Case::JoinFib, threads), RuntimeId::RayonWorker, 0.5));
        targets.push(beside(hive(Case::JoinFib, threads), RuntimeId::Chili, 1.2));
    }
    targets.push(beside(two(Case::SpawnSingle), RuntimeId::RayonWorker, 1.0));
    targets.push(beside(two(Case::TreeSearch), RuntimeId::RayonWorker, 1.0));
    targets.push(beside(two(Case::IdleAsleep), RuntimeId::RayonOutside, 0.6));
    targets.push(beside(two(Case::IdleAsleep), RuntimeId::RayonWorker, 1.0));
    targets.extend(Case::all_of("wake").map(|case| beside(two(case), RuntimeId::RayonOutside, 1.0)));
    let sleepers = [RuntimeId::Hive, RuntimeId::HiveTickle, RuntimeId::HiveNotify];
    targets.extend(sleepers.map(|runtime| Target::no_use(figures, Case::IdleUse2s, runtime)));
    targets
}

/// The targets that were measured, a line each.
pub(crate) fn text(figures: &Figures) -> String {
    let mut text = "what hive promises, on this machine and in this run\n".to_owned();
    let all = all(figures);
    let (untested, tested): (Vec<_>, Vec<_>) = all.iter().partition(|target| target.state() == State::NotMeasured);
    for target in tested {
        let _ = writeln!(text, "  {:<14} {target}", target.state().name());
    }
    if !untested.is_empty() {
        let _ = writeln!(text, "  not measured: {} more", untested.len());
    }
    text
}

const fn hive(case: Case, threads: usize) -> Key {
    Key { case, threads, runtime: RuntimeId::Hive }
}

fn name(key: Key, against: Option<&str>) -> String {
    let runtime = if key.runtime == RuntimeId::Hive { String::new() } else { format!(" of {}", key.runtime.name()) };
    let against = against.map_or_else(String::new, |against| format!(" vs {against}"));
    format!("{}/{}{runtime}{against}", key.case.name(), key.threads)
}

impl Target {
    fn of(figures: &Figures, key: Key, against: Against, bound: f64) -> Self {
        Self { name: name(key, Some(&against.name())), bound, unit: None, measured: figures.ratio(key, against) }
    }

    /// Against the rival that comes closest.
    fn beside_the_best(figures: &Figures, case: Case, is_rival: impl Fn(RuntimeId) -> bool) -> Self {
        let key = hive(case, 2);
        let rivals = RuntimeId::ALL.iter().copied().filter(|rival| is_rival(*rival));
        let against = rivals.map(|rival| Self::of(figures, key, Against::Runtime(rival), 1.0));
        let median = |target: &Self| target.measured.map_or(f64::NEG_INFINITY, |measured| measured.median);
        against.max_by(|one, other| median(one).total_cmp(&median(other))).expect("there are rivals")
    }

    /// CPU use at the largest size.
    fn no_use(figures: &Figures, case: Case, runtime: RuntimeId) -> Self {
        let key = Key { case, threads: figures.largest(case).unwrap_or_default(), runtime };
        Self { name: name(key, None), bound: least(case), unit: Some(case.unit()), measured: figures.value(key) }
    }

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
}

impl Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = |value| self.unit.map_or_else(|| number(value), |unit| amount(value, unit));
        let Some(measured) = self.measured else {
            return write!(f, "{}: not measured", self.name);
        };
        write!(f, "{}: {}", self.name, amount(measured.median))?;
        if measured.rounds > 1 {
            write!(f, " ({}-{})", amount(measured.lower_quartile), amount(measured.upper_quartile))?;
        }
        write!(f, ", promised {}", amount(self.bound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::tests::record;

    /// Three rounds of each.
    fn text_of(of: &[(Case, usize, RuntimeId, f64)]) -> String {
        let record = |round, &(case, threads, runtime, value): &(Case, usize, RuntimeId, f64)| {
            record(Key { case, threads, runtime }, round, &[value], &[(Reference::RoundTrip, 100.0)])
        };
        let records: Vec<_> = (0..3).flat_map(|round| of.iter().map(move |of| record(round, of))).collect();
        text(&Figures::of(&records))
    }

    #[test]
    fn tasks_are_held_against_their_rivals() {
        let text = text_of(&[
            (Case::JoinFib, 1, RuntimeId::Hive, 5.0),
            (Case::JoinFib, 1, RuntimeId::Chili, 4.0),
            (Case::JoinFib, 1, RuntimeId::RayonWorker, 15.0),
            (Case::Wake20ms, 2, RuntimeId::Hive, 70.0),
            (Case::Wake20ms, 2, RuntimeId::RayonOutside, 50.0),
            (Case::IdleUse2s, 2, RuntimeId::HiveTickle, 0.02),
        ]);
        for line in [
            "holds          join-fib/1 vs rayon-worker: 0.33 (0.33-0.33), promised 0.50",
            "DOES NOT HOLD  join-fib/1 vs chili: 1.25 (1.25-1.25), promised 1.20",
            "DOES NOT HOLD  wake-20ms/2 vs rayon-outside: 1.40 (1.40-1.40), promised 1.00",
            "holds          idle-use-2s/2 of hive-tickle: 0.020 %",
        ] {
            assert!(text.contains(line), "{line} is missing: {text}");
        }
    }

    #[test]
    fn the_closest_rival_decides() {
        let text = text_of(&[
            (Case::Region, 2, RuntimeId::Hive, 110.0),
            (Case::Region, 2, RuntimeId::HiveSpin, 50.0),
            (Case::Region, 2, RuntimeId::ForkUnion, 100.0),
            (Case::Region, 2, RuntimeId::Libgomp, 600.0),
        ]);
        assert!(text.contains("holds          region/2 vs round trip: 1.10 (1.10-1.10), promised 1.15"), "{text}");
        assert!(text.contains("DOES NOT HOLD  region/2 vs forkunion: 1.10 (1.10-1.10)"), "{text}");
        assert!(text.contains("not measured: "), "{text}");
    }

    #[test]
    fn a_target_is_met_or_missed_only_where_the_rounds_agree() {
        let target = |measured: &[f64]| {
            let name = name(hive(Case::Region, 2), Some("forkunion"));
            Target { name, bound: 1.0, unit: None, measured: Spread::of(measured) }
        };
        let missed = target(&[1.2, 1.3, 1.4]);
        assert_eq!((missed.state(), missed.is_exceeded()), (State::Missed, true));
        assert_eq!(missed.to_string(), "region/2 vs forkunion: 1.30 (1.25-1.35), promised 1.00");
        assert_eq!(target(&[0.8, 0.9, 0.9]).state(), State::Met);
        assert_eq!(target(&[0.8, 1.1, 1.4]).state(), State::Inconclusive);
        assert_eq!((target(&[5.0]).state(), target(&[5.0]).is_exceeded()), (State::Inconclusive, true));
        assert_eq!(target(&[]).state(), State::NotMeasured);
    }
}
