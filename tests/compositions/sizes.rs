//! Operations that resize hives, and that build and drop hives on the way.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::common::wait_until;
use super::frames::{Frame, HiveId, Wait};
use super::handlers::{NewHive, PanicReceiver, RemoteRest};
use super::run::Run;
use super::step::Step;

pub(crate) fn grow(step: &Step<'_>) -> usize {
    let n = step.hive().bees();
    resized(step, n, n + 1)
}

pub(crate) fn shrink(step: &Step<'_>) -> usize {
    let n = step.hive().bees();
    resized(step, n, 1)
}

/// Resizes, runs the rest, and resizes back; each time waits until the surplus bees are parked.
fn resized(step: &Step<'_>, before: usize, n: usize) -> usize {
    if let Err(why) = step.view().parks_surplus(step.on) {
        return step.not_called(why);
    }
    // Inside a region the resize takes effect at the region's end.
    let is_put_off = step.view().is_in_a_region_of(step.on);
    resize(step, n, if is_put_off { before } else { n });
    let reached = step.run_rest();
    resize(step, before, before);
    reached
}

/// Resizes to `n`, after which the hive must have `expected` bees, and waits until the surplus is parked.
fn resize(step: &Step<'_>, n: usize, expected: usize) {
    let hive = step.hive();
    let Some(resized) = step.call_alone(|| hive.resize(n)) else { return };
    step.check(resized.is_ok(), || format!("resize({n}) is refused: {resized:?}"));
    let settles = step.view().parks_surplus(step.on);
    if settles.is_ok() {
        let _waits = step.wait(Wait::Blocked);
        step.call_alone(|| hive.wait_until_parked());
    }
    if step.run.is_concurrent() || step.view().has_callers {
        return;
    }
    let bees = hive.bees();
    step.check(bees == expected, || format!("{bees} bees, and not {expected}, after resize({n})"));
    if settles == Ok(true) {
        let up = hive.bees_not_yet_tucked_in();
        step.check(up == 0, || format!("{up} surplus bees are up after settle"));
    }
}

/// The rest of the nest, for a task of a new hive.
fn remote_rest(step: &Step<'_>, hive: HiveId, heard: PanicReceiver) -> Arc<RemoteRest> {
    let last = NewHive::last_of(step);
    RemoteRest::new(step, &[Frame::Bee(hive, last), Frame::Task(hive)], heard)
}

fn check_bee(run: &Run, last: usize) {
    let current = hive::current().map(|bee| bee.id);
    run.check(current == Some(last), || format!("what is for bee {last} of a new hive is run by {current:?}"));
}

pub(crate) fn drop_new(step: &Step<'_>) -> usize {
    let Some(new) = NewHive::build_to_drop(step, |builder| builder) else { return 0 };
    let errand = remote_rest(step, new.id, PanicReceiver::PanicHandler);
    let (task, run, last) = (Arc::clone(&errand), Arc::clone(step.run), new.last);
    let _waits = step.wait(Wait::Blocked);
    step.call_alone(|| new.run_region(false));
    new.spawn_on_last(move || {
        check_bee(&run, last);
        task.run_once();
    });
    step.call_alone(|| drop(new));
    errand.result_after_drop(step)
}

pub(crate) fn drop_own(step: &Step<'_>) -> usize {
    let Some(new) = NewHive::build(step, |builder| builder) else { return 0 };
    let errand = remote_rest(step, new.id, PanicReceiver::Waiter);
    let (task, run, new) = (Arc::clone(&errand), Arc::clone(step.run), Arc::new(new));
    let (own, is_dropped) = (Arc::clone(&new), Arc::new(AtomicUsize::new(0)));
    let dropped = Arc::clone(&is_dropped);
    let _waits = step.wait(Wait::Polling);
    new.spawn_on_last(move || {
        check_bee(&run, own.last);
        task.run_once();
        wait_until(|| Arc::strong_count(&own) == 1);
        let ended = catch_unwind(AssertUnwindSafe(|| drop(own)));
        run.check(ended.is_ok(), || "dropping the hive on its own bee panics".to_owned());
        // Release: publishes that the hive is gone.
        dropped.store(1, Ordering::Release);
    });
    drop(new);
    // Acquire: pairs with the Release in the task above.
    while is_dropped.load(Ordering::Acquire) == 0 {
        hive::yield_now();
    }
    errand.result()
}
