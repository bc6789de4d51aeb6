//! Operations of async code: `spawn_async`, `run_async`, and both of them cancelled.

use std::future::{self, Future};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use hive::{AsyncTask, Hive};

use super::case::{Level, Operation};
use super::expectation::WaitCycle;
use super::fault::{First, PartsRun};
use super::frames::Wait;
use super::step::{Step, run_from};
use super::tasks::enter_task;

/// Makes a call by `begin`, which gets its only part, and polls until what it returns has ended.
fn await_part(step: &Step<'_>, begin: impl FnOnce(Box<dyn FnOnce() -> usize + Send>) -> AsyncTask<usize>) -> usize {
    let parts = Arc::new(PartsRun::default());
    let (theirs, run, depth) = (Arc::clone(&parts), Arc::clone(step.run), step.depth);
    let part = Box::new(move || theirs.run(0, || run_from(&run, depth + 1)));
    let _waits = step.wait(Wait::Polling);
    let call = || {
        let mut awaited = pin!(begin(part));
        loop {
            match awaited.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(reached) => return reached,
                Poll::Pending => hive::yield_now(),
            }
        }
    };
    step.call(&parts, First::Any, call).unwrap_or(0)
}

/// Is pending once, and has been woken by then.
async fn suspend_once() {
    let mut is_woken = false;
    future::poll_fn(|context| {
        if is_woken {
            return Poll::Ready(());
        }
        is_woken = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A task that suspends once runs the rest. Its caller polls until the task is done.
pub(crate) fn spawn_async(step: &Step<'_>) -> usize {
    if !step.view().can_run_tasks(step.on, step.hive().bees()) {
        return step.not_called(WaitCycle::Task);
    }
    let (run, on) = (Arc::clone(step.run), step.on);
    await_part(step, |part| {
        Hive::spawn_async(step.hive(), async move {
            suspend_once().await;
            let _in = enter_task(&run, on);
            part()
        })
    })
}

/// The thread for calls of async code runs the rest. The caller polls until it has.
pub(crate) fn run_async(step: &Step<'_>) -> usize {
    // The calls of a hive are made one after another.
    let same = |level: &Level| level.verb == Operation::RunAsync && level.on == step.on;
    if step.run.case.levels[..step.depth].iter().any(same) {
        return step.not_called(WaitCycle::OutsideThread);
    }
    await_part(step, |part| Hive::run_async(step.hive(), |_| part()))
}

/// The rest runs beside a task that waits for ever and a call of `run_async`. Both are cancelled afterwards; at its end
/// the case waits until nothing of them is left.
pub(crate) fn cancel_async(step: &Step<'_>) -> usize {
    step.run.mark_concurrent();
    let [of_task, of_call] = [step.run.detach(), step.run.detach()];
    let begin = || {
        let task = Hive::spawn_async(step.hive(), async move {
            let _until_dropped = of_task;
            future::pending::<()>().await;
        });
        (task, Hive::run_async(step.hive(), |_| drop(of_call)))
    };
    let Some(begun) = step.call_alone(begin) else { return 0 };
    let reached = step.run_rest();
    step.call_alone(|| drop(begun));
    reached
}
