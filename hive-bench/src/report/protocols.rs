//! What a sleep protocol gains, and what it costs: how soon a task begins, beside the CPU time used while waiting for
//! it.

use comfy_table::{CellAlignment, Table, presets};

use crate::catalog::{Case, RuntimeId};
use crate::report::figures::{Figures, Key};
use crate::report::tables::amount;

const EXPLANATION: &str = "\
wake: from the spawn of a task to its start, after so much idleness.
use: CPU time, in percent of one CPU, up to so long after the last task, from
the end of the line above on.
";

/// One table of all protocols, at the largest size. Empty unless at least two of hive's protocols were measured in both
/// kinds of cases.
pub(crate) fn all(figures: &Figures) -> String {
    let size =
        |case: &Case| figures.groups().into_iter().filter(|(of, _)| of == case).map(|(_, threads)| threads).max();
    let Some(threads) = Case::IDLE_USE.iter().filter_map(size).max() else {
        return String::new();
    };
    let value = |case: Case, runtime| figures.value(Key { case, threads, runtime }).map(|spread| spread.median);
    let has = |cases: &[Case], runtime| cases.iter().any(|case| value(*case, runtime).is_some());
    let has_both = |runtime: &RuntimeId| has(&Case::WAKE, *runtime) && has(&Case::IDLE_USE, *runtime);
    let runtimes: Vec<RuntimeId> = RuntimeId::ALL.iter().copied().filter(has_both).collect();
    if runtimes.iter().filter(|runtime| runtime.is_hive()).count() < 2 {
        return String::new();
    }
    let mut table = Table::new();
    let header = std::iter::once("").chain(runtimes.iter().map(|runtime| name(*runtime)));
    table.load_style(presets::NOTHING).set_header(header);
    let measured = |case: &Case| runtimes.iter().any(|runtime| value(*case, *runtime).is_some());
    for case in Case::WAKE.into_iter().chain(Case::IDLE_USE).filter(measured) {
        let figure = |runtime: &RuntimeId| {
            value(case, *runtime).map_or_else(|| "-".to_owned(), |value| amount(value, case.unit()))
        };
        table.add_row(std::iter::once(title(case)).chain(runtimes.iter().map(figure)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("latency against CPU use, of {threads}, by hive's sleep protocols\n{}\n{EXPLANATION}", table.trim_fmt())
}

fn title(case: Case) -> String {
    case.name().trim_start_matches("idle-").replace('-', " ")
}

/// hive's own as `--sleep` names them.
const fn name(runtime: RuntimeId) -> &'static str {
    match runtime {
        RuntimeId::Hive => "jec",
        RuntimeId::HiveSpin => "none",
        RuntimeId::HiveTickle => "tickle",
        RuntimeId::HiveNotify => "notify",
        _ => runtime.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::tests::record;

    fn of(runtimes: &[RuntimeId], cases: &[Case]) -> String {
        let key = |case, runtime| Key { case, threads: 2, runtime };
        let pairs = cases.iter().flat_map(|case| runtimes.iter().map(|runtime| key(*case, *runtime)));
        let records: Vec<_> = pairs.map(|key| record(key, 0, &[7.5], &[])).collect();
        all(&Figures::of(&records))
    }

    #[test]
    fn protocols_stand_beside_each_other_and_rayon() {
        let runtimes = [RuntimeId::Hive, RuntimeId::HiveTickle, RuntimeId::RayonOutside];
        let text = of(&runtimes, &[Case::Wake1ms, Case::IdleUse2s]);
        for part in ["wake 1ms", "use 2s", " jec", "tickle", "rayon-outside", "7.50 ns", "7.5 %"] {
            assert!(text.contains(part), "{part} is missing: {text}");
        }
        assert!(!text.contains("10us"), "{text}");
    }

    #[test]
    fn one_protocol_or_one_side_is_no_table() {
        assert_eq!(of(&[RuntimeId::Hive, RuntimeId::RayonOutside], &[Case::Wake1ms, Case::IdleUse2s]), "");
        assert_eq!(of(&[RuntimeId::Hive, RuntimeId::HiveTickle], &Case::WAKE), "");
        assert_eq!(of(&[RuntimeId::Hive, RuntimeId::HiveTickle], &Case::IDLE_USE), "");
    }
}
