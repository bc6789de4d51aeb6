//! [`ThreadTreeCtx`]: a place in a tree, and the joins there.

use std::marker::PhantomData;

use crate::half::Half;
use crate::node::{Node, run_here};
use crate::tree::ThreadTree;

/// A place in a [`ThreadTree`], at which work can be divided. It stays on its thread: a closure gets a place of its own
/// as its argument.
///
/// ```
/// use thread_tree::{ThreadTree, ThreadTreeCtx};
///
/// let tree = ThreadTree::new_with_level(1);
/// let top: ThreadTreeCtx<'_> = tree.top();
/// // Below the only level there is nothing left to divide the work on.
/// assert_eq!(top.join(|below| below.is_parallel(), |below| below.is_parallel()), (false, false));
/// ```
///
/// It cannot be sent to another thread, nor be shared with one:
///
/// ```compile_fail
/// let tree = thread_tree::ThreadTree::new_with_level(2);
/// let top = tree.top();
/// top.join(|_| top.is_parallel(), |_| top.is_parallel());
/// ```
#[derive(Debug, Copy, Clone)]
pub struct ThreadTreeCtx<'a> {
    tree: &'a ThreadTree,
    /// Neither `Send` nor `Sync`: nothing depends on it here, but a program that compiles with this crate should
    /// compile with the original one.
    stays: PhantomData<*const ()>,
}

impl ThreadTree {
    /// The top of the tree, where work comes in. Each closure of a join gets the next lower place, and divides its own
    /// work there.
    ///
    /// If a closure calls this, instead of using the place that it gets, nothing waits for ever: a join that meets one
    /// further out runs both of its closures on the calling thread.
    ///
    /// ```
    /// let tree = thread_tree::ThreadTree::new_with_level(2);
    /// let sums = tree.top().join(|left| left.join(|_| 1, |_| 2), |right| right.join(|_| 3, |_| 4));
    /// assert_eq!(sums, ((1, 2), (3, 4)));
    /// ```
    #[inline]
    pub fn top(&self) -> ThreadTreeCtx<'_> {
        ThreadTreeCtx { tree: self, stays: PhantomData }
    }
}

impl ThreadTreeCtx<'_> {
    /// Whether [`join`](Self::join) uses two threads here: false below the lowest level.
    ///
    /// ```
    /// let tree = thread_tree::ThreadTree::new_with_level(2);
    /// assert_eq!(tree.top().join(|left| left.is_parallel(), |_| ()), (true, ()));
    /// ```
    #[inline]
    pub fn is_parallel(&self) -> bool {
        self.tree.is_parallel()
    }

    /// Runs both closures at the same time, and returns their results when both have ended: `a` on the calling thread
    /// and `b` on the thread that this place has for it. Each gets the next lower place.
    ///
    /// Both run on the calling thread, `a` before `b`, if there is no such thread: below the lowest level; if this
    /// place is in use already, by another thread or further out on this one; and in some places
    /// [inside of hives](crate#which-threads). They get the lowest place then. So the closures must not wait for each
    /// other, unless the program knows that this is none of these cases.
    ///
    /// ```
    /// let tree = thread_tree::ThreadTree::new_with_level(1);
    /// let words = ["queen", "worker", "drone"];
    /// let (short, long) = tree.top().join(
    ///     |_| words.iter().filter(|word| word.len() <= 5).count(),
    ///     |_| words.iter().map(|word| word.len()).max(),
    /// );
    /// assert_eq!((short, long), (2, Some(6)));
    /// ```
    ///
    /// # Panics
    /// If a closure does, with its panic, when both have ended; if both do, with that of `a`. Below the lowest level,
    /// `b` is not run if `a` panics.
    #[inline]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(ThreadTreeCtx<'_>) -> RA + Send,
        B: FnOnce(ThreadTreeCtx<'_>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        match self.tree.node() {
            Some((branches, node)) => join_at(node, branches, a, b),
            None => (a(*self), b(*self)),
        }
    }

    /// Runs `work` three times at the same time: the left half is divided once more. `work` gets its place and the
    /// number of the part, from 0 to 2; the results are in this order.
    ///
    /// ```
    /// let tree = thread_tree::ThreadTree::new_with_level(2);
    /// assert_eq!(tree.top().join3l(&|_, part| part), ((0, 1), 2));
    /// ```
    ///
    /// # Panics
    /// As [`join`](Self::join).
    pub fn join3l<A, RA>(&self, work: &A) -> ((RA, RA), RA)
    where
        A: Fn(ThreadTreeCtx<'_>, usize) -> RA + Sync,
        RA: Send,
    {
        self.join(|left| left.join_parts(work, 0), |right| work(right, 2))
    }

    /// As [`join3l`](Self::join3l), but it is the right half that is divided once more.
    ///
    /// ```
    /// let tree = thread_tree::ThreadTree::new_with_level(2);
    /// assert_eq!(tree.top().join3r(&|_, part| part), (0, (1, 2)));
    /// ```
    ///
    /// # Panics
    /// As [`join`](Self::join).
    pub fn join3r<A, RA>(&self, work: &A) -> (RA, (RA, RA))
    where
        A: Fn(ThreadTreeCtx<'_>, usize) -> RA + Sync,
        RA: Send,
    {
        self.join(|left| work(left, 0), |right| right.join_parts(work, 1))
    }

    /// Runs `work` four times at the same time: both halves are divided once more. `work` gets its place and the number
    /// of the part, from 0 to 3; the results are in this order.
    ///
    /// ```
    /// let tree = thread_tree::ThreadTree::new_with_level(2);
    /// assert_eq!(tree.top().join4(&|_, part| part), ((0, 1), (2, 3)));
    /// ```
    ///
    /// # Panics
    /// As [`join`](Self::join).
    pub fn join4<A, RA>(&self, work: &A) -> ((RA, RA), (RA, RA))
    where
        A: Fn(ThreadTreeCtx<'_>, usize) -> RA + Sync,
        RA: Send,
    {
        self.join(|left| left.join_parts(work, 0), |right| right.join_parts(work, 2))
    }

    /// Runs the parts `first` and `first + 1` of `work`.
    fn join_parts<A, RA>(self, work: &A, first: usize) -> (RA, RA)
    where
        A: Fn(ThreadTreeCtx<'_>, usize) -> RA + Sync,
        RA: Send,
    {
        self.join(|left| work(left, first), |right| work(right, first + 1))
    }
}

/// See [`ThreadTreeCtx::join`].
fn join_at<A, B, RA, RB>(node: &Node, [left, right]: &[ThreadTree; 2], a: A, b: B) -> (RA, RB)
where
    A: FnOnce(ThreadTreeCtx<'_>) -> RA + Send,
    B: FnOnce(ThreadTreeCtx<'_>) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let (a, b) = (Half::new(a), Half::new(b));
    if !node.run_on_two(&|| a.run(left.top()), &|| b.run(right.top())) {
        let bottom = ThreadTree::bottom();
        run_here(|| a.run(bottom.top()), || b.run(bottom.top()));
    }
    (a.into_result(), b.into_result())
}
