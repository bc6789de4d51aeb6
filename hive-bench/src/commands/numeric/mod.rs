//! `numeric`: what ordinary numeric programs take by plain loops, by Rayon and by a hive, alone and beside other
//! programs.

mod loops;
mod programs;
pub(crate) mod runner;

use std::time::Duration;

use clap::{Args, value_parser};
use serde::{Deserialize, Serialize};

use crate::catalog::{named, names};
use crate::commands::crowd::{busy, seconds};
use crate::report::tables::{aligned, number, or_dash};
use crate::run::own_process;
use crate::run::rounds::{self, Rounds};
use crate::stats::{Spread, median};
use crate::system::exit::{Outcome, fine_if};
use crate::system::machine;
use programs::Name;
use runner::{Job, Measured};

/// What is measured, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Run a program for so long in each measurement
    #[arg(long, value_name = "S", default_value = "0.2", value_parser = seconds)]
    seconds: f64,
    /// Measure everything this often
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u16).range(1..))]
    rounds: u16,
    /// Measure everything once and briefly, to see whether everything works
    #[arg(long, conflicts_with_all = ["seconds", "rounds"])]
    quick: bool,
    /// Measure only these programs [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    program: Vec<Name>,
    /// Measure only in these scenes [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    scene: Vec<Scene>,
}

/// A program in a scene, with what was measured in each round, a figure for each way. There is none where that failed,
/// and no time where the program has no such way.
type Row = rounds::Row<(Name, Scene), Measured>;

/// Measures and prints. A way that fails does not keep the others from being measured.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let scenes = if arguments.scene.is_empty() { Scene::ALL } else { &arguments.scene };
    let programs = if arguments.program.is_empty() { Name::ALL } else { &arguments.program };
    let rows = programs.iter().flat_map(|&program| scenes.iter().map(move |&scene| (program, scene)));
    let (seconds, number) = if arguments.quick { (1e-3, 1) } else { (arguments.seconds, arguments.rounds) };
    let rounds = Rounds { rounds: number, each: Duration::from_secs_f64(1.2 * seconds + 0.05) };
    let title =
        |(program, scene): (Name, Scene), way: Way| format!("{}: {}, {}", way.name(), program.name(), scene.name());
    let (rows, fine) =
        rounds.measure(rows, Way::ALL, title, |(program, scene), way| measure(&Job { program, scene, way, seconds }));
    print!("{}", text(&machine::processor(), &rows));
    fine_if(fine)
}

/// Has one job done, beside a busy process if the scene wants that.
fn measure(job: &Job) -> Result<Measured, String> {
    let is_busy = job.scene == Scene::Free;
    busy::beside(is_busy.then_some(None), || own_process::ask("numeric-runner", job, &[], job.seconds))
}

named! {
    /// What else goes on.
    Scene {
        Alone "alone" "Nothing";
        Free "free" "A busy process, bound to no CPU";
        Rayon "rayon" "The program itself uses Rayon: before each run, and before every eighth loop";
    }
}

names! {
    /// Who runs the program.
    #[derive(Serialize, Deserialize)]
    Way {
        Plain "Plain";
        Rayon "Rayon";
        /// A hive, loop after loop.
        Loops "Loops";
        /// A hive, in one region.
        Region "Region";
    }
}

/// Whose ratio, and whether to the better of plain loops and Rayon, or to the plain loops.
const COLUMNS: [(&str, Way, bool); 5] = [
    ("rayon", Way::Rayon, false),
    ("loops", Way::Loops, false),
    ("region", Way::Region, false),
    ("loops / better", Way::Loops, true),
    ("region / better", Way::Region, true),
];
/// The column whose worst is told.
const JUDGED: usize = 3;

fn of(round: &[Option<Measured>], way: Way) -> Measured {
    round.get(way as usize).copied().flatten().flatten()
}

/// Within a round, because the machine is not the same in all of them.
fn ratio(round: &[Option<Measured>], (_, way, to_the_better): (&str, Way, bool)) -> Measured {
    let plain = of(round, Way::Plain)?;
    Some(of(round, way)? / if to_the_better { plain.min(of(round, Way::Rayon)?) } else { plain })
}

fn spread((_, rounds): &Row, column: usize) -> Option<Spread> {
    let ratios: Vec<f64> = rounds.iter().filter_map(|round| ratio(round, COLUMNS[column])).collect();
    Spread::of(&ratios)
}

/// A row for each program and scene, then one for each scene with the means, and a line with the worst.
fn text(machine: &str, rows: &[Row]) -> String {
    let header = ["program", "scene", "plain, ms"].into_iter().chain(COLUMNS.map(|(title, ..)| title));
    let line = |first: [String; 3], figure: &dyn Fn(usize) -> Option<String>| {
        first.into_iter().chain((0..COLUMNS.len()).map(|column| or_dash(figure(column)))).collect::<Vec<_>>()
    };
    let programs = rows.iter().map(|row| {
        let ((program, scene), rounds) = row;
        let plain: Vec<f64> = rounds.iter().filter_map(|round| of(round, Way::Plain)).collect();
        let first = [program.name().to_owned(), scene.name().to_owned(), or_dash(median(&plain).map(number))];
        line(first, &|column| spread(row, column).map(cell))
    });
    let scenes = Scene::ALL.iter().filter(|scene| rows.iter().any(|((_, of), _)| of == *scene));
    let means = scenes.map(|&scene| {
        let first = ["mean".to_owned(), scene.name().to_owned(), String::new()];
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
    let in_scene = rows.iter().filter(|((_, of), _)| *of == scene);
    let logarithms: Vec<f64> = in_scene.filter_map(|row| Some(spread(row, column)?.median.ln())).collect();
    (!logarithms.is_empty()).then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

fn worst(rows: &[Row]) -> String {
    let all = rows.iter().filter_map(|row| Some((spread(row, JUDGED)?.median, row)));
    all.max_by(|one, other| one.0.total_cmp(&other.0)).map_or_else(String::new, |(worst, ((program, scene), _))| {
        let (program, scene) = (program.name(), scene.name());
        format!("worst: a hive's loops take {worst:.2} of the better of plain loops and Rayon in {program}, {scene}\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_rounds_and_the_worst_is_told() {
        let row = |program, scene, rounds: Vec<Vec<Measured>>| -> Row {
            ((program, scene), rounds.into_iter().map(|round| round.into_iter().map(Some).collect()).collect())
        };
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
