//! Solves A x = b by conjugate gradients, A from a symmetric Matrix Market file, b such that x is all ones. The same
//! bits on any number of bees.
//!
//!     cargo run --release --example cg [FILE.mtx]

use hive::{Parts, Reduction};

/// For each row the columns and values that are not 0.
fn read(path: &str) -> Vec<Vec<(usize, f64)>> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(
        text.starts_with("%%MatrixMarket matrix coordinate real symmetric"),
        "{path}: no symmetric matrix of real numbers"
    );
    let numbers =
        |line: &str| line.split_whitespace().map(|word| word.parse::<f64>().expect("a number")).collect::<Vec<_>>();
    let mut lines = text.lines().filter(|line| !line.starts_with('%')).map(numbers);
    let mut rows = vec![Vec::new(); lines.next().expect("a line with the size")[0] as usize];
    for line in lines {
        let (i, j) = (line[0] as usize - 1, line[1] as usize - 1);
        rows[i].push((j, line[2]));
        if i != j {
            rows[j].push((i, line[2]));
        }
    }
    rows
}

fn main() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/laplacian.mtx").to_owned();
    let path = std::env::args().nth(1).unwrap_or(default);
    let rows = read(&path);
    let n = rows.len();
    let b: Vec<f64> = rows.iter().map(|row| row.iter().map(|(_, value)| value).sum()).collect();
    let (bees, sum) = (hive::bees(), Reduction::deterministic(0.0, |a, b| a + b));
    let mut shared = b.clone();
    // The reduction says which part of the vectors is whose.
    let ends: Vec<_> = (0..bees).map(|id| sum.part(0..n, id, bees).end).collect();
    let direction = Parts::cut_at(&mut shared, &ends);
    let solution = hive::spmd_map(bees, |bee| {
        let own = direction.range(bee.id());
        let dot = |a: &[f64], b: &[f64]| {
            bee.reduce_over(0..n, &sum, |range| a[range.clone()].iter().zip(&b[range]).map(|(a, b)| a * b).sum::<f64>())
        };
        // Each bee keeps its own part of these vectors. The direction is shared.
        let (mut x, mut r, mut q) = (vec![0.0; n], b.clone(), vec![0.0; n]);
        let mut rr = dot(&r, &r);
        while rr.sqrt() > 1e-10 {
            {
                let p = direction.whole(bee);
                own.clone().for_each(|i| q[i] = rows[i].iter().map(|(j, value)| value * p[*j]).sum());
                let alpha = rr / dot(&p, &q);
                own.clone().for_each(|i| (x[i], r[i]) = (x[i] + alpha * p[i], r[i] - alpha * q[i]));
            }
            // All bees have read the direction when they have summed this up.
            let before = std::mem::replace(&mut rr, dot(&r, &r));
            direction.own_mut(bee).iter_mut().zip(&r[own.clone()]).for_each(|(p, r)| *p = r + rr / before * *p);
            bee.barrier(); // all have written
        }
        x[own].to_vec()
    });
    let error = solution.concat().iter().map(|x| (x - 1.0).abs()).fold(0.0, f64::max);
    println!("{path}: {n} unknowns by {bees} bees; off by {error:.1e} at most");
    assert!(error < 1e-6, "x should be all ones");
}
