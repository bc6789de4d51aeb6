//! `captures`: what a loop pays for the words that its body captures.

use std::hint::black_box;

use hive::{Hive, Reduction, Schedule};

use crate::catalog::RuntimeId;
use crate::measure::timing;
use crate::report::tables::{aligned, number};
#[cfg(feature = "forkunion")]
use crate::runtimes::forkunion::ForkUnionPool;
use crate::runtimes::hive::HiveTeam;
use crate::runtimes::loops::Loops;
use crate::system::exit::{Failure, Outcome};
use crate::system::{cpus, machine};

/// How many words the bodies capture.
const WORDS: [usize; 5] = [1, 2, 4, 8, 16];
const INDICES: usize = 4096;
/// In each of them all bodies take turns.
const PASSES: usize = 20;

/// Measures and prints.
pub(crate) fn main() -> Outcome {
    // On a machine with one CPU the two share it.
    let cpus: Vec<usize> = cpus::in_order_of_use().into_iter().cycle().take(2).collect();
    let rows = rows(&cpus).map_err(Failure::Work)?;
    print!("{}", text(&machine::processor(), &rows));
    Ok(())
}

/// A loop whose body does next to nothing, but needs all these words.
trait Captures {
    fn run<const N: usize>(&mut self, words: [usize; N]);
}

struct Spmd<'a>(&'a Hive);
struct Slices<'a>(&'a Hive, Vec<u8>);
struct Reduce<'a>(&'a Hive);
/// A loop over blocks: `par_for`, or the rival's.
struct Blocks<'a, L>(&'a mut L);

impl Captures for Spmd<'_> {
    fn run<const N: usize>(&mut self, words: [usize; N]) {
        self.0.spmd(2, move |bee| {
            black_box(bee.split(0..INDICES).start + words[N - 1]);
        });
    }
}

impl Captures for Slices<'_> {
    fn run<const N: usize>(&mut self, words: [usize; N]) {
        self.0.par_for_mut(&mut self.1[..], Schedule::Static, move |range, slice, _| {
            black_box((&raw mut *slice, range.start + words[N - 1]));
        });
    }
}

impl Captures for Reduce<'_> {
    fn run<const N: usize>(&mut self, words: [usize; N]) {
        let sum = Reduction::unordered(0, |a: usize, b| a ^ b);
        black_box(self.0.par_reduce(0..INDICES, &sum, move |range| black_box(range.start + words[N - 1])));
    }
}

impl<L: Loops> Captures for Blocks<'_, L> {
    fn run<const N: usize>(&mut self, words: [usize; N]) {
        self.0.blocks(INDICES, move |range| {
            black_box(range.start + words[N - 1]);
        });
    }
}

/// Nanoseconds for each number of words.
type Row = (&'static str, [f64; WORDS.len()]);

fn rows(cpus: &[usize]) -> Result<Vec<Row>, String> {
    let mut team = HiveTeam::new(RuntimeId::Hive, cpus, |builder| builder)?;
    let rows = vec![
        ("spmd", nanoseconds(Spmd(&team.hive))),
        ("par_for", nanoseconds(Blocks(&mut team))),
        ("par_for_mut", nanoseconds(Slices(&team.hive, vec![0; INDICES]))),
        ("par_reduce", nanoseconds(Reduce(&team.hive))),
    ];
    // Before the next runtime, beside which its worker would poll.
    drop(team);
    #[cfg(feature = "forkunion")]
    let rows = [rows, vec![("forkunion", nanoseconds(Blocks(&mut ForkUnionPool::new(cpus)?)))]].concat();
    Ok(rows)
}

fn nanoseconds(mut by: impl Captures) -> [f64; WORDS.len()] {
    timing::medians_in_turn(PASSES, |which, times| match which {
        0 => repeat::<{ WORDS[0] }>(&mut by, times),
        1 => repeat::<{ WORDS[1] }>(&mut by, times),
        2 => repeat::<{ WORDS[2] }>(&mut by, times),
        3 => repeat::<{ WORDS[3] }>(&mut by, times),
        _ => repeat::<{ WORDS[4] }>(&mut by, times),
    })
}

/// The words are the same in each loop, as in a program that runs one loop again and again; but the compiler must not
/// know them.
fn repeat<const N: usize>(by: &mut impl Captures, times: u64) {
    for _ in 0..times {
        by.run::<N>(std::array::from_fn(black_box));
    }
}

fn text(machine: &str, rows: &[Row]) -> String {
    let named = |name: &str, cells: Vec<String>, last: String| {
        std::iter::once(name.to_owned()).chain(cells).chain(std::iter::once(last))
    };
    let titles = WORDS.map(|words| format!("{words} word{}", if words == 1 { "" } else { "s" }));
    let header = named("", titles.to_vec(), "16 words / 1 word".to_owned());
    let rows = rows.iter().map(|(name, nanoseconds)| {
        let multiple = format!("{:.2}", nanoseconds[WORDS.len() - 1] / nanoseconds[0]);
        named(name, nanoseconds.map(number).to_vec(), multiple)
    });
    format!(
        "nanoseconds on {machine} of a loop over {INDICES} indices with next to nothing in it, by a team of two that \
         is awake, by how many words its body captures; medians\n{}\n",
        aligned(header, rows, &[0]).trim_fmt()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_compares_most_words_with_one() {
        let text = text("a machine", &[("spmd", [100.0, 110.0, 120.0, 130.0, 150.0])]);
        assert!(text.lines().next().is_some_and(|line| line.contains("a machine")), "{text}");
        let words: Vec<_> = text.lines().last().unwrap_or_default().split_whitespace().collect();
        assert_eq!(words, ["spmd", "100", "110", "120", "130", "150", "1.50"], "{text}");
    }
}
