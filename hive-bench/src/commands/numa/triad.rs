//! STREAM's triad with the threads of one node, or of all, and the memory elsewhere.

use std::collections::BTreeMap;
use std::thread;

use hive::{Hive, NumaVec, Placement, Schedule};
use serde::Serialize;

use super::nodes::Nodes;
use crate::catalog::RuntimeId;
use crate::kernels::stream::{SCALAR, triad};
use crate::measure::timing::nanoseconds;
use crate::runtimes::hive::HiveTeam;
use crate::stats::Spread;

/// Triads over the same memory; one more runs before them and does not count.
const TIMES: usize = 7;
/// The order within a round, the same from run to run.
const SEED: u64 = 11;
const B: f64 = 2.0;
const C: f64 = 1.0;
/// Bytes of the smallest pages.
const PAGE: usize = 4096;

/// Which bees work, where the memory is, and what came of it.
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
pub(super) fn measure(nodes: &Nodes, len: usize, rounds: usize) -> Vec<Bandwidth> {
    let mut setups = setups(nodes);
    let mut order: Vec<usize> = (0..setups.len()).collect();
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut samples = vec![Vec::new(); setups.len()];
    for _ in 0..rounds {
        random.shuffle(&mut order);
        for &which in &order {
            let (bandwidth, placement) = &mut setups[which];
            let team = || HiveTeam::new(RuntimeId::Hive, &bandwidth.cpus, |builder| builder);
            let queen = || round(&team()?.hive, *placement, len);
            // On a thread of its own, which becomes the queen and is bound.
            let round =
                thread::scope(|scope| scope.spawn(queen).join().map_err(|_| "the queen panicked".to_owned())?);
            bandwidth.refused = round.as_ref().err().cloned();
            if let Ok((figures, pages)) = round {
                samples[which].extend(figures);
                bandwidth.pages = pages;
            }
        }
    }
    let with_figures = |((bandwidth, _), samples): ((Bandwidth, _), Vec<f64>)| match Spread::of(&samples) {
        Some(Spread { median, lower_quartile, upper_quartile, .. }) => {
            Bandwidth { median, lower_quartile, upper_quartile, ..bandwidth }
        }
        None => bandwidth,
    };
    setups.into_iter().zip(samples).map(with_figures).collect()
}

/// The threads of each node with the memory of each node, and all threads with memory that is interleaved or placed by
/// first touch.
fn setups(nodes: &Nodes) -> Vec<(Bandwidth, Placement<'static>)> {
    let mut teams: Vec<_> = nodes.with_cpus.iter().map(|(node, cpus)| (Some(*node), cpus.clone())).collect();
    if teams.len() > 1 {
        teams.push((None, teams.iter().flat_map(|(_, cpus)| cpus.clone()).collect()));
    }
    let of_team = |(home, cpus): &(Option<usize>, Vec<usize>)| {
        let threads = home.map_or_else(|| "all nodes".to_owned(), |node| format!("node {node}"));
        let bound = nodes.with_memory.iter().map(|&node| {
            let near = home.map_or("", |home| if home == node { ", local" } else { ", remote" });
            (format!("node {node}{near}"), Placement::Bind(node))
        });
        let free =
            [("interleaved".to_owned(), Placement::Interleave), ("first touch".to_owned(), Placement::FirstTouch)];
        let setup = |(memory, placement)| {
            (Bandwidth { threads: threads.clone(), cpus: cpus.clone(), memory, ..Bandwidth::default() }, placement)
        };
        bound.chain(free).map(setup).collect::<Vec<_>>()
    };
    teams.iter().flat_map(of_team).collect()
}

/// The figures, and on which nodes the pages are.
fn round(hive: &Hive, placement: Placement<'_>, len: usize) -> Result<(Vec<f64>, BTreeMap<usize, usize>), String> {
    let warnings = hive.report().warnings().len();
    let array = |value: f64| hive.alloc(len, placement, move |_| value);
    let (mut a, b, c) = (array(0.0), array(B), array(C));
    if let Some(warning) = hive.report().warnings().get(warnings) {
        return Err(warning.clone());
    }
    let bytes = (3 * size_of::<f64>() * len) as f64;
    let mut once = || {
        bytes
            / nanoseconds(|| {
                hive.par_for_mut(&mut a, Schedule::Static, |own, a, _| triad(a, &b[own.clone()], &c[own]));
            })
    };
    let figures = (0..=TIMES).map(|_| once()).skip(1).collect();
    if let Some(wrong) = a.iter().find(|a| **a != B + SCALAR * C) {
        return Err(format!("wrong answer: {wrong}, not {}", B + SCALAR * C));
    }
    let mut pages = BTreeMap::new();
    for number in
        [&a, &b, &c].into_iter().flat_map(|array: &NumaVec<f64>| array.iter().step_by(PAGE / size_of::<f64>()))
    {
        let node = hive::node_of(number).ok_or("the system does not say where memory is")?;
        *pages.entry(node).or_insert(0) += 1;
    }
    Ok((figures, pages))
}
