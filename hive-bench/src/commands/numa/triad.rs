//! STREAM's triad with the threads of one node, or of all, and the memory elsewhere.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::thread;

use serde::Serialize;

use super::memory::{Array, Placement};
use super::nodes::Nodes;
use crate::kernels::disjoint::Disjoint;
use crate::kernels::split;
use crate::kernels::triad::{SCALAR, triad};
use crate::measure::timing::nanoseconds;
use crate::runtimes::Runtime;
use crate::runtimes::hive::{HiveTeam, Settings};
use crate::stats::{median, quantile};

/// Triads over the same memory; one more runs before them and does not count.
const TIMES: usize = 7;
/// The order within a round, the same from run to run.
const SEED: u64 = 11;
const B: f64 = 2.0;
const C: f64 = 1.0;

/// Which bees work, and where the memory is.
#[derive(Clone, Debug)]
struct Setup {
    threads: String,
    cpus: Vec<usize>,
    memory: String,
    placement: Placement,
}

/// The result of one setup.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Bandwidth {
    pub(super) threads: String,
    pub(super) cpus: Vec<usize>,
    pub(super) memory: String,
    /// In 10^9 bytes a second, with 24 bytes for each of the numbers: the median over all triads, and the quartiles.
    pub(super) median: f64,
    pub(super) lower_quartile: f64,
    pub(super) upper_quartile: f64,
    /// On which nodes the pages were in the last round.
    pub(super) pages: BTreeMap<usize, usize>,
    /// Why it could not be measured.
    pub(super) refused: Option<String>,
}

/// Measures every setup in each round, with fresh memory and in another order.
pub(super) fn measure(nodes: &Nodes, len: usize, rounds: usize) -> Result<Vec<Bandwidth>, String> {
    let setups = setups(nodes);
    let mut order: Vec<usize> = (0..setups.len()).collect();
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut samples = vec![Vec::new(); setups.len()];
    let mut last = vec![Ok(BTreeMap::new()); setups.len()];
    for _ in 0..rounds {
        random.shuffle(&mut order);
        for &which in &order {
            last[which] = match run(nodes, &setups[which], len) {
                Ok(Round { figures, pages }) => {
                    samples[which].extend(figures);
                    Ok(pages)
                }
                Err(error) => Err(error),
            };
        }
    }
    Ok(setups
        .into_iter()
        .zip(samples)
        .zip(last)
        .map(|((setup, samples), last)| bandwidth(setup, &samples, last))
        .collect())
}

fn bandwidth(setup: Setup, samples: &[f64], last: Result<BTreeMap<usize, usize>, String>) -> Bandwidth {
    let Setup { threads, cpus, memory, .. } = setup;
    let at = |share: f64| quantile(samples, share).unwrap_or(0.0);
    let (pages, refused) = last.map_or_else(|error| (BTreeMap::new(), Some(error)), |pages| (pages, None));
    let median = median(samples).unwrap_or(0.0);
    Bandwidth { threads, cpus, memory, median, lower_quartile: at(0.25), upper_quartile: at(0.75), pages, refused }
}

/// The threads of each node with the memory of each node, and all threads with memory that is interleaved or placed by
/// first touch.
fn setups(nodes: &Nodes) -> Vec<Setup> {
    let mut teams: Vec<_> = nodes.with_cpus().map(|node| (Some(node.number), node.cpus.clone())).collect();
    if teams.len() > 1 {
        teams.push((None, teams.iter().flat_map(|(_, cpus)| cpus.clone()).collect()));
    }
    let of_team = |(home, cpus): &(Option<usize>, Vec<usize>)| {
        let threads = home.map_or_else(|| "all nodes".to_owned(), |node| format!("node {node}"));
        let bound = nodes.with_memory().map(|node| {
            let near = if home.is_none() {
                ""
            } else if *home == Some(node) {
                ", local"
            } else {
                ", remote"
            };
            (format!("node {node}{near}"), Placement::On(node))
        });
        let free =
            [("interleaved".to_owned(), Placement::Interleaved), ("first touch".to_owned(), Placement::FirstTouch)];
        let setup = |(memory, placement)| Setup { threads: threads.clone(), cpus: cpus.clone(), memory, placement };
        bound.chain(free).map(setup).collect::<Vec<_>>()
    };
    teams.iter().flat_map(of_team).collect()
}

/// What one round of a setup gives.
struct Round {
    figures: Vec<f64>,
    pages: BTreeMap<usize, usize>,
}

/// On a thread of its own, which becomes the queen and is bound.
fn run(nodes: &Nodes, setup: &Setup, len: usize) -> Result<Round, String> {
    thread::scope(|scope| {
        let queen =
            scope.spawn(|| HiveTeam::host(&setup.cpus, Settings::default(), |team| round(team, nodes, setup, len))?);
        queen.join().map_err(|_| "the queen panicked".to_owned())?
    })
}

fn round(team: &mut HiveTeam, nodes: &Nodes, setup: &Setup, len: usize) -> Result<Round, String> {
    let array = || Array::new(&nodes.topology, len, setup.placement);
    let mut arrays = [array()?, array()?, array()?];
    let [a, b, c] = &mut arrays;
    let numbers = [filled(team, a, 0.0), filled(team, b, B), filled(team, c, C)];
    let [a, b, c] = numbers.map(Disjoint::new);
    let bytes = (3 * size_of::<f64>() * len) as f64;
    let figures = (0..=TIMES).map(|_| bytes / nanoseconds(|| triads(team, [&a, &b, &c], len))).skip(1).collect();
    // SAFETY: no region runs.
    #[expect(unsafe_code, reason = "several threads wrote one array")]
    let result = unsafe { a.shared(0..len) };
    if let Some(i) = result.iter().position(|a| *a != B + SCALAR * C) {
        return Err(format!("wrong answer: a[{i}] is {}, not {}", result[i], B + SCALAR * C));
    }
    let mut pages = BTreeMap::new();
    for (node, count) in arrays.iter().map(Array::pages).collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
        *pages.entry(node).or_insert(0) += count;
    }
    Ok(Round { figures, pages })
}

/// Each bee fills the part that it will work on.
fn filled<'a>(team: &mut HiveTeam, array: &'a mut Array<'_>, value: f64) -> &'a mut [f64] {
    let numbers = array.empty();
    let (threads, len) = (team.threads(), numbers.len());
    let whole = Disjoint::new(numbers);
    team.region(threads, |id| {
        // SAFETY: `split` gives each bee a part of its own.
        #[expect(unsafe_code, reason = "several threads write one array")]
        let part = unsafe { whole.part(split(id, threads, len)) };
        part.fill(MaybeUninit::new(value));
    });
    // SAFETY: the parts of all bees are the whole, and all of it has been written.
    #[expect(unsafe_code, reason = "only the threads know that they have written it")]
    unsafe {
        array.empty().assume_init_mut()
    }
}

fn triads(team: &mut HiveTeam, [a, b, c]: [&Disjoint<'_>; 3], len: usize) {
    let threads = team.threads();
    team.region(threads, |id| {
        let own = split(id, threads, len);
        // SAFETY: `split` gives each bee a part of its own.
        #[expect(unsafe_code, reason = "several threads write one array")]
        let a = unsafe { a.part(own.clone()) };
        // SAFETY: nobody writes this one.
        #[expect(unsafe_code, reason = "several threads read one array")]
        let b = unsafe { b.shared(own.clone()) };
        // SAFETY: nor this.
        #[expect(unsafe_code, reason = "several threads read one array")]
        let c = unsafe { c.shared(own) };
        triad(a, b, c);
    });
}
