//! `numeric`: what ordinary numeric programs take by plain loops, by Rayon and by a hive, alone and beside other
//! programs.

mod loops;
mod programs;
pub(crate) mod runner;
mod scene;
mod table;

use std::time::Duration;

use clap::{Args, ValueEnum, value_parser};

use crate::commands::crowd::busy::Busy;
use crate::commands::crowd::seconds;
use crate::run::own_process;
use crate::run::rounds::Rounds;
use crate::system::exit::{Outcome, fine_if};
use crate::system::machine::Machine;
use programs::Name;
use runner::{Job, Measured};
use scene::{Scene, Way, name};

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

/// A program in a scene, with what was measured in each round, a figure for each way.
struct Row {
    program: Name,
    scene: Scene,
    rounds: Vec<Vec<Measured>>,
}

/// Measures and prints. A way that fails does not keep the others from being measured.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let mut rows = rows(arguments);
    let (seconds, number) = if arguments.quick { (1e-3, 1) } else { (arguments.seconds, arguments.rounds) };
    let each = Duration::from_secs_f64(1.2 * seconds + 0.05);
    let rounds = Rounds { rounds: number, rows: rows.len(), ways: Way::ALL.len(), each };
    let title =
        |row: usize, way: usize| format!("{:?}: {}, {}", Way::ALL[way], name(rows[row].program), name(rows[row].scene));
    let (all, fine) = rounds.measure(title, |row, way| {
        let Row { program, scene, .. } = rows[row];
        measure(&Job { program, scene, way: Way::ALL[way], seconds })
    });
    for (row, rounds) in rows.iter_mut().zip(all) {
        row.rounds = rounds.into_iter().map(|round| round.into_iter().map(Option::flatten).collect()).collect();
    }
    print!("{}", table::text(&Machine::read_name(), &rows));
    fine_if(fine)
}

/// The rows, still empty.
fn rows(arguments: &Arguments) -> Vec<Row> {
    let programs = all_or(&arguments.program);
    let of_program =
        |&program: &Name| all_or(&arguments.scene).iter().map(move |&scene| Row { program, scene, rounds: Vec::new() });
    programs.iter().flat_map(of_program).collect()
}

fn all_or<T: ValueEnum>(chosen: &[T]) -> &[T] {
    if chosen.is_empty() { T::value_variants() } else { chosen }
}

/// Has one job done, beside a busy process if the scene wants that.
fn measure(job: &Job) -> Result<Measured, String> {
    let mut busy = if job.scene == Scene::Free { Some(Busy::start(None)?) } else { None };
    let measured = own_process::ask("numeric-runner", job, job.seconds)?;
    busy.as_mut().map_or(Ok(()), Busy::is_still_there)?;
    Ok(measured)
}
