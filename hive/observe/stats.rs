//! `Stats`: what each bee of a hive has done so far, in numbers. `Hive::stats` makes it from the bees' counters.

use std::ops::{Add, Index};
use std::{fmt, iter};

use crate::observe::counters::{BeeCounters, COUNTERS, Counter};

/// What each bee of a hive has done since the hive was built. [`Hive::stats`](crate::pool::handle::Hive::stats) returns
/// it.
///
/// ```
/// let hive = hive::Hive::new(2)?;
/// let before = hive.stats().total().regions;
/// hive.spmd(2, |_| {});
/// assert_eq!(hive.stats().total().regions - before, 2, "one for each bee");
/// println!("{}", hive.stats());
/// # Ok::<(), hive::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    pub(crate) per_bee: Vec<Counts>,
}

/// What one bee has done, or several together. Each count starts at 0 when the hive is built and never wraps.
///
/// ```
/// hive::scope(|scope| (0..100).for_each(|_| scope.spawn(|_| ())));
/// let queen = hive::stats()[0];
/// println!("the queen has run {} tasks and taken part in {} regions", queen.tasks, queen.regions);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Regions in which the bee took part. Regions whose team is only their caller are not counted.
    pub regions: u64,
    /// Parts of loops that the bee has run in the names of others: of bees that were asleep, busy with a task or
    /// without a CPU, or that are more than there are CPUs. See [`Hive::par_for`](crate::Hive::par_for).
    pub stand_ins: u64,
    /// Loops that their callers have run by themselves because that ends sooner: the workers slept, and the loop was
    /// too short to wake them for; it was too short for a team at all, or tried as such; the workers had no CPU; or the
    /// hive was busy. Counted for bee 0. See [`Hive::par_for`](crate::Hive::par_for).
    pub lone_loops: u64,
    /// Tasks that the bee took from a queue and ran. The closures of a join that are run by the bee that called it are
    /// not counted.
    pub tasks: u64,
    /// Tasks that the bee took from other bees' queues.
    pub steals: Steals,
    /// How often the bee went to sleep because there was nothing to do.
    pub sleeps: u64,
    /// How often another thread woke the bee from such a sleep.
    pub wakes: u64,
    /// How often the bee, after such a wake-up, found nothing to do and went to sleep again.
    pub wakes_for_nothing: u64,
    /// Tasks that the bee found by itself while it was asleep, with
    /// [`Builder::poll`](crate::pool::builder::Builder::poll), and for which nobody would have woken a bee. The count
    /// is not needed for correctness: if it is not 0, hive has lost a wake-up, which is a bug.
    pub rescues: u64,
    /// How often the bee parked because it was surplus.
    pub parks: u64,
    /// How often the bee was told to park and, before it had done so, was told to stay.
    pub cancelled_parks: u64,
}

/// Tasks taken from other bees' queues, by the distance to those bees.
///
/// ```
/// let steals = hive::stats().total().steals;
/// println!("{} steals from another node, {} within a core", steals.from_far, steals.in_core);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Steals {
    /// From a bee on another hardware thread of the same core.
    pub in_core: u64,
    /// From a bee on another core with the same last-level cache, on the same NUMA node.
    pub in_cluster: u64,
    /// From a bee in another cluster of the same NUMA node; a cluster is the set of cores that share a last-level
    /// cache.
    pub in_node: u64,
    /// From a bee anywhere else, or at a distance that is not known because one of the two bees is not bound.
    pub from_far: u64,
}

impl Steals {
    /// All steals together.
    ///
    /// ```
    /// let all = hive::stats().total();
    /// println!("{} of {} tasks were stolen", all.steals.total(), all.tasks);
    /// ```
    pub fn total(&self) -> u64 {
        self.in_core + self.in_cluster + self.in_node + self.from_far
    }
}

impl Counts {
    /// Reads the counters of one bee.
    pub(crate) fn of(counters: &BeeCounters) -> Self {
        let mut counts = Self::default();
        counts.each().into_iter().for_each(|(_, counter, count)| *count = counters.get(counter));
        counts
    }

    /// The columns of the table, each with its heading.
    fn columns(mut self) -> [(&'static str, u64); COUNTERS] {
        self.each().map(|(heading, _, count)| (heading, *count))
    }

    /// All counts in the order of the table's columns, each with its heading and with the counter that it is read from.
    fn each(&mut self) -> [(&'static str, Counter, &mut u64); COUNTERS] {
        let steals = &mut self.steals;
        [
            ("regions", Counter::Regions, &mut self.regions),
            ("stand-ins", Counter::StandIns, &mut self.stand_ins),
            ("lone loops", Counter::LoneLoops, &mut self.lone_loops),
            ("tasks", Counter::Tasks, &mut self.tasks),
            ("stolen: core", Counter::StealsInCore, &mut steals.in_core),
            ("cluster", Counter::StealsInCluster, &mut steals.in_cluster),
            ("node", Counter::StealsInNode, &mut steals.in_node),
            ("far", Counter::StealsFromFar, &mut steals.from_far),
            ("sleeps", Counter::Sleeps, &mut self.sleeps),
            ("wakes", Counter::Wakes, &mut self.wakes),
            ("for nothing", Counter::WakesForNothing, &mut self.wakes_for_nothing),
            ("rescues", Counter::Rescues, &mut self.rescues),
            ("parks", Counter::Parks, &mut self.parks),
            ("cancelled", Counter::CancelledParks, &mut self.cancelled_parks),
        ]
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(mut self, mut other: Self) -> Self {
        self.each().into_iter().zip(other.each()).for_each(|((.., sum), (.., more))| *sum += *more);
        self
    }
}

impl Stats {
    /// The counts of each bee that the hive has ever had, by the bee's number. Entry 0 is the queen's, whichever
    /// threads have been the queen.
    ///
    /// ```
    /// for (bee, counts) in hive::stats().per_bee().iter().enumerate() {
    ///     println!("bee {bee}: {} tasks, {} of them stolen", counts.tasks, counts.steals.total());
    /// }
    /// ```
    pub fn per_bee(&self) -> &[Counts] {
        &self.per_bee
    }

    /// The counts of all bees together.
    ///
    /// ```
    /// let before = hive::stats().total();
    /// hive::spmd(2, |bee| bee.barrier());
    /// assert_eq!(hive::stats().total().regions - before.regions, 2);
    /// ```
    pub fn total(&self) -> Counts {
        self.per_bee.iter().copied().fold(Counts::default(), Add::add)
    }
}

impl Index<usize> for Stats {
    type Output = Counts;

    fn index(&self, bee: usize) -> &Counts {
        &self.per_bee[bee]
    }
}

/// Formats a table with a line for each bee and a last line for their sum.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        let widths = total.columns().map(|(name, sum)| name.len().max(sum.to_string().len()));
        let row = |name: String, counts: Counts| (name, counts.columns().map(|(_, count)| count.to_string()));
        let heading = ("bee".to_owned(), total.columns().map(|(name, _)| name.to_owned()));
        let bees = self.per_bee.iter().enumerate().map(|(bee, counts)| row(bee.to_string(), *counts));
        for (name, cells) in iter::once(heading).chain(bees).chain([row("all".to_owned(), total)]) {
            write!(f, "{name:>6}")?;
            for (cell, width) in cells.iter().zip(widths) {
                write!(f, "  {cell:>width$}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_line_for_each_bee_and_their_sum() {
        let counters = [BeeCounters::default(), BeeCounters::default()];
        counters[0].increment(Counter::Tasks);
        counters[1].increment(Counter::Tasks);
        counters[1].increment(Counter::StealsFromFar);
        counters[1].increment_shared(Counter::Parks);
        let stats = Stats { per_bee: counters.iter().map(Counts::of).collect() };
        assert_eq!((stats.total().tasks, stats[1].steals.total(), stats.total().parks), (2, 1, 1));
        let text = stats.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
        assert!(lines[3].starts_with("   all"), "{text}");
    }
}
