//! `model`: how long teams take on another machine, by a simulation of its cache lines, event by event.

mod costs;
mod latency;
mod line;
#[cfg(feature = "hwloc")]
mod machine;
mod predict;
mod shape;
mod simulation;

use std::fmt::Write;

use clap::Args;

use crate::report::tables::{aligned, in_unit};
use crate::system::cpus;
use crate::system::exit::{Failure, Outcome};
use crate::system::topology::Place;
use costs::Costs;
use predict::{Prediction, Team};
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
    #[cfg(feature = "hwloc")]
    let cpus = machine::read(machine)?;
    #[cfg(not(feature = "hwloc"))]
    let cpus: Vec<Place> =
        Err(format!("--machine {machine}: this hive-bench was built without hwloc, which reads it"))?;
    let cpus = cpus::siblings_last(&cpus, |cpu| cpu.core.clone());
    let one_way = latency::one_way(latency, &cpus)?;
    let mut rows: Vec<Row> = Vec::new();
    for size in sizes(cores, &cpus)? {
        let one_way: Vec<Vec<u64>> = one_way[..size].iter().map(|row| row[..size].to_vec()).collect();
        let team = Team { cpus: &cpus[..size], one_way: &one_way, costs };
        rows.push(Shape::ALL.iter().map(|shape| team.predict(*shape)).collect());
    }
    let [call, part] = [costs.call, costs.part].map(|cost| cost as f64 / 1000.0);
    let steps = format!("steps of a region beside its lines: {call:.1} ns of the queen, {part:.1} ns of a bee");
    Ok(format!("{machine}\nround trips: {latency}\n{steps}\n{}", text(&rows)))
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

/// A shape that is ahead by less than this counts as level.
const LEVEL: f64 = 0.98;

/// What a prediction says, and its name.
type Figure = (&'static str, fn(&Prediction) -> f64);

const FIGURES: [Figure; 4] =
    [("region", |one| one.region), ("fork", |one| one.fork), ("join", |one| one.join), ("barrier", |one| one.barrier)];

/// The predictions for a size, one for each shape, in the order of their list.
type Row = Vec<Prediction>;

/// A table for each figure, and below it which shape is ahead from which size on. The sizes ascend.
fn text(rows: &[Row]) -> String {
    let mut text = String::new();
    let header = || std::iter::once("bees").chain(Shape::ALL.iter().map(|shape| shape.name())).map(str::to_owned);
    for (name, figure) in FIGURES {
        let times = |row: &Row| row.iter().map(|one| rounded(figure(one))).collect::<Vec<_>>();
        let cells = rows.iter().map(|row| [vec![row[0].bees.to_string()], times(row)].concat());
        let _ = write!(text, "\n{name}\n{}\n", aligned(header(), cells, &[]).trim_fmt());
        for ahead in 0..Shape::ALL.len() {
            for behind in (0..Shape::ALL.len()).filter(|behind| *behind != ahead) {
                text.extend(crossover(rows, ahead, behind, figure));
            }
        }
    }
    text
}

/// With few digits: three are already more than the model knows.
fn rounded(nanoseconds: f64) -> String {
    let digit = 10_f64.powf((nanoseconds.max(1.0).log10() - 2.0).floor());
    // A little more, because the logarithm and its inverse leave an error in the last digits.
    let (value, unit) = in_unit((nanoseconds / digit).round() * digit * (1.0 + 1e-9));
    format!("{} {unit}", (value * 100.0).round() / 100.0)
}

/// From which size on one shape is ahead of another, and stays so.
fn crossover(rows: &[Row], ahead: usize, behind: usize, figure: fn(&Prediction) -> f64) -> Option<String> {
    let ratio = |row: &Row| figure(&row[ahead]) / figure(&row[behind]);
    let since = rows.iter().rposition(|row| ratio(row) >= LEVEL).map_or(0, |last| last + 1);
    let from = rows.get(since)?[0].bees;
    let since = match since.checked_sub(1) {
        Some(before) => format!("from {from} bees on (not at {})", rows[before][0].bees),
        None => format!("at all sizes, from {from} on"),
    };
    let (ahead, behind) = (Shape::ALL[ahead].name(), Shape::ALL[behind].name());
    let factor = 1.0 / ratio(rows.last()?);
    Some(format!("  {ahead} is ahead of {behind} {since}, by {factor:.1} times at the most bees\n"))
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

    #[test]
    fn times_have_three_digits() {
        for (nanoseconds, text) in
            [(999.9999999999, "1 us"), (0.5, "0.5 ns"), (12_345.0, "12.3 us"), (71.26e6, "71.3 ms")]
        {
            assert_eq!(rounded(nanoseconds), text);
        }
    }

    #[test]
    fn tables_say_who_is_ahead_for_good() {
        let one = |bees, region| Prediction { bees, region, fork: 1.0, join: 1.0, barrier: 1.0 };
        let row = |bees, flat, node| vec![one(bees, flat), one(bees, flat), one(bees, node)];
        let text = text(&[row(2, 10.0, 9.0), row(4, 20.0, 30.0), row(8, 40.0, 30.0), row(64, 12_345.0, 1000.0)]);
        assert!(text.contains("12.3 us"), "{text}");
        assert!(text.contains("node is ahead of flat from 8 bees on (not at 4), by 12.3 times"), "{text}");
        assert!(!text.contains("flat is ahead") && !text.contains("cluster is ahead of flat"), "{text}");
    }
}
