//! What the calling thread is inside of: a list of frames on its stack, innermost first. Each frame says that the thread
//! is in a region as one of its members, or that it runs the tasks of a hive as one of its members; or that it was a bee and is about to end,
//! or, in a forked child, that what it did is gone.
//!
//! A thread can be inside of several hives at once, for instance as a bee of one and, further in, in the queen's place of
//! another. Whoever asks about one hive therefore has to look at the whole list and not at its first frame only.

#![expect(unsafe_code, reason = "follows pointers to frames further up this thread's stack")]

use std::cell::Cell;
use std::{iter, ptr};

use crate::crew::{Crew, Hand, Member};

/// What the thread does in one hive. The lifetimes are erased: what is pointed to lives as long as the frame.
struct Frame {
    /// The hive whose tasks it runs; or what it does else, by an address that no hive has.
    kind: Cell<*const Crew>,
    /// Its hand, if it runs tasks; the member that it is, if it is in a region.
    what: *const (),
    outer: *const Frame,
}

const REGION: *const Crew = ptr::null();
const ENDING: *const Crew = ptr::without_provenance(1);
const GONE: *const Crew = ptr::without_provenance(2);

thread_local! {
    static INNERMOST: Cell<*const Frame> = const { Cell::new(ptr::null()) };
    /// The kind of the innermost frame and what it points to, once more: each join asks for them, and is spared the way by the frame.
    static WHAT_INNERMOST: Cell<(*const Crew, *const ())> = const { Cell::new((REGION, ptr::null())) };
    /// The last frame of a bee's thread. Without a destructor, so that it is there until the thread is gone.
    static LAST: Frame = const { Frame { kind: Cell::new(ENDING), what: ptr::null(), outer: ptr::null() } };
}

/// The calling thread, a bee's, is about to end: what runs on it from here on are the destructors of thread-locals, while
/// whoever drops the hive may be waiting for the thread.
pub(crate) fn end_of_bee() {
    LAST.with(|last| set_innermost(last));
}

#[inline(always)]
fn set_innermost(frame: *const Frame) {
    INNERMOST.set(frame);
    // SAFETY: whoever puts a frame on the list takes it off before the frame goes.
    let what = unsafe { frame.as_ref() }.map_or((REGION, ptr::null()), |frame| (frame.kind.get(), frame.what));
    WHAT_INNERMOST.set(what);
}

/// Runs `part` as the part of `member`.
#[inline(always)]
pub(crate) fn within<R>(member: &Member<'_>, part: impl FnOnce() -> R) -> R {
    inside_of(REGION, ptr::from_ref(member).cast(), part)
}

/// Runs `work` as a member that runs tasks with `hand`.
#[inline(always)]
pub(crate) fn at_tasks<R>(hand: &Hand<'_>, work: impl FnOnce() -> R) -> R {
    inside_of(hand.crew(), ptr::from_ref(hand).cast(), work)
}

#[inline(always)]
fn inside_of<R>(kind: *const Crew, what: *const (), work: impl FnOnce() -> R) -> R {
    struct Left(*const Frame);
    impl Drop for Left {
        #[inline(always)]
        fn drop(&mut self) {
            set_innermost(self.0);
        }
    }
    let frame = Frame { kind: Cell::new(kind), what, outer: INNERMOST.get() };
    let _left = Left(frame.outer);
    set_innermost(&raw const frame);
    work()
}

/// In a forked child: the calling thread, its only one, is no member any more of the hives whose tasks it ran in its parent, and
/// the regions that it is inside of have lost their other members.
#[cfg(unix)]
pub(crate) fn forget_others() {
    let mut next = INNERMOST.get();
    while !next.is_null() {
        // SAFETY: as in `roles`.
        let frame = unsafe { &*next };
        next = frame.outer;
        match frame.role() {
            Role::Region(member) => member.forget_others(),
            Role::Tasks(_) | Role::Ending | Role::Gone => frame.kind.set(GONE),
        }
    }
    set_innermost(INNERMOST.get());
}

/// What the calling thread does in a hive that it is inside of.
#[derive(Clone, Copy)]
enum Role<'f> {
    /// It runs a part of a region, as this member.
    Region(&'f Member<'f>),
    /// It runs tasks, with this hand.
    Tasks(&'f Hand<'static>),
    /// It was a bee, and is about to end.
    Ending,
    /// It ran tasks in the parent of this forked process.
    Gone,
}

impl Frame {
    fn role<'f>(&self) -> Role<'f> {
        match self.kind.get() {
            // SAFETY: `within` has made the frame, and the member outlives that call.
            REGION => Role::Region(unsafe { &*self.what.cast() }),
            ENDING => Role::Ending,
            GONE => Role::Gone,
            // SAFETY: `at_tasks` has made the frame, and the hand outlives that call.
            _ => Role::Tasks(unsafe { &*self.what.cast() }),
        }
    }
}

impl<'f> Role<'f> {
    /// The hive, and the number that the thread has there.
    fn whereabouts(self) -> Option<(&'f Crew, u32)> {
        match self {
            Self::Region(member) => Some((member.crew(), member.id())),
            Self::Tasks(hand) => Some((hand.crew(), hand.id())),
            Self::Ending | Self::Gone => None,
        }
    }

    fn member(self) -> Option<&'f Member<'f>> {
        match self {
            Self::Region(member) => Some(member),
            Self::Tasks(_) | Self::Ending | Self::Gone => None,
        }
    }

    fn hand(self) -> Option<&'f Hand<'static>> {
        match self {
            Self::Tasks(hand) => Some(hand),
            Self::Region(_) | Self::Ending | Self::Gone => None,
        }
    }

    fn is_waited_for(self) -> bool {
        match self {
            Self::Region(member) => member.team() > 1,
            Self::Tasks(hand) => hand.is_waited_for(),
            Self::Ending => true,
            Self::Gone => false,
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
        // SAFETY: `inside_of` takes a frame off the list before its stack goes, and frames are read by their own thread only.
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

/// Whether the calling thread is inside of a region of `crew`, however deep.
pub(crate) fn inside(crew: &Crew) -> bool {
    with_outermost(crew, |_| ()).is_some()
}

/// Whether the calling thread is inside of the region whose key this is: see [`Member::region_key`].
pub(crate) fn is_in_region(key: u64) -> bool {
    // SAFETY: nothing is kept.
    unsafe { roles() }.filter_map(Role::member).any(|member| member.team() > 1 && member.region_key() == key)
}

/// Whether the calling thread is a bee, of whatever hive: in one of its tasks, or as a member of its region.
pub(crate) fn is_bee() -> bool {
    // SAFETY: nothing is kept.
    unsafe { roles() }.filter_map(Role::hand).any(|hand| hand.id() > 0)
}

/// Whether other threads may be waiting for the calling one: at a barrier or the end of a region, for a task or one half of a
/// join that it is in the middle of, or for the end of a bee's thread. Such a thread must not wait for a particular bee of another hive, because
/// that bee may be waiting for this thread.
pub(crate) fn is_waited_for() -> bool {
    // SAFETY: nothing is kept.
    unsafe { roles() }.any(Role::is_waited_for)
}

/// The same, without what the calling thread does in the queen's place of `crew`: bees that wait for that look into their
/// mailboxes meanwhile.
pub(crate) fn is_waited_for_elsewhere(crew: &Crew) -> bool {
    let is_queen_here = |role: Role<'_>| role.hand().is_some_and(|hand| hand.id() == 0 && ptr::eq(hand.crew(), crew));
    // SAFETY: nothing is kept.
    unsafe { roles() }.any(|role| role.is_waited_for() && !is_queen_here(role))
}

/// Calls `use_it` with the crew and the number that the calling thread has in the innermost of all that it is inside of.
pub(crate) fn innermost<R>(use_it: impl FnOnce(&Crew, u32) -> R) -> Option<R> {
    // SAFETY: the role is not used after this.
    unsafe { roles() }.find_map(Role::whereabouts).map(|(crew, id)| use_it(crew, id))
}

/// Calls `use_it` with the member that the calling thread is in `crew`: of nested regions in the outermost, because the inner ones are teams of one.
pub(crate) fn with_outermost<R>(crew: &Crew, use_it: impl FnOnce(&Member<'_>) -> R) -> Option<R> {
    // SAFETY: the member goes to `use_it` only.
    let members = unsafe { roles() }.filter_map(Role::member);
    members.filter(|member| ptr::eq(member.crew(), crew)).last().map(use_it)
}

/// Calls `use_it` with the hand by which the calling thread runs the tasks of `crew`, if that is what it does, and does
/// innermost. This is what each join asks.
#[inline(always)]
pub(crate) fn with_innermost_hand<R>(crew: &Crew, use_it: impl FnOnce(Option<&Hand<'_>>) -> R) -> R {
    // Not by `roles`: this becomes part of the user's own code, and that would be a call there.
    let (kind, what) = WHAT_INNERMOST.get();
    // SAFETY: the innermost frame is there still. One with that crew has been made by `at_tasks`, and the hand goes to `use_it` only.
    use_it(ptr::eq(kind, crew).then(|| unsafe { &*what.cast::<Hand<'_>>() }))
}

/// Calls `use_it` with the hand by which the calling thread runs the tasks of `crew`, if it does, however far out.
pub(crate) fn with_hand<R>(crew: &Crew, use_it: impl FnOnce(Option<&Hand<'_>>) -> R) -> R {
    // SAFETY: the hand goes to `use_it` only.
    let mut hands = unsafe { roles() }.filter_map(Role::hand);
    use_it(hands.find(|hand| ptr::eq(hand.crew(), crew)))
}

/// Calls `use_it` for each hive whose tasks the calling thread may run, innermost first, until that says that it is enough. It
/// gets the hand by which the thread does so; of a region's queen, who has none yet, her crew. Says whether it was enough.
pub(crate) fn any_at_tasks(mut use_it: impl FnMut(Result<&Hand<'_>, &Crew>) -> bool) -> bool {
    // SAFETY: what is found goes to `use_it` only.
    unsafe { roles() }.any(|role| match role {
        Role::Tasks(hand) => use_it(Ok(hand)),
        Role::Region(queen) if queen.id() == 0 && queen.team() > 1 => {
            with_hand(queen.crew(), |hand| hand.is_none() && use_it(Err(queen.crew())))
        }
        Role::Region(_) | Role::Ending | Role::Gone => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use crate::crew::{BarrierShape, Neighbours, Shape, Sleep, Stage};
    use crate::topology::CpuMask;

    use crate::wait::WaitPolicy;

    fn crew() -> Crew {
        {
            let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
            Crew::new(1, policy, Stage::new(1), Sleep::jec(), Neighbours::new(&[]), Shape::new(BarrierShape::Flat, &[], 1))
        }
    }

    #[test]
    fn frames_nest_and_are_left_by_unwinding_too() {
        let (crew_a, crew_b) = (crew(), crew());
        let (a, b) = (Member::alone(&crew_a), Member::alone(&crew_b));
        assert!(!is_inside_any());
        within(&a, || {
            assert!(inside(&crew_a) && !inside(&crew_b));
            let unwound = catch_unwind(AssertUnwindSafe(|| within(&b, || std::panic::resume_unwind(Box::new(())))));
            assert!(unwound.is_err());
            within(&b, || assert!(inside(&crew_a) && inside(&crew_b)));
            assert!(inside(&crew_a) && !inside(&crew_b) && is_inside_any());
        });
        assert!(!is_inside_any());
    }

    #[test]
    fn of_two_members_of_a_hive_the_outermost_is_found() {
        let crew = crew();
        let (outer, inner) = (Member::alone(&crew), Member::alone(&crew));
        let is_outer = |member: &Member<'_>| ptr::eq(ptr::from_ref(member).cast(), &raw const outer);
        within(&outer, || within(&inner, || assert_eq!(with_outermost(&crew, is_outer), Some(true))));
    }

    #[test]
    fn another_thread_is_not_inside() {
        within(&Member::alone(&crew()), || {
            std::thread::scope(|scope| scope.spawn(|| assert!(!is_inside_any())).join().unwrap());
        });
    }
}
