//! `model`: how long teams take on another machine, by a simulation of its cache lines, event by event.

mod costs;
mod latency;
mod line;
mod machine;
mod predict;
mod report;
mod shape;
mod simulation;

use clap::Args;

use crate::system::cpus;
use crate::system::exit::{Failure, Outcome};
use crate::system::topology::Place;
use costs::Costs;
use predict::Team;
use report::Row;
use shape::Shape;

/// What is to be predicted.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The machine: an XML file of hwloc's (`lstopo machine.xml`), or a synthetic description such as "pack:2 l3:8
    /// core:8 pu:1"
    #[arg(long, value_name = "XML")]
    machine: String,
    /// Round trips between its CPUs: the file of `hive-bench latency --json`, or nanoseconds by distance:
    /// core=10,cluster=40,node=110,package=150,far=230
    #[arg(long, value_name = "FILE")]
    latency: String,
    /// Predict teams of these sizes [default: powers of two, one and a half times these, and all cores]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    cores: Vec<usize>,
    /// What steps cost beside transfers, in nanoseconds: call, part, write, poll; and serial, the share of a copy's
    /// transfer that keeps its line busy
    #[arg(long, value_name = "NAME=NUMBER,...", value_parser = Costs::parse)]
    #[arg(default_value = "", hide_default_value = true)]
    costs: Costs,
}

/// Predicts.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    print!("{}", forecast(arguments).map_err(Failure::Usage)?);
    Ok(())
}

fn forecast(arguments: &Arguments) -> Result<String, String> {
    let Arguments { machine, latency, cores, costs } = arguments;
    let cpus = cpus::siblings_last(&machine::read(machine)?, |cpu| cpu.core.clone());
    let one_way = latency::one_way(latency, &cpus)?;
    let mut rows: Vec<Row> = Vec::new();
    for size in sizes(cores, &cpus)? {
        let one_way: Vec<Vec<u64>> = one_way[..size].iter().map(|row| row[..size].to_vec()).collect();
        let team = Team { cpus: &cpus[..size], one_way: &one_way, costs };
        rows.push(Shape::ALL.iter().map(|shape| team.predict(*shape)).collect());
    }
    let [call, part] = [costs.call, costs.part].map(|cost| cost as f64 / 1000.0);
    let steps = format!("steps of a region beside its lines: {call:.1} ns of the queen, {part:.1} ns of a bee");
    Ok(format!("{machine}\nround trips: {latency}\n{steps}\n{}", report::text(&rows)))
}

/// Ascending, each once. An error names the flag and says what is possible.
fn sizes(wanted: &[usize], cpus: &[Place]) -> Result<Vec<usize>, String> {
    let most = cpus.len();
    if most < 2 {
        return Err("--machine: it has a single CPU, and a team needs two or more".to_owned());
    }
    if let Some(wrong) = wanted.iter().find(|size| !(2..=most).contains(*size)) {
        return Err(format!("--cores {wrong}: the machine has {most} CPUs, so a team has 2 to {most} bees"));
    }
    let mut sizes = wanted.to_vec();
    if sizes.is_empty() {
        let cores = cpus.iter().map(|cpu| &cpu.core).collect::<std::collections::HashSet<_>>().len().max(2);
        let powers = (1..usize::BITS).map(|power| 1 << power).take_while(|size| *size <= cores);
        let halves_too = powers.flat_map(|size: usize| [size, size + size / 2]);
        sizes = halves_too.filter(|size| *size <= cores).chain([cores]).collect();
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(count: usize, threads: usize) -> Vec<Place> {
        let cpu = |k: usize| Place { cpu: k, core: (k / threads).to_string(), ..Place::default() };
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
