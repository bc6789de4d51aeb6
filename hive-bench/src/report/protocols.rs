//! What a sleep protocol gains, and what it costs: how soon a task begins, beside the CPU time used while waiting for
//! it.

use crate::catalog::{Case, RuntimeId};
use crate::report::figures::{Figures, Key};
use crate::report::tables::{aligned, amount, or_dash};

const EXPLANATION: &str = "\
wake: from the spawn of a task to its start, after so much idleness.
use: CPU time, in percent of one CPU, up to so long after the last task, from
the end of the line above on.
";

/// One table of all protocols, at the largest size. Empty unless at least two of hive's protocols were measured in both
/// kinds of cases.
pub(crate) fn all(figures: &Figures) -> String {
    let cases: Vec<Case> = Case::all_of("wake").chain(Case::all_of("idle-use")).collect();
    let Some(threads) = Case::all_of("idle-use").filter_map(|case| figures.largest(case)).max() else {
        return String::new();
    };
    let value = |case, runtime| figures.value(Key { case, threads, runtime });
    let has = |family, runtime| Case::all_of(family).any(|case| value(case, runtime).is_some());
    let has_both = |runtime: &RuntimeId| has("wake", *runtime) && has("idle-use", *runtime);
    let runtimes: Vec<RuntimeId> = RuntimeId::ALL.iter().copied().filter(has_both).collect();
    if runtimes.iter().filter(|runtime| runtime.is_hive()).count() < 2 {
        return String::new();
    }
    let row = |case: Case| {
        let title = case.name().trim_start_matches("idle-").replace('-', " ");
        let figure =
            |runtime: &RuntimeId| or_dash(value(case, *runtime).map(|value| amount(value.median, case.unit())));
        std::iter::once(title).chain(runtimes.iter().map(figure)).collect::<Vec<_>>()
    };
    let measured = |case: &Case| runtimes.iter().any(|runtime| value(*case, *runtime).is_some());
    let header: Vec<&str> = std::iter::once("").chain(runtimes.iter().map(|runtime| runtime.name())).collect();
    let table = aligned(header, cases.into_iter().filter(measured).map(row), &[0]);
    format!("latency against CPU use, of {threads}, by hive's sleep protocols\n{}\n{EXPLANATION}", table.trim_fmt())
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
        for part in ["wake 1ms", "use 2s", " hive ", "hive-tickle", "rayon-outside", "7.50 ns", "7.5 %"] {
            assert!(text.contains(part), "{part} is missing: {text}");
        }
        assert!(!text.contains("10us"), "{text}");
    }

    #[test]
    fn one_protocol_or_one_side_is_no_table() {
        assert_eq!(of(&[RuntimeId::Hive, RuntimeId::RayonOutside], &[Case::Wake1ms, Case::IdleUse2s]), "");
        assert_eq!(of(&[RuntimeId::Hive, RuntimeId::HiveTickle], &Case::all_of("wake").collect::<Vec<_>>()), "");
        assert_eq!(of(&[RuntimeId::Hive, RuntimeId::HiveTickle], &Case::all_of("idle-use").collect::<Vec<_>>()), "");
    }
}
