//! The figures as text, a table for each case and size.

use comfy_table::{CellAlignment, Table, presets};

use crate::catalog::{Case, RuntimeId, Unit};
use crate::record::Reference;
use crate::report::figures::{Figures, Key};
use crate::stats::Doubt;

/// What a column of ratios compares with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Against {
    /// Something measured in the same process.
    Reference(Reference),
    /// Another runtime in the same round.
    Runtime(RuntimeId),
    /// What is left over when the plain loop is taken away, in posts.
    PostOverSequential,
}

impl Against {
    const fn name(self) -> &'static str {
        match self {
            Self::Reference(reference) => reference_name(reference),
            Self::Runtime(runtime) => runtime.name(),
            Self::PostOverSequential => "post over sequential",
        }
    }

    fn ratio(self, figures: &Figures, key: Key) -> String {
        let (spread, doubt) = match self {
            Self::Runtime(runtime) if runtime == key.runtime => return "1 ".to_owned(),
            Self::Runtime(runtime) => {
                let spread = figures.to_runtime(key, runtime);
                (spread, spread.and_then(|spread| spread.doubt_as_comparison()))
            }
            Self::PostOverSequential => {
                let spread = figures.excess(key, RuntimeId::Sequential, Reference::Post);
                (spread, spread.and_then(|spread| spread.doubt_as_measure()))
            }
            Self::Reference(reference) => {
                let spread = figures.to_reference(key, reference);
                (spread, spread.and_then(|spread| spread.doubt_as_measure()))
            }
        };
        let mark = doubt.map_or(' ', Doubt::mark);
        spread.map_or_else(|| "- ".to_owned(), |spread| format!("{}{mark}", number(spread.median)))
    }
}

pub(crate) const fn reference_name(reference: Reference) -> &'static str {
    match reference {
        Reference::RoundTrip => "round trip",
        Reference::HandOver => "hand-over",
        Reference::Post => "post",
        Reference::Mutex => "mutex",
        Reference::Mean => "mean",
    }
}

/// The ratios that mean something for a case.
fn ratios(case: Case, threads: usize) -> Vec<Against> {
    let beside = match case {
        _ if case.unit() == Unit::PercentOfCpu => return Vec::new(),
        _ if case.cold_loop().is_some() => {
            let post = Against::Reference(Reference::Post);
            vec![Against::Runtime(RuntimeId::Sequential), post, Against::PostOverSequential]
        }
        Case::CallersTwoQueens => Vec::new(),
        _ if case.is_of_callers() => vec![Against::Runtime(RuntimeId::Sequential)],
        _ if case.is_kernel() || case.is_recursion() => vec![Against::Runtime(RuntimeId::Sequential)],
        _ if case.is_task() => Vec::new(),
        _ if case.gap().is_some() => {
            vec![Reference::HandOver, Reference::Post].into_iter().map(Against::Reference).collect()
        }
        Case::Region if threads == 1 => {
            vec![Reference::RoundTrip, Reference::Mutex].into_iter().map(Against::Reference).collect()
        }
        Case::AlternatingSizes => {
            vec![Reference::RoundTrip, Reference::Mean].into_iter().map(Against::Reference).collect()
        }
        _ => vec![Against::Reference(Reference::RoundTrip)],
    };
    beside.into_iter().chain([Against::Runtime(RuntimeId::Hive)]).collect()
}

/// One case at one size.
pub(crate) fn group(figures: &Figures, case: Case, threads: usize) -> String {
    let ratios = ratios(case, threads);
    let mut table = Table::new();
    let titles = ratios.iter().map(|against| format!("x {}", against.name()));
    let header = ["", "median", "middle half"].into_iter().map(str::to_owned).chain(titles);
    table.load_style(presets::NOTHING).set_header(header);
    for runtime in figures.runtimes(case, threads) {
        table.add_row(row(figures, Key { case, threads, runtime }, &ratios));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let beside = references(figures, case, threads, &ratios);
    format!("{} of {threads}: {}{beside}\n{}\n", case.name(), case.help(), table.trim_fmt())
}

/// The references' own values.
fn references(figures: &Figures, case: Case, threads: usize, ratios: &[Against]) -> String {
    let value = |against: &Against| match against {
        Against::Reference(reference) => {
            let spread = figures.reference(case, threads, *reference)?;
            Some(format!("{} {}", against.name(), time(spread.median)))
        }
        Against::Runtime(_) | Against::PostOverSequential => None,
    };
    let values: Vec<String> = ratios.iter().filter_map(value).collect();
    if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) }
}

fn row(figures: &Figures, key: Key, ratios: &[Against]) -> Vec<String> {
    let name = key.runtime.name().to_owned();
    let Some(value) = figures.value(key) else {
        return vec![name, "failed".to_owned()];
    };
    let unit = key.case.unit();
    let (lower, upper) = (amount(value.lower_quartile, unit), amount(value.upper_quartile, unit));
    let spread = if value.rounds == 1 { "one round".to_owned() } else { format!("{lower} - {upper}") };
    let ratios = ratios.iter().map(|against| against.ratio(figures, key));
    [name, amount(value.median, unit), spread].into_iter().chain(ratios).collect()
}

/// A figure with its unit.
pub(crate) fn amount(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => time(value),
        Unit::PercentOfCpu if value < 1.0 => format!("{value:.3} %"),
        Unit::PercentOfCpu => format!("{value:.1} %"),
        Unit::Regions => number(value),
    }
}

/// A round figure with its unit, for an axis.
pub(crate) fn tick(value: f64, unit: Unit) -> String {
    let (value, unit) = match unit {
        Unit::Nanoseconds => in_unit(value * (1.0 + 1e-9)),
        Unit::PercentOfCpu => (value, "%"),
        Unit::Regions => (value, "regions"),
    };
    // Rounded to five figures, because the logarithm and its inverse leave an error in the last digits.
    let digits = 4 - value.abs().max(1e-9).log10().floor() as i32;
    let factor = 10_f64.powi(digits);
    format!("{} {unit}", (value * factor).round() / factor)
}

fn time(nanoseconds: f64) -> String {
    let (value, unit) = in_unit(nanoseconds);
    format!("{} {unit}", number(value))
}

/// In the largest unit in which the value is at least one.
fn in_unit(nanoseconds: f64) -> (f64, &'static str) {
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
        assert_eq!(time(7.126), "7.13 ns");
        assert_eq!(time(71.26), "71.3 ns");
        assert_eq!(time(7126.0), "7.13 us");
        assert_eq!(time(71.26e6), "71.3 ms");
        assert_eq!(time(-846.02), "-846 ns");
        assert_eq!(time(-592_794.3), "-593 us");
        assert_eq!(tick(999.9999999999, Unit::Nanoseconds), "1 us");
        assert_eq!(tick(0.5, Unit::Nanoseconds), "0.5 ns");
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
