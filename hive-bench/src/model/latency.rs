//! How long a cache line takes from one CPU to another: a matrix that was measured, or a table by distance.

use std::path::Path;

use super::costs::{named_number, picoseconds};
use super::machine::Cpu;
use crate::commands::latency::Matrix;
use crate::system::topology::Distance;

/// Round trips.
#[derive(Debug)]
pub(super) struct Latency(Source);

#[derive(Debug)]
enum Source {
    Matrix(Matrix),
    /// Nanoseconds for each distance.
    Table([f64; 5]),
}

impl Latency {
    /// Reads a file with a matrix, or a table such as `core=10,cluster=40,node=110,far=230`.
    pub(super) fn read(what: &str) -> Result<Self, String> {
        let latency =
            if what.contains('=') && !Path::new(what).exists() { table(what) } else { matrix(Path::new(what)) };
        latency.map(Self).map_err(|error| format!("--latency {what}: {error}"))
    }

    /// Picoseconds of a transfer, for each pair: half a round trip.
    pub(super) fn one_way(&self, cpus: &[Cpu]) -> Result<Vec<Vec<u64>>, String> {
        let places = match &self.0 {
            Source::Matrix(matrix) => {
                cpus.iter().map(|cpu| matrix.place(cpu.os_index)).collect::<Result<Vec<_>, _>>()?
            }
            Source::Table(_) => Vec::new(),
        };
        let pair = |one: usize, other: usize| match &self.0 {
            _ if one == other => 0.0,
            Source::Matrix(matrix) => matrix.round_trip_ns[places[one]][places[other]],
            Source::Table(table) => table[cpus[one].distance_to(&cpus[other]) as usize],
        };
        Ok((0..cpus.len())
            .map(|one| (0..cpus.len()).map(|other| picoseconds(pair(one, other) / 2.0)).collect())
            .collect())
    }
}

impl Matrix {
    fn place(&self, os_index: usize) -> Result<usize, String> {
        let place = self.cpus.iter().position(|cpu| *cpu == os_index);
        place.ok_or_else(|| format!("--latency: no row for CPU {os_index}; was it measured there, on all CPUs?"))
    }

    fn check(self) -> Result<Self, String> {
        let rows = self.cpus.len();
        if self.round_trip_ns.len() != rows || self.round_trip_ns.iter().any(|row| row.len() != rows) {
            return Err(format!("the matrix should have {rows} rows of {rows}, as many as there are CPUs in \"cpus\""));
        }
        for (one, other) in self.pairs() {
            let (back, forth) = (self.round_trip_ns[one][other], self.round_trip_ns[other][one]);
            if !(back > 0.0 && back.is_finite() && back == forth) {
                let (here, there) = (self.cpus[one], self.cpus[other]);
                return Err(format!("{back} and {forth} between CPUs {here} and {there}: no time, or no single one"));
            }
        }
        Ok(self)
    }
}

fn matrix(path: &Path) -> Result<Source, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot be read: {error}; a table would be cluster=40,node=110,far=230"))?;
    let matrix: Matrix =
        serde_json::from_str(&text).map_err(|error| format!("holds no matrix of round trips: {error}"))?;
    matrix.check().map(Source::Matrix)
}

/// A distance that is left out costs as much as the next nearer one; the distances before the first cost as much as the
/// first.
fn table(text: &str) -> Result<Source, String> {
    let mut given = [None; 5];
    for item in text.split(',').filter(|item| !item.trim().is_empty()) {
        let (name, value) = named_number(item)?;
        let distance = Distance::ALL.iter().copied().find(|distance| distance.name() == name);
        let distance =
            distance.ok_or_else(|| format!("{name:?} is no distance: there are core, cluster, node, package, far"))?;
        if value == 0.0 {
            return Err(format!("{item}: a round trip takes more than nothing"));
        }
        given[distance as usize] = Some(value);
    }
    let mut last = given.into_iter().flatten().next().ok_or("the table names no distance")?;
    Ok(Source::Table(given.map(|value| {
        last = value.unwrap_or(last);
        last
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(os_index: usize, core: u64, cluster: u64, node: u64, package: u64) -> Cpu {
        Cpu { os_index, core, cluster, node, package }
    }

    fn checked(text: &str) -> Result<Matrix, String> {
        serde_json::from_str::<Matrix>(text).map_err(|error| error.to_string()).and_then(Matrix::check)
    }

    #[test]
    fn a_table_goes_by_distance() {
        let cpus = [cpu(0, 0, 0, 0, 0), cpu(1, 1, 0, 0, 0), cpu(2, 2, 1, 0, 0), cpu(3, 3, 2, 1, 0), cpu(4, 4, 3, 2, 1)];
        let one_way = Latency::read("cluster=40,node=110,far=230").unwrap().one_way(&cpus).unwrap();
        assert_eq!(one_way[0], [0, 20_000, 55_000, 55_000, 115_000]);
        assert_eq!(one_way[4], [115_000, 115_000, 115_000, 115_000, 0]);
    }

    #[test]
    fn a_matrix_goes_by_number() {
        let matrix = checked(r#"{"machine": "m", "cpus": [7, 3], "round_trip_ns": [[0, 80], [80, 0]]}"#).unwrap();
        let latency = Latency(Source::Matrix(matrix));
        assert_eq!(latency.one_way(&[cpu(3, 0, 0, 0, 0), cpu(7, 1, 0, 0, 0)]).unwrap(), [[0, 40_000], [40_000, 0]]);
        assert!(latency.one_way(&[cpu(5, 0, 0, 0, 0)]).unwrap_err().contains("CPU 5"));
    }

    #[test]
    fn mistakes_are_named() {
        let error = checked(r#"{"cpus": [0, 1], "round_trip_ns": [[0, 80], [90, 0]]}"#).unwrap_err();
        assert!(error.contains("CPUs 1 and 0") && error.contains("80"), "{error}");
        assert!(checked(r#"{"cpus": [0, 1], "round_trip_ns": [[0, 80]]}"#).unwrap_err().contains("2 rows"));
        assert!(Latency::read("near=4").unwrap_err().contains("cluster"));
        assert!(Latency::read("far=0").unwrap_err().contains("far=0"));
        assert!(Latency::read("/nowhere.json").unwrap_err().contains("/nowhere.json"));
    }
}
