//! The figures as text.

use super::Row;
use super::runner::Measured;
use super::scene::Way;
use crate::report::tables::{aligned, number, or_dash};
use crate::stats::median;

/// A row for each scene and length of work, and a column for each way.
pub(super) fn text(machine: &str, ways: &[Way], rows: &[Row]) -> String {
    let header = ["scene", "us", "loops/s"].into_iter().chain(ways.iter().map(|way| way.name())).map(str::to_owned);
    let cells = rows.iter().map(|row| {
        let references: Vec<f64> = row.rounds.iter().filter_map(|round| reference(ways, round)).collect();
        let reference = or_dash(median(&references).map(|rate| format!("{rate:.0}")));
        let cells = (0..ways.len()).map(|way| cell(ways, way, row));
        [row.scene.name(), row.work_us.to_string(), reference].into_iter().chain(cells).collect::<Vec<_>>()
    });
    format!(
        "loops a second on {machine}, as a multiple of the better of plain loop and Rayon (loops/s), and in brackets \
         the us that 99.9 % of the loops do not exceed; medians over the rounds\n{}\n",
        aligned(header, cells, &[0]).trim_fmt()
    )
}

/// Loops a second of the better of plain loop and Rayon in one round.
fn reference(ways: &[Way], round: &[Option<Measured>]) -> Option<f64> {
    let rates = ways.iter().zip(round).filter(|(way, _)| way.is_reference());
    rates.filter_map(|(_, measured)| measured.map(|one| one.loops_a_second)).reduce(f64::max)
}

/// A multiple is taken within its round, because the machine is not the same in all of them.
fn cell(ways: &[Way], way: usize, row: &Row) -> String {
    let figures = row.rounds.iter().filter_map(|round| {
        let Measured { loops_a_second, p999_us } = round[way]?;
        Some((loops_a_second / reference(ways, round)?, p999_us))
    });
    let (multiples, slow): (Vec<f64>, Vec<f64>) = figures.unzip();
    let middle = median(&multiples).zip(median(&slow));
    or_dash(middle.map(|(multiple, slow)| format!("{multiple:.2} ({})", number(slow))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::crowd::scene::Scene;

    #[test]
    fn the_better_of_two_is_one_in_every_round() {
        let ways = [Way::Plain, Way::Rayon, Way::ParFor, Way::Spmd];
        let one = |loops_a_second| Some(Measured { loops_a_second, p999_us: 12.34 });
        let rounds = vec![
            vec![one(100.0), one(50.0), one(90.0), None],
            vec![one(100.0), one(200.0), one(220.0), None],
            vec![None, one(400.0), one(480.0), None],
        ];
        let text = text("a machine", &ways, &[Row { scene: Scene::Bound, work_us: 10, rounds }]);
        assert!(text.lines().next().is_some_and(|line| line.contains("a machine")), "{text}");
        let last = text.lines().last().unwrap_or_default();
        let words: Vec<_> = last.split_whitespace().collect();
        let expected = ["bound", "10", "200", "0.75", "(12.3)", "1.00", "(12.3)", "1.10", "(12.3)", "-"];
        assert_eq!(words, expected, "{text}");
    }
}
