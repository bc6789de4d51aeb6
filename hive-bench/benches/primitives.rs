//! hive's primitives by themselves, for before and after a change. The program hive-bench measures
//! them against rivals, and with the round trip beside them.

use std::hint::black_box;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use hive::{Bee, Hive, Loop, Parts, PerBee, Reduction, Scan, Schedule};

/// As many as this thread may use, two at most: the sizes of the promises. Not to be asked of a queen that is pinned.
fn team() -> usize {
    thread::available_parallelism().map_or(1, |cpus| cpus.get().min(2))
}

fn hive() -> Hive {
    Hive::builder().bees(team()).pin_queen(true).build().expect("a hive of two can be had")
}

fn region(c: &mut Criterion) {
    let hive = hive();
    for bees in 1..=hive.bees() {
        c.bench_function(&format!("region of {bees}"), |b| {
            b.iter(|| {
                hive.spmd(bees, |bee| {
                    black_box(bee.id());
                });
            });
        });
    }
}

/// Many of something in one region, timed by the queen.
fn inside(c: &mut Criterion, name: &str, body: impl Fn(&Bee<'_>) + Sync) {
    let hive = hive();
    c.bench_function(name, |b| {
        b.iter_custom(|times| {
            let elapsed = Mutex::new(Duration::ZERO);
            hive.spmd(hive.bees(), |bee| {
                bee.barrier();
                let begin = Instant::now();
                (0..times).for_each(|_| body(bee));
                bee.barrier();
                if bee.is_queen() {
                    *elapsed.lock().expect("nobody panics") = begin.elapsed();
                }
            });
            elapsed.into_inner().expect("nobody panics")
        });
    });
}

/// Has the compiler compute a value that nobody needs.
fn use_up<T>(value: T) {
    black_box(value);
}

fn collectives(c: &mut Criterion) {
    inside(c, "barrier", |bee| bee.barrier());
    inside(c, "all_reduce", |bee| use_up(bee.all_reduce(1.0, |a, b| a + b)));
    inside(c, "scan_inclusive", |bee| use_up(bee.scan_inclusive(1.0, |a, b| a + b)));
    inside(c, "broadcast_from", |bee| use_up(bee.broadcast_from(0, || 1.0)));
    inside(c, "single", |bee| bee.single(|| black_box(())));
}

const SCHEDULES: [Schedule; 6] = [
    Schedule::Static,
    Schedule::StaticChunk(1),
    Schedule::Dynamic(1),
    Schedule::Guided(1),
    Schedule::Factoring,
    Schedule::Affinity,
];

/// Loops of a thousand indices: in a region, with the barrier after them, and as a region of their own.
fn loops(c: &mut Criterion) {
    const LEN: usize = 1000;
    for schedule in SCHEDULES {
        let shared = Loop::new(0..LEN, schedule);
        inside(c, &format!("for_each {schedule:?}"), |bee| {
            bee.for_each(&shared, use_up);
            bee.barrier();
        });
        let hive = hive();
        c.bench_function(&format!("par_for {schedule:?}"), |b| {
            b.iter(|| hive.par_for((0..LEN, schedule), |range, _| use_up(range)));
        });
    }
}

fn reductions(c: &mut Criterion) {
    let (hive, x) = (hive(), vec![1.0; 10_000]);
    let sum = |range: std::ops::Range<usize>| x[range].iter().sum::<f64>();
    let (per_team, fixed) = (Reduction::per_team_size(0.0, |a, b| a + b), Reduction::deterministic(0.0, |a, b| a + b));
    c.bench_function("par_reduce PerTeam", |b| b.iter(|| hive.par_reduce(0..x.len(), &per_team, sum)));
    c.bench_function("par_reduce Fixed", |b| b.iter(|| hive.par_reduce(0..x.len(), &fixed, sum)));
    inside(c, "reduce_over Fixed", |bee| use_up(bee.reduce_over(0..x.len(), &fixed, sum)));
    let mut counts = vec![1_u64; 10_000];
    let count = Reduction::deterministic(0, |a: u64, b| a.wrapping_add(b));
    c.bench_function("par_scan", |b| b.iter(|| hive.par_scan(&mut counts, &count, Scan::Inclusive)));
}

fn slices(c: &mut Criterion) {
    let (mut data, counters) = (vec![0_u64; 1024], PerBee::new(team(), |_| 0_u64));
    let parts = Parts::new(&mut data, team());
    inside(c, "Parts::take", |bee| parts.own_mut(bee)[0] += 1);
    inside(c, "PerBee::get", |bee| *counters.get(bee) += 1);
}

fn tasks(c: &mut Criterion) {
    let hive = hive();
    c.bench_function("join", |b| hive.install(|| b.iter(|| hive.join(|| black_box(1), || black_box(2)))));
}

/// Down to one bee until the surplus is parked, up again until a region has run.
fn resize(c: &mut Criterion) {
    let hive = hive();
    let bees = hive.bees();
    c.bench_function("shrink and grow", |b| {
        b.iter(|| {
            hive.resize(1).expect("one bee can always be had");
            hive.wait_until_parked();
            hive.resize(bees).expect("the team has been there before");
            hive.spmd(bees, |bee| {
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

criterion_group!(benches, region, collectives, loops, reductions, slices, tasks, resize, mutex);
criterion_main!(benches);
