//! The joins of a bee that are further in than those in its join buffer: a list through the stack. Each of these joins
//! has left its second half where it was, in its own frame, and has written only what it takes to find it. That costs a
//! few instructions, so that a deep recursion costs little more than its calls; and when another bee comes to want work
//! and the buffer is empty, the halves are all still there to be shared, however deep the recursion is by then.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;

use crate::protocol::Team;
use crate::protocol::tasks::task::Task;

/// What a linked join has in its frame: its place in the list, and how to make a task of its second half.
pub(crate) struct JoinLink {
    /// The next join further out that is in the list. Null: there is none.
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
    /// The join that is furthest in. Null: the list is empty.
    innermost: Cell<*const JoinLink>,
}

impl LinkedJoins {
    /// An empty list.
    pub(crate) fn new() -> Self {
        Self { innermost: Cell::new(ptr::null()) }
    }

    /// Whether no join is linked.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.innermost.get().is_null()
    }

    /// Links a join that is about to begin its first half.
    ///
    /// # Safety
    /// The link stays where it is until `unlink` has been called for it. All joins that are linked in between are
    /// unlinked before it.
    #[inline]
    pub(crate) unsafe fn link(&self, link: *const JoinLink) {
        // SAFETY: the caller promises that it is there.
        unsafe { &*link }.outer.set(self.innermost.get());
        self.innermost.set(link);
    }

    /// Takes a join whose first half has ended off the list. Returns whether it was still there: if not, its second
    /// half has been made a task.
    #[inline]
    pub(crate) fn unlink(&self, link: *const JoinLink) -> bool {
        // A list that has lost this join has lost all of them, and all that were linked later have been unlinked.
        let is_there = ptr::eq(self.innermost.get(), link);
        if is_there {
            // SAFETY: it was linked, and is in its place until now.
            self.innermost.set(unsafe { &*link }.outer.get());
        }
        is_there
    }

    /// Empties the list, and calls `take` with the task of each second half, the outermost first. The list is that of
    /// bee `owner` of `team`.
    pub(crate) fn take_all(&self, team: &Team, owner: u32, mut take: impl FnMut(Task)) {
        // Here and below `link` stays the pointer that `link` was given: one that is made of a reference to the link
        // would not reach the rest of the frame, which `make_task` needs.
        let mut link = self.reverse();
        while !link.is_null() {
            // SAFETY: the join was in the list, so its link is in its place until `unlink`, which this thread calls.
            let JoinLink { outer: inner, make_task } = unsafe { &*link };
            let next = inner.get();
            // SAFETY: as above; and as it is in the list no longer, this is not done a second time.
            take(unsafe { make_task(link, team, owner) });
            link = next;
        }
    }

    /// Empties the list, and returns its outermost join. From there each link leads to the next one further in.
    fn reverse(&self) -> *const JoinLink {
        let (mut reversed, mut link) = (ptr::null(), self.innermost.replace(ptr::null()));
        while !link.is_null() {
            // SAFETY: as in `take_all`.
            let next = unsafe { &*link }.outer.replace(reversed);
            (reversed, link) = (link, next);
        }
        reversed
    }
}

impl JoinLink {
    /// The link of a join that `make_task` makes a task of.
    #[inline]
    pub(crate) fn new(make_task: MakeTask) -> Self {
        Self { outer: Cell::new(ptr::null()), make_task }
    }
}
