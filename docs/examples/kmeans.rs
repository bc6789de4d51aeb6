//! Points in clusters (k-means): in each step, one pass over the points sums up each cluster. The result has the same
//! bits on any number of bees.
//!
//!     cargo run --release --example kmeans [-- --compare]

mod compare;

use std::ops::Range;

use hive::Reduction;
use rayon::prelude::*;

const CLUSTERS: usize = 8;
const STEPS: usize = 10;
const POINTS: usize = if cfg!(debug_assertions) { 10_000 } else { 100_000 };

type Point = [f64; 3];

/// For each cluster the sum of its points, and their number.
type Sums = [[f64; 4]; CLUSTERS];

fn distance(a: &Point, b: &Point) -> f64 {
    (0..3).map(|d| (a[d] - b[d]) * (a[d] - b[d])).sum()
}

/// Adds the points of each cluster.
fn sum_up(points: &[Point], centres: &[Point; CLUSTERS]) -> Sums {
    let mut sums = [[0.0; 4]; CLUSTERS];
    for point in points {
        let mut nearest = (f64::MAX, 0);
        for (cluster, centre) in centres.iter().enumerate() {
            let distance = distance(point, centre);
            if distance < nearest.0 {
                nearest = (distance, cluster);
            }
        }
        let sum = &mut sums[nearest.1];
        (0..3).for_each(|d| sum[d] += point[d]);
        sum[3] += 1.0;
    }
    sums
}

fn add(mut a: Sums, b: Sums) -> Sums {
    a.as_flattened_mut().iter_mut().zip(b.as_flattened()).for_each(|(a, b)| *a += b);
    a
}

/// All steps. `sums` makes the sums over all points, in whatever way.
fn cluster(points: &[Point], sums: impl Fn(&[Point; CLUSTERS]) -> Sums) -> [Point; CLUSTERS] {
    let mut centres: [Point; CLUSTERS] = std::array::from_fn(|cluster| points[cluster]);
    for _ in 0..STEPS {
        centres = sums(&centres).map(|[x, y, z, count]| [x / count, y / count, z / count]);
    }
    centres
}

fn by_hive(points: &[Point]) -> [Point; CLUSTERS] {
    let sum = Reduction::deterministic([[0.0; 4]; CLUSTERS], add);
    cluster(points, |centres| {
        hive::par_reduce(0..points.len(), &sum, |range: Range<usize>| sum_up(&points[range], centres))
    })
}

fn by_rayon(points: &[Point]) -> [Point; CLUSTERS] {
    let zero = || [[0.0; 4]; CLUSTERS];
    cluster(points, |centres| points.par_chunks(512).map(|part| sum_up(part, centres)).reduce(zero, add))
}

fn main() {
    // Each point lies near a corner of the cube, the first eight at different ones.
    let near = |i: usize, d: usize| ((i >> d) & 1) as f64 + 0.3 * (compare::random((3 * i + d) as u64) - 0.5);
    let points: Vec<Point> = (0..POINTS).map(|i| [near(i, 0), near(i, 1), near(i, 2)]).collect();
    let alone = || cluster(&points, |centres| sum_up(&points, centres));
    let centres = by_hive(&points);
    for (cluster, centre) in centres.iter().enumerate() {
        let corner = std::array::from_fn(|d| ((cluster >> d) & 1) as f64);
        assert!(distance(centre, &corner) < 1e-3, "cluster {cluster} is at {centre:?}");
    }
    for other in [alone(), by_rayon(&points)] {
        assert!(centres.iter().zip(&other).all(|(a, b)| distance(a, b) < 1e-20));
    }
    hive::resize(1).expect("one is always possible");
    assert_eq!(by_hive(&points), centres, "the same bits on one bee");
    println!("{} points: their {CLUSTERS} clusters are where they were put", points.len());
    if compare::wanted() {
        hive::resize(std::thread::available_parallelism().map_or(2, usize::from)).expect("there is a CPU for each");
        compare::compare(
            "k-means",
            &mut [
                ("one thread", &mut || _ = std::hint::black_box(alone())),
                ("Rayon", &mut || _ = std::hint::black_box(by_rayon(&points))),
                ("hive", &mut || _ = std::hint::black_box(by_hive(&points))),
            ],
        );
    }
}
