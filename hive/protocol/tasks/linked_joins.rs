//! The joins that a bee is in the middle of: a list through the stack. Each join has left its second half in its own
//! frame, and has written only what it takes to find it. That costs a few instructions, so that a deep recursion costs
//! little more than its calls; and when another bee comes to want work, the halves are all still there to be shared,
//! however deep the recursion is by then. Who has taken the halves of some joins has taken those of all joins further
//! out: in a recursion these are the largest.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;

use crate::protocol::Team;
use crate::protocol::tasks::task::Task;

/// A list with more halves than this is given away as a whole: in a recursion that is so deep the halves are about
/// equally small, and to look for the outermost ones takes time as well. A recursion that divides its work in two does
/// not come so far.
const MOST_TO_PART: usize = 64;

/// What a join has in its frame: its place in the list, and how to make a task of its second half.
pub(crate) struct JoinLink {
    /// The next join further out. Null: there is none.
    outer: Cell<*const JoinLink>,
    /// Makes the task.
    make_task: MakeTask,
}

/// Makes a task of the second half of the join that has this link. The join is one of bee `owner` of `team`.
///
/// # Safety
/// The join is in the middle of its first half. The caller is its bee, and calls this once.
pub(crate) type MakeTask = unsafe fn(link: *const JoinLink, team: &Team, owner: u32) -> Task;

/// The list. Only the bee's thread touches it.
pub(crate) struct LinkedJoins {
    /// The join that is furthest in. Null: the bee is in the middle of none.
    innermost: Cell<*const JoinLink>,
    /// Of the joins whose second halves have been made tasks, the one that is furthest in. Null: there is none.
    taken: Cell<*const JoinLink>,
    /// What `innermost` was as the task in hand began.
    outside_of_task: Cell<*const JoinLink>,
}

impl LinkedJoins {
    /// An empty list.
    pub(crate) fn new() -> Self {
        let none = || Cell::new(ptr::null());
        Self { innermost: none(), taken: none(), outside_of_task: none() }
    }

    /// Whether no join has a second half that is not a task.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        ptr::eq(self.innermost.get(), self.taken.get())
    }

    /// Links a join that is about to begin its first half.
    ///
    /// # Safety
    /// The link stays where it is until `unlink` has been called for it. All joins that are linked in between are
    /// unlinked before it.
    #[inline(always)]
    pub(crate) unsafe fn link(&self, link: *const JoinLink) {
        // SAFETY: the caller promises that it is there.
        unsafe { &*link }.outer.set(self.innermost.get());
        self.innermost.set(link);
    }

    /// Whether this join, which is linked, is in no other that the task in hand has begun.
    #[inline(always)]
    pub(crate) fn is_outermost_in_task(&self, link: &JoinLink) -> bool {
        ptr::eq(link.outer.get(), self.outside_of_task.get())
    }

    /// Takes a join whose first half has ended off the list. Returns whether its second half was still there: if not,
    /// it has been made a task.
    #[inline(always)]
    pub(crate) fn unlink(&self, link: &JoinLink) -> bool {
        debug_assert!(ptr::eq(self.innermost.get(), link), "joins end in the reverse order of their beginning");
        let outer = link.outer.get();
        self.innermost.set(outer);
        let is_there = !ptr::eq(self.taken.get(), link);
        if !is_there {
            self.taken.set(outer);
        }
        is_there
    }

    /// Says that a task begins. What this returns is to be passed to `end_task`.
    #[inline]
    pub(crate) fn begin_task(&self) -> *const JoinLink {
        self.outside_of_task.replace(self.innermost.get())
    }

    /// Says that it has ended.
    #[inline]
    pub(crate) fn end_task(&self, outside: *const JoinLink) {
        self.outside_of_task.set(outside);
    }

    /// Calls `take` with the tasks of second halves that are still here, the outermost first: of `most`, or of all if
    /// they are many. Returns how many that were. The list is that of bee `owner` of `team`.
    pub(crate) fn take_outermost(&self, most: usize, team: &Team, owner: u32, mut take: impl FnMut(Task)) -> usize {
        if most == 0 {
            return 0;
        }
        let (mut outer, (mut link, count)) = (self.taken.get(), self.reverse());
        let most = if count > MOST_TO_PART { count } else { most.min(count) };
        for number in 0..count {
            // Here and below `link` stays the pointer that `link` was given: one that is made of a reference to the
            // link would not reach the rest of the frame, which `make_task` needs.
            // SAFETY: the join is in the list, so its link is in its place until `unlink`, which this thread calls.
            let JoinLink { outer: inner, make_task } = unsafe { &*link };
            let next = inner.replace(outer);
            if number < most {
                self.taken.set(link);
                // SAFETY: as above; and as it counts as taken, this is not done a second time.
                take(unsafe { make_task(link, team, owner) });
            }
            (outer, link) = (link, next);
        }
        most
    }

    /// Turns the part of the list round that has not been taken: from its outermost join, which is returned, each link
    /// leads to the next one further in. Returns how many there are as well.
    fn reverse(&self) -> (*const JoinLink, usize) {
        let (mut reversed, mut link, mut count) = (ptr::null(), self.innermost.get(), 0);
        while !ptr::eq(link, self.taken.get()) {
            // SAFETY: as in `take_outermost`.
            let next = unsafe { &*link }.outer.replace(reversed);
            (reversed, link, count) = (link, next, count + 1);
        }
        (reversed, count)
    }
}

impl JoinLink {
    /// The link of a join that `make_task` makes a task of.
    #[inline]
    pub(crate) fn new(make_task: MakeTask) -> Self {
        Self { outer: Cell::new(ptr::null()), make_task }
    }
}
