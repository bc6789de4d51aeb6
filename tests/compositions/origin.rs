//! Brings a case to the place from which its outermost call is made, runs it there, and checks the hives afterwards.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use hive::Hive;

use super::super::common::{Gate, assert_hive_works, wait_until};
use super::case::{Case, Groups, Origin};
use super::frames::{Frame, Wait};
use super::handlers::{HandlerSlot, PanicReceiver, RemoteRest};
use super::hive_pool::{HivePool, PooledHive, builder};
use super::panic_hook;
use super::run::{Ending, Run, message};
use super::surroundings::{Kept, Surroundings};

/// Runs a case on the hives of the pool. Err: something was not as it should be.
pub(crate) fn run(case: &Case, pool: &mut HivePool) -> Result<Ending, String> {
    panic_hook::take_unplanned();
    let hives = pool.of(case);
    let ended = match case.place {
        Origin::Outside if case.is_mirrored => with_mirror_image(case, hives),
        Origin::Outside => {
            let run = Run::new(case.clone(), hives);
            let kept = Kept::make(&run, [true; 2]);
            let expected = run.run_calls();
            kept.end();
            finish_all(&[(&run, expected)])
        }
        Origin::StartHandler => in_start_handler(case, hives),
    };
    let heard = panic_hook::take_unplanned();
    match ended {
        Err(fault) => Err([vec![fault], heard].concat().join("; ")),
        Ok(_) if !heard.is_empty() => Err(heard.join("; ")),
        ended => ended,
    }
}

/// Runs the case on two threads, on one of them with the hives exchanged.
fn with_mirror_image(case: &Case, hives: [PooledHive; 2]) -> Result<Ending, String> {
    let one = Run::new(case.clone(), hives.clone());
    let other = Run::with_frames(case.mirrored(), hives, Arc::clone(&one.frames));
    let start = Gate::new();
    let kept = Kept::make(&one, [true; 2]);
    let go = |run: &Arc<Run>| {
        start.arrive_and_wait(2);
        run.run_calls()
    };
    let expected = thread::scope(|scope| {
        let others = scope.spawn(|| go(&other));
        (go(&one), others.join().expect("a run keeps its panics to itself"))
    });
    kept.end();
    finish_all(&[(&one, expected.0), (&other, expected.1)])
}

/// Waits until the case is over. Then both hives must be as before and work.
fn finish_all(runs: &[(&Arc<Run>, usize)]) -> Result<Ending, String> {
    let unheard: usize = runs.iter().map(|(run, _)| run.finish()).sum();
    wait_until(|| panic_hook::planned_reports() >= unheard);
    let run = runs[0].0;
    run.check(panic_hook::planned_reports() == unheard, || {
        "the panic handler has heard of more than was for it".to_owned()
    });
    let ended: Result<Vec<_>, _> = runs.iter().map(|(run, expected)| run.result(*expected)).collect();
    let bees = run.hive_sets.each_ref().map(|hive| hive.bees());
    let worked = catch_unwind(AssertUnwindSafe(|| {
        for (hive, &size) in run.hive_sets.iter().zip(&run.case.sizes) {
            // A case with overlapping resizes may leave either size, and one that panics in the middle leaves the size
            // that it had then.
            hive.resize(size).expect("no more than there were");
            hive.wait_until_parked();
            assert_hive_works(hive, size);
            assert_tasks_work(hive);
        }
    }));
    let ending = ended?.into_iter().max().expect("there is one");
    worked.map_err(|panic| format!("a hive does not work afterwards: {}", message(&*panic)))?;
    // A loop of a caller's asks for as many bees as the hive had when it was called, and so may undo a resize.
    let is_undone = run.case.resizes() && run.case.surroundings == Surroundings::Callers;
    if bees != run.case.sizes && !run.is_concurrent() && run.case.fault.is_none() && !is_undone {
        return Err(format!("the hives have {bees:?} bees afterwards, not {:?}", run.case.sizes));
    }
    Ok(ending)
}

fn assert_tasks_work(hive: &Hive) {
    assert_eq!(hive.join(|| 1, || 2), (1, 2), "a join");
    let done = Arc::new(AtomicUsize::new(0));
    let task = Arc::clone(&done);
    hive.spawn(move || _ = task.fetch_add(1, Ordering::Relaxed));
    wait_until(|| done.load(Ordering::Relaxed) == 1);
}

/// Uses a hive A of the case's own. Its last bee is hired for a region or a task, and runs the case before anything
/// else.
fn in_start_handler(case: &Case, [_, b]: [PooledHive; 2]) -> Result<Ending, String> {
    let size = case.sizes[0];
    let last = size.max(2) - 1;
    let slot = HandlerSlot::new(last);
    let a = PooledHive::build(builder(case.waiting).bees(1).start_handler(slot.handler()));
    let run = Run::new(case.clone(), [a.clone(), b]);
    let errand = RemoteRest::of(&run, 0, &[Frame::Bee(0, last)], PanicReceiver::PanicHandler);
    slot.set(&errand);
    let kept = Kept::make(&run, [false, true]);
    if size == 1 {
        a.hive.spawn(|| ());
    } else {
        let _waits = run.frames.enter(&[Frame::QueenLock(0), Frame::Waiting(Wait::Blocked)]);
        if case.waiting.groups == Groups::Relay && size == 3 {
            // Bee 1 leads the group that bee 2 is in. Its own part ends at once, and then it waits for bee 2.
            run.frames.add_unseen(&[Frame::Bee(0, 1), Frame::Waiting(Wait::Blocked)]);
        }
        a.hive.spmd(size, |_| ());
    }
    wait_until(|| errand.is_done());
    kept.end();
    finish_all(&[(&run, errand.result())])
}
