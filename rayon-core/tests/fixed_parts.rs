//! Work that is divided in the same way whatever the number of threads.

mod common;

use rayon::prelude::*;
use rayon_core::{ThreadPool, ThreadPoolBuilder, join_context};

const PARTS: usize = 64;

fn pool_of_parts(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).fixed_parts(PARTS).build().unwrap()
}

/// Numbers of different sizes, so that their sum depends on the order in which they are added.
fn numbers(count: usize) -> Vec<f64> {
    (0..count as u32).map(|i| f64::from(i.wrapping_mul(2_654_435_761)) * 10_f64.powi((i % 31) as i32 - 15)).collect()
}

/// Sums, folds and the like, each of which comes out otherwise if the work is divided otherwise.
fn results(x: &[f64]) -> Vec<u64> {
    let square = |x: &f64| x * x;
    let pairs = x.par_iter().zip(x.par_iter().rev()).map(|(a, b)| a * b);
    let mut sorted = x.to_vec();
    sorted.par_sort_by(f64::total_cmp);
    let results = [
        x.par_iter().sum::<f64>(),
        x.par_iter().map(square).sum(),
        x.par_iter().copied().reduce(|| 0.0, |a, b| a + b),
        x.par_iter().copied().reduce_with(|a, b| a + b).unwrap(),
        x.par_iter().fold(|| 1e-3, |a, b| a + b).sum(),
        x.par_iter().fold_with(1e-3, |a, b| a + b).reduce(|| 0.0, |a, b| a * 0.5 + b),
        x.par_iter().try_fold(|| 0.0, |a, b| Some(a + b)).try_reduce(|| 0.0, |a, b| Some(a + b)).unwrap(),
        x.par_iter().map(|x| Ok::<_, ()>(x * x)).try_reduce(|| 0.0, |a, b| Ok(a + b)).unwrap(),
        pairs.clone().sum(),
        pairs.map(|x| x + 1.0).product::<f64>().ln_1p(),
        x.par_chunks(7).map(|chunk| chunk.iter().sum::<f64>()).sum(),
        x.par_chunks_exact(5).map(|chunk| chunk.iter().sum::<f64>()).sum(),
        x.par_rchunks(11).map(|chunk| chunk.iter().sum::<f64>()).sum(),
        x.par_windows(3).map(|window| window[0] * window[2]).sum(),
        x.par_iter().with_min_len(10).sum(),
        x.par_iter().with_max_len(13).sum(),
        x.par_iter().with_min_len(4).with_max_len(50).map(square).sum(),
        x.par_iter().step_by(3).sum(),
        x.par_iter().skip(17).take(x.len() / 2).sum(),
        x.par_iter().rev().sum(),
        x.par_iter().chain(x.par_iter().rev()).sum(),
        x.par_iter().interleave(x.par_iter().rev()).sum(),
        x.par_iter().enumerate().map(|(i, x)| x * (i as f64).sqrt()).sum(),
        x.par_iter().filter(|x| **x > 0.5).sum(),
        x.par_iter().flat_map_iter(|x| [*x, x * 3.0]).sum(),
        x.par_iter().flat_map(|x| rayon::iter::repeat(*x).take(5)).sum(),
        x.par_iter().chunks(9).map(|chunk| chunk.into_iter().sum::<f64>()).sum(),
        x.par_iter().positions(|x| *x > 0.5).map(|i| (i as f64).sqrt()).sum(),
        (0..x.len()).into_par_iter().map(|i| x[i] / (i + 1) as f64).sum(),
        sorted.par_iter().map(|x| x * 1.000_1).sum(),
    ];
    results.map(f64::to_bits).to_vec()
}

#[test]
fn results_are_the_same_bits_on_any_number_of_threads() {
    for count in [1, 2, 63, 64, 1_000, 30_011] {
        let x = numbers(count);
        let expected = pool_of_parts(1).install(|| results(&x));
        for threads in [2, 3, 4, 7, 64] {
            let pool = pool_of_parts(threads);
            for _ in 0..if count > 1_000 { 5 } else { 20 } {
                assert_eq!(pool.install(|| results(&x)), expected, "{count} numbers, {threads} threads");
            }
        }
    }
}

/// Without the setting they are not, or the test above would show nothing.
#[test]
fn results_differ_where_the_parts_are_not_fixed() {
    let x = numbers(30_011);
    let expected = ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| results(&x));
    let others = common::pool(3).install(|| results(&x));
    let different = expected.iter().zip(&others).filter(|(a, b)| a != b).count();
    assert!(different > 20, "only {different} of {} are sensitive to how the work is divided", expected.len());
}

#[test]
fn nothing_seems_to_migrate_and_a_pool_has_no_more_threads_than_parts() {
    let pool = pool_of_parts(2);
    for _ in 0..1_000 {
        let migrated = pool.install(|| join_context(|a| a.migrated(), |b| b.migrated()));
        assert_eq!(migrated, (false, false));
    }
    let pool = ThreadPoolBuilder::new().num_threads(10).fixed_parts(3).build().unwrap();
    assert_eq!((pool.current_num_threads(), pool.broadcast(|_| ()).len()), (3, 3));
    let pool = ThreadPoolBuilder::new().num_threads(2).fixed_parts(0).build().unwrap();
    assert_eq!(pool.current_num_threads(), 2, "0 is no number of parts");
}
