//! How a thread comes to be a bee that runs tasks: a bee is one; anybody else takes the queen's place if it is free, or has it done by a bee.

use std::sync::Arc;

use crate::observe::trace::event::Event;
use crate::pool::shared::Shared;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::{Leadership, Team};
use crate::region::nesting;
use crate::region::no_double_panic::NoDoublePanic;
use crate::tasks::blocking;
use crate::tasks::caller;

/// Runs `work` as a bee of the hive: on the calling thread if that can be one now; else on a bee, while the thread waits.
///
/// `work` gets None if neither may be: inside a region or a task of another hive, which may be waiting for this one, and in a forked child. It then does all of it
/// on the spot.
pub(crate) fn run_as_bee<R: Send>(shared: &Arc<Shared>, work: impl FnOnce(Option<&TaskContext<'_>>) -> R + Send) -> R {
    let team = &shared.team;
    nesting::with_task_context(team, |context| {
        if let Some(context) = context {
            // It may be far out, with other hives further in. Inside `work` this hive is the innermost.
            return caller::with_context(context, || work(Some(context)));
        }
        if shared.is_forked() {
            return work(None);
        }
        // Bee 0 of a region has the turn already.
        if nesting::with_outermost_region(team, |region| region.bees() > 1 && region.id() == 0) == Some(true) {
            return run_as_queen(team, |context| work(Some(context)));
        }
        if let Some(leadership) = team.try_acquire_leadership() {
            return run_with_context(&TaskContext::for_queen(team, leadership), |context| {
                let _waiting = shared.wait_node.mark_waiting();
                work(Some(context))
            });
        }
        if nesting::is_inside_any() {
            return work(None);
        }
        let work = NoDoublePanic::new(work);
        shared.ensure_worker();
        blocking::run(|task| team.inject(task), || nesting::with_innermost_tasks(team, work.into_inner()))
    })
}

/// Calls `run` with the turn of `team`, for a thread that is inside a region or runs tasks: its own, if it is in the queen's place and nobody may be waiting for what it is doing;
/// else the turn if nobody has it. It does not wait, because the one who has the turn may be waiting for this thread.
pub(crate) fn with_leadership<R>(team: &Team, run: impl FnOnce(Option<&mut Leadership<'_>>) -> R) -> R {
    nesting::with_task_context(team, |context| match context {
        Some(context) => context.lend_leadership(run),
        None => run(team.try_acquire_leadership().as_mut()),
    })
}

/// Runs `work` as bee 0 of `team`. The calling thread is the queen of its region, and has no hand yet.
pub(crate) fn run_as_queen<R>(team: &Team, work: impl FnOnce(&TaskContext<'_>) -> R) -> R {
    run_with_context(&TaskContext::new(team, 0), work)
}

/// Runs `work` as the bee whose hand it is: 0. The calling thread has the turn.
fn run_with_context<R>(context: &TaskContext<'_>, work: impl FnOnce(&TaskContext<'_>) -> R) -> R {
    /// Leaves what she has not run to the bees, however she goes.
    struct ReleaseOnDrop<'h, 'c>(&'h TaskContext<'c>);
    impl Drop for ReleaseOnDrop<'_, '_> {
        fn drop(&mut self) {
            // A forked child leaves them to nobody.
            if !self.0.team().policy().is_forked() {
                self.0.inject_remaining();
            }
            self.0.team().log(0, || Event::QueenSlotEnd);
        }
    }
    context.team().log(0, || Event::QueenSlotBegin);
    let _release = ReleaseOnDrop(context);
    caller::with_context(context, || work(context))
}
