//! `mpi`: Jacobi's method and conjugate gradients on several machines, with one hive in each rank.
//! `docs/mpi.md` is about it.

mod answer;
mod cg;
mod check;
mod halo;
mod jacobi;
mod mask;
mod problem;
mod ranks;
mod report;
mod rows;
mod sum;

use std::time::Instant;

use clap::{Args, Subcommand, value_parser};

use crate::system::exit::{Failure, Outcome};
use mask::Mask;
use problem::{Problem, Setting, Solver};
use ranks::Ranks;

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
    /// Bees in each rank's hive, including the queen [default: the rank's share of the CPUs in its mask]
    #[arg(long, value_name = "N")]
    bees: Option<usize>,
    /// Number of blocks of the reductions, on which the sums depend. Ranks get whole blocks, so there must be at least
    /// as many blocks as ranks
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = value_parser!(u32).range(1..=1 << 16))]
    blocks: u32,
    /// Solve the problem once more in the first rank alone, and compare every bit
    #[arg(long)]
    check: bool,
}

/// Solves, and prints by the first rank, its error too. The exit code is the same from all ranks.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let ranks = Ranks::join().map_err(Failure::Usage)?;
    let outcome = match &arguments.problem {
        What::Jacobi { plate, terms } => run(&ranks, plate, terms),
        What::Cg { system, terms } => run(&ranks, system, terms),
    };
    // Said while the ranks are still together: as soon as one has ended with a code other than 0, mpirun ends all
    // others.
    outcome.map_err(|failure| failure.printed(ranks.is_first()))
}

fn run<P: Problem>(ranks: &Ranks, problem: &P, terms: &Terms) -> Outcome {
    let mask = Mask::read(ranks);
    let hive = ranks.agree(mask.hive(terms.bees)).map_err(Failure::Usage)?;
    let setting = Setting { ranks, hive: &hive, blocks: terms.blocks as usize };
    let part = ranks.agree(problem.part(setting)).map_err(Failure::Usage)?;
    let mut solver = problem.solver(setting, part);
    ranks.barrier();
    let begin = Instant::now();
    // The ranks need not agree on an error here: a step fails in all of them alike (`Solver::step`).
    let sums = (0..terms.steps).map(|_| solver.step()).collect::<Result<Vec<_>, _>>().map_err(Failure::Work)?;
    let took = report::Took { steps: terms.steps, all: begin.elapsed(), waiting: solver.waited() };
    report::print(setting, &problem.name(), &mask, &solver, &took, &sums);
    if terms.check {
        let same = check::compare(setting, problem, &solver, &sums);
        let text = ranks.agree(same).map_err(Failure::Work)?;
        if ranks.is_first() {
            println!("{text}");
        }
    }
    Ok(())
}
