//! `model`: how long teams take on another machine, by a simulation of its cache lines, event by event.

mod check;
mod costs;
mod cpu;
mod crossover;
mod forecast;
mod groups;
mod latency;
mod line;
mod machine;
mod predict;
mod program;
mod report;
mod shape;
mod simulation;
mod wake;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::system::exit::{Failure, Outcome, fine_if};
use crate::system::files;
use costs::{Changes, Costs};
use cpu::Cpu;
use forecast::Forecast;
use latency::Latency;
use predict::Team;
use shape::Shape;

/// What is to be predicted.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The machine: an XML file of hwloc's (`lstopo machine.xml`), or a synthetic description such as "pack:2 l3:8
    /// core:8 pu:1"
    #[arg(long, value_name = "XML", required_unless_present = "check")]
    machine: Option<String>,
    /// Round trips between its CPUs: the file of `hive-bench latency --json`, or nanoseconds by distance:
    /// core=10,cluster=40,node=110,package=150,far=230
    #[arg(long, value_name = "FILE", required_unless_present = "check")]
    latency: Option<String>,
    /// Predict teams of these sizes [default: powers of two, one and a half times these, and all cores]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    cores: Vec<usize>,
    /// Predict only these shapes
    #[arg(long, value_name = "SHAPE,...", value_delimiter = ',')]
    shape: Vec<Shape>,
    /// What steps cost beside transfers, in nanoseconds: call, part [default: as in the file of --latency], write,
    /// poll, post, wake; and serial, the share of a copy's transfer that keeps its line busy
    #[arg(long, value_name = "NAME=NUMBER,...", value_parser = Changes::parse)]
    #[arg(default_value = "", hide_default_value = true)]
    costs: Changes,
    /// Keep the figures in this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measure two bees on this machine, and say how far off the prediction is; the exit code is 1 if it is off by more
    /// than 20 %
    #[arg(long, conflicts_with_all = ["machine", "latency", "cores", "shape", "json"])]
    check: bool,
}

/// Predicts, or checks. It fails where a prediction is off.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    if arguments.check {
        return fine_if(check::run(&arguments.costs).map_err(Failure::Usage)?);
    }
    forecast(arguments).map_err(Failure::Usage)
}

fn forecast(arguments: &Arguments) -> Result<(), String> {
    arguments.json.as_ref().map_or(Ok(()), |path| files::writable("--json", path))?;
    let (machine, latency) =
        (arguments.machine.clone().unwrap_or_default(), arguments.latency.clone().unwrap_or_default());
    let cpus = machine::in_order_of_use(&machine::read(&machine)?);
    let round_trips = Latency::read(&latency)?;
    let one_way = round_trips.one_way(&cpus)?;
    let (costs, steps_from) = costs(&round_trips, &arguments.costs);
    let sizes = sizes(&arguments.cores, &cpus)?;
    let chosen = |shape: &Shape| arguments.shape.is_empty() || arguments.shape.contains(shape);
    let shapes: Vec<Shape> = Shape::value_variants().iter().copied().filter(chosen).collect();
    let mut predictions = Vec::new();
    for &size in &sizes {
        let one_way: Vec<Vec<u64>> = one_way[..size].iter().map(|row| row[..size].to_vec()).collect();
        let team = Team { cpus: &cpus[..size], one_way: &one_way, costs: &costs };
        for &shape in &shapes {
            predictions.push(team.predict(shape)?);
        }
    }
    let forecast = Forecast { machine, latency, costs, steps_from, predictions };
    print!("{}", report::text(&forecast));
    store(arguments, &forecast)
}

/// The costs of steps, and where `call` and `part` come from. Those that were measured with the round trips replace the
/// defaults, and `changes` replace both.
fn costs(round_trips: &Latency, changes: &Changes) -> (Costs, &'static str) {
    let (costs, from) = match round_trips.steps() {
        Some(steps) => (Costs::default().measured(steps), "measured with the round trips"),
        None => (Costs::default(), "by default, those of an AMD EPYC"),
    };
    (changes.over(costs), from)
}

/// Ascending, each once. An error names the flag and says what is possible.
fn sizes(wanted: &[usize], cpus: &[Cpu]) -> Result<Vec<usize>, String> {
    let most = cpus.len();
    if most < 2 {
        return Err("--machine: it has a single CPU, and a team needs two or more".to_owned());
    }
    if let Some(wrong) = wanted.iter().find(|size| !(2..=most).contains(*size)) {
        return Err(format!("--cores {wrong}: the machine has {most} CPUs, so a team has 2 to {most} bees"));
    }
    let mut sizes = wanted.to_vec();
    if sizes.is_empty() {
        let cores = cpus.iter().map(|cpu| cpu.core).collect::<std::collections::HashSet<_>>().len().max(2);
        let powers = (1..usize::BITS).map(|power| 1 << power).take_while(|size| *size <= cores);
        sizes = powers
            .flat_map(|size: usize| [size, size + size / 2])
            .filter(|size| *size <= cores)
            .chain([cores])
            .collect();
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

fn store(arguments: &Arguments, forecast: &Forecast) -> Result<(), String> {
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(forecast)
            .map_err(|error| format!("the figures cannot be written as JSON: {error}"))?;
        files::write("--json", path, &text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(count: usize, threads: usize) -> Vec<Cpu> {
        let cpu = |k: usize| Cpu { os_index: k, core: (k / threads) as u64, cluster: 0, node: 0, package: 0 };
        (0..count).map(cpu).collect()
    }

    #[test]
    fn sizes_end_with_all_cores() {
        assert_eq!(sizes(&[], &cpus(20, 1)).unwrap(), [2, 3, 4, 6, 8, 12, 16, 20]);
        assert_eq!(sizes(&[], &cpus(16, 2)).unwrap(), [2, 3, 4, 6, 8]);
        assert_eq!(sizes(&[12, 3, 3], &cpus(16, 2)).unwrap(), [3, 12]);
    }

    #[test]
    fn impossible_sizes_are_named() {
        assert!(sizes(&[1], &cpus(4, 1)).unwrap_err().contains("--cores 1"));
        assert!(sizes(&[5], &cpus(4, 1)).unwrap_err().contains("2 to 4"));
        assert!(sizes(&[], &cpus(1, 1)).unwrap_err().contains("single CPU"));
    }
}
