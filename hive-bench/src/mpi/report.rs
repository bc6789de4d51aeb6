//! What the first rank prints about a run.

use std::fmt::Write;
use std::time::Duration;

use hive::Pin;

use super::mask::Mask;
use super::problem::{Setting, Solver};
use crate::kernels::kernel::checksum;

/// How long the steps took on one rank.
pub(super) struct Took {
    pub(super) steps: u32,
    pub(super) all: Duration,
    /// The time spent waiting for other ranks.
    pub(super) waiting: Duration,
}

/// Prints a few lines for each rank, and the answer. All ranks must call it.
pub(super) fn print(setting: Setting<'_>, name: &str, mask: &Mask, solver: &impl Solver, took: &Took, sums: &[f64]) {
    let ranks = setting.ranks;
    let lines = ranks.gather(lines(setting, mask, solver, took).as_bytes());
    let longest = ranks.gather(&[took.all.as_secs_f64() / f64::from(took.steps)]);
    let bees = ranks.gather(&[setting.hive.bees() as u64]);
    let blocks = ranks.gather(&checksums(solver));
    let (Some(lines), Some(longest), Some(bees), Some(blocks)) = (lines, longest, bees, blocks) else { return };
    print!("{}", String::from_utf8_lossy(&lines));
    let longest = Duration::from_secs_f64(longest.into_iter().fold(0.0, f64::max));
    let (count, bees) = (ranks.count(), bees.iter().sum::<u64>());
    println!("{name}, ranks: {count}, bees: {bees}, steps: {}, {longest:.1?} each", took.steps);
    let last = sums.last().copied().unwrap_or_default();
    println!("last sum: {last:e} (bits {:016x})", last.to_bits());
    println!("answer: checksum {:016x}", checksum(blocks.into_iter()));
}

/// About this rank: its number, its rows and times, and the report of its hive.
fn lines(setting: Setting<'_>, mask: &Mask, solver: &impl Solver, took: &Took) -> String {
    let (ranks, own, steps) = (setting.ranks, solver.rows().own(), took.steps);
    let cpus = Pin::Cpus(mask.cpus.clone());
    let shared = if mask.is_shared { ", which other ranks have as well" } else { "" };
    let (rank, count, machine) = (ranks.rank(), ranks.count(), ranks.machine());
    let mut text = format!(
        "rank {rank} of {count} on {machine}: CPUs {cpus}{shared}; bees: {}; rows {own:?}; ",
        setting.hive.bees()
    );
    let (each, waiting) = (took.all / steps, took.waiting / steps);
    // A string takes whatever is written to it.
    let _ = writeln!(text, "{each:.1?} a step, {waiting:.1?} of it waiting for other ranks");
    setting.hive.report().to_string().lines().for_each(|line| {
        let _ = writeln!(text, "    {line}");
    });
    text
}

/// A checksum for each block of rows: they are the same whichever rank has it.
fn checksums(solver: &impl Solver) -> Vec<u64> {
    let (rows, answer) = (solver.rows(), solver.answer());
    let width = answer.len() / rows.own().len().max(1);
    let of_block = |block: &std::ops::Range<usize>| {
        checksum(answer[block.start * width..block.end * width].iter().map(|value| value.to_bits()))
    };
    rows.blocks().iter().map(of_block).collect()
}
