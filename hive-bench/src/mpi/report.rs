//! What the first rank prints about a run.

use std::fmt::Write;
use std::time::Duration;

use hive::Pin;

use super::Setting;
use super::jacobi::Strip;
use super::mask::Mask;
use crate::kernels::kernel::checksum;

/// Prints a few lines for each rank, and the answer. All ranks must call it.
pub(super) fn print(setting: Setting<'_>, side: u32, mask: &Mask, strip: &Strip<'_>, took: Duration, sums: &[f64]) {
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
    let (rank, count, machine, bees) = (ranks.rank(), ranks.count(), ranks.machine(), hive.bees());
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
