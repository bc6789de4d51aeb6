//! What is asked of a hive while the system refuses: small programs, each of which makes threads and uses them in
//! another way.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use hive::{Builder, Hive, Hives, PlaceUnit, Schedule};

/// Asks something of hives. `kept` was one of the queen alone when the program began, may grow to [`MOST`], and is to be as good as before afterwards; others are built like `like`.
/// Err is an error that a call has returned. What is done although something was refused is done right.
pub(super) type Program = fn(kept: &Hive, like: &Builder) -> Result<(), String>;

/// Members that the kept hive may have.
pub(super) const MOST: usize = 4;

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
    ("several hives", several_hives),
];

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn assert_team(hive: &Hive, members: usize) {
    assert_eq!(hive.spmd_map(members, |bee| (bee.id(), bee.count())), teams_of(members));
}

fn teams_of(members: usize) -> Vec<(usize, usize)> {
    (0..members).map(|id| (id, members)).collect()
}

fn region(kept: &Hive, _: &Builder) -> Result<(), String> {
    assert_team(kept, MOST);
    Ok(())
}

fn region_with_error(kept: &Hive, _: &Builder) -> Result<(), String> {
    let ran = AtomicUsize::new(0);
    let result = kept.try_spmd(MOST, |bee| {
        bee.barrier();
        ran.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(ran.into_inner(), if result.is_ok() { MOST } else { 0 });
    result.map_err(text)
}

fn growing_regions(kept: &Hive, _: &Builder) -> Result<(), String> {
    (2..=MOST).for_each(|members| assert_team(kept, members));
    Ok(())
}

fn resize(kept: &Hive, _: &Builder) -> Result<(), String> {
    for members in [MOST, 2, 3] {
        kept.resize(members).map_err(text)?;
        kept.settle();
        assert_eq!(kept.bees_not_yet_tucked_in(), 0);
        assert_eq!(kept.bees(), members);
    }
    Ok(())
}

fn spawn(kept: &Hive, _: &Builder) -> Result<(), String> {
    let (sender, receiver) = channel();
    for number in 0..MOST {
        let sender = sender.clone();
        kept.spawn(move || sender.send(number).unwrap());
    }
    drop(sender);
    assert_eq!(receiver.iter().sum::<usize>(), (0..MOST).sum::<usize>());
    Ok(())
}

fn install(kept: &Hive, _: &Builder) -> Result<(), String> {
    kept.install(|| kept.resize(MOST).map_err(text).map(|()| assert_team(kept, MOST)))
}

fn join(kept: &Hive, _: &Builder) -> Result<(), String> {
    assert_eq!(kept.join(|| 1, || kept.join(|| 2, || 3)), (1, (2, 3)));
    Ok(())
}

fn scope_beside_a_region(kept: &Hive, _: &Builder) -> Result<(), String> {
    kept.resize(2).map_err(text)?;
    let other = kept.install(|| {
        let count = AtomicUsize::new(0);
        let scope = || {
            kept.scope(|scope| {
                for _ in 0..MOST {
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
    assert_eq!(other?.unwrap_or_else(|payload| resume_unwind(payload)), MOST);
    Ok(())
}

fn broadcast(kept: &Hive, _: &Builder) -> Result<(), String> {
    kept.resize(MOST).map_err(text)?;
    assert_eq!(kept.broadcast(|bee| bee), [1, 2, 3]);
    Ok(())
}

fn loop_over_all(kept: &Hive, _: &Builder) -> Result<(), String> {
    kept.resize(MOST).map_err(text)?;
    for schedule in [Schedule::Static, Schedule::Dynamic(3), Schedule::Guided(1)] {
        let sum = AtomicUsize::new(0);
        kept.par_for(0..100, schedule, |indices, _| _ = sum.fetch_add(indices.sum(), Ordering::Relaxed));
        assert_eq!(sum.into_inner(), 4_950);
    }
    Ok(())
}

fn build(_: &Hive, like: &Builder) -> Result<(), String> {
    let hive = like.clone().bees(3).build().map_err(text)?;
    assert_team(&hive, 3);
    Ok(())
}

fn build_in_a_region(kept: &Hive, like: &Builder) -> Result<(), String> {
    let built = kept.spmd_map(2, |bee| {
        bee.barrier();
        build(kept, like)
    });
    built.into_iter().collect()
}

fn region_in_a_task(kept: &Hive, like: &Builder) -> Result<(), String> {
    let hive = like.clone().bees(2).build().map_err(text)?;
    let (team, ()) = hive.join(|| kept.spmd_map(MOST, |bee| (bee.id(), bee.count())), || ());
    assert!(team == teams_of(MOST) || team == teams_of(1), "a whole team or a lone one: {team:?}");
    Ok(())
}

fn several_hives(_: &Hive, _: &Builder) -> Result<(), String> {
    let hives = Hives::builder().each(PlaceUnit::Cores).share(true).build().map_err(text)?;
    let bees = hives.bees();
    assert_eq!(hives.spmd_map(|bee| (bee.id(), bee.count())), teams_of(bees));
    Ok(())
}
