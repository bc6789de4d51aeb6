//! Operations with threads of the program's own, with the ends of threads and bees, and with destructors.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;

use hive::{Hive, Schedule};

use super::frames::{Frame, Wait};
use super::handlers::{NewHive, PanicReceiver, RemoteRest};
use super::step::Step;

/// Runs the rest in a destructor while the thread unwinds. A panic of the rest continues after the unwinding.
pub(crate) fn unwinding(step: &Step<'_>) -> usize {
    struct OnDrop<F: FnMut()>(F);
    impl<F: FnMut()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let mut result = None;
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _on_drop = OnDrop(|| result = Some(catch_unwind(AssertUnwindSafe(|| step.run_rest()))));
        resume_unwind(Box::new("as expected"));
    }));
    assert!(unwound.is_err(), "it unwinds");
    result.expect("the destructor has run").unwrap_or_else(|payload| resume_unwind(payload))
}

pub(crate) fn thread(step: &Step<'_>) -> usize {
    let _waits = step.wait(Wait::Blocked);
    let ended = thread::scope(|scope| scope.spawn(|| step.run_rest()).join());
    ended.unwrap_or_else(|payload| resume_unwind(payload))
}

/// Runs the rest when its thread ends.
struct RunsAtThreadExit(Arc<RemoteRest>);

impl Drop for RunsAtThreadExit {
    fn drop(&mut self) {
        self.0.run_once();
    }
}

thread_local! {
    static AT_THREAD_EXIT: RefCell<Option<RunsAtThreadExit>> = const { RefCell::new(None) };
}

/// Makes the calling thread run the rest when it ends. The destructors of hive's own thread-locals run before, because
/// they are registered later.
fn at_thread_exit(errand: Arc<RemoteRest>, hive: &Hive) {
    AT_THREAD_EXIT.set(Some(RunsAtThreadExit(errand)));
    hive.par_for((0..8, Schedule::Dynamic(1)), |_, _| ());
    hive.par_for((0..8, Schedule::Guided(1)), |_, _| ());
    hive.install(|| ());
}

pub(crate) fn thread_exit(step: &Step<'_>) -> usize {
    let errand = RemoteRest::new(step, &[], PanicReceiver::Waiter);
    let last = Arc::clone(&errand);
    let _waits = step.wait(Wait::Blocked);
    let hive = step.call_alone(|| Hive::new(2));
    let Some(Ok(hive)) = hive else { return 0 };
    let ended = thread::spawn(move || at_thread_exit(last, &hive)).join();
    step.check(ended.is_ok(), || "the thread panics at its end".to_owned());
    errand.result()
}

pub(crate) fn bee_exit(step: &Step<'_>) -> usize {
    let Some(new) = NewHive::build_to_drop(step, |builder| builder) else { return 0 };
    let errand = RemoteRest::new(step, &[Frame::Bee(new.id, new.last)], PanicReceiver::Waiter);
    let (last, own) = (Arc::clone(&errand), Hive::new(2).expect("a hive"));
    let _waits = step.wait(Wait::Blocked);
    new.spawn_on_last(move || at_thread_exit(last, &own));
    step.call_alone(|| drop(new));
    errand.result_after_drop(step)
}
