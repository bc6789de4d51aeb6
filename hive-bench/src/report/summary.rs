//! A run on one screen: the machine, hive beside its best rivals, what is not as it should be, and where the rest is.

use std::cmp::Ordering;
use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};

use super::layout::{HARD_SPACE, fit, wrap};
use super::notes::troubles;
use crate::catalog::{Case, RuntimeId};
use crate::record::{Absent, Run};
use crate::report::figures::{Figures, Key};
use crate::report::protocols;
use crate::report::ranking::{Ranked, Ranking, Relation};
use crate::report::tables::{amount, number};
use crate::report::targets::{self, State, Target};
use crate::stats::Spread;

/// The lines of a screen. Findings that do not fit are left out, and their number is printed.
const LINES: usize = 50;
/// If there are more cases than this, each family gets one line.
const ROWS: usize = 26;

/// The files that a run left, or that this was read from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Files<'a> {
    pub(crate) page: Option<&'a Path>,
    pub(crate) samples: Option<&'a Path>,
}

/// The whole screen.
pub(crate) fn text(run: &Run, figures: &Figures, files: Files<'_>) -> String {
    let head = head(run).into_iter().map(|line| fit(&line));
    let mut above: Vec<String> = head.chain([String::new()]).collect();
    above.extend(table(figures));
    if figures.groups().iter().all(|(case, _)| case.shows_sleep()) {
        above.extend(std::iter::once(String::new()).chain(protocols::all(figures).lines().map(fit)));
    }
    let below = whereabouts(files);
    let room = LINES.saturating_sub(above.len() + below.len()).max(4);
    let mut findings = cut(findings(run, figures), room - 1);
    if !findings.is_empty() {
        findings.insert(0, String::new());
    }
    let lines = [above, findings, below].concat();
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The machine, the build and the run, a line each.
fn head(run: &Run) -> [String; 3] {
    let machine = &run.machine;
    let rounds = run.records.iter().map(|record| record.round + 1).max().unwrap_or(0);
    let mut measured = format!("{}, {} processes", run.date, run.records.len());
    measured += &if rounds == 1 { ", one round".to_owned() } else { format!(", up to {rounds} rounds") };
    if let Some(load) = run.disturbance.load_before {
        measured += &format!(", load {load:.2}");
    }
    if let Some(stolen) = run.disturbance.stolen_percent {
        measured += &format!(", stolen {stolen:.1} %");
    }
    let [version, compiler] = build(&run.build.hive);
    [
        format!("{}, {} CPUs, {}", machine.processor, machine.cpus.len(), machine.system),
        format!("hive {version}; {compiler}"),
        measured,
    ]
}

/// Version, commit and profile; and the compiler.
fn build(hive: &str) -> [String; 2] {
    let mut parts = hive.split("; ");
    let (version, compiler) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let mut compiler = compiler.split(", ");
    let name = compiler.next().unwrap_or_default();
    let name = name.split_once(" (").map_or(name, |(name, _)| name).to_owned();
    let profile = compiler.find(|part| matches!(*part, "release" | "debug"));
    [profile.map_or_else(|| version.to_owned(), |profile| format!("{version}, {profile}")), name]
}

/// hive in one case at one size.
struct Row {
    case: Case,
    threads: usize,
    /// `None` if hive failed.
    hive: Option<Spread>,
    /// `None` if no rival was measured.
    ranked: Option<Ranked>,
}

impl Row {
    /// `None` if hive was not run.
    fn of(figures: &Figures, case: Case, threads: usize) -> Option<Self> {
        let key = Key { case, threads, runtime: RuntimeId::Hive };
        figures.has(key).then(|| Self {
            case,
            threads,
            hive: figures.value(key),
            ranked: Ranked::of(figures, case, threads),
        })
    }

    fn name(&self) -> String {
        name_of(self.case, self.threads)
    }

    fn is(&self, relation: Relation) -> bool {
        self.ranked.as_ref().is_some_and(|ranked| ranked.relation == relation)
    }

    /// In plain words.
    fn relation(&self) -> &'static str {
        match &self.ranked {
            Some(ranked) => ranked.relation.name(),
            None if self.hive.is_none() => Relation::Failed.name(),
            None => "no rival",
        }
    }

    /// Orders by how badly hive does, the worst first.
    fn worst_first(&self, other: &Self) -> Ordering {
        let relation = |row: &Self| match &row.ranked {
            Some(ranked) => Some(ranked.relation),
            None => row.hive.is_none().then_some(Relation::Failed),
        };
        let ratio = |row: &Self| row.ranked.as_ref().and_then(|ranked| ranked.ratio).map_or(0.0, |ratio| ratio.median);
        // A case without a rival comes last.
        let order = relation(self).is_none().cmp(&relation(other).is_none()).then(relation(self).cmp(&relation(other)));
        order.then(ratio(other).total_cmp(&ratio(self)))
    }

    /// What both forms of the table show.
    fn cells(&self) -> [String; 6] {
        let dash = || "-".to_owned();
        let ratio = self.ranked.as_ref().and_then(|ranked| ranked.ratio);
        let spread = ratio.map(|ratio| match ratio.rounds {
            1 => "one round".to_owned(),
            _ => format!("{}-{}", number(ratio.lower_quartile), number(ratio.upper_quartile)),
        });
        [
            self.name(),
            self.hive.map_or_else(dash, |hive| amount(hive.median, self.case.unit())),
            self.ranked.as_ref().map_or_else(dash, |ranked| short_name(ranked.rival).to_owned()),
            ratio.map_or_else(dash, |ratio| number(ratio.median)),
            spread.unwrap_or_else(dash),
            self.relation().to_owned(),
        ]
    }

    /// The best rival's own figure.
    fn rival(&self) -> String {
        let ranked = self.ranked.as_ref();
        ranked.map_or_else(|| "-".to_owned(), |ranked| amount(ranked.rival_value.median, self.case.unit()))
    }
}

/// A case and the size of its team.
fn name_of(case: Case, threads: usize) -> String {
    format!("{}/{threads}", case.name())
}

/// A name that leaves room for the rest of the line.
const fn short_name(runtime: RuntimeId) -> &'static str {
    match runtime {
        RuntimeId::HiveBesideRayon => "hive and rayon",
        _ => runtime.name(),
    }
}

/// The sentence that sums up, and hive beside its best rivals: a line for each case, or for each family where there are
/// many.
fn table(figures: &Figures) -> Vec<String> {
    let rows: Vec<Row> =
        figures.groups().into_iter().filter_map(|(case, threads)| Row::of(figures, case, threads)).collect();
    if rows.is_empty() {
        return wrap("hive was not among the runtimes of this run; --full shows the others.", "");
    }
    let ranking = Ranking::of(figures);
    let sentence = if ranking.0.is_empty() { "hive had no rival in this run.".to_owned() } else { ranking.sentence() };
    let mut lines = wrap(&sentence, "");
    if rows.len() <= ROWS {
        lines.extend(by_case(&rows));
    } else {
        lines.extend(wrap("One line for each family: hive's worst case, and in how many it is ahead.", ""));
        lines.extend(by_family(&rows));
    }
    lines
}

fn by_case(rows: &[Row]) -> Vec<String> {
    let header = ["case/threads", "hive", "best rival", "its", "ratio", "quartiles", "hive is"];
    let row = |row: &Row| {
        let [name, hive, rival, ratio, spread, relation] = row.cells();
        [name, hive, rival, row.rival(), ratio, spread, relation]
    };
    lines(header, rows.iter().map(row), &[1, 3, 4, 5])
}

fn by_family(rows: &[Row]) -> Vec<String> {
    let header = ["case/threads", "hive", "best rival", "ratio", "quartiles", "hive is", "ahead"];
    let families = rows.chunk_by(|one, other| one.case.family() == other.case.family());
    let row = |family: &[Row]| {
        let worst = family.iter().min_by(|one, other| one.worst_first(other)).expect("a family has a case");
        let [name, hive, rival, ratio, spread, relation] = worst.cells();
        let ranked = family.iter().filter(|row| row.ranked.is_some()).count();
        let ahead = family.iter().filter(|row| row.is(Relation::Ahead)).count();
        let ahead = if ranked == 0 { "-".to_owned() } else { format!("{ahead}/{ranked}") };
        [name, hive, rival, ratio, spread, relation, ahead]
    };
    lines(header, families.map(row), &[1, 3, 4, 6])
}

/// A table without lines or margins. The columns of numbers are `right`.
fn lines(header: [&str; 7], rows: impl Iterator<Item = [String; 7]>, right: &[usize]) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table.add_rows(rows);
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if right.contains(&place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt().lines().map(fit).collect()
}

/// What is not as it should be, the gravest first.
fn findings(run: &Run, figures: &Figures) -> Vec<String> {
    let (failed, others): (Vec<String>, Vec<String>) =
        troubles(run).into_iter().partition(|note| note.starts_with("failed"));
    let mut findings: Vec<String> = failed.iter().map(|note| fit(note)).collect();
    findings.extend(behind(figures));
    let targets = targets::all(figures);
    findings.extend(missed(&targets));
    findings.extend(others.iter().map(|note| fit(note)));
    findings.extend(absent(run));
    // Last, because in a run of few rounds there are many of these, and the end is cut.
    findings.extend(exceeded(&targets, State::Inconclusive, "missed?"));
    findings
}

/// The runtimes that could not be had, those with one reason together.
fn absent(run: &Run) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for Absent { runtime, reason } in &run.absent {
        match reasons.iter_mut().find(|(of, _)| *of == reason) {
            Some((_, names)) => names.push(runtime.name()),
            None => reasons.push((reason, vec![runtime.name()])),
        }
    }
    reasons.iter().map(|(reason, names)| fit(&format!("absent: {}: {reason}", names.join(", ")))).collect()
}

/// The cases in which hive is behind, with their ratios, the worst first.
fn behind(figures: &Figures) -> Vec<String> {
    let ranking = Ranking::of(figures);
    if ranking.0.is_empty() {
        return Vec::new();
    }
    let mut behind: Vec<&Ranked> = ranking.0.iter().filter(|ranked| ranked.relation == Relation::Behind).collect();
    let ratio = |ranked: &Ranked| ranked.ratio.map_or(0.0, |ratio| ratio.median);
    behind.sort_by(|one, other| ratio(other).total_cmp(&ratio(one)));
    let named: Vec<String> = behind
        .iter()
        .map(|ranked| format!("{}{HARD_SPACE}{}", name_of(ranked.case, ranked.threads), number(ratio(ranked))))
        .collect();
    if named.is_empty() {
        let conclusive = ranking.0.iter().any(|ranked| ranked.relation != Relation::Inconclusive);
        let none =
            if conclusive { "Behind in no case." } else { "No case is conclusive: that takes three rounds or more." };
        return vec![none.to_owned()];
    }
    wrap(&format!("Behind in {}: {}", named.len(), named.join(", ")), "  ")
}

/// How many targets are met, and those that are missed.
fn missed(all: &[Target]) -> Vec<String> {
    let count = |state| all.iter().filter(|target| target.state() == state).count();
    let [met, missed, unsure, untold] = [State::Met, State::Missed, State::Inconclusive, State::NotMeasured].map(count);
    if met + missed + unsure == 0 {
        return Vec::new();
    }
    let counts = format!("Targets: {met} met, {missed} missed, {unsure} inconclusive, {untold} not measured.");
    std::iter::once(counts).chain(exceeded(all, State::Missed, "missed ")).collect()
}

/// The targets in this state whose median is beyond the bound.
fn exceeded<'a>(all: &'a [Target], state: State, word: &'a str) -> impl Iterator<Item = String> + 'a {
    let beyond = all.iter().filter(move |target| target.state() == state && target.is_exceeded());
    beyond.map(move |target| fit(&format!("  {word} {}", target.in_brief())))
}

/// Cuts the lines to the room there is. The last line then says how many are missing.
fn cut(mut lines: Vec<String>, room: usize) -> Vec<String> {
    if lines.len() > room {
        let more = lines.len() + 1 - room;
        lines.truncate(room - 1);
        lines.push(format!("... and {more} lines more, which --full shows."));
    }
    lines
}

/// Where the page and the samples are, and how to see everything.
fn whereabouts(files: Files<'_>) -> Vec<String> {
    let mut lines = vec![String::new()];
    let line = |what: &str, path: &Path| format!("{what:<12} {}", path.display());
    lines.extend(files.page.map(|path| line("Page:", path)));
    lines.extend(files.samples.map(|path| line("Raw samples:", path)));
    let how = if files.samples.is_some() { "hive-bench report --full, with the raw samples" } else { "--full" };
    lines.push(format!("All tables:  {how}"));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::results::tests::run;
    use crate::record::{Outcome, Record, Reference};
    use crate::report::figures::tests::{key, record};

    fn shown(run: &Run) -> String {
        let text = text(run, &Figures::of(&run.records), Files::default());
        let lines: Vec<_> = text.lines().collect();
        assert!(lines.len() <= LINES && lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        text
    }

    /// Three rounds of each.
    fn records(of: &[(Case, usize, RuntimeId, f64)]) -> Vec<Record> {
        let records = |&(case, threads, runtime, value): &(Case, usize, RuntimeId, f64)| {
            (0..3).map(move |round| record(Key { case, threads, runtime }, round, &[value], &[]))
        };
        of.iter().flat_map(records).collect()
    }

    #[test]
    fn a_few_cases_have_a_line_each_with_the_rival_s_figure() {
        let text = shown(&run());
        assert!(text.starts_with("a processor, 2 CPUs"), "{text}");
        assert!(text.contains("hive is ahead in 1, level in 0, behind in 0, inconclusive in 0."), "{text}");
        assert!(text.contains("region/2     110 ns libomp     500 ns  0.22 0.22-0.22 ahead"), "{text}");
        assert!(text.contains("Behind in no case.") && text.contains("All tables:  --full"), "{text}");
    }

    #[test]
    fn many_cases_have_a_line_a_family_with_the_worst_of_it() {
        let each = |case: &Case| {
            let hive = if *case == Case::EpccSingle { 30.0 } else { 10.0 };
            [(*case, 2, RuntimeId::Hive, hive), (*case, 2, RuntimeId::Libomp, 20.0)]
        };
        let of: Vec<_> = Case::ALL.iter().flat_map(each).collect();
        let text = shown(&Run { records: records(&of), ..run() });
        assert!(text.contains("epcc-single/2") && text.contains("behind  10/11"), "{text}");
        assert!(text.contains("Behind in 1: epcc-single/2 1.50"), "{text}");
        assert!(!text.contains("epcc-static"), "{text}");
    }

    #[test]
    fn failures_come_first_and_missed_targets_are_named() {
        let mut run = run();
        for record in &mut run.records {
            if let Outcome::Measured(measured) = &mut record.outcome {
                measured.references.insert(Reference::RoundTrip, vec![50.0]);
            }
        }
        run.records[1].outcome = Outcome::Failed("a checksum is wrong ".repeat(10));
        run.disturbance.load_before = Some(3.0);
        let text = shown(&run);
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is missing: {text}"));
        assert!(place("failed: libomp region of 2: a checksum is wrong") < place("No case is conclusive"), "{text}");
        assert!(place("missed  region/2 vs round trip: 2.20") < place("not idle before the run"), "{text}");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut run = run();
        let broken = |case: &Case| {
            let failed = Outcome::Failed("gone".to_owned());
            Record { case: *case, outcome: failed, ..record(key(RuntimeId::Hive), 0, &[], &[]) }
        };
        run.records.extend(Case::ALL.iter().map(broken));
        assert!(shown(&run).contains(" lines more, which --full shows."), "{}", shown(&run));
    }

    #[test]
    fn without_hive_or_without_a_rival_that_is_said() {
        let alone = Run { records: records(&[(Case::ResizeShrink, 2, RuntimeId::Hive, 5.0)]), ..run() };
        assert!(
            shown(&alone).contains("resize-shrink/2 5.00 ns") && shown(&alone).contains("no rival"),
            "{}",
            shown(&alone)
        );
        let others = Run { records: records(&[(Case::Region, 2, RuntimeId::Libomp, 5.0)]), ..run() };
        assert!(shown(&others).contains("hive was not among the runtimes"), "{}", shown(&others));
    }
}
