//! How long a team takes in a shape: makes the programs, simulates them, and reads the times.

use std::collections::BTreeSet;

use super::costs::Costs;
use super::shape::{Protocol, Shape};
use super::simulation::{self, Marks, Setting, Step};
use crate::system::topology::Place;

/// The rounds until lines are where they stay from then on, and the rounds that count.
const WARM_UP: usize = 6;
const ROUNDS: usize = 12;
/// Bees come to their first region at different times within this span, the same from run to run, and keep that order.
/// If they came in the order of their ids, neighbours would follow each other to a line as if the processor had sorted
/// them, and a flat shape would look far better than it is.
const COME_WITHIN: u64 = 100_000_000;
const SEED: u64 = 5;
/// The length of the parts, for the figure in which all of them end at once.
const LONG_PART: u64 = 1_000_000;

/// A team on its CPUs.
pub(super) struct Team<'a> {
    pub(super) cpus: &'a [Place],
    /// Picoseconds of a transfer, for each pair of bees.
    pub(super) one_way: &'a [Vec<u64>],
    pub(super) costs: &'a Costs,
}

/// Nanoseconds each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prediction {
    pub(super) bees: usize,
    /// The time of an empty region: the transfers of its lines, and the steps beside them.
    pub(super) region: f64,
    /// From the queen's call until the last bee begins its part, including the queen's steps.
    pub(super) fork: f64,
    /// From the end of all parts at once until the queen goes on, including the steps of a part.
    pub(super) join: f64,
    pub(super) barrier: f64,
}

impl Team<'_> {
    /// Steps are added to the transfers, as if no step ever overlapped a transfer; see docs/scaling.md.
    pub(super) fn predict(&self, shape: Shape) -> Prediction {
        let (back_off, region) = self.best_back_off(shape);
        let protocol = Protocol::new(shape, self.cpus, back_off);
        let marks = self.simulate(&protocol, |bee, round, steps| fork_and_join(&protocol, bee, round, steps));
        let rounds: Vec<&[u64]> = marks[0].chunks(3).skip(WARM_UP).collect();
        let mean = |time: fn(&[u64]) -> u64| rounds.iter().map(|round| time(round)).sum::<u64>() / ROUNDS as u64;
        let barriers = self.simulate(&protocol, |bee, round, steps| {
            protocol.barrier(bee, round, steps);
            steps.push(Step::Mark);
        });
        Prediction {
            bees: self.cpus.len(),
            region: nanoseconds(region + self.costs.call + self.costs.part),
            fork: nanoseconds(mean(|round| round[1] - round[0]) + self.costs.call),
            join: nanoseconds(mean(|round| round[2] - round[1] - LONG_PART) + self.costs.part),
            barrier: nanoseconds(per_round(&barriers)),
        }
    }

    /// hive finds its back-off by a search, too.
    fn best_back_off(&self, shape: Shape) -> (u64, u64) {
        let from_queen = &self.one_way[0][1..];
        let (near, far) =
            (from_queen.iter().copied().min().unwrap_or(0), from_queen.iter().copied().max().unwrap_or(0));
        let region = |back_off: u64| {
            let protocol = Protocol::new(shape, self.cpus, back_off);
            let marks = self.simulate(&protocol, |bee, round, steps| {
                protocol.start(bee, round, steps);
                protocol.end(bee, round, steps);
                steps.push(Step::Mark);
            });
            (back_off, per_round(&marks))
        };
        let back_offs = BTreeSet::from([0, near / 2, near, 3 * near / 2, 2 * near, far / 2, far, 2 * far]);
        back_offs.into_iter().map(region).min_by_key(|(_, region)| *region).expect("zero is tried")
    }

    /// All rounds of what `round(bee, number, steps)` adds to a program.
    fn simulate(&self, protocol: &Protocol, round: impl Fn(usize, u64, &mut Vec<Step>)) -> Marks {
        let mut chance = fastrand::Rng::with_seed(SEED);
        let mut program = |bee| {
            let mut steps = vec![Step::Work(chance.u64(..COME_WITHIN))];
            (1..=(WARM_UP + ROUNDS) as u64).for_each(|number| round(bee, number, &mut steps));
            steps
        };
        let programs = (0..self.cpus.len()).map(&mut program).collect();
        simulation::run(&Setting { one_way: self.one_way, costs: self.costs, lines: protocol.owners(), programs })
    }
}

fn fork_and_join(protocol: &Protocol, bee: usize, round: u64, steps: &mut Vec<Step>) {
    steps.push(Step::Mark);
    protocol.start(bee, round, steps);
    steps.extend([Step::Meet, Step::Mark, Step::Work(LONG_PART)]);
    protocol.end(bee, round, steps);
    steps.push(Step::Mark);
}

/// The queen's marks: one at the end of each round.
fn per_round(marks: &Marks) -> u64 {
    let ends = &marks[0];
    (ends[ends.len() - 1] - ends[WARM_UP - 1]) / ROUNDS as u64
}

fn nanoseconds(picoseconds: u64) -> f64 {
    picoseconds as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::latency;
    use crate::system::topology::tests::place;

    /// Clusters of four, two to a node, at 40, 110 and 230 ns.
    fn machine(count: usize) -> (Vec<Place>, Vec<Vec<u64>>) {
        let cpu = |k: usize| place(k, &k.to_string(), &(k / 4).to_string(), k / 8, k / 8);
        let cpus: Vec<Place> = (0..count).map(cpu).collect();
        let one_way = latency::one_way("cluster=40,node=110,far=230", &cpus).unwrap();
        (cpus, one_way)
    }

    fn predict(shape: Shape, count: usize) -> Prediction {
        let (cpus, one_way) = machine(count);
        Team { cpus: &cpus, one_way: &one_way, costs: &Costs::parse("").unwrap() }.predict(shape)
    }

    /// As measured: a region is a round trip and its steps, a barrier half of one.
    #[test]
    fn two_bees_take_what_lines_and_steps_take() {
        let two = predict(Shape::Flat, 2);
        let steps = nanoseconds(Costs::parse("").unwrap().call + Costs::parse("").unwrap().part);
        assert!((1.0..1.1).contains(&((two.region - steps) / 40.0)), "{two:?}");
        assert!((0.45..0.6).contains(&(two.barrier / 40.0)), "{two:?}");
    }

    /// On an AMD EPYC a round trip was 51 ns, a region 56 and a barrier 26 (2026-11-21).
    #[test]
    fn the_filed_run_is_within_a_fifth() {
        let (cpus, _) = machine(2);
        let one_way = latency::one_way("far=51", &cpus).unwrap();
        let two = Team { cpus: &cpus, one_way: &one_way, costs: &Costs::parse("").unwrap() }.predict(Shape::Flat);
        assert!((two.region / 56.0 - 1.0).abs() <= 0.2 && (two.barrier / 26.0 - 1.0).abs() <= 0.2, "{two:?}");
    }

    /// In both shapes the bees meet in the same lines.
    #[test]
    fn where_all_share_a_cache_the_shapes_are_one() {
        for count in 2..=4 {
            let [flat, cluster] = [Shape::Flat, Shape::Cluster].map(|shape| predict(shape, count));
            assert_eq!(
                (flat.region, flat.barrier, flat.join),
                (cluster.region, cluster.barrier, cluster.join),
                "{count}"
            );
        }
    }

    #[test]
    fn every_shape_of_every_size_comes_to_its_end() {
        for &shape in Shape::ALL {
            for count in 2..21 {
                let one = predict(shape, count);
                let times = [one.region, one.fork, one.join, one.barrier];
                assert!(times.iter().all(|time| *time > 0.0 && time.is_finite()), "{one:?}");
            }
        }
    }

    #[test]
    fn every_bee_begins_and_ends_each_region_once() {
        let (cpus, one_way) = machine(24);
        let team = Team { cpus: &cpus, one_way: &one_way, costs: &Costs::parse("").unwrap() };
        for &shape in Shape::ALL {
            let protocol = Protocol::new(shape, &cpus, 0);
            let marks = team.simulate(&protocol, |bee, round, steps| fork_and_join(&protocol, bee, round, steps));
            for bee in &marks {
                assert_eq!(bee.len(), 3 * (WARM_UP + ROUNDS));
                assert!(bee.is_sorted(), "{shape:?}: {bee:?}");
            }
            // No bee begins before the queen calls, and the queen goes on after all have ended.
            for (round, queen) in marks[0].chunks(3).enumerate() {
                let of = |bee: &Vec<u64>| bee[3 * round + 1];
                assert!(marks.iter().all(|bee| of(bee) >= queen[0] && of(bee) + LONG_PART <= queen[2]), "{shape:?}");
            }
        }
    }

    #[test]
    fn nobody_leaves_a_barrier_before_all_have_come() {
        let (cpus, one_way) = machine(24);
        let team = Team { cpus: &cpus, one_way: &one_way, costs: &Costs::parse("").unwrap() };
        for &shape in Shape::ALL {
            let protocol = Protocol::new(shape, &cpus, 0);
            let marks = team.simulate(&protocol, |bee, round, steps| {
                // One bee comes late, a different one each time.
                steps.push(Step::Work(if round as usize % 24 == bee { 9_000_000 } else { 1000 }));
                steps.push(Step::Mark);
                protocol.barrier(bee, round, steps);
                steps.push(Step::Mark);
            });
            for round in 0..WARM_UP + ROUNDS {
                let last = marks.iter().map(|bee| bee[2 * round]).max();
                let first_out = marks.iter().map(|bee| bee[2 * round + 1]).min();
                assert!(last <= first_out, "{shape:?} in round {round}");
            }
        }
    }

    #[test]
    fn many_bees_are_faster_in_groups_with_leaders() {
        let (flat, cluster) = (predict(Shape::Flat, 64), predict(Shape::Cluster, 64));
        assert!(cluster.region < flat.region && cluster.barrier < flat.barrier, "{flat:?} {cluster:?}");
    }
}
