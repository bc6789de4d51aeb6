//! [`ThreadTree`], and its nodes' places in it.

use std::fmt;

use crate::node::Node;

/// The largest level of a tree.
const MAX_LEVEL: usize = 12;

/// A tree of threads, which divides work in two at each level.
///
/// Its threads begin with the first [`join`](crate::ThreadTreeCtx::join) that needs them and end when it is dropped.
/// Which they are is [above](crate#which-threads).
///
/// ```
/// let tree = thread_tree::ThreadTree::new_with_level(1);
/// let mut halves = [1, 2];
/// let [low, high] = &mut halves;
/// tree.top().join(|_| *low *= 10, |_| *high *= 10);
/// assert_eq!(halves, [10, 20]);
/// ```
pub struct ThreadTree {
    /// The trees below, and what runs joins here. None: level 0. Boxed, so that a constant may refer to a tree of that
    /// level: what it refers to may have nothing that changes.
    node: Option<Box<([Self; 2], Node)>>,
}

/// The tree below all trees.
static BOTTOM: ThreadTree = ThreadTree::new_level0();

impl ThreadTree {
    /// A tree of level 0: both closures of a [`join`](crate::ThreadTreeCtx::join) run on the calling thread.
    ///
    /// ```
    /// use thread_tree::ThreadTree;
    ///
    /// static ALONE: ThreadTree = ThreadTree::new_level0();
    /// assert!(!ALONE.is_parallel());
    /// assert_eq!(ALONE.top().join(|_| 1, |_| 2), (1, 2));
    /// ```
    #[inline]
    pub const fn new_level0() -> Self {
        Self { node: None }
    }

    /// A tree of so many levels: work can be divided in two so many times, on up to 2<sup>level</sup> threads, the
    /// calling one among them.
    ///
    /// This makes no threads yet. If the system refuses a thread later, both closures of that join run on the calling
    /// one, and those of some thousand joins after it.
    ///
    /// ```
    /// let tree = thread_tree::ThreadTree::new_with_level(2);
    /// assert_eq!(tree.top().join4(&|_, part| part * part), ((0, 1), (4, 9)));
    /// ```
    ///
    /// # Panics
    /// If `level` is above 12.
    pub fn new_with_level(level: usize) -> Box<Self> {
        assert!(level <= MAX_LEVEL, "a tree of level {level}: the highest is {MAX_LEVEL}");
        Box::new(Self::below(level, true))
    }

    /// The node of so high a level, with all nodes below it. `is_top`: no node is above it.
    fn below(level: usize, is_top: bool) -> Self {
        let branches = || [0, 1].map(|_| Self::below(level - 1, false));
        Self { node: (level > 0).then(|| Box::new((branches(), Node::new(level, is_top)))) }
    }

    /// Whether [`join`](crate::ThreadTreeCtx::join) at the top of this tree uses two threads: false at level 0 only.
    ///
    /// ```
    /// assert!(thread_tree::ThreadTree::new_with_level(1).is_parallel());
    /// ```
    #[inline]
    pub fn is_parallel(&self) -> bool {
        self.node.is_some()
    }

    /// A tree of level 0.
    pub(crate) fn bottom() -> &'static Self {
        &BOTTOM
    }

    /// None: this is of level 0.
    pub(crate) fn node(&self) -> Option<&([Self; 2], Node)> {
        self.node.as_deref()
    }
}

impl fmt::Debug for ThreadTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = self.node().map_or(0, |(_, node)| node.level());
        f.debug_struct("ThreadTree").field("level", &level).finish_non_exhaustive()
    }
}
