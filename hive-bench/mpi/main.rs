//! Jacobi's method on several machines, with one hive in each rank: a pattern for other programs. `docs/mpi.md` is
//! about it.

mod jacobi;
mod mask;
mod ranks;
mod rows;

use std::fmt::Write;
use std::hash::{DefaultHasher, Hasher};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ::mpi::environment::processor_name;
use ::mpi::traits::*;
use clap::{Parser, value_parser};
use hive::{Hive, Pin};

use jacobi::Strip;
use mask::Mask;
use ranks::Ranks;

/// Heat on a square plate by Jacobi's method, with one hive a rank: run by mpirun, or alone as the only rank
///
/// Exit codes: 0 if all is well, 1 if --check found a bit that differs, 2 for bad usage. docs/mpi.md says how to run
/// it.
#[derive(Debug, Parser)]
struct Terms {
    /// Cells along an edge, the fixed border not counted
    #[arg(long, value_name = "K", default_value_t = 512, value_parser = value_parser!(u32).range(1..=1 << 20))]
    side: u32,
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

/// The ranks and the hive that solve a problem.
#[derive(Clone, Copy)]
struct Setting<'r> {
    ranks: &'r Ranks,
    hive: &'r Hive,
    blocks: usize,
}

/// Why a rank ends with another code than 0.
type Failure = (u8, String);

/// Solves, and prints by the first rank, its error too. The exit code is the same from all ranks.
fn main() -> ExitCode {
    let terms = Terms::parse();
    let ranks = match Ranks::join() {
        Ok(ranks) => ranks,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let Err((code, error)) = run(&ranks, &terms) else { return ExitCode::SUCCESS };
    // Said while the ranks are still together: as soon as one has ended with a code other than 0, mpirun ends all
    // others.
    if ranks.is_first() {
        eprintln!("error: {error}");
    }
    ExitCode::from(code)
}

fn run(ranks: &Ranks, terms: &Terms) -> Result<(), Failure> {
    let mask = Mask::read(ranks);
    let hive = ranks.agree(mask.hive(terms.bees)).map_err(|error| (2, error))?;
    let setting = Setting { ranks, hive: &hive, blocks: terms.blocks as usize };
    let mut strip = Strip::new(setting, terms.side as usize);
    ranks.world().barrier();
    let begin = Instant::now();
    let sums: Vec<f64> = (0..terms.steps).map(|_| strip.step()).collect();
    print(setting, terms.side, &mask, &strip, begin.elapsed(), &sums);
    if terms.check {
        let same = ranks.agree(compare(setting, terms, &strip, &sums)).map_err(|error| (1, error))?;
        if ranks.is_first() {
            println!("{same}");
        }
    }
    Ok(())
}

/// Solves the problem once more in the first rank, and compares there. Returns what to print; an error says what
/// differs.
fn compare(setting: Setting<'_>, terms: &Terms, strip: &Strip<'_>, sums: &[f64]) -> Result<String, String> {
    let Some(values) = setting.ranks.gather(strip.answer()) else { return Ok(String::new()) };
    let (sums_alone, values_alone) = jacobi::alone(setting, terms.side as usize, terms.steps);
    same("sum", sums, &sums_alone)?;
    same("value", &values, &values_alone)?;
    Ok(format!("check: {} sums and {} values have the same bits as in one process", sums.len(), values.len()))
}

fn same(what: &str, ours: &[f64], alone: &[f64]) -> Result<(), String> {
    if ours.len() != alone.len() {
        return Err(format!("check: {} {what}s, and {} in one process", ours.len(), alone.len()));
    }
    match ours.iter().zip(alone).find(|(ours, alone)| ours.to_bits() != alone.to_bits()) {
        Some((ours, alone)) => Err(format!("check: a {what} is {ours:e}, and {alone:e} in one process")),
        None => Ok(()),
    }
}

/// Prints a few lines for each rank, and the answer. All ranks must call it.
fn print(setting: Setting<'_>, side: u32, mask: &Mask, strip: &Strip<'_>, took: Duration, sums: &[f64]) {
    let (ranks, steps) = (setting.ranks, sums.len() as u32);
    let lines = ranks.gather(lines(setting, mask, strip, [took, strip.waited].map(|time| time / steps)).as_bytes());
    let longest = ranks.gather(&[took.as_secs_f64() / f64::from(steps)]);
    let bees = ranks.gather(&[setting.hive.bees() as u64]);
    let blocks = ranks.gather(&checksums(strip));
    let (Some(lines), Some(longest), Some(bees), Some(blocks)) = (lines, longest, bees, blocks) else { return };
    print!("{}", String::from_utf8_lossy(&lines));
    let longest = Duration::from_secs_f64(longest.into_iter().fold(0.0, f64::max));
    let (count, bees) = (ranks.count(), bees.iter().sum::<u64>());
    println!(
        "Jacobi's method on {side} x {side} cells, ranks: {count}, bees: {bees}, steps: {steps}, {longest:.1?} each"
    );
    let last = sums.last().copied().unwrap_or_default();
    println!("last sum: {last:e} (bits {:016x})", last.to_bits());
    println!("answer: checksum {:016x}", checksum(blocks.into_iter()));
}

/// About this rank: its number, its rows and times of a step, and the report of its hive.
fn lines(setting: Setting<'_>, mask: &Mask, strip: &Strip<'_>, [each, waiting]: [Duration; 2]) -> String {
    let (ranks, hive, own) = (setting.ranks, setting.hive, strip.rows.own.clone());
    let (rank, count, bees) = (ranks.rank(), ranks.count(), hive.bees());
    let machine = processor_name().unwrap_or_else(|_| "a machine whose name is not Unicode".to_owned());
    let cpus = Pin::Cpus(mask.cpus.clone());
    let shared = if mask.is_shared { ", which other ranks have as well" } else { "" };
    let mut text = format!(
        "rank {rank} of {count} on {machine}: CPUs {cpus}{shared}; bees: {bees}; rows {own:?}; {each:.1?} a step, \
         {waiting:.1?} of it waiting for other ranks\n"
    );
    for line in hive.report().to_string().lines() {
        // A string takes whatever is written to it.
        let _ = writeln!(text, "    {line}");
    }
    text
}

/// A checksum for each block of rows: they are the same whichever rank has it.
fn checksums(strip: &Strip<'_>) -> Vec<u64> {
    let (rows, answer) = (&strip.rows, strip.answer());
    let width = answer.len() / rows.own.len().max(1);
    let of_block = |block: &std::ops::Range<usize>| {
        checksum(answer[block.start * width..block.end * width].iter().map(|value| value.to_bits()))
    };
    rows.blocks.iter().map(of_block).collect()
}

/// A checksum of all bits, in order.
fn checksum(bits: impl Iterator<Item = u64>) -> u64 {
    let mut hash = DefaultHasher::new();
    bits.for_each(|bits| hash.write_u64(bits));
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bit_that_differs_is_reported() {
        assert_eq!(same("sum", &[1.0, f64::NAN], &[1.0, f64::NAN]), Ok(()));
        let next = 2.0_f64.next_up();
        let error = same("sum", &[1.0, 2.0, 3.0], &[1.0, next, 4.0]).unwrap_err();
        assert!(error.contains("sum is 2e0, and 2.0000000000000004e0"), "{error}");
        assert!(same("value", &[0.0], &[-0.0]).is_err());
        assert!(same("value", &[0.0], &[]).unwrap_err().contains("1 values, and 0"));
    }
}
