//! hive's primitives by themselves, for before and after a change. The program hive-bench measures
//! them against rivals, and with the round trip beside them.

use std::hint::black_box;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use hive::Hive;

/// As many as this thread may use, two at most: the sizes of the promises. Not to be asked of a queen that is pinned.
fn team() -> usize {
    thread::available_parallelism().map_or(1, |cpus| cpus.get().min(2))
}

fn hive() -> Hive {
    Hive::builder().bees(team()).pin_queen(true).build().expect("a hive of two can be had")
}

fn region(c: &mut Criterion) {
    let hive = hive();
    for members in 1..=hive.bees() {
        c.bench_function(&format!("region of {members}"), |b| {
            b.iter(|| {
                hive.spmd(members, |bee| {
                    black_box(bee.id());
                });
            });
        });
    }
}

/// Many barriers in one region, timed by the queen.
fn barrier(c: &mut Criterion) {
    let hive = hive();
    c.bench_function("barrier", |b| {
        b.iter_custom(|times| {
            let elapsed = Mutex::new(Duration::ZERO);
            hive.spmd(hive.bees(), |bee| {
                bee.barrier();
                let begin = Instant::now();
                for _ in 0..times {
                    bee.barrier();
                }
                if bee.is_queen() {
                    *elapsed.lock().expect("nobody panics") = begin.elapsed();
                }
            });
            elapsed.into_inner().expect("nobody panics")
        });
    });
}

/// Down to one member until the surplus is parked, up again until a region has run.
fn resize(c: &mut Criterion) {
    let hive = hive();
    let members = hive.bees();
    c.bench_function("shrink and grow", |b| {
        b.iter(|| {
            hive.resize(1).expect("one member can always be had");
            hive.settle();
            hive.resize(members).expect("the team has been there before");
            hive.spmd(members, |bee| {
                black_box(bee.id());
            });
        });
    });
}

/// What a team of one is measured by.
fn mutex(c: &mut Criterion) {
    let counter = Mutex::new(0_u64);
    c.bench_function("mutex", |b| b.iter(|| *black_box(&counter).lock().expect("nobody panics") += 1));
}

criterion_group!(benches, region, barrier, resize, mutex);
criterion_main!(benches);
