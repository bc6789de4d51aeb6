//! A run on one screen: the machine, hive beside its best rivals, what is not as it should be, and where the rest is.

use std::path::Path;

use textwrap::WordSplitter;

use super::notes;
use crate::catalog::RuntimeId;
use crate::record::Run;
use crate::report::figures::{Figures, Key};
use crate::report::protocols;
use crate::report::ranking::{Relation, Row, sentence, table};
use crate::report::tables::{aligned, amount, number};
use crate::report::targets::{self, State, Target};

/// The lines of a screen. Findings that do not fit are left out, and their number is printed.
const LINES: usize = 50;
/// If there are more cases than this, each family gets one line.
const ROWS: usize = 26;

/// The whole screen. `samples` is the file that the run left, or that it was read from.
pub(crate) fn text(run: &Run, figures: &Figures, samples: Option<&Path>) -> String {
    let rows = Row::all(figures);
    let mut above: Vec<String> = head(run).iter().map(|line| fit(line)).collect();
    above.push(String::new());
    above.extend(beside_rivals(&rows));
    if figures.groups().iter().all(|(case, _)| case.is_task()) {
        above.extend(std::iter::once(String::new()).chain(protocols::all(figures).lines().map(fit)));
    }
    let below = whereabouts(run, samples);
    let room = LINES.saturating_sub(above.len() + below.len()).max(4);
    let mut findings = cut(findings(run, figures, &rows), room - 1);
    if !findings.is_empty() {
        findings.insert(0, String::new());
    }
    let lines = [above, findings, below.to_vec()].concat();
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The machine, the build and the run, a line each.
pub(crate) fn head(run: &Run) -> [String; 3] {
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

/// The sentence that sums up, and hive beside its best rivals: a line for each case, or for each family where there are
/// many.
fn beside_rivals(rows: &[Row]) -> Vec<String> {
    if rows.is_empty() {
        return wrap("hive was not among the runtimes of this run; --full shows the others.", "");
    }
    let mut lines = wrap(&sentence(rows), "");
    let mut table = if rows.len() <= ROWS {
        table(rows.iter())
    } else {
        lines.extend(wrap("One line for each family: hive's worst case, and in how many it is ahead.", ""));
        by_family(rows)
    };
    table.column_iter_mut().for_each(|column| _ = column.set_padding((0, 1)));
    lines.extend(table.trim_fmt().lines().map(fit));
    lines
}

fn by_family(rows: &[Row]) -> comfy_table::Table {
    let header = ["case/threads", "hive", "best rival", "ratio", "quartiles", "hive is", "ahead"];
    let families = rows.chunk_by(|one, other| one.case.family() == other.case.family());
    let row = |family: &[Row]| {
        let worst = family.iter().min_by(|one, other| one.worst_first(other)).expect("a family has a case");
        let [name, hive, rival, _, ratio, quartiles, relation] = worst.cells();
        let ranked = family.iter().filter(|row| row.rival.is_some()).count();
        let ahead = family.iter().filter(|row| row.relation == Relation::Ahead).count();
        let ahead = if ranked == 0 { "-".to_owned() } else { format!("{ahead}/{ranked}") };
        [name, hive, rival, ratio, quartiles, relation, ahead]
    };
    aligned(header, families.map(row), &[0, 2, 5])
}

/// What is not as it should be, the gravest first.
fn findings(run: &Run, figures: &Figures, rows: &[Row]) -> Vec<String> {
    let notes = |notes: Vec<String>| notes.into_iter().map(|note| fit(&note));
    let (failed, others) = notes::troubles(run).into_iter().partition(|note| note.starts_with("failed"));
    let targets = targets::all(figures);
    let mut findings: Vec<String> = notes(failed).collect();
    findings.extend(behind(rows));
    findings.extend(missed(&targets));
    findings.extend(unranked(figures));
    findings.extend(notes(others));
    findings.extend(notes(notes::absent(run)));
    // Last, because in a run of few rounds there are many of these, and the end is cut.
    findings.extend(exceeded(&targets, State::Inconclusive, "missed?"));
    findings
}

/// The cases in which hive is behind, with their ratios, the worst first.
fn behind(rows: &[Row]) -> Vec<String> {
    let is = |relation: Relation| move |row: &&Row| row.relation == relation;
    let mut behind: Vec<&Row> = rows.iter().filter(is(Relation::Behind)).collect();
    behind.sort_by(|one, other| one.worst_first(other));
    if !behind.is_empty() {
        let named = behind.iter().map(|row| format!("{}{HARD_SPACE}{}", row.name(), number(row.factor())));
        return wrap(&format!("Behind in {}: {}", behind.len(), named.collect::<Vec<_>>().join(", ")), "  ");
    }
    let mut ranked = rows.iter().filter(|row| row.rival.is_some()).peekable();
    if ranked.peek().is_none() {
        return Vec::new();
    }
    let inconclusive = ranked.all(|row| row.relation == Relation::Inconclusive);
    let none =
        if inconclusive { "No case is conclusive: that mostly takes five rounds." } else { "Behind in no case." };
    vec![none.to_owned()]
}

/// Whoever has polled through the longest idleness of this run, and is therefore no rival in it.
fn unranked(figures: &Figures) -> Vec<String> {
    let groups = figures.groups().into_iter();
    let Some((case, threads)) = groups.filter(|(case, _)| case.gap().is_some()).max_by_key(|(case, _)| case.gap())
    else {
        return Vec::new();
    };
    let is_shown = |runtime: &RuntimeId| !(runtime.is_hive() || runtime.is_sequential() || runtime.is_rival(case));
    let shown = figures.runtimes(case, threads).filter(is_shown).filter_map(|runtime| {
        let value = figures.value(Key { case, threads, runtime })?;
        Some(format!("{} {}", runtime.name(), amount(value.median, case.unit())).replace(' ', &HARD_SPACE.to_string()))
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let text = format!("Not ranked in {}/{threads}, because they keep a CPU busy meanwhile: {shown}", case.name());
    if shown.is_empty() { Vec::new() } else { wrap(&text, "  ") }
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
    beyond.map(move |target| fit(&format!("  {word} {}", target)))
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

/// Where the samples are, how to see everything, what to send and where to read.
fn whereabouts(run: &Run, samples: Option<&Path>) -> [String; 4] {
    let (file, how) = match samples {
        Some(path) => (path.display().to_string(), "hive-bench report --full, with the raw samples"),
        None => ("not kept".to_owned(), "--full"),
    };
    // Files of older versions have whole paths in them.
    let is_clean = run.command_line.iter().all(|argument| !argument.contains('/'));
    let send = match samples.filter(|_| is_clean) {
        Some(_) => "Send that file, which names no host. ",
        None => "",
    };
    [
        String::new(),
        format!("Raw samples: {file}"),
        format!("All tables:  {how}"),
        format!("{send}Read docs/benchmarks.md."),
    ]
}

/// Columns of a line.
const WIDTH: usize = 80;

/// The line, cut to the width of the screen.
fn fit(line: &str) -> String {
    let line = line.lines().next().unwrap_or_default().trim_end();
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let kept: String = line.chars().take(WIDTH - 3).collect();
    format!("{}...", kept.trim_end())
}

/// A space at which no line is broken.
const HARD_SPACE: char = '\u{a0}';

/// The text, broken between words into lines that fit the screen. All but the first begin with `indent`.
fn wrap(text: &str, indent: &str) -> Vec<String> {
    let options = textwrap::Options::new(WIDTH)
        .subsequent_indent(indent)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).iter().map(|line| line.replace(HARD_SPACE, " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Case;
    use crate::record::results::tests::run;
    use crate::record::{Outcome, Record, Reference};
    use crate::report::figures::tests::{key, record};

    fn shown(run: &Run) -> String {
        let text = text(run, &Figures::of(&run.records), None);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines.len() <= LINES && lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        text
    }

    /// Five rounds of each.
    fn records(of: &[(Case, usize, RuntimeId, f64)]) -> Vec<Record> {
        let records = |&(case, threads, runtime, value): &(Case, usize, RuntimeId, f64)| {
            (0..5).map(move |round| record(Key { case, threads, runtime }, round, &[value], &[]))
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
        assert!(text.contains("epcc-single/2") && text.contains("behind   10/11"), "{text}");
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
        assert!(place("failed: libomp region of 2: a checksum is wrong") < place("Behind in no case"), "{text}");
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
    fn who_polls_through_idleness_is_shown_beside_the_ranking() {
        let of = |runtime, value| (Case::Idle20ms, 2, runtime, value);
        let of = [of(RuntimeId::Hive, 6e3), of(RuntimeId::ForkUnion, 300.0), of(RuntimeId::RayonWorker, 9e3)];
        let text = shown(&Run { records: records(&of), ..run() });
        assert!(text.contains("Not ranked in idle-20ms/2") && text.contains("forkunion 300 ns"), "{text}");
        assert!(!shown(&run()).contains("Not ranked"));
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

    #[test]
    fn lines_that_are_too_long_are_cut_or_broken() {
        let long = "word ".repeat(40);
        assert_eq!(fit("short\nsecond"), "short");
        assert!(fit(&long).chars().count() <= WIDTH && fit(&long).ends_with("..."));
        let lines = wrap(&long, "  ");
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH) && lines[1].starts_with("  word"));
        let kept = wrap(&format!("{} a{HARD_SPACE}b", "c".repeat(78)), "");
        assert_eq!(kept[1..], ["a b"]);
    }
}
