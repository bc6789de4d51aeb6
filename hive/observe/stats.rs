//! What a hive has done so far, in numbers.

use std::fmt;
use std::ops::{Add, Index};

use crate::observe::counters::{BeeCounters, Counter};

/// What each bee of a hive has done since it was built. Comes from [`Hive::stats`](crate::pool::handle::Hive::stats).
///
/// ```
/// let hive = hive::Hive::new(2)?;
/// let before = hive.stats().total().regions;
/// hive.spmd(2, |_| {});
/// assert_eq!(hive.stats().total().regions - before, 2, "a part each");
/// println!("{}", hive.stats());
/// # Ok::<(), hive::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    per_bee: Vec<Counts>,
}

/// What one bee has done, or several together. Each count begins with the hive and wraps never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Parts of regions run. Regions whose team is their caller alone are not counted.
    pub regions: u64,
    /// Tasks run that came from a queue; not the closures of joins that their own bee has run.
    pub tasks: u64,
    /// Tasks taken from other bees' queues.
    pub steals: Steals,
    /// Times that it went to sleep because there was nothing to do.
    pub sleeps: u64,
    /// Times that somebody woke it from such a sleep.
    pub wakes: u64,
    /// Those after which it found nothing to do and went to sleep again.
    pub wakes_for_nothing: u64,
    /// Tasks that it found by itself while asleep, with [`Builder::poll_interval`](crate::pool::config::Builder::poll), and that nobody would have woken anybody for: 0, unless hive is wrong.
    pub rescues: u64,
    /// Times that it parked as a surplus bee.
    pub parks: u64,
    /// Orders to park that were taken back before it had.
    pub cancelled_parks: u64,
}

/// Tasks taken from other bees' queues, by how far those are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Steals {
    /// On another hardware thread of the same core.
    pub in_core: u64,
    /// On another core with the same last-level cache.
    pub in_cluster: u64,
    /// On another cluster of the same NUMA node.
    pub in_node: u64,
    /// Anywhere else, or not known, because one of the two is not bound.
    pub from_far: u64,
}

impl Steals {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.in_core + self.in_cluster + self.in_node + self.from_far
    }
}

impl Counts {
    pub(crate) fn of(counters: &BeeCounters) -> Self {
        Self {
            regions: counters.get(Counter::Regions),
            tasks: counters.get(Counter::Tasks),
            steals: Steals {
                in_core: counters.get(Counter::StealsInCore),
                in_cluster: counters.get(Counter::StealsInCluster),
                in_node: counters.get(Counter::StealsInNode),
                from_far: counters.get(Counter::StealsFromFar),
            },
            sleeps: counters.get(Counter::Sleeps),
            wakes: counters.get(Counter::Wakes),
            wakes_for_nothing: counters.get(Counter::WakesForNothing),
            rescues: counters.get(Counter::Rescues),
            parks: counters.get(Counter::Parks),
            cancelled_parks: counters.get(Counter::CancelledParks),
        }
    }

    fn columns(&self) -> [(&'static str, u64); 12] {
        [
            ("regions", self.regions),
            ("tasks", self.tasks),
            ("stolen: core", self.steals.in_core),
            ("cluster", self.steals.in_cluster),
            ("node", self.steals.in_node),
            ("far", self.steals.from_far),
            ("sleeps", self.sleeps),
            ("wakes", self.wakes),
            ("for nothing", self.wakes_for_nothing),
            ("rescues", self.rescues),
            ("parks", self.parks),
            ("cancelled", self.cancelled_parks),
        ]
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            regions: self.regions + other.regions,
            tasks: self.tasks + other.tasks,
            steals: Steals {
                in_core: self.steals.in_core + other.steals.in_core,
                in_cluster: self.steals.in_cluster + other.steals.in_cluster,
                in_node: self.steals.in_node + other.steals.in_node,
                from_far: self.steals.from_far + other.steals.from_far,
            },
            sleeps: self.sleeps + other.sleeps,
            wakes: self.wakes + other.wakes,
            wakes_for_nothing: self.wakes_for_nothing + other.wakes_for_nothing,
            rescues: self.rescues + other.rescues,
            parks: self.parks + other.parks,
            cancelled_parks: self.cancelled_parks + other.cancelled_parks,
        }
    }
}

impl Stats {
    pub(crate) fn new(per_bee: Vec<Counts>) -> Self {
        Self { per_bee }
    }

    /// Of each bee that there has ever been, by its number; the queen's place is 0, whoever has it.
    pub fn per_bee(&self) -> &[Counts] {
        &self.per_bee
    }

    /// Of all bees together.
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

/// A table: a line a bee, and their sum.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        let width = |(name, sum): (&str, u64)| name.len().max(sum.to_string().len());
        let widths = total.columns().map(width);
        write!(f, "bee")?;
        for ((name, _), width) in total.columns().into_iter().zip(widths) {
            write!(f, "  {name:>width$}")?;
        }
        writeln!(f)?;
        let lines = self.per_bee.iter().enumerate().map(|(bee, counts)| (bee.to_string(), *counts));
        for (name, counts) in lines.chain([("all".to_owned(), total)]) {
            write!(f, "{name:>6}")?;
            for ((_, count), width) in counts.columns().into_iter().zip(widths) {
                write!(f, "  {count:>width$}")?;
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
        let stats = Stats::new(counters.iter().map(Counts::of).collect());
        assert_eq!((stats.total().tasks, stats[1].steals.total(), stats.total().parks), (2, 1, 1));
        let text = stats.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
        assert!(lines[3].starts_with("   all"), "{text}");
    }
}
