//! `mpi`: Jacobi's method and conjugate gradients on several machines, by one hive a rank. `docs/mpi.md` is about it.

mod cg;
mod check;
mod halo;
mod jacobi;
mod mask;
mod ranks;
mod report;
mod rows;
mod sum;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, value_parser};
use hive::Hive;

use check::Answer;
use mask::Mask;
use ranks::Ranks;
use rows::Rows;

/// Run by mpirun, or alone as the only rank.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    problem: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Heat on a square plate by Jacobi's method
    Jacobi {
        #[command(flatten)]
        plate: jacobi::Plate,
        #[command(flatten)]
        terms: Terms,
    },
    /// A system of equations by conjugate gradients
    Cg {
        #[command(flatten)]
        system: cg::System,
        #[command(flatten)]
        terms: Terms,
    },
}

/// How to solve it.
#[derive(Debug, Args)]
struct Terms {
    /// Steps of the method
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = value_parser!(u32).range(1..))]
    steps: u32,
    /// Bees of each rank's hive, the queen counted [default: the rank's share of the CPUs in its mask]
    #[arg(long, value_name = "N")]
    bees: Option<usize>,
    /// Blocks of the fixed reductions. Ranks get whole blocks, so more ranks than that need more; the sums depend on it
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = value_parser!(u32).range(1..=1 << 16))]
    blocks: u32,
    /// Solve all of it once more in the first rank alone, and compare every bit
    #[arg(long)]
    check: bool,
}

/// What the rows of a problem are dealt out to.
#[derive(Clone, Copy, Debug)]
struct Setting<'r> {
    ranks: &'r Ranks,
    hive: &'r Hive,
    blocks: usize,
}

/// Something to solve by steps, with rows that can be dealt out.
trait Problem {
    /// A rank's rows, before ranks have talked about them.
    type Part;
    type Solver<'r>: Solver;

    fn name(&self) -> String;

    /// Makes up or reads this rank's rows, without a word to the others.
    fn part(&self, setting: Setting<'_>) -> Result<Self::Part, String>;

    /// Gets ready together with all other ranks.
    fn solver<'r>(&self, setting: Setting<'r>, part: Self::Part) -> Self::Solver<'r>;

    /// So many steps on all rows, by this process and its hive alone.
    fn alone(&self, setting: Setting<'_>, steps: usize) -> Result<Answer, String>;
}

/// A problem of which each rank has its rows.
trait Solver {
    /// One step by all ranks. What they have summed up for it, the same for all of them, and so is an error.
    fn step(&mut self) -> Result<f64, String>;

    fn rows(&self) -> &Rows;

    /// The own rows of the answer, one after the other.
    fn answer(&self) -> &[f64];

    /// How long this rank has waited for others.
    fn waited(&self) -> Duration;
}

/// Why there is no answer.
enum Failure {
    Usage(String),
    Answer(String),
}

/// Solves, and prints by the first rank. Exit codes as for a run, the same from all ranks.
pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    let ranks = match Ranks::join() {
        Ok(ranks) => ranks,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let outcome = match &arguments.problem {
        What::Jacobi { plate, terms } => run(&ranks, plate, terms),
        What::Cg { system, terms } => run(&ranks, system, terms),
    };
    let (error, code) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Usage(error)) => (error, ExitCode::from(2)),
        Err(Failure::Answer(error)) => (error, ExitCode::FAILURE),
    };
    if ranks.is_first() {
        eprintln!("error: {error}");
    }
    code
}

fn run<P: Problem>(ranks: &Ranks, problem: &P, terms: &Terms) -> Result<(), Failure> {
    let mask = Mask::read(ranks);
    let hive = ranks.agree(mask.hive(terms.bees)).map_err(Failure::Usage)?;
    let setting = Setting { ranks, hive: &hive, blocks: terms.blocks as usize };
    let part = ranks.agree(problem.part(setting)).map_err(Failure::Usage)?;
    let mut solver = problem.solver(setting, part);
    ranks.barrier();
    let begin = Instant::now();
    let sums = (0..terms.steps).map(|_| solver.step()).collect::<Result<Vec<_>, _>>().map_err(Failure::Answer)?;
    let took = report::Took { steps: terms.steps, all: begin.elapsed(), waiting: solver.waited() };
    report::print(setting, &problem.name(), &mask, &solver, &took, &sums);
    if terms.check {
        let same = check::compare(setting, problem, &solver, &sums);
        let text = ranks.agree(same).map_err(Failure::Answer)?;
        if ranks.is_first() {
            println!("{text}");
        }
    }
    Ok(())
}
