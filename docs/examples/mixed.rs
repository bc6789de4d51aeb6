//! Regions and tasks on the same threads: a signal is cleaned by a region, sorted by tasks, and looked through by both
//! at once.
//!
//!     cargo run --release --example mixed

use hive::{Parts, Reduction, Schedule};

/// Sorts by merging, a task for each half of what is worth one.
fn sort(data: &mut [f64], spare: &mut [f64]) {
    if data.len() <= 4096 {
        data.sort_unstable_by(f64::total_cmp);
        return;
    }
    let middle = data.len() / 2;
    let (left, right) = data.split_at_mut(middle);
    let (spare_left, spare_right) = spare.split_at_mut(middle);
    hive::join(|| sort(left, spare_left), || sort(right, spare_right));
    let (mut a, mut b) = (left.iter().peekable(), right.iter().peekable());
    for place in spare.iter_mut() {
        let from_left = b.peek().is_none_or(|b| a.peek().is_some_and(|a| *a <= *b));
        *place = *if from_left { a.next() } else { b.next() }.expect("as many places as numbers");
    }
    data.copy_from_slice(spare);
}

fn main() {
    let (len, bees) = (1 << 20, hive::bees());
    let mut signal: Vec<f64> =
        (0..len).map(|i| (f64::from(i) * 0.37).sin() + if i % 1000 == 7 { 50.0 } else { 0.0 }).collect();

    // A region: each bee cuts the spikes off its own part, and all agree on how many there were.
    let parts = Parts::new(&mut signal, bees);
    let spikes = hive::spmd_map(bees, |bee| {
        let mut own = parts.own_mut(bee);
        let spikes = own.iter_mut().filter(|x| **x > 2.0).map(|x| *x -= 50.0).count();
        bee.all_reduce(spikes, |a, b| a + b)
    })[0];
    drop(parts);

    // Tasks: the same threads, by work stealing.
    let mut sorted = signal.clone();
    hive::install(|| sort(&mut sorted, &mut vec![0.0; signal.len()]));

    // A loop, and a task beside it.
    let (median, power) = hive::join(|| sorted[sorted.len() / 2], || signal.iter().map(|x| x * x).sum::<f64>());
    let again = hive::par_reduce(
        (0..signal.len(), Schedule::Guided(1024)),
        &Reduction::deterministic(0.0, |a, b| a + b),
        |range| signal[range].iter().map(|x| x * x).sum(),
    );
    println!("{spikes} spikes cut off by {bees} bees; median {median:.6}, power {:.6}", power / f64::from(len));
    assert_eq!(spikes, 1049);
    assert!(sorted.is_sorted() && median.abs() < 1e-3 && (power - again).abs() < 1e-6 * power);
}
