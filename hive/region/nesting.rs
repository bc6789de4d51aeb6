//! Knows what the calling thread is in the middle of: regions and tasks, of one hive or of several.
//!
//! Each region and each stretch of running tasks puts a frame on the thread's own stack while it lasts; the frames form
//! a list, innermost first. A frame says that the thread runs a region as one of its bees, or that it runs the tasks of
//! a hive as one of its bees. Three more kinds say that the thread acts for a hive without being inside of it, as the
//! leader of one hive of a set; that it was a worker and is about to end; and, in a forked child, that the tasks it was
//! running belong to the parent process.
//!
//! A thread can be inside several hives at once, for instance as a worker of one hive and, further in, in the queen's
//! place of another. A question about one hive therefore has to look at the whole list and not only at its first frame.
//! `Shared`, the tasks and `ordered` ask such questions before they wait for other threads; `docs/composition.md` says
//! what each call of hive does inside what.

#![expect(unsafe_code, reason = "follows pointers to frames further up this thread's stack")]

use std::cell::Cell;
use std::{iter, ptr};

use crate::on_drop::on_drop;
use crate::protocol::Team;
use crate::protocol::nesting::Nesting;
use crate::protocol::region::panics::{self, Payload};
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::no_double_panic::NoDoublePanic;

/// What the thread does in one hive: one entry of the list. The lifetimes are erased; what the frame refers to lives at
/// least as long as the frame is on the list.
struct Frame {
    /// Only the thread itself reads and writes it. It changes once at most, in a forked child.
    role: Cell<Role<'static>>,
    /// The frame around this one; null for the outermost.
    outer: *const Frame,
}

/// What one frame says.
#[derive(Clone, Copy)]
enum Role<'f> {
    /// The thread runs the body of a region, as the bee of this context.
    Region(&'f RegionContext<'static>),
    /// The thread runs tasks, with this context.
    Tasks(&'f TaskContext<'static>),
    /// The thread acts for the hive of this team.
    Acting(&'f Team),
    /// The thread was a worker and is about to end.
    Ending,
    /// The thread ran tasks in the parent process of this forked child.
    #[cfg_attr(not(unix), expect(dead_code, reason = "other systems do not fork"))]
    LostToFork,
}

thread_local! {
    /// The innermost frame; null if the thread is inside nothing.
    static INNERMOST: Cell<*const Frame> = const { Cell::new(ptr::null()) };
    /// The context of the innermost frame once more if that runs tasks, and otherwise null. Every `join` asks for it,
    /// and this saves it the way through the frame.
    static INNERMOST_TASKS: Cell<*const TaskContext<'static>> = const { Cell::new(ptr::null()) };
    /// The last frame of a worker's thread. It has no destructor, so that it exists until the thread is gone.
    static ENDING_FRAME: Frame = const { Frame { role: Cell::new(Role::Ending), outer: ptr::null() } };
}

/// Marks the calling thread, a worker's, as about to end. From here on only destructors of thread-locals run on it,
/// while the thread that drops the hive may be waiting for it to end.
pub(crate) fn mark_worker_ending() {
    ENDING_FRAME.with(|last| set_innermost(last));
}

/// Makes `frame` the innermost one, and keeps `INNERMOST_TASKS` in step. Null: the thread is inside nothing.
#[inline(always)]
fn set_innermost(frame: *const Frame) {
    INNERMOST.set(frame);
    // SAFETY: a frame on the list is alive, because `within_frame` takes it off before it goes. `ENDING_FRAME` lives as
    // long as the thread.
    let tasks = unsafe { frame.as_ref() }.and_then(|frame| frame.role.get().task_context());
    INNERMOST_TASKS.set(tasks.map_or(ptr::null(), ptr::from_ref));
}

/// Runs `body`, the body of a region, as the bee of `context`.
#[inline(always)]
pub(crate) fn within_region<R>(context: &RegionContext<'_>, body: impl FnOnce() -> R) -> R {
    // SAFETY: it outlives this call, and so the frame.
    let context: &RegionContext<'static> = unsafe { &*ptr::from_ref(context).cast() };
    within_frame(Role::Region(context), body)
}

/// Runs `body` as a bee that runs tasks with `context`.
#[inline(always)]
pub(crate) fn within_tasks<R>(context: &TaskContext<'_>, body: impl FnOnce() -> R) -> R {
    // SAFETY: as in `within_region`.
    let context: &TaskContext<'static> = unsafe { &*ptr::from_ref(context).cast() };
    within_frame(Role::Tasks(context), body)
}

/// Makes the calling thread, which is inside of nothing, a bee that runs tasks with `context` until the thread ends.
///
/// # Panics
/// If the thread is inside of something.
pub(crate) fn run_tasks_from_now_on(context: &'static TaskContext<'static>) {
    assert!(!is_inside_any(), "the thread is inside of a region or a task");
    let frame = Frame { role: Cell::new(Role::Tasks(context)), outer: ptr::null() };
    // Leaked: it is on the thread's list to the end.
    set_innermost(Box::leak(Box::new(frame)));
}

/// Undoes `run_tasks_from_now_on`, on a thread that is inside of nothing else. Only the frame stays in memory.
pub(crate) fn stop_running_tasks(context: &TaskContext<'static>) {
    // SAFETY: the frames are only looked at here, and nothing of them is kept.
    let mut inside = unsafe { roles() }.map(|role| role.task_context().is_some_and(|it| ptr::eq(it, context)));
    assert!(inside.next() == Some(true) && inside.next().is_none(), "the thread is inside of something else");
    set_innermost(ptr::null());
}

/// Runs `body` as somebody who acts for the hive of `team` without being inside of it: the free functions act on that
/// hive.
pub(crate) fn acting_for<R>(team: &Team, body: impl FnOnce() -> R) -> R {
    // SAFETY: as in `within_region`.
    within_frame(Role::Acting(unsafe { &*ptr::from_ref(team) }), body)
}

/// Runs `body` inside a new frame, and takes the frame off the list afterwards, even if `body` panics.
#[inline(always)]
fn within_frame<R>(role: Role<'static>, body: impl FnOnce() -> R) -> R {
    let outer = INNERMOST.get();
    let frame = Frame { role: Cell::new(role), outer };
    let _restore_outer = on_drop(|| set_innermost(outer));
    set_innermost(&raw const frame);
    body()
}

/// Brings the list in line with a fork; called in the child. The calling thread, the only one of the child, no longer
/// runs tasks of the hives of its parent process, and the regions that it is inside of have lost their other bees.
#[cfg(unix)]
pub(crate) fn forget_other_bees() {
    // SAFETY: the frames are not used after this function.
    for frame in unsafe { frames() } {
        match frame.role.get() {
            Role::Region(context) => context.forget_others(),
            Role::Acting(_) => {}
            Role::Tasks(_) | Role::Ending | Role::LostToFork => frame.role.set(Role::LostToFork),
        }
    }
    // The innermost frame may run tasks no longer.
    set_innermost(INNERMOST.get());
}

impl<'f> Role<'f> {
    /// The team, and the number that the thread has in it.
    fn team_and_bee(self) -> Option<(&'f Team, u32)> {
        match self {
            Self::Region(context) => Some((context.team, context.id)),
            Self::Tasks(context) => Some((context.team, context.id)),
            // Whoever acts for a hive is its queen as soon as a region begins.
            Self::Acting(team) => Some((team, 0)),
            Self::Ending | Self::LostToFork => None,
        }
    }

    /// The context, if this is a region.
    fn region_context(self) -> Option<&'f RegionContext<'static>> {
        if let Self::Region(context) = self { Some(context) } else { None }
    }

    /// The context, if the thread runs tasks.
    #[inline(always)]
    fn task_context(self) -> Option<&'f TaskContext<'static>> {
        if let Self::Tasks(context) = self { Some(context) } else { None }
    }

    /// Whether other threads may be waiting for what the thread does in this frame: the other bees of a region; threads
    /// that wait for the result of a task, or for a worker; or a thread that joins this one while it is ending.
    fn is_waited_for(self) -> bool {
        match self {
            Self::Region(context) => context.bees > 1,
            Self::Tasks(context) => context.is_waited_for(),
            Self::Ending => true,
            Self::Acting(_) | Self::LostToFork => false,
        }
    }
}

/// All frames of the calling thread, innermost first.
///
/// # Safety
/// No item of the iterator is used after the caller has returned, since the frame may be gone by then.
unsafe fn frames<'f>() -> impl Iterator<Item = &'f Frame> {
    // SAFETY: `within_frame` takes a frame off the list before the frame's stack memory goes, and only the thread
    // itself reads its frames.
    let at = |frame: *const Frame| unsafe { frame.as_ref() };
    iter::successors(at(INNERMOST.get()), move |frame| at(frame.outer))
}

/// What they say.
///
/// # Safety
/// As for `frames`.
unsafe fn roles<'f>() -> impl Iterator<Item = Role<'f>> {
    // SAFETY: as the caller promises.
    unsafe { frames() }.map(|frame| frame.role.get())
}

/// Whether `condition` holds for one of the calling thread's frames.
fn any_role(condition: impl FnMut(Role<'_>) -> bool) -> bool {
    // SAFETY: each item is passed to `condition` only, which returns before this function does.
    unsafe { roles() }.any(condition)
}

/// Whether the calling thread is inside anything of any hive: a region, a task, or the body of an `install` or a scope.
#[inline(always)]
pub(crate) fn is_inside_any() -> bool {
    !INNERMOST.get().is_null()
}

/// Whether the calling thread is inside a region of `team`, at any depth.
pub(crate) fn is_inside_region_of(team: &Team) -> bool {
    with_outermost_region(team, |_| ()).is_some()
}

/// Whether the calling thread is inside the region with this key, of more than one bee: see
/// [`RegionContext::region_key`].
pub(crate) fn is_in_region(key: u64) -> bool {
    let is_it = |region: &RegionContext<'_>| region.bees > 1 && region.region_key() == key;
    any_role(|role| role.region_context().is_some_and(is_it))
}

/// Whether the calling thread is a worker that runs unbound (`docs/unbound-sleep.md`).
pub(crate) fn is_unbound_worker() -> bool {
    let is_elsewhere = |context: &TaskContext<'_>| !context.team.sleep_binding(context.id).is_in_place();
    any_role(|role| role.task_context().is_some_and(is_elsewhere))
}

/// Whether other threads may be waiting for the calling thread: at a barrier or at the end of a region; for a task or
/// one half of a join that it is in the middle of; or for the end of a worker's thread.
///
/// Such a thread must not wait for a particular bee of another hive, because that bee may be waiting for this thread.
pub(crate) fn is_waited_for() -> bool {
    any_role(|role| role.is_waited_for())
}

/// Whether the calling thread is in a part of a loop on a team of several bees. No other part waits for that one.
pub(crate) fn is_inside_loop() -> bool {
    let is_loop = |region: &RegionContext<'_>| region.is_loop() && region.bees > 1;
    any_role(|role| role.region_context().is_some_and(is_loop))
}

/// As `is_waited_for`, but without what the calling thread does in the queen's place of `team`. Bees that wait for that
/// run the tasks in their mailboxes meanwhile, so waiting for such a task does not block them.
///
/// A worker of any hive is always waited for. All that it does happens inside a task frame with its number, which is
/// above 0.
pub(crate) fn is_waited_for_elsewhere(team: &Team) -> bool {
    let is_queen = |role: Role<'_>| role.task_context().is_some_and(|it| it.id == 0 && ptr::eq(it.team, team));
    any_role(|role| role.is_waited_for() && !is_queen(role))
}

/// Calls `use_it` with the team and the number that the calling thread has in the innermost region or task, or with the
/// team that it acts for, if that is further in. None if there is no such team.
pub(crate) fn with_innermost<R>(use_it: impl FnOnce(&Team, u32) -> R) -> Option<R> {
    // SAFETY: the team is passed to `use_it` only, which returns before this function does.
    unsafe { roles() }.find_map(Role::team_and_bee).map(|(team, id)| use_it(team, id))
}

/// Calls `use_it` with the context of the calling thread's outermost region of `team`. Nested regions of the same team
/// are teams of one, so the outermost is the one that others take part in. None if the thread is in no region of
/// `team`.
pub(crate) fn with_outermost_region<R>(team: &Team, use_it: impl FnOnce(&RegionContext<'_>) -> R) -> Option<R> {
    // SAFETY: the context is passed to `use_it` only, which returns before this function does.
    let contexts = unsafe { roles() }.filter_map(Role::region_context);
    contexts.filter(|context| ptr::eq(context.team, team)).last().map(use_it)
}

/// Calls `use_it` with the calling thread's task context if the innermost thing that the thread does is to run tasks of
/// `team`, and with None otherwise. Every `join` asks this.
#[inline(always)]
pub(crate) fn with_innermost_tasks<R>(team: &Team, use_it: impl FnOnce(Option<&TaskContext<'_>>) -> R) -> R {
    // SAFETY: as in `with_innermost_tasks_of_any`.
    match unsafe { INNERMOST_TASKS.get().as_ref() } {
        Some(context) if ptr::eq(context.team, team) => use_it(Some(context)),
        _ => use_it(None),
    }
}

/// Calls `use_it` with the calling thread's task context if the innermost thing that the thread does is to run tasks,
/// of whichever hive, and with None otherwise.
#[inline(always)]
pub(crate) fn with_innermost_tasks_of_any<R>(use_it: impl FnOnce(Option<&TaskContext<'_>>) -> R) -> R {
    // Not by `roles`: this function becomes part of the user's own code, where `roles` would be a function call.
    // SAFETY: `set_innermost` has taken the address from a frame that is still on the list, and whose context is there
    // until it is taken off. It is passed to `use_it` only.
    use_it(unsafe { INNERMOST_TASKS.get().as_ref() })
}

/// Calls `use_it` with the context by which the calling thread belongs to a task pool, and with None if it belongs to
/// none. Inside of `use_it`, what the thread does in that pool is the innermost.
#[inline(always)]
pub(crate) fn with_pool_context<R>(use_it: impl for<'t> FnOnce(Option<&'t TaskContext<'t>>) -> R) -> R {
    // SAFETY: the context is passed to `use_it` only, which returns before this function does.
    if let Some(context) = unsafe { innermost_pool_context() } {
        return use_it(Some(context));
    }
    if INNERMOST.get().is_null() { use_it(None) } else { with_pool_context_further_out(use_it) }
}

/// The context by which the calling thread runs tasks of a task pool, if that is the innermost thing that it does.
///
/// # Safety
/// The result is not used after the calling function has returned, since its frame may be gone by then.
#[inline(always)]
pub(crate) unsafe fn innermost_pool_context<'t>() -> Option<&'t TaskContext<'t>> {
    // SAFETY: as in `with_innermost_tasks_of_any`; the caller does not use it longer than the frame is there.
    let context = unsafe { INNERMOST_TASKS.get().cast::<TaskContext<'t>>().as_ref() };
    context.filter(|context| context.is_in_pool())
}

/// `with_pool_context` on a thread that is inside of something else than a task pool, or else further in.
#[cold]
#[inline(never)]
fn with_pool_context_further_out<R>(use_it: impl for<'t> FnOnce(Option<&'t TaskContext<'t>>) -> R) -> R {
    // SAFETY: the context is passed to `use_it` only, which returns before this function does.
    match unsafe { roles() }.filter_map(Role::task_context).find(|context| context.is_in_pool()) {
        Some(context) => within_tasks(context, || use_it(Some(context))),
        None => use_it(None),
    }
}

/// Calls `use_it` with the context by which the calling thread runs tasks of `team`, at any depth, and with None if it
/// runs none.
pub(crate) fn with_task_context<R>(team: &Team, use_it: impl FnOnce(Option<&TaskContext<'_>>) -> R) -> R {
    // SAFETY: the context is passed to `use_it` only, which returns before this function does.
    let mut contexts = unsafe { roles() }.filter_map(Role::task_context);
    use_it(contexts.find(|context| ptr::eq(context.team, team)))
}

/// Calls `use_it` for each hive whose tasks the calling thread may run, innermost first, until `use_it` returns true.
/// Returns whether it has.
///
/// `use_it` gets the task context with which the thread runs tasks of that hive. A region's queen has no task context
/// yet unless she runs tasks further out; for her, `use_it` gets the team.
pub(crate) fn try_task_contexts(mut use_it: impl FnMut(Result<&TaskContext<'_>, &Team>) -> bool) -> bool {
    any_role(|role| match role {
        Role::Tasks(context) => use_it(Ok(context)),
        Role::Region(queen) if queen.runner == 0 && queen.bees > 1 => {
            with_task_context(queen.team, |context| context.is_none() && use_it(Err(queen.team)))
        }
        Role::Region(_) | Role::Acting(_) | Role::Ending | Role::LostToFork => false,
    })
}

/// Continues a panic that was caught inside hive, on the calling thread, which has called hive.
#[cold]
pub(crate) fn rethrow(panic: Payload) -> ! {
    panics::rethrow(panic, is_in_region)
}

/// Continues the panic, and drops `value`, which nobody will see because of it. That is done by the unwinding, as with
/// the caller's own variables, so that destructors see that the thread panics.
pub(crate) fn drop_and_rethrow<T>(panic: Payload, value: T) -> ! {
    let _value = NoDoublePanic::new(value);
    rethrow(panic)
}

/// These functions as the protocol takes them: see [`Nesting`].
pub(crate) const NESTING: Nesting = Nesting { run_within: |context, body| within_region(context, body), is_in_region };

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;
    use crate::protocol::neighbours::Neighbours;
    use crate::protocol::region::line_choice::LineChoice;
    use crate::protocol::region::shape::{BarrierShape, Shape};
    use crate::protocol::tasks::sleep::Sleep;
    use crate::sys::cpu_mask::CpuMask;
    use crate::sys::wait::WaitPolicy;

    fn new_team() -> Team {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let shape = Shape::new(BarrierShape::Flat, &[], 1);
        Team::new(1, policy, LineChoice::new(1), Sleep::jec(), Neighbours::new(&[]), shape, None)
    }

    #[test]
    fn frames_nest_and_are_left_by_unwinding_too() {
        let (team_a, team_b) = (new_team(), new_team());
        let (a, b) = (RegionContext::alone(&team_a), RegionContext::alone(&team_b));
        assert!(!is_inside_any());
        within_region(&a, || {
            assert!(is_inside_region_of(&team_a) && !is_inside_region_of(&team_b));
            let unwound =
                catch_unwind(AssertUnwindSafe(|| within_region(&b, || std::panic::resume_unwind(Box::new(())))));
            assert!(unwound.is_err());
            within_region(&b, || assert!(is_inside_region_of(&team_a) && is_inside_region_of(&team_b)));
            assert!(is_inside_region_of(&team_a) && !is_inside_region_of(&team_b) && is_inside_any());
        });
        assert!(!is_inside_any());
    }

    #[test]
    fn of_two_nested_regions_of_a_hive_the_outermost_is_found() {
        let team = new_team();
        let (outer, inner) = (RegionContext::alone(&team), RegionContext::alone(&team));
        let is_outer = |context: &RegionContext<'_>| ptr::eq(ptr::from_ref(context).cast(), &raw const outer);
        within_region(&outer, || {
            within_region(&inner, || assert_eq!(with_outermost_region(&team, is_outer), Some(true)))
        });
    }

    #[test]
    fn another_thread_is_inside_nothing() {
        within_region(&RegionContext::alone(&new_team()), || {
            std::thread::scope(|scope| scope.spawn(|| assert!(!is_inside_any())).join().unwrap());
        });
    }
}
