//! The figures as text.

use clap::ValueEnum;

use super::Row;
use super::runner::Measured;
use super::scene::{Scene, Way, name};
use crate::report::tables::{aligned, number, or_dash};
use crate::stats::{Spread, median};

/// A ratio within a round, because the machine is not the same in all of them.
type Ratio = fn(&[Measured]) -> Measured;

const COLUMNS: [(&str, Ratio); 5] = [
    ("rayon", |round| ratio(of(round, Way::Rayon), of(round, Way::Plain))),
    ("loops", |round| ratio(of(round, Way::Loops), of(round, Way::Plain))),
    ("region", |round| ratio(of(round, Way::Region), of(round, Way::Plain))),
    ("loops / better", |round| ratio(of(round, Way::Loops), better(round))),
    ("region / better", |round| ratio(of(round, Way::Region), better(round))),
];
/// The column whose worst is told.
const JUDGED: usize = 3;

fn of(round: &[Measured], way: Way) -> Measured {
    round.get(way as usize).copied().flatten()
}

/// The better of plain loops and Rayon.
fn better(round: &[Measured]) -> Measured {
    Some(of(round, Way::Plain)?.min(of(round, Way::Rayon)?))
}

fn ratio(one: Measured, other: Measured) -> Measured {
    Some(one? / other?)
}

fn spread(row: &Row, column: usize) -> Option<Spread> {
    let ratios: Vec<f64> = row.rounds.iter().filter_map(|round| COLUMNS[column].1(round)).collect();
    Spread::of(&ratios)
}

/// A row for each program and scene, then one for each scene with the means, and a line with the worst.
pub(super) fn text(machine: &str, rows: &[Row]) -> String {
    let header = ["program", "scene", "plain, ms"].into_iter().chain(COLUMNS.map(|(title, _)| title));
    let line = |first: [String; 3], figure: &dyn Fn(usize) -> Option<String>| {
        first.into_iter().chain((0..COLUMNS.len()).map(|column| or_dash(figure(column)))).collect::<Vec<_>>()
    };
    let programs = rows.iter().map(|row| {
        let plain: Vec<f64> = row.rounds.iter().filter_map(|round| of(round, Way::Plain)).collect();
        let first = [name(row.program), name(row.scene), or_dash(median(&plain).map(number))];
        line(first, &|column| spread(row, column).map(cell))
    });
    let scenes = Scene::value_variants().iter().filter(|scene| rows.iter().any(|row| row.scene == **scene));
    let means = scenes.map(|&scene| {
        let first = ["mean".to_owned(), name(scene), String::new()];
        line(first, &|column| mean(rows, scene, column).map(|mean| format!("{mean:.2}")))
    });
    let table = aligned(header.map(str::to_owned), programs.chain(means), &[0, 1]).trim_fmt();
    format!(
        "milliseconds of a program on {machine} by plain loops, and what Rayon, a hive's loops and one region of a \
         hive take as a multiple of that, or of the better of plain loops and Rayon; medians over the rounds with \
         their middle half, and geometric means of these\n{}\n{}",
        table,
        worst(rows)
    )
}

fn cell(spread: Spread) -> String {
    format!("{:.2} ({:.2}-{:.2})", spread.median, spread.lower_quartile, spread.upper_quartile)
}

/// The geometric mean of the programs in a scene.
fn mean(rows: &[Row], scene: Scene, column: usize) -> Option<f64> {
    let in_scene = rows.iter().filter(|row| row.scene == scene);
    let logarithms: Vec<f64> = in_scene.filter_map(|row| Some(spread(row, column)?.median.ln())).collect();
    (!logarithms.is_empty()).then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

fn worst(rows: &[Row]) -> String {
    let all = rows.iter().filter_map(|row| Some((spread(row, JUDGED)?.median, row)));
    all.max_by(|one, other| one.0.total_cmp(&other.0)).map_or_else(String::new, |(worst, row)| {
        let (program, scene) = (name(row.program), name(row.scene));
        format!("worst: a hive's loops take {worst:.2} of the better of plain loops and Rayon in {program}, {scene}\n")
    })
}

#[cfg(test)]
mod tests {
    use super::super::programs::Name;
    use super::*;

    #[test]
    fn ratios_are_taken_within_rounds_and_the_worst_is_told() {
        let row = |program, scene, rounds| Row { program, scene, rounds };
        let rows = [
            // The better is Rayon in one round, and the plain loop in the other.
            row(
                Name::Lu,
                Scene::Alone,
                vec![vec![Some(4.0), Some(2.0), Some(3.0), None], vec![Some(4.0), Some(8.0), Some(6.0), None]],
            ),
            row(Name::Heat, Scene::Alone, vec![vec![Some(2.0), Some(4.0), Some(1.0), Some(3.0)]]),
            row(Name::Heat, Scene::Free, vec![vec![Some(2.0), None, Some(9.0), Some(3.0)]]),
        ];
        let text = text("a machine", &rows);
        let line = |number: usize| text.lines().nth(number).unwrap_or_default().split_whitespace().collect::<Vec<_>>();
        assert!(text.lines().next().is_some_and(|line| line.contains("a machine")), "{text}");
        assert_eq!(line(2)[..5], ["lu", "alone", "4.00", "1.25", "(0.88-1.62)"], "{text}");
        assert_eq!(line(2)[7..], ["-", "1.50", "(1.50-1.50)", "-"], "{text}");
        assert_eq!(line(4)[3..6], ["-", "4.50", "(4.50-4.50)"], "{text}");
        // The mean of 1.5 and 0.5.
        assert_eq!(line(5), ["mean", "alone", "1.58", "0.75", "1.50", "0.87", "1.50"], "{text}");
        assert_eq!(line(6), ["mean", "free", "-", "4.50", "1.50", "-", "-"], "{text}");
        assert!(line(7).join(" ").ends_with("take 1.50 of the better of plain loops and Rayon in lu, alone"), "{text}");
        assert_eq!(worst(&[]), "");
    }
}
