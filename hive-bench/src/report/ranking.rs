//! The ranking: hive against the best rival, case by case. A loss is named as plainly as a win, and comes first.

use std::cmp::Ordering;

use comfy_table::Table;

use crate::catalog::{Case, RuntimeId, Unit, names};
use crate::report::figures::{Against, Figures, Key};
use crate::report::tables::{aligned, amount, number, or_dash};
use crate::stats::Spread;

/// How to read the table.
const LEGEND: &str = "\
The best rival is the one with the lowest median; rivals are all runtimes but hive's own, sequential, tbb in the
case region, because it has none, and after idleness those whose threads by default poll all the while. Ratio: how
many times as long as the rival hive took, in the same round: less than 1 is better; beside it the quartiles over
the rounds. Level: within 3 %, or rounds that do not agree on which is faster and are within 10 %. Inconclusive:
rounds that do not agree, or fewer than five within a factor of three. CPU use is measured once; below 0.3 % it
counts as 0.3 %, in idle-use 0.1 %.";

/// hive and its best rival in one case at one size.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) case: Case,
    pub(crate) threads: usize,
    /// `None` where hive failed.
    hive: Option<Spread>,
    pub(crate) rival: Option<(RuntimeId, Spread)>,
    /// hive's time as a multiple of the rival's.
    ratio: Option<Spread>,
    /// Whether one of the two takes so much longer in each round that few rounds tell.
    pub(crate) is_far: bool,
    pub(crate) relation: Relation,
}

impl Row {
    /// All cases in which hive was run, in order.
    pub(crate) fn all(figures: &Figures) -> Vec<Self> {
        figures.groups().into_iter().filter_map(|(case, threads)| Self::of(figures, case, threads)).collect()
    }

    /// One case; `None` if hive was not run in it.
    pub(crate) fn of(figures: &Figures, case: Case, threads: usize) -> Option<Self> {
        let key = Key { case, threads, runtime: RuntimeId::Hive };
        let hive = figures.has(key).then(|| figures.value(key))?;
        let rounds = hive.map_or(0, |hive| hive.rounds);
        let value = |runtime| {
            let value = figures.value(Key { runtime, ..key })?;
            // Of a rival that mostly failed, or whose costs came out negative, there is nothing to divide by.
            (value.median > 0.0 && 2 * value.rounds >= rounds || case.unit() == Unit::PercentOfCpu)
                .then_some((runtime, value))
        };
        let rivals = figures.runtimes(case, threads).filter(|runtime| runtime.is_rival(case));
        let rival = rivals.filter_map(value).min_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));
        let ratios = rival.and_then(|(rival, _)| figures.ratios(key, Against::Runtime(rival))).unwrap_or_default();
        let relation = match (hive, rival) {
            (None, _) => Relation::Failed,
            (_, None) => Relation::Alone,
            _ => Relation::of(&ratios, case.unit()),
        };
        let (ratio, is_far) = (Spread::of(&ratios), are_far(&ratios));
        Some(Self { case, threads, hive, rival, ratio, is_far, relation })
    }

    /// A case and the size of its team.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.case.name(), self.threads)
    }

    /// How many times as long as its rival hive took; zero without a ratio.
    pub(crate) fn factor(&self) -> f64 {
        self.ratio.map_or(0.0, |ratio| ratio.median)
    }

    /// Orders by how badly hive does, the worst first. A case without a rival comes last.
    pub(crate) fn worst_first(&self, other: &Self) -> Ordering {
        self.relation.cmp(&other.relation).then(other.factor().total_cmp(&self.factor()))
    }

    /// The cells of its row in the table: see `HEADER`.
    pub(crate) fn cells(&self) -> [String; 7] {
        let amount = |spread: Spread| amount(spread.median, self.case.unit());
        // A name that leaves room for the rest of a line on a screen.
        let short =
            |rival: RuntimeId| if rival == RuntimeId::HiveBesideRayon { "hive and rayon" } else { rival.name() };
        let quartiles = |ratio: Spread| match ratio.rounds {
            1 => "one round".to_owned(),
            _ => format!("{}-{}", number(ratio.lower_quartile), number(ratio.upper_quartile)),
        };
        [
            self.name(),
            or_dash(self.hive.map(amount)),
            or_dash(self.rival.map(|(rival, _)| short(rival).to_owned())),
            or_dash(self.rival.map(|(_, value)| amount(value))),
            or_dash(self.ratio.map(|ratio| number(ratio.median))),
            or_dash(self.ratio.map(quartiles)),
            self.relation.name().to_owned(),
        ]
    }
}

const HEADER: [&str; 7] = ["case/threads", "hive", "best rival", "its", "ratio", "quartiles", "hive is"];

/// A line for each row.
pub(crate) fn table<'r>(rows: impl Iterator<Item = &'r Row>) -> Table {
    aligned(HEADER, rows.map(Row::cells), &[0, 2, 6])
}

/// How often there is each relation, in one sentence.
pub(crate) fn sentence(rows: &[Row]) -> String {
    if rows.iter().all(|row| row.rival.is_none()) {
        return "hive had no ranked rival in this run.".to_owned();
    }
    let count = |relation: Relation| rows.iter().filter(|row| row.relation == relation).count();
    let usual = [Relation::Ahead, Relation::Level, Relation::Behind, Relation::Inconclusive];
    let mut counts = usual.map(|relation| format!("{} in {}", relation.name(), count(relation))).to_vec();
    if count(Relation::Failed) > 0 {
        counts.push(format!("failed in {}", count(Relation::Failed)));
    }
    format!("hive is {}.", counts.join(", "))
}

fn ranked(rows: &[Row]) -> Table {
    let mut rows: Vec<&Row> = rows.iter().filter(|row| row.rival.is_some()).collect();
    rows.sort_by_key(|row| row.relation);
    table(rows.into_iter())
}

/// For a terminal.
pub(crate) fn text(rows: &[Row]) -> String {
    let (sentence, table) = (sentence(rows), ranked(rows));
    if table.is_empty() {
        return format!("ranking: {sentence}\n");
    }
    format!("ranking: hive against the best rival, case by case\n{sentence}\n{}\n\n{LEGEND}\n", table.trim_fmt())
}

/// Fewer rounds than this are no verdict, unless all of them are far from 1.
pub(crate) const ENOUGH_ROUNDS: usize = 5;
/// So many times as long is far.
const FAR: f64 = 3.0;
/// A median this close to 1 counts as equal.
const LEVEL: f64 = 0.03;
/// So do rounds that do not agree on which is faster, if the middle half of them is this close to 1.
const ALIKE: f64 = 0.1;

names! {
    /// How hive compares with its best rival in one case, the worst first.
    Relation {
        Failed "failed";
        Behind "behind";
        Inconclusive "inconclusive";
        Level "level";
        Ahead "ahead";
        /// There is no rival that was measured.
        Alone "no rival";
    }
}

impl Relation {
    /// What the rounds say, each by the ratio of hive to its rival. CPU use hardly varies and is measured once, so one
    /// round decides.
    pub(super) fn of(ratios: &[f64], unit: Unit) -> Self {
        let Some(spread) = Spread::of(ratios) else { return Self::Inconclusive };
        let by_median = match spread.median {
            median if (median - 1.0).abs() <= LEVEL => Self::Level,
            median if median < 1.0 => Self::Ahead,
            _ => Self::Behind,
        };
        if unit == Unit::PercentOfCpu || are_far(ratios) {
            return by_median;
        }
        let is_alike = spread.lower_quartile >= 1.0 - ALIKE && spread.upper_quartile <= 1.0 + ALIKE;
        match by_median {
            _ if ratios.len() < ENOUGH_ROUNDS => Self::Inconclusive,
            Self::Ahead | Self::Behind if agree(ratios) => by_median,
            _ if is_alike => Self::Level,
            _ => Self::Inconclusive,
        }
    }
}

/// Whether one takes so much longer in each round that few rounds tell. A ratio of zero is none: it comes of a cost
/// that came out negative.
pub(crate) fn are_far(ratios: &[f64]) -> bool {
    let all = |is: fn(f64) -> bool| !ratios.is_empty() && ratios.iter().all(|ratio| is(*ratio));
    all(|ratio| ratio > FAR) || all(|ratio| ratio > 0.0 && ratio < 1.0 / FAR)
}

/// Whether the rounds agree on which is faster: all of up to eight, all but one of up to eleven, all but two of up to
/// fourteen, and so on. If both are equally fast, five rounds agree by chance once in 16 times, and more rounds once in
/// 25 at most; a case that is looked at after each round has several such chances.
fn agree(ratios: &[f64]) -> bool {
    let below = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    let above = ratios.iter().filter(|ratio| **ratio > 1.0).count();
    below.min(above) <= ratios.len().saturating_sub(6) / 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Outcome;
    use crate::report::figures::tests::{key, record};

    fn records<const N: usize>(of: impl Fn(usize) -> [(Key, f64); N]) -> Vec<crate::record::Record> {
        (0..5).flat_map(|round| of(round).map(|(key, value)| record(key, round, &[value], &[]))).collect()
    }

    #[test]
    fn losses_come_first_and_are_counted() {
        let of = |runtime, case| Key { case, ..key(runtime) };
        let figures = Figures::of(&records(|_| {
            [
                (of(RuntimeId::Hive, Case::Region), 100.0),
                (of(RuntimeId::Libomp, Case::Region), 400.0),
                (of(RuntimeId::Hive, Case::Reduce), 70.0),
                (of(RuntimeId::ForkUnion, Case::Reduce), 50.0),
            ]
        }));
        let rows = Row::all(&figures);
        assert_eq!(sentence(&rows), "hive is ahead in 1, level in 0, behind in 1, inconclusive in 0.");
        let text = text(&rows);
        let place = |name: &str| text.find(name).unwrap_or_else(|| panic!("{name} is missing: {text}"));
        assert!(place("forkunion") < place("libomp"), "{text}");
        assert!(text.contains("1.40") && text.contains("0.25"), "{text}");
    }

    #[test]
    fn hive_s_own_and_sequential_are_no_rivals() {
        let figures = Figures::of(&records(|_| {
            [
                (key(RuntimeId::Hive), 100.0),
                (key(RuntimeId::HiveSpin), 10.0),
                (key(RuntimeId::Sequential), 1.0),
                (key(RuntimeId::SequentialC), 1.0),
                (key(RuntimeId::StdScope), 300.0),
            ]
        }));
        let rows = Row::all(&figures);
        assert_eq!((rows.len(), rows[0].rival.unwrap().0), (1, RuntimeId::StdScope));
    }

    #[test]
    fn who_polls_while_the_program_is_idle_is_no_rival() {
        let of = |runtime| Key { case: Case::Idle20ms, ..key(runtime) };
        let figures = Figures::of(&records(|_| {
            [
                (of(RuntimeId::Hive), 6_000.0),
                (of(RuntimeId::ForkUnion), 300.0),
                (of(RuntimeId::LibompActive), 400.0),
                (of(RuntimeId::RayonWorker), 9_000.0),
            ]
        }));
        let row = &Row::all(&figures)[0];
        assert_eq!((row.rival.unwrap().0, row.relation), (RuntimeId::RayonWorker, Relation::Ahead));
        let hot = Figures::of(&records(|_| [(key(RuntimeId::Hive), 100.0), (key(RuntimeId::ForkUnion), 50.0)]));
        assert_eq!(Row::all(&hot)[0].relation, Relation::Behind);
    }

    #[test]
    fn cpu_use_too_small_to_measure_is_level() {
        let of = |runtime| Key { case: Case::CpuIdle, ..key(runtime) };
        let figures = Figures::of(&records(|_| {
            [
                (of(RuntimeId::Hive), 0.05),
                (of(RuntimeId::HiveSpin), 99.0),
                (of(RuntimeId::RayonWorker), 0.0),
                (of(RuntimeId::ForkUnion), 99.0),
            ]
        }));
        assert_eq!(Row::all(&figures)[0].relation, Relation::Level);
    }

    #[test]
    fn a_failure_of_hive_is_reported() {
        let mut broken = record(key(RuntimeId::Hive), 0, &[], &[]);
        broken.outcome = Outcome::Failed("gone".to_owned());
        let figures = Figures::of(&[broken, record(key(RuntimeId::Libomp), 0, &[5.0], &[])]);
        let said = sentence(&Row::all(&figures));
        assert!(said.ends_with("failed in 1."), "{said}");
    }

    fn relation(ratios: &[f64]) -> Relation {
        Relation::of(ratios, Unit::Nanoseconds)
    }

    #[test]
    fn rounds_that_agree_are_a_verdict() {
        assert_eq!(relation(&[0.5, 0.6, 0.9, 0.7, 0.8]), Relation::Ahead);
        assert_eq!(relation(&[1.2, 1.3, 2.9, 1.1, 1.4]), Relation::Behind);
        assert_eq!(relation(&[0.98, 1.0, 1.02, 1.03, 0.9]), Relation::Level);
        assert_eq!(relation(&[0.5, 0.6, 0.9, 0.7, 1.1]), Relation::Inconclusive);
        let mut nine = [1.5; 9];
        nine[4] = 0.7;
        assert_eq!((relation(&nine), relation(&nine[..8])), (Relation::Behind, Relation::Inconclusive));
    }

    #[test]
    fn few_rounds_are_none_unless_they_are_far() {
        assert_eq!(relation(&[0.5, 0.5, 0.5, 0.5]), Relation::Inconclusive);
        assert_eq!((relation(&[0.01]), relation(&[43.0, 40.0])), (Relation::Ahead, Relation::Behind));
        assert_eq!((relation(&[0.01, 0.5]), relation(&[0.0])), (Relation::Inconclusive, Relation::Inconclusive));
        assert_eq!(Relation::of(&[1.0], Unit::PercentOfCpu), Relation::Level);
    }

    #[test]
    fn rounds_that_do_not_agree_are_level_if_they_are_near() {
        assert_eq!(relation(&[0.91, 0.93, 1.0, 1.06, 1.08]), Relation::Level);
        assert_eq!(relation(&[0.7, 0.8, 0.9, 1.1, 1.3]), Relation::Inconclusive);
    }
}
