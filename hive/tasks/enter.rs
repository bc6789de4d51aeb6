//! How a thread comes to run tasks as a bee of a hive. A worker of the hive is one already. Any other thread becomes
//! the queen, if no other thread is; otherwise a worker runs its work, while the thread waits. `handle.rs` calls this
//! for `join`, `scope` and `install`.

use std::sync::Arc;

use crate::observe::trace::event::{Event, EventKind};
use crate::on_drop::on_drop;
use crate::pool::shared::Shared;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::{QueenGuard, Team};
use crate::region::closure_size::is_large;
use crate::region::nesting;
use crate::region::no_double_panic::NoDoublePanic;
use crate::tasks::blocking;

/// Runs `work` as a bee of the hive: on the calling thread, if that is a bee or can become the queen now; otherwise on
/// a worker, while the calling thread waits.
///
/// `work` gets `None` if neither is allowed: inside a region or a task of another hive, which may be waiting for this
/// thread, while this hive is busy; and in a forked child. `work` then has to do everything on the calling thread
/// itself.
pub(crate) fn run_as_bee<R: Send>(shared: &Arc<Shared>, work: impl FnOnce(Option<&TaskContext<'_>>) -> R + Send) -> R {
    if is_large(&work) {
        return run_as_bee(shared, Box::new(work) as Box<dyn FnOnce(Option<&TaskContext<'_>>) -> R + Send + '_>);
    }
    let team = &shared.team;
    // As on a worker.
    let _mode = team.float_mode().enter();
    nesting::with_task_context(team, |context| {
        if let Some(context) = context {
            // The thread is a bee of this hive, but may have entered other hives since. Inside `work`, this hive is the
            // innermost one.
            return nesting::within_tasks(context, || work(Some(context)));
        }
        if shared.is_forked() {
            return work(None);
        }
        // The queen of a region holds the queen lock already.
        if nesting::with_outermost_region(team, |region| region.bees > 1 && region.runner == 0) == Some(true) {
            return run_as_queen(team, |context| work(Some(context)));
        }
        // If no other thread is the queen, the calling thread becomes it.
        if let Some(queen_guard) = team.try_become_queen_in(team.float_mode()) {
            return run_with_guard(shared, queen_guard, work);
        }
        // The hive is busy. If this thread is inside anything, other threads may be waiting for it, so it must not
        // wait.
        if nesting::is_inside_any() {
            return work(None);
        }
        // This thread is inside nothing, so it may wait until a worker has run `work`.
        let work = NoDoublePanic::new(work);
        shared.ensure_worker();
        blocking::run(|task| team.inject(task), || nesting::with_innermost_tasks(team, work.into_inner()))
    })
}

/// Runs `work` as bee 0 of the hive. The calling thread holds the queen lock by `queen_guard`.
// Out of line, as the next function: a context takes hundreds of bytes, and code that runs as a bee already, maybe as
// one of many such levels on the stack, is not to have room for one.
#[inline(never)]
fn run_with_guard<R>(
    shared: &Shared,
    queen_guard: QueenGuard<'_>,
    work: impl FnOnce(Option<&TaskContext<'_>>) -> R,
) -> R {
    run_with_context(&TaskContext::for_queen(&shared.team, queen_guard), |context| {
        let _waiting = shared.wait_node.mark_waiting();
        work(Some(context))
    })
}

/// Runs `work` as bee 0 of `team`. The calling thread is the queen of a running region of that team, and has no task
/// context yet.
#[inline(never)]
pub(crate) fn run_as_queen<R>(team: &Team, work: impl FnOnce(&TaskContext<'_>) -> R) -> R {
    run_with_context(&TaskContext::new(team, 0), work)
}

/// Runs `work` as the bee that `context` belongs to, which is bee 0. The calling thread holds the queen lock.
fn run_with_context<R>(context: &TaskContext<'_>, work: impl FnOnce(&TaskContext<'_>) -> R) -> R {
    context.team.log(0, || Event::begin(EventKind::QueenSlot));
    // Hands the tasks that are still in the queen's deque to the workers when she leaves, by returning or by unwinding.
    let _release = on_drop(|| {
        // A forked child has no workers to hand them to.
        if !context.team.policy().is_forked() {
            context.inject_remaining();
        }
        context.team.log(0, || Event::end(EventKind::QueenSlot));
    });
    nesting::within_tasks(context, || work(context))
}
