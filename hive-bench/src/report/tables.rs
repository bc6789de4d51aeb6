//! The figures as text, a table for each case and size.

use comfy_table::{CellAlignment, Row, Table, presets};

use crate::catalog::{Case, RuntimeId, Unit};
use crate::record::Reference;
use crate::report::figures::{Against, Figures, Key};

/// A table without lines, in which all columns but those of words are of numbers.
pub(crate) fn aligned(header: impl Into<Row>, rows: impl IntoIterator<Item: Into<Row>>, words: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header).add_rows(rows);
    for (place, column) in table.column_iter_mut().enumerate() {
        if !words.contains(&place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// What a cell says where there is no figure.
pub(crate) fn or_dash(figure: Option<String>) -> String {
    figure.unwrap_or_else(|| "-".to_owned())
}

/// The ratios that mean something for a case.
fn ratios(case: Case, threads: usize) -> Vec<Against> {
    let (hive, sequential) = (Against::Runtime(RuntimeId::Hive), Against::Runtime(RuntimeId::Sequential));
    let to = Against::Reference;
    match case {
        _ if case.unit() == Unit::PercentOfCpu => Vec::new(),
        _ if case.cold_loop().is_some() => {
            vec![sequential, to(Reference::Post), Against::PostOver(RuntimeId::Sequential), hive]
        }
        Case::CallersTwoQueens => vec![hive],
        _ if case.is_of_callers() || case.is_kernel() || case.is_recursion() => vec![sequential, hive],
        _ if case.is_task() => vec![hive],
        _ if case.gap().is_some() => vec![to(Reference::HandOver), to(Reference::Post), hive],
        Case::Region if threads == 1 => vec![to(Reference::RoundTrip), to(Reference::Mutex), hive],
        Case::AlternatingSizes => vec![to(Reference::RoundTrip), to(Reference::Mean), hive],
        _ => vec![to(Reference::RoundTrip), hive],
    }
}

/// One case at one size.
pub(crate) fn group(figures: &Figures, case: Case, threads: usize) -> String {
    let ratios = ratios(case, threads);
    let titles = ratios.iter().map(|against| format!("x {}", against.name()));
    let header = ["", "median", "middle half"].map(str::to_owned).into_iter().chain(titles);
    let rows = figures.runtimes(case, threads).map(|runtime| row(figures, Key { case, threads, runtime }, &ratios));
    let table = aligned(header, rows, &[0]);
    let beside = references(figures, case, threads, &ratios);
    format!("{} of {threads}: {}{beside}\n{}\n", case.name(), case.help(), table.trim_fmt())
}

/// The references' own values.
fn references(figures: &Figures, case: Case, threads: usize, ratios: &[Against]) -> String {
    let value = |against: &Against| {
        let Against::Reference(reference) = against else { return None };
        let spread = figures.reference(case, threads, *reference)?;
        Some(format!("{} {}", reference.name(), amount(spread.median, Unit::Nanoseconds)))
    };
    let values: Vec<String> = ratios.iter().filter_map(value).collect();
    if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) }
}

fn row(figures: &Figures, key: Key, ratios: &[Against]) -> Vec<String> {
    let name = key.runtime.name().to_owned();
    let Some(value) = figures.value(key) else {
        return vec![name, "failed".to_owned()];
    };
    let amount = |value| amount(value, key.case.unit());
    let (lower, upper) = (amount(value.lower_quartile), amount(value.upper_quartile));
    let spread = if value.rounds == 1 { "one round".to_owned() } else { format!("{lower} - {upper}") };
    let ratios = ratios.iter().map(|against| ratio(figures, key, *against));
    [name, amount(value.median), spread].into_iter().chain(ratios).collect()
}

/// A ratio with the mark of what speaks against it.
fn ratio(figures: &Figures, key: Key, against: Against) -> String {
    if against == Against::Runtime(key.runtime) {
        return "1 ".to_owned();
    }
    let Some(spread) = figures.ratio(key, against) else { return "- ".to_owned() };
    let compared = matches!(against, Against::Runtime(_));
    let mark = if compared { spread.mark_as_comparison() } else { spread.mark_as_measure() };
    format!("{}{mark}", number(spread.median))
}

/// A figure with its unit.
pub(crate) fn amount(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => {
            let (value, unit) = in_unit(value);
            format!("{} {unit}", number(value))
        }
        Unit::PercentOfCpu if value < 1.0 => format!("{value:.3} %"),
        Unit::PercentOfCpu => format!("{value:.1} %"),
        Unit::Regions => number(value),
    }
}

/// In the largest unit in which the value is at least one.
pub(crate) fn in_unit(nanoseconds: f64) -> (f64, &'static str) {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    let fitting = units.into_iter().find(|(factor, _)| nanoseconds.abs() >= *factor);
    let (factor, unit) = fitting.unwrap_or((1.0, "ns"));
    (nanoseconds / factor, unit)
}

/// With three significant figures; more would mean nothing.
pub(crate) fn number(value: f64) -> String {
    let decimals = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Outcome;
    use crate::report::figures::tests::{key, record};

    #[test]
    fn times_have_three_figures_and_a_unit() {
        let amount_of = |value| amount(value, Unit::Nanoseconds);
        assert_eq!(amount_of(7.126), "7.13 ns");
        assert_eq!(amount_of(71.26), "71.3 ns");
        assert_eq!(amount_of(7126.0), "7.13 us");
        assert_eq!(amount_of(71.26e6), "71.3 ms");
        assert_eq!(amount_of(-846.02), "-846 ns");
        assert_eq!(amount_of(-592_794.3), "-593 us");
        assert_eq!(amount(0.0312, Unit::PercentOfCpu), "0.031 %");
        assert_eq!(amount(99.23, Unit::PercentOfCpu), "99.2 %");
    }

    #[test]
    fn a_table_marks_what_says_nothing() {
        let reference = [(Reference::RoundTrip, 100.0)];
        let of = |runtime, values: [f64; 3]| {
            let rounds = values.into_iter().enumerate();
            rounds.map(move |(round, value)| record(key(runtime), round, &[value], &reference))
        };
        let mut records: Vec<_> = of(RuntimeId::Hive, [100.0, 100.0, 100.0]).collect();
        records.extend(of(RuntimeId::Libgomp, [90.0, 100.0, 110.0]));
        records.extend(of(RuntimeId::Libomp, [400.0, 410.0, 420.0]));
        let text = group(&Figures::of(&records), Case::Region, 2);
        assert!(text.contains("round trip 100 ns"), "{text}");
        assert!(text.contains("1.00="), "{text}");
        assert!(text.contains("4.10"), "{text}");
    }

    #[test]
    fn a_failed_runtime_keeps_its_line() {
        let mut broken = record(key(RuntimeId::ForkUnion), 0, &[], &[]);
        broken.outcome = Outcome::Failed("gone".to_owned());
        let text = group(&Figures::of(&[broken]), Case::Region, 2);
        assert!(text.contains("forkunion") && text.contains("failed"), "{text}");
    }
}
