//! How long a cache line takes from one CPU to another: a matrix that was measured, or a table by distance.

use std::array;
use std::path::Path;

use super::costs::{numbers, picoseconds};
use crate::commands::latency::{Matrix, pairs};
use crate::system::topology::{Distance, Place};

/// Picoseconds of a transfer, for each pair: half a round trip. `what` names a file with a matrix, or is a table such
/// as `core=10,cluster=40,node=110,far=230`.
pub(super) fn one_way(what: &str, cpus: &[Place]) -> Result<Vec<Vec<u64>>, String> {
    let is_table = what.contains('=') && !Path::new(what).exists();
    let one_way = if is_table {
        let distance = |one: usize, other: usize| Distance::between(&cpus[one], &cpus[other]) as usize;
        table(what).map(|table| of_pairs(cpus.len(), |one, other| table[distance(one, other)]))
    } else {
        let text = std::fs::read_to_string(what);
        let text =
            text.map_err(|error| format!("cannot be read: {error}; a table would be cluster=40,node=110,far=230"));
        text.and_then(|text| by_matrix(&text, cpus))
    };
    one_way.map_err(|error| format!("--latency {what}: {error}"))
}

fn of_pairs(count: usize, round_trip: impl Fn(usize, usize) -> f64) -> Vec<Vec<u64>> {
    let of_pair = |one, other| if one == other { 0 } else { picoseconds(round_trip(one, other) / 2.0) };
    (0..count).map(|one| (0..count).map(|other| of_pair(one, other)).collect()).collect()
}

fn by_matrix(text: &str, cpus: &[Place]) -> Result<Vec<Vec<u64>>, String> {
    let matrix: Matrix =
        serde_json::from_str(text).map_err(|error| format!("holds no matrix of round trips: {error}"))?;
    let (round_trips, rows) = (&matrix.round_trip_ns, matrix.cpus.len());
    if round_trips.len() != rows || round_trips.iter().any(|row| row.len() != rows) {
        return Err(format!("the matrix should have {rows} rows of {rows}, as many as there are CPUs in \"cpus\""));
    }
    for (one, other) in pairs(rows) {
        let (back, forth) = (round_trips[one][other], round_trips[other][one]);
        if !(back > 0.0 && back.is_finite() && back == forth) {
            let (here, there) = (matrix.cpus[one], matrix.cpus[other]);
            return Err(format!("{back} and {forth} between CPUs {here} and {there}: no time, or no single one"));
        }
    }
    let place = |cpu: &Place| {
        let place = matrix.cpus.iter().position(|measured| *measured == cpu.cpu);
        place.ok_or_else(|| format!("no row for CPU {}; was it measured there, on all CPUs?", cpu.cpu))
    };
    let places = cpus.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    Ok(of_pairs(cpus.len(), |one, other| round_trips[places[one]][places[other]]))
}

/// Nanoseconds for each distance. A distance that is left out costs as much as the next nearer one; the distances
/// before the first cost as much as the first.
fn table(text: &str) -> Result<[f64; 5], String> {
    let names = array::from_fn(|distance| Distance::ALL[distance].name());
    let given = numbers("distance", names, text)?;
    if let Some(free) = given.iter().position(|value| *value == Some(0.0)) {
        return Err(format!("{}=0: a round trip takes more than nothing", names[free]));
    }
    let mut last = given.into_iter().flatten().next().ok_or("the table names no distance")?;
    Ok(given.map(|value| {
        last = value.unwrap_or(last);
        last
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::topology::tests::place;

    fn cpu(cpu: usize, core: usize, cluster: usize, node: usize, package: usize) -> Place {
        place(cpu, &core.to_string(), &cluster.to_string(), node, package)
    }

    #[test]
    fn a_table_goes_by_distance() {
        let cpus = [cpu(0, 0, 0, 0, 0), cpu(1, 1, 0, 0, 0), cpu(2, 2, 1, 0, 0), cpu(3, 3, 2, 1, 0), cpu(4, 4, 3, 2, 1)];
        let one_way = one_way("cluster=40,node=110,far=230", &cpus).unwrap();
        assert_eq!(one_way[0], [0, 20_000, 55_000, 55_000, 115_000]);
        assert_eq!(one_way[4], [115_000, 115_000, 115_000, 115_000, 0]);
    }

    #[test]
    fn a_matrix_goes_by_number() {
        let matrix = r#"{"machine": "m", "cpus": [7, 3], "round_trip_ns": [[0, 80], [80, 0]]}"#;
        let of = |cpus: &[Place]| by_matrix(matrix, cpus);
        assert_eq!(of(&[cpu(3, 0, 0, 0, 0), cpu(7, 1, 0, 0, 0)]).unwrap(), [[0, 40_000], [40_000, 0]]);
        assert!(of(&[cpu(5, 0, 0, 0, 0)]).unwrap_err().contains("CPU 5"));
    }

    #[test]
    fn mistakes_are_named() {
        let error = by_matrix(r#"{"cpus": [0, 1], "round_trip_ns": [[0, 80], [90, 0]]}"#, &[]).unwrap_err();
        assert!(error.contains("CPUs 1 and 0") && error.contains("80"), "{error}");
        assert!(by_matrix(r#"{"cpus": [0, 1], "round_trip_ns": [[0, 80]]}"#, &[]).unwrap_err().contains("2 rows"));
        assert!(one_way("near=4", &[]).unwrap_err().contains("cluster"));
        assert!(one_way("far=0", &[]).unwrap_err().contains("far=0"));
        assert!(one_way("/nowhere.json", &[]).unwrap_err().contains("/nowhere.json"));
    }
}
