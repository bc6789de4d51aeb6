//! The ranking: hive against the best rival, case by case. A loss is named as plainly as a win, and comes first.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use crate::catalog::{Case, RuntimeId};
use crate::report::figures::{Figures, Key};
use crate::report::tables::{amount, number};
use crate::stats::{Doubt, Spread};

/// A ratio this close to 1 counts as equal.
const LEVEL: f64 = 0.03;

pub(crate) const TITLE: &str = "hive against the best rival, case by case";

/// How to read the table.
pub(crate) const LEGEND: &str = "\
The best rival is the one with the lowest median; rivals are all runtimes but hive's own and sequential.
\"x rival\": how many times as long as the rival hive took, in the same round: less than 1 is better; beside
it the middle half of the rounds. Level: within 3 %. Inconclusive: fewer than three rounds, or rounds that do not
agree on which is faster. CPU use below 0.1 % counts as 0.1 %.";

/// How hive compares with its best rival in one case, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Relation {
    Failed,
    Behind,
    Inconclusive,
    Level,
    Ahead,
}

impl Relation {
    const ALL: [Self; 5] = [Self::Ahead, Self::Level, Self::Behind, Self::Inconclusive, Self::Failed];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Behind => "behind",
            Self::Inconclusive => "inconclusive",
            Self::Level => "level",
            Self::Ahead => "ahead",
        }
    }

    /// What a ratio of hive to its rival says; `None` stands for a hive that failed.
    fn of(ratio: Option<Spread>) -> Self {
        let Some(ratio) = ratio else {
            return Self::Failed;
        };
        let near = |value: f64| (value - 1.0).abs() <= LEVEL;
        match ratio.doubt_as_comparison() {
            Some(Doubt::FewRounds) => Self::Inconclusive,
            _ if near(ratio.lower_quartile) && near(ratio.upper_quartile) => Self::Level,
            Some(Doubt::Straddles) => Self::Inconclusive,
            _ if near(ratio.median) => Self::Level,
            _ if ratio.median < 1.0 => Self::Ahead,
            _ => Self::Behind,
        }
    }
}

/// hive and its best rival in one case at one size.
#[derive(Clone, Debug)]
pub(crate) struct Ranked {
    pub(crate) case: Case,
    pub(crate) threads: usize,
    /// `None` where hive failed.
    pub(crate) hive: Option<Spread>,
    pub(crate) rival: RuntimeId,
    pub(crate) rival_value: Spread,
    /// hive's time as a multiple of the rival's.
    pub(crate) ratio: Option<Spread>,
    pub(crate) relation: Relation,
}

impl Ranked {
    /// `None` where hive was not run, or no rival has a figure.
    pub(crate) fn of(figures: &Figures, case: Case, threads: usize) -> Option<Self> {
        let hive = Key { case, threads, runtime: RuntimeId::Hive };
        let has_hive = figures.runtimes(case, threads).contains(&RuntimeId::Hive);
        let (rival, rival_value) = best_rivals(figures, case, threads).into_iter().next().filter(|_| has_hive)?;
        let ratio = figures.to_runtime(hive, rival);
        let value = figures.value(hive);
        // The cost of a construct can come out negative, when the machine changes its pace meanwhile. Then there is no
        // ratio.
        let relation = if ratio.is_none() && value.is_some() { Relation::Inconclusive } else { Relation::of(ratio) };
        Some(Self { case, threads, hive: value, rival, rival_value, ratio, relation })
    }

    /// The cells of its row in the table.
    pub(crate) fn cells(&self) -> [String; 8] {
        let amount = |value: f64| amount(value, self.case.unit());
        let spread = |spread: Spread| match spread.rounds {
            1 => "one round".to_owned(),
            _ => format!("{} - {}", number(spread.lower_quartile), number(spread.upper_quartile)),
        };
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        [
            self.case.name().to_owned(),
            self.threads.to_string(),
            or_dash(self.hive.map(|hive| amount(hive.median))),
            self.rival.name().to_owned(),
            amount(self.rival_value.median),
            or_dash(self.ratio.map(|ratio| number(ratio.median))),
            or_dash(self.ratio.map(spread)),
            self.relation.name().to_owned(),
        ]
    }
}

pub(crate) const HEADER: [&str; 8] =
    ["case", "of", "hive", "best rival", "its median", "x rival", "middle half", "hive is"];

/// hive's rivals in one case at one size, the best first.
pub(crate) fn best_rivals(figures: &Figures, case: Case, threads: usize) -> Vec<(RuntimeId, Spread)> {
    let is_rival = |runtime: &RuntimeId| !runtime.is_hive() && !runtime.is_sequential();
    let rivals = figures.runtimes(case, threads).into_iter().filter(is_rival);
    let value = |runtime| Some((runtime, figures.value(Key { case, threads, runtime })?));
    let mut rivals: Vec<_> = rivals.filter_map(value).collect();
    rivals.sort_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));
    rivals
}

/// All cases in which hive had a rival.
#[derive(Clone, Debug)]
pub(crate) struct Ranking(pub(crate) Vec<Ranked>);

impl Ranking {
    pub(crate) fn of(figures: &Figures) -> Self {
        let groups = figures.groups().into_iter();
        let mut ranking: Vec<_> = groups.filter_map(|(case, threads)| Ranked::of(figures, case, threads)).collect();
        ranking.sort_by_key(|ranked| ranked.relation);
        Self(ranking)
    }

    /// How often there is each relation, in one sentence.
    pub(crate) fn sentence(&self) -> String {
        let count = |relation| self.0.iter().filter(|ranked| ranked.relation == relation).count();
        let always = |relation: &Relation| *relation != Relation::Failed || count(Relation::Failed) > 0;
        let counts = Relation::ALL
            .into_iter()
            .filter(always)
            .map(|relation| format!("{} in {}", relation.name(), count(relation)));
        format!("hive is {}.", counts.collect::<Vec<_>>().join(", "))
    }

    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        if self.0.is_empty() {
            return "ranking: hive had no rival in this run\n".to_owned();
        }
        let mut text = format!("ranking: {TITLE}\n{}\n", self.sentence());
        let mut table = self.table();
        table.load_style(presets::NOTHING);
        let _ = writeln!(text, "{}\n", table.trim_fmt());
        let _ = writeln!(text, "{}", LEGEND);
        text
    }

    /// For a README.
    pub(crate) fn markdown(&self) -> String {
        let mut table = self.table();
        table.load_style(presets::ASCII_MARKDOWN);
        format!("{}\n\n{table}\n\n{LEGEND}\n", self.sentence())
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.set_header(HEADER);
        table.add_rows(self.0.iter().map(Ranked::cells));
        for column in [1, 2, 4, 5, 6] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Outcome;
    use crate::report::figures::tests::{key, record};

    fn relation(ratios: &[f64]) -> Relation {
        Relation::of(Spread::of(ratios))
    }

    #[test]
    fn relations_follow_the_middle_half() {
        assert_eq!(relation(&[0.5, 0.6, 0.9]), Relation::Ahead);
        assert_eq!(relation(&[1.2, 1.3, 2.9]), Relation::Behind);
        assert_eq!(relation(&[0.98, 1.0, 1.02]), Relation::Level);
        assert_eq!(relation(&[1.01, 1.02, 1.5]), Relation::Level);
        assert_eq!(relation(&[0.8, 1.0, 1.3]), Relation::Inconclusive);
        assert_eq!(relation(&[0.5, 0.5]), Relation::Inconclusive);
        assert_eq!(relation(&[]), Relation::Failed);
    }

    fn records<const N: usize>(of: impl Fn(usize) -> [(Key, f64); N]) -> Vec<crate::record::Record> {
        (0..3).flat_map(|round| of(round).map(|(key, value)| record(key, round, &[value], &[]))).collect()
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
        let ranking = Ranking::of(&figures);
        assert_eq!(ranking.sentence(), "hive is ahead in 1, level in 0, behind in 1, inconclusive in 0.");
        let text = ranking.text();
        let place = |name: &str| text.find(name).unwrap_or_else(|| panic!("{name} is missing: {text}"));
        assert!(place("forkunion") < place("libomp"), "{text}");
        assert!(text.contains("1.40") && text.contains("0.25"), "{text}");
        assert!(ranking.markdown().contains("| reduce | "), "{}", ranking.markdown());
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
        let ranking = Ranking::of(&figures).0;
        assert_eq!((ranking.len(), ranking[0].rival), (1, RuntimeId::StdScope));
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
        assert_eq!(Ranking::of(&figures).0[0].relation, Relation::Level);
    }

    #[test]
    fn a_failure_of_hive_is_reported() {
        let mut broken = record(key(RuntimeId::Hive), 0, &[], &[]);
        broken.outcome = Outcome::Failed("gone".to_owned());
        let figures = Figures::of(&[broken, record(key(RuntimeId::Libomp), 0, &[5.0], &[])]);
        assert!(Ranking::of(&figures).sentence().ends_with("failed in 1."), "{}", Ranking::of(&figures).sentence());
    }
}
