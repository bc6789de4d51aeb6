//! What the calling thread is inside of: a list of frames on its stack, innermost first. Each frame says that the thread
//! is in a region as one of its bees, or that it runs the tasks of a hive as one of its bees; or that it was a bee and is about to end,
//! or, in a forked child, that what it did is gone.
//!
//! A thread can be inside of several hives at once, for instance as a bee of one and, further in, in the queen's place of
//! another. Whoever asks about one hive therefore has to look at the whole list and not at its first frame only.

#![expect(unsafe_code, reason = "follows pointers to frames further up this thread's stack")]

use std::cell::Cell;
use std::{iter, ptr};

use crate::protocol::Team;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::tasks::task_context::TaskContext;

/// What the thread does in one hive. The lifetimes are erased: what is pointed to lives as long as the frame.
struct Frame {
    /// The hive whose tasks it runs; or what it does else, by an address that no hive has.
    tag: Cell<*const Team>,
    /// Its hand, if it runs tasks; the bee that it is, if it is in a region.
    context: *const (),
    outer: *const Frame,
}

const REGION_TAG: *const Team = ptr::null();
const ENDING_TAG: *const Team = ptr::without_provenance(1);
const LOST_TO_FORK_TAG: *const Team = ptr::without_provenance(2);

thread_local! {
    static INNERMOST: Cell<*const Frame> = const { Cell::new(ptr::null()) };
    /// The kind of the innermost frame and what it points to, once more: each join asks for them, and is spared the way by the frame.
    static INNERMOST_CACHE: Cell<(*const Team, *const ())> = const { Cell::new((REGION_TAG, ptr::null())) };
    /// The last frame of a bee's thread. Without a destructor, so that it is there until the thread is gone.
    static ENDING_FRAME: Frame = const { Frame { tag: Cell::new(ENDING_TAG), context: ptr::null(), outer: ptr::null() } };
}

/// The calling thread, a bee's, is about to end: what runs on it from here on are the destructors of thread-locals, while
/// whoever drops the hive may be waiting for the thread.
pub(crate) fn mark_worker_ending() {
    ENDING_FRAME.with(|last| set_innermost(last));
}

#[inline(always)]
fn set_innermost(frame: *const Frame) {
    INNERMOST.set(frame);
    // SAFETY: whoever puts a frame on the list takes it off before the frame goes.
    let cached = unsafe { frame.as_ref() }.map_or((REGION_TAG, ptr::null()), |frame| (frame.tag.get(), frame.context));
    INNERMOST_CACHE.set(cached);
}

/// Runs `part` as the part of `member`.
#[inline(always)]
pub(crate) fn within_region<R>(context: &RegionContext<'_>, body: impl FnOnce() -> R) -> R {
    within_frame(REGION_TAG, ptr::from_ref(context).cast(), body)
}

/// Runs `work` as a bee that runs tasks with `context`.
#[inline(always)]
pub(crate) fn within_tasks<R>(context: &TaskContext<'_>, body: impl FnOnce() -> R) -> R {
    within_frame(context.team(), ptr::from_ref(context).cast(), body)
}

#[inline(always)]
fn within_frame<R>(tag: *const Team, context: *const (), body: impl FnOnce() -> R) -> R {
    struct RestoreOuter(*const Frame);
    impl Drop for RestoreOuter {
        #[inline(always)]
        fn drop(&mut self) {
            set_innermost(self.0);
        }
    }
    let frame = Frame { tag: Cell::new(tag), context, outer: INNERMOST.get() };
    let _restore = RestoreOuter(frame.outer);
    set_innermost(&raw const frame);
    body()
}

/// In a forked child: the calling thread, its only one, is no bee any more of the hives whose tasks it ran in its parent, and
/// the regions that it is inside of have lost their other bees.
#[cfg(unix)]
pub(crate) fn forget_other_bees() {
    let mut next = INNERMOST.get();
    while !next.is_null() {
        // SAFETY: as in `roles`.
        let frame = unsafe { &*next };
        next = frame.outer;
        match frame.role() {
            Role::Region(context) => context.forget_others(),
            Role::Tasks(_) | Role::Ending | Role::LostToFork => frame.tag.set(LOST_TO_FORK_TAG),
        }
    }
    set_innermost(INNERMOST.get());
}

/// What the calling thread does in a hive that it is inside of.
#[derive(Clone, Copy)]
enum Role<'f> {
    /// It runs a part of a region, as this bee.
    Region(&'f RegionContext<'f>),
    /// It runs tasks, with this hand.
    Tasks(&'f TaskContext<'static>),
    /// It was a bee, and is about to end.
    Ending,
    /// It ran tasks in the parent of this forked process.
    LostToFork,
}

impl Frame {
    fn role<'f>(&self) -> Role<'f> {
        match self.tag.get() {
            // SAFETY: `within` has made the frame, and the bee outlives that call.
            REGION_TAG => Role::Region(unsafe { &*self.context.cast() }),
            ENDING_TAG => Role::Ending,
            LOST_TO_FORK_TAG => Role::LostToFork,
            // SAFETY: `within_tasks` has made the frame, and the hand outlives that call.
            _ => Role::Tasks(unsafe { &*self.context.cast() }),
        }
    }
}

impl<'f> Role<'f> {
    /// The hive, and the number that the thread has there.
    fn team_and_bee(self) -> Option<(&'f Team, u32)> {
        match self {
            Self::Region(context) => Some((context.team(), context.id())),
            Self::Tasks(context) => Some((context.team(), context.id())),
            Self::Ending | Self::LostToFork => None,
        }
    }

    fn region_context(self) -> Option<&'f RegionContext<'f>> {
        match self {
            Self::Region(context) => Some(context),
            Self::Tasks(_) | Self::Ending | Self::LostToFork => None,
        }
    }

    fn task_context(self) -> Option<&'f TaskContext<'static>> {
        match self {
            Self::Tasks(context) => Some(context),
            Self::Region(_) | Self::Ending | Self::LostToFork => None,
        }
    }

    fn is_waited_for(self) -> bool {
        match self {
            Self::Region(context) => context.bees() > 1,
            Self::Tasks(context) => context.is_waited_for(),
            Self::Ending => true,
            Self::LostToFork => false,
        }
    }
}

/// What the calling thread is inside of, innermost first.
///
/// # Safety
/// Nothing of it is used after the caller has returned.
unsafe fn roles<'f>() -> impl Iterator<Item = Role<'f>> {
    let mut next = INNERMOST.get();
    iter::from_fn(move || {
        if next.is_null() {
            return None;
        }
        // SAFETY: `within_frame` takes a frame off the list before its stack goes, and frames are read by their own thread only.
        let frame = unsafe { &*next };
        next = frame.outer;
        Some(frame.role())
    })
}

/// Whether the calling thread is inside of anything of any hive: a region, a task, or the body of `install` or of a scope.
#[inline(always)]
pub(crate) fn is_inside_any() -> bool {
    !INNERMOST.get().is_null()
}

/// Whether the calling thread is inside of a region of `team`, however deep.
pub(crate) fn is_inside_region_of(team: &Team) -> bool {
    with_outermost_region(team, |_| ()).is_some()
}

/// Whether the calling thread is inside of the region whose key this is: see [`RegionContext::region_key`].
pub(crate) fn is_in_region(key: u64) -> bool {
    // SAFETY: nothing is kept.
    unsafe { roles() }.filter_map(Role::region_context).any(|context| context.bees() > 1 && context.region_key() == key)
}

/// Whether the calling thread is a bee, of whatever hive: in one of its tasks, or as a bee of its region.
pub(crate) fn is_worker() -> bool {
    // SAFETY: nothing is kept.
    unsafe { roles() }.filter_map(Role::task_context).any(|context| context.id() > 0)
}

/// Whether other threads may be waiting for the calling one: at a barrier or the end of a region, for a task or one half of a
/// join that it is in the middle of, or for the end of a bee's thread. Such a thread must not wait for a particular bee of another hive, because
/// that bee may be waiting for this thread.
pub(crate) fn is_waited_for() -> bool {
    // SAFETY: nothing is kept.
    unsafe { roles() }.any(Role::is_waited_for)
}

/// The same, without what the calling thread does in the queen's place of `team`: bees that wait for that look into their
/// mailboxes meanwhile.
pub(crate) fn is_waited_for_elsewhere(team: &Team) -> bool {
    let is_queen_of_team =
        |role: Role<'_>| role.task_context().is_some_and(|context| context.id() == 0 && ptr::eq(context.team(), team));
    // SAFETY: nothing is kept.
    unsafe { roles() }.any(|role| role.is_waited_for() && !is_queen_of_team(role))
}

/// Calls `run` with the team and the number that the calling thread has in the innermost of all that it is inside of.
pub(crate) fn with_innermost<R>(use_it: impl FnOnce(&Team, u32) -> R) -> Option<R> {
    // SAFETY: the role is not used after this.
    unsafe { roles() }.find_map(Role::team_and_bee).map(|(team, id)| use_it(team, id))
}

/// Calls `run` with the bee that the calling thread is in `team`: of nested regions in the outermost, because the inner ones are teams of one.
pub(crate) fn with_outermost_region<R>(team: &Team, use_it: impl FnOnce(&RegionContext<'_>) -> R) -> Option<R> {
    // SAFETY: the bee goes to `run` only.
    let contexts = unsafe { roles() }.filter_map(Role::region_context);
    contexts.filter(|context| ptr::eq(context.team(), team)).last().map(use_it)
}

/// Calls `run` with the hand by which the calling thread runs the tasks of `team`, if that is what it does, and does
/// innermost. This is what each join asks.
#[inline(always)]
pub(crate) fn with_innermost_tasks<R>(team: &Team, use_it: impl FnOnce(Option<&TaskContext<'_>>) -> R) -> R {
    // Not by `roles`: this becomes part of the user's own code, and that would be a call there.
    let (tag, context) = INNERMOST_CACHE.get();
    // SAFETY: the innermost frame is there still. One with that team has been made by `within_tasks`, and the hand goes to `run` only.
    use_it(ptr::eq(tag, team).then(|| unsafe { &*context.cast::<TaskContext<'_>>() }))
}

/// Calls `run` with the hand by which the calling thread runs the tasks of `team`, if it does, however far out.
pub(crate) fn with_task_context<R>(team: &Team, use_it: impl FnOnce(Option<&TaskContext<'_>>) -> R) -> R {
    // SAFETY: the hand goes to `run` only.
    let mut contexts = unsafe { roles() }.filter_map(Role::task_context);
    use_it(contexts.find(|context| ptr::eq(context.team(), team)))
}

/// Calls `run` for each hive whose tasks the calling thread may run, innermost first, until that says that it is enough. It
/// gets the hand by which the thread does so; of a region's queen, who has none yet, her team. Says whether it was enough.
pub(crate) fn try_task_contexts(mut use_it: impl FnMut(Result<&TaskContext<'_>, &Team>) -> bool) -> bool {
    // SAFETY: what is found goes to `run` only.
    unsafe { roles() }.any(|role| match role {
        Role::Tasks(context) => use_it(Ok(context)),
        Role::Region(queen) if queen.id() == 0 && queen.bees() > 1 => {
            with_task_context(queen.team(), |context| context.is_none() && use_it(Err(queen.team())))
        }
        Role::Region(_) | Role::Ending | Role::LostToFork => false,
    })
}

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
        {
            let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
            Team::new(
                1,
                policy,
                LineChoice::new(1),
                Sleep::jec(),
                Neighbours::new(&[]),
                Shape::new(BarrierShape::Flat, &[], 1),
            )
        }
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
