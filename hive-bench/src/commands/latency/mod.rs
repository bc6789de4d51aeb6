//! `latency`: how long a cache line takes to another CPU and back, for every pair of CPUs.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, value_parser};
use serde::{Deserialize, Serialize};

use crate::measure::round_trip;
use crate::report::tables::{aligned, number, or_dash};
use crate::run::rounds::Rounds;
use crate::stats::median;
use crate::system::exit::{Failure, Outcome};
use crate::system::topology::{Distance, Place};
use crate::system::{cpus, files, machine, topology};

/// Which pairs, how often, and where the figures go.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only these CPUs, such as 0,2,4-7 [default: all that this process may use]
    #[arg(long, value_name = "LIST", value_parser = cpus::list)]
    cpus: Option<cpus::List>,
    /// Measure every pair this often, each time in another order
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = value_parser!(u16).range(1..))]
    passes: u16,
    /// Write the matrix into this file, for hive-bench model --latency
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Measures, prints and stores.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let places = chosen(arguments).map_err(Failure::Usage)?;
    let matrix = measure(machine::processor(), &places, arguments.passes);
    print!("{}", text(&matrix, &places));
    let Some(path) = &arguments.json else { return Ok(()) };
    files::write_json("--json", path, &matrix).map_err(Failure::Work)
}

/// The CPUs in the order of rows: neighbours share most. An error names the flag and says what is possible.
fn chosen(arguments: &Arguments) -> Result<Vec<topology::Place>, String> {
    arguments.json.as_ref().map_or(Ok(()), |path| files::writable("--json", path))?;
    let chosen = cpus::chosen("--cpus", arguments.cpus.as_ref())?;
    let mut places: Vec<_> = chosen.into_iter().map(topology::place).collect();
    places.sort_by_key(topology::Place::neighbourhood);
    Ok(places)
}

/// With more CPUs than this, rows and columns are clusters.
const READABLE: usize = 24;

/// Rows that are shown as one.
struct Group {
    name: String,
    rows: Vec<usize>,
}

fn text(matrix: &Matrix, places: &[Place]) -> String {
    if let [cpu] = matrix.cpus[..] {
        return format!("CPU {cpu} is the only one here, so there is no round trip to measure\n");
    }
    let single = |(row, cpu): (usize, &usize)| Group { name: cpu.to_string(), rows: vec![row] };
    let singles = || matrix.cpus.iter().enumerate().map(single).collect();
    let groups = if places.len() <= READABLE { singles() } else { clusters(places) };
    let what = if groups.len() == places.len() { "CPUs" } else { "last-level caches: the median over their pairs" };
    let (machine, table, distances) = (&matrix.machine, table(matrix, &groups), distances(matrix, places));
    format!("round trips of a cache line on {machine}, in nanoseconds, between {what}\n{table}\n{distances}")
}

/// Neighbours in the order of rows that share the last-level cache, or the node where no cache is known.
fn clusters(places: &[Place]) -> Vec<Group> {
    let together = |one: &Place, other: &Place| Distance::between(one, other) <= Distance::Cluster;
    let mut first = 0;
    let groups = places.chunk_by(together).map(|cpus| {
        let rows = (first..first + cpus.len()).collect();
        first += cpus.len();
        let node = cpus[0].node.map_or_else(String::new, |node| format!(" (node {node})"));
        let cpus = cpus[0].cluster.as_ref().unwrap_or(&cpus[0].core);
        Group { name: format!("{cpus}{node}"), rows }
    });
    groups.collect()
}

fn table(matrix: &Matrix, groups: &[Group]) -> String {
    let named = |name: &str, cells: Vec<String>| std::iter::once(name.to_owned()).chain(cells);
    let header = named("", groups.iter().map(|group| group.name.clone()).collect());
    let row = |group: &Group| {
        named(&group.name, groups.iter().map(|other| or_dash(between(matrix, group, other).map(number))).collect())
    };
    aligned(header, groups.iter().map(row), &[]).trim_fmt()
}

/// The median over the pairs of two groups, or within one; `None` for a CPU and itself.
fn between(matrix: &Matrix, one: &Group, other: &Group) -> Option<f64> {
    let pairs = one.rows.iter().flat_map(|row| other.rows.iter().map(move |column| (*row, *column)));
    let values: Vec<f64> =
        pairs.filter(|(row, column)| row != column).map(|(row, column)| matrix.round_trip_ns[row][column]).collect();
    median(&values)
}

/// The round trip at each distance, and the same once more in the form that `hive-bench model` reads.
fn distances(matrix: &Matrix, places: &[Place]) -> String {
    let mut text = String::new();
    let mut short = Vec::new();
    for &distance in Distance::ALL {
        let is_of = |(row, column): &(usize, usize)| Distance::between(&places[*row], &places[*column]) == distance;
        let pairs: Vec<_> = pairs(places.len()).filter(is_of).collect();
        let values = |of: &[Vec<f64>]| pairs.iter().map(|(row, column)| of[*row][*column]).collect::<Vec<f64>>();
        let all = values(&matrix.round_trip_ns);
        let Some(middle) = median(&all) else { continue };
        let least = values(&matrix.least_ns).into_iter().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        let [middle, least, most] = [middle, least, most].map(number);
        let what = format!("{}: {} pair{}", distance.help(), pairs.len(), if pairs.len() == 1 { "" } else { "s" });
        let range = format!("from {least} (the best pass of the nearest two) to {most}");
        let _ = writeln!(text, "{what}, median {middle} ns, {range}");
        short.push(format!("{}={middle}", distance.name()));
    }
    let _ = writeln!(text, "for hive-bench model --latency: {}", short.join(","));
    text
}

/// Cache lines for one pair in one pass: see [`round_trip::measure`].
const LINES: u32 = 8;

/// Round trips between CPUs: what `--json` writes. Row and column `i` belong to `cpus[i]`; both matrices are symmetric,
/// with 0 on the diagonal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Matrix {
    /// The processor's name.
    #[serde(default)]
    pub(crate) machine: String,
    /// The operating system's numbers.
    pub(crate) cpus: Vec<usize>,
    /// The median of all samples of all passes, in nanoseconds.
    pub(crate) round_trip_ns: Vec<Vec<f64>>,
    /// The median of the best pass, in nanoseconds: what it takes when nothing else runs.
    #[serde(default)]
    pub(crate) least_ns: Vec<Vec<f64>>,
}

/// All pairs of different ones of so many CPUs, by their rows.
pub(crate) fn pairs(cpus: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..cpus).flat_map(|row| (0..row).map(move |column| (row, column)))
}

/// Measures every pair `passes` times.
fn measure(machine: String, places: &[Place], passes: u16) -> Matrix {
    let cpus: Vec<usize> = places.iter().map(|place| place.cpu).collect();
    let pairs: Vec<_> = pairs(cpus.len()).collect();
    // The result must not depend on which CPU begins.
    let both_ways = |(row, column): (usize, usize)| {
        [(row, column), (column, row)]
            .map(|(here, there)| round_trip::measure(cpus[here], cpus[there], LINES / 2))
            .concat()
    };
    let begin = Instant::now();
    pairs.first().copied().map(both_ways);
    let rounds = Rounds { rounds: passes, each: begin.elapsed() };
    let name = |(), (row, column): (usize, usize)| format!("{} and {}", cpus[row], cpus[column]);
    let (rows, _) = rounds.measure([()], &pairs, name, |(), pair| Ok(both_ways(pair)));
    let zeros = vec![vec![0.0; cpus.len()]; cpus.len()];
    let mut matrix = Matrix { machine, round_trip_ns: zeros.clone(), least_ns: zeros, cpus: cpus.clone() };
    for (which, (row, column)) in pairs.iter().copied().enumerate() {
        let (middle, least) = condensed(&rows[0].1.iter().flat_map(|pass| pass[which].clone()).collect::<Vec<_>>());
        for (row, column) in [(row, column), (column, row)] {
            matrix.round_trip_ns[row][column] = middle;
            matrix.least_ns[row][column] = least;
        }
    }
    matrix
}

/// The median of all, and that of the best pass.
fn condensed(passes: &[Vec<f64>]) -> (f64, f64) {
    let best = passes.iter().filter_map(|pass| median(pass)).fold(f64::INFINITY, f64::min);
    (median(&passes.concat()).unwrap_or(best), best)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packages of two clusters of four cores, and figures by distance.
    fn machine(packages: usize) -> (Matrix, Vec<Place>) {
        let place = |cpu: usize| {
            let first = cpu / 4 * 4;
            let (cluster, package) = (Some(format!("{first}-{}", first + 3)), Some(cpu / 8));
            Place { cpu, core: cpu.to_string(), cluster, node: package, package }
        };
        let places: Vec<_> = (0..8 * packages).map(place).collect();
        let nanoseconds = |one: &Place, other: &Place| match Distance::between(one, other) {
            Distance::Core => 0.0,
            Distance::Cluster => 40.0,
            Distance::Node => 110.0,
            Distance::Package | Distance::Far => 230.0,
        };
        let row = |one: &Place| places.iter().map(|other| nanoseconds(one, other)).collect();
        let figures: Vec<Vec<f64>> = places.iter().map(row).collect();
        let cpus = places.iter().map(|place| place.cpu).collect();
        let machine = "a processor".to_owned();
        (Matrix { machine, cpus, round_trip_ns: figures.clone(), least_ns: figures }, places)
    }

    #[test]
    fn a_small_machine_is_shown_pair_by_pair() {
        let (matrix, places) = machine(1);
        let text = text(&matrix, &places);
        assert!(text.contains("between CPUs") && !text.contains("core="), "{text}");
        assert!(text.ends_with("cluster=40.0,node=110\n"), "{text}");
        let rows = text.lines().filter(|line| line.trim_start().starts_with(|first: char| first.is_ascii_digit()));
        // The heads are one more line that begins with a number.
        assert_eq!(rows.count(), 9, "{text}");
    }

    #[test]
    fn a_large_machine_is_shown_by_clusters() {
        let (matrix, places) = machine(4);
        let text = text(&matrix, &places);
        assert!(text.contains("last-level caches") && text.contains("28-31 (node 3)"), "{text}");
        assert!(text.contains("far=230") && text.contains("cores at one last-level cache: 48 pairs"), "{text}");
    }

    #[test]
    fn alone_it_says_so() {
        let (mut matrix, places) = machine(1);
        matrix.cpus.truncate(1);
        assert!(text(&matrix, &places[..1]).contains("CPU 0 is the only one"));
    }

    #[test]
    fn every_pair_once() {
        assert_eq!(pairs(3).collect::<Vec<_>>(), [(1, 0), (2, 0), (2, 1)]);
        assert_eq!(pairs(0).count(), 0);
    }

    #[test]
    fn all_samples_count_and_the_best_pass_is_kept() {
        assert_eq!(condensed(&[vec![90.0, 100.0, 110.0], vec![60.0, 70.0, 80.0]]), (85.0, 70.0));
    }

    #[test]
    fn nobody_is_far_from_itself() {
        let place = Place { cpu: crate::system::cpus::in_order_of_use()[0], ..Place::default() };
        let alone = measure("one".to_owned(), &[place], 2);
        assert_eq!((alone.round_trip_ns, alone.least_ns), (vec![vec![0.0]], vec![vec![0.0]]));
    }
}
