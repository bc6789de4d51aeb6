//! What is asked of a hive while the system refuses: small programs, each of which makes threads and uses them in
//! another way.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use hive::{Builder, Hive, HiveSet, PlaceUnit, Schedule};

/// Asks something of hives. `kept` was one of the queen alone when the program began, may grow to [`MOST`], and is to
/// be as good as before afterwards; others are built like `template`. Err is an error that a call has returned. What is
/// done although something was refused is done right.
pub(super) type Program = fn(kept: &Hive, like: &Builder) -> Result<(), String>;

/// Bees that the kept hive may have.
pub(super) const MAX_BEES: usize = 4;

pub(super) const PROGRAMS: [(&str, Program); 14] = [
    ("region", region),
    ("region with an error", region_with_error),
    ("regions of more and more", growing_regions),
    ("resize", resize),
    ("spawn", spawn),
    ("install", install),
    ("join", join),
    ("scope from outside, beside a region", scope_beside_a_region),
    ("broadcast", broadcast),
    ("loop", loop_over_all),
    ("build", build),
    ("build in a region", build_in_a_region),
    ("region of another hive, in a task", region_in_a_task),
    ("several hives", hive_set),
];

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn assert_team(hive: &Hive, bees: usize) {
    assert_eq!(hive.spmd_map(bees, |bee| (bee.id(), bee.bees())), expected_team(bees));
}

fn expected_team(bees: usize) -> Vec<(usize, usize)> {
    (0..bees).map(|id| (id, bees)).collect()
}

fn region(hive: &Hive, _: &Builder) -> Result<(), String> {
    assert_team(hive, MAX_BEES);
    Ok(())
}

fn region_with_error(hive: &Hive, _: &Builder) -> Result<(), String> {
    let ran = AtomicUsize::new(0);
    let result = hive.try_spmd(MAX_BEES, |bee| {
        bee.barrier();
        ran.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(ran.into_inner(), if result.is_ok() { MAX_BEES } else { 0 });
    result.map_err(text)
}

fn growing_regions(hive: &Hive, _: &Builder) -> Result<(), String> {
    (2..=MAX_BEES).for_each(|bees| assert_team(hive, bees));
    Ok(())
}

fn resize(hive: &Hive, _: &Builder) -> Result<(), String> {
    for bees in [MAX_BEES, 2, 3] {
        hive.resize(bees).map_err(text)?;
        hive.wait_until_parked();
        assert_eq!(hive.bees_not_yet_tucked_in(), 0);
        assert_eq!(hive.bees(), bees);
    }
    Ok(())
}

fn spawn(hive: &Hive, _: &Builder) -> Result<(), String> {
    let (sender, receiver) = channel();
    for number in 0..MAX_BEES {
        let sender = sender.clone();
        hive.spawn(move || sender.send(number).unwrap());
    }
    drop(sender);
    assert_eq!(receiver.iter().sum::<usize>(), (0..MAX_BEES).sum::<usize>());
    Ok(())
}

fn install(hive: &Hive, _: &Builder) -> Result<(), String> {
    hive.install(|| hive.resize(MAX_BEES).map_err(text).map(|()| assert_team(hive, MAX_BEES)))
}

fn join(hive: &Hive, _: &Builder) -> Result<(), String> {
    assert_eq!(hive.join(|| 1, || hive.join(|| 2, || 3)), (1, (2, 3)));
    Ok(())
}

fn scope_beside_a_region(hive: &Hive, _: &Builder) -> Result<(), String> {
    hive.resize(2).map_err(text)?;
    let other = hive.install(|| {
        let count = AtomicUsize::new(0);
        let scope = || {
            hive.scope(|scope| {
                for _ in 0..MAX_BEES {
                    scope.spawn(|_| _ = count.fetch_add(1, Ordering::Relaxed));
                }
            });
        };
        // Not by a thread of its own, where none is made.
        thread::scope(|threads| {
            let thread = thread::Builder::new().spawn_scoped(threads, scope);
            thread.map_err(text).map(|thread| thread.join().map(|()| count.load(Ordering::Relaxed)))
        })
    });
    assert_eq!(other?.unwrap_or_else(|payload| resume_unwind(payload)), MAX_BEES);
    Ok(())
}

fn broadcast(hive: &Hive, _: &Builder) -> Result<(), String> {
    hive.resize(MAX_BEES).map_err(text)?;
    assert_eq!(hive.broadcast(|bee| bee), [1, 2, 3]);
    Ok(())
}

fn loop_over_all(hive: &Hive, _: &Builder) -> Result<(), String> {
    hive.resize(MAX_BEES).map_err(text)?;
    for schedule in [Schedule::Static, Schedule::Dynamic(3), Schedule::Guided(1)] {
        let sum = AtomicUsize::new(0);
        hive.par_for((0..100, schedule), |indices, _| _ = sum.fetch_add(indices.sum(), Ordering::Relaxed));
        assert_eq!(sum.into_inner(), 4_950);
    }
    Ok(())
}

fn build(_: &Hive, template: &Builder) -> Result<(), String> {
    let hive = template.clone().bees(3).build().map_err(text)?;
    assert_team(&hive, 3);
    Ok(())
}

fn build_in_a_region(base_hive: &Hive, template: &Builder) -> Result<(), String> {
    let built = base_hive.spmd_map(2, |bee| {
        bee.barrier();
        build(base_hive, template)
    });
    built.into_iter().collect()
}

fn region_in_a_task(base_hive: &Hive, template: &Builder) -> Result<(), String> {
    let hive = template.clone().bees(2).build().map_err(text)?;
    let (team, ()) = hive.join(|| base_hive.spmd_map(MAX_BEES, |bee| (bee.id(), bee.bees())), || ());
    assert!(team == expected_team(MAX_BEES) || team == expected_team(1), "a whole team or a lone one: {team:?}");
    Ok(())
}

fn hive_set(_: &Hive, _: &Builder) -> Result<(), String> {
    let hives = HiveSet::builder().each(PlaceUnit::Cores).share(true).build().map_err(text)?;
    let bees = hives.bees();
    assert_eq!(hives.spmd_map(|bee| (bee.id(), bee.bees())), expected_team(bees));
    Ok(())
}
