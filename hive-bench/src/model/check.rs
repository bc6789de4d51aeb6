//! The model compared with this machine: the predicted times of two bees, and the measured ones.

use super::costs::{Changes, Costs};
use super::cpu::Cpu;
use super::latency::Latency;
use super::predict::Team;
use super::shape::Shape;
use crate::catalog::{Case, RuntimeId};
use crate::measure::reference::steps;
use crate::record::Budget;
use crate::record::Given;
use crate::record::{Job, Outcome, Reference};
use crate::run::launch;
use crate::stats::median;
use crate::system::cpus;

/// How often each case is measured, in turn.
const ROUNDS: usize = 5;
/// A prediction may be off by this share.
const TOLERANCE: f64 = 0.20;

/// Nanoseconds: the case, and the round trip in the same process.
struct Measured {
    time: f64,
    round_trip: f64,
}

/// Prints a line for each case, and what each prediction consists of. Returns whether all are near enough.
pub(super) fn run(changes: &Changes) -> Result<bool, String> {
    let cpus = cpus::in_order_of_use();
    let [first, second, ..] = cpus[..] else {
        return Err("--check: this process may use a single CPU, and two bees have to be measured".to_owned());
    };
    let costs = changes.over(Costs::default().measured(steps::measure(first)));
    let rounds: Vec<[Measured; 2]> = (0..ROUNDS)
        .map(|_| Ok([measure(Case::Region, &cpus)?, measure(Case::Barrier, &cpus)?]))
        .collect::<Result<_, String>>()?;
    let of = |value: fn(&Measured) -> f64, case: usize| {
        median(&rounds.iter().map(|round| value(&round[case])).collect::<Vec<_>>())
    };
    let round_trips: Vec<f64> = rounds.iter().flatten().map(|one| one.round_trip).collect();
    let round_trip = median(&round_trips).unwrap_or(0.0);
    let [region, barrier] = predict(round_trip, &costs)?;
    let [call, part] = [costs.call, costs.part].map(|cost| cost as f64 / 1000.0);
    println!("round trip between CPUs {first} and {second}: {round_trip:.1} ns");
    println!("steps beside it, of one thread by itself: {call:.1} ns of the queen, {part:.1} ns of a bee");
    let lines =
        format!("{:.1} of the line, {call:.1} of the queen's steps, {part:.1} of the bee's", region - call - part);
    let cases = [
        ("region of 2", region, lines, of(|one| one.time, 0)),
        ("barrier of 2", barrier, format!("{barrier:.1} of the line"), of(|one| one.time, 1)),
    ];
    let mut fine = true;
    for (name, predicted, parts, measured) in cases {
        let off = predicted / measured.unwrap_or(f64::NAN) - 1.0;
        fine &= off.abs() <= TOLERANCE;
        let measured = measured.unwrap_or(f64::NAN);
        println!("{name}: predicted {predicted:.1} ns ({parts}), measured {measured:.1} ns: {:+.0} %", 100.0 * off);
    }
    let limit = 100.0 * TOLERANCE;
    println!(
        "{}",
        if fine {
            format!("within {limit:.0} %")
        } else {
            format!("more than {limit:.0} % off; is the machine quiet?")
        }
    );
    Ok(fine)
}

fn measure(case: Case, cpus: &[usize]) -> Result<Measured, String> {
    let job = Job {
        runtime: RuntimeId::Hive,
        case,
        threads: 2,
        cpus: cpus.to_vec(),
        budget: Budget::STANDARD,
        checksum: None,
        given: Given::default(),
        poll: None,
    };
    let measured = match launch::run(&job).0 {
        Outcome::Measured(measured) => measured,
        Outcome::Failed(error) => return Err(format!("--check: {}: {error}", case.name())),
    };
    let round_trip = measured.references.get(&Reference::RoundTrip).and_then(|samples| median(samples));
    let time = median(&measured.samples).ok_or_else(|| format!("--check: {} gave no samples", case.name()))?;
    Ok(Measured { time, round_trip: round_trip.ok_or("--check: no round trip was measured")? })
}

/// A region and a barrier of two that are so far apart, in nanoseconds.
fn predict(round_trip: f64, costs: &Costs) -> Result<[f64; 2], String> {
    let cpu = |k: usize| Cpu { os_index: k, core: k as u64, cluster: 0, node: 0, package: 0 };
    let cpus = [cpu(0), cpu(1)];
    let one_way = Latency::uniform(round_trip).one_way(&cpus)?;
    let two = Team { cpus: &cpus, one_way: &one_way, costs }.predict(Shape::Flat)?;
    Ok([two.region, two.barrier])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of the filed run: on that machine a round trip was 51 ns, a region 56 and a barrier 26 (see
    /// docs/start.md).
    #[test]
    fn the_filed_run_is_within_the_tolerance() {
        let [region, barrier] = predict(51.0, &Costs::default()).unwrap();
        assert!((region / 56.0 - 1.0).abs() <= TOLERANCE, "{region}");
        assert!((barrier / 26.0 - 1.0).abs() <= TOLERANCE, "{barrier}");
    }
}
