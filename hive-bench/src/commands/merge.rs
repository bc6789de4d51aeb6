//! `merge`: the runs of several machines in one table, hive beside its best rival on each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use comfy_table::presets;

use crate::catalog::Case;
use crate::record::{self, Run};
use crate::report::figures::Figures;
use crate::report::notes;
use crate::report::ranking::{Row, sentence};
use crate::report::summary::head;
use crate::report::tables::aligned;
use crate::system::exit::{Failure, Outcome};

/// Which runs, and in what form.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The files that the runs left, gzipped or not
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// Print the table as Markdown
    #[arg(long)]
    markdown: bool,
}

/// Prints it.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let runs = arguments.runs.iter().map(|path| record::read(path)).collect::<Result<Vec<_>, _>>();
    print!("{}", text(&runs.map_err(Failure::Usage)?, arguments.markdown));
    Ok(())
}

/// A line for each case and size, with hive's figure, its ratio to the best rival, that rival, and the verdict of each
/// run. Teams of all CPUs are one size, however many CPUs the machines have.
fn text(runs: &[Run], markdown: bool) -> String {
    let mut table_lines: BTreeMap<(Case, Option<usize>), BTreeMap<usize, Row>> = BTreeMap::new();
    let (mut text, mut sums) = (String::new(), String::new());
    let mark = if markdown { "- " } else { "" };
    for (place, run) in runs.iter().enumerate() {
        let rows = Row::all(&Figures::of(&run.records));
        let other = (run.budget != runs[0].budget).then(|| "note: it measured other amounts than A".to_owned());
        let lines: Vec<String> = head(run).into_iter().chain(notes::troubles(run)).chain(other).collect();
        text += &format!("{mark}{}: {}\n", letter(place), lines.join("\n   "));
        sums += &format!("{mark}{}: {}\n", letter(place), sentence(&rows));
        for row in rows {
            let cpus = run.machine.cpus.len();
            let size = (row.threads == 1 || row.threads != cpus).then_some(row.threads);
            table_lines.entry((row.case, size)).or_default().insert(place, row);
        }
    }
    let header = std::iter::once("case/threads".to_owned()).chain((0..runs.len()).flat_map(|place| {
        [format!("{}: hive", letter(place)), "ratio".to_owned(), "to".to_owned(), "hive is".to_owned()]
    }));
    let of_line = |((case, size), of_runs): ((Case, Option<usize>), BTreeMap<usize, Row>)| {
        let size = size.map_or_else(|| "all".to_owned(), |size| size.to_string());
        let cells = (0..runs.len()).flat_map(move |place| match of_runs.get(&place).map(Row::cells) {
            Some([_, hive, rival, _, ratio, _, relation]) => [hive, ratio, rival, relation],
            None => ["-".to_owned(), String::new(), String::new(), String::new()],
        });
        std::iter::once(format!("{}/{size}", case.name())).chain(cells).collect::<Vec<_>>()
    };
    let words: Vec<usize> =
        std::iter::once(0).chain((0..runs.len()).flat_map(|run| [4 * run + 3, 4 * run + 4])).collect();
    let mut table = aligned(header, table_lines.into_iter().map(of_line), &words);
    if markdown {
        table.load_style(presets::ASCII_MARKDOWN);
    } else {
        table.column_iter_mut().take(1).for_each(|column| _ = column.set_padding((0, 1)));
    }
    format!("{text}\n{}\n\n{sums}", table.trim_fmt())
}

/// The name of a run in the table.
fn letter(place: usize) -> String {
    ('A'..='Z').nth(place).map_or_else(|| format!("run {}", place + 1), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::results::tests::run;

    #[test]
    fn machines_of_different_sizes_share_a_line() {
        let mut large = run();
        large.machine.processor = "a large one".to_owned();
        large.machine.cpus = (0..64).collect();
        large.records.iter_mut().for_each(|record| record.threads = 64);
        let text = text(&[run(), large.clone()], false);
        for part in
            ["A: a processor, 2 CPUs", "B: a large one, 64 CPUs", "A: hive is ahead in 1", "B: hive is ahead in 1"]
        {
            assert!(text.contains(part), "{part} is missing: {text}");
        }
        let line = text.lines().find(|line| line.starts_with("region/all")).unwrap();
        assert_eq!(line.matches("110 ns").count(), 2, "{text}");
        large.records.iter_mut().for_each(|record| record.threads = 2);
        let apart = super::text(&[run(), large], true);
        assert!(apart.contains("| region/all ") && apart.contains("| region/2 "), "{apart}");
    }
}
