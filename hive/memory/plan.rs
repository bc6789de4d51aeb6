//! `Plan`: which bee owns which indices, and on which NUMA node each bee is. The placement of memory (`placement.rs`),
//! loops and reductions (as which a plan can be run: `From<&Plan> for Loop`) and parts of slices (`parts.rs`) all
//! follow it, so that each bee works on memory of its own node.

use std::ops::Range;
use std::sync::Arc;

use crate::loops::chunks::aligned_block;
use crate::loops::schedule::Schedule;
use crate::loops::shared_loop::Loop;
use crate::loops::slice_schedule::LoopOver;
use crate::memory::nodes;
use crate::memory::pages::page_size;
use crate::pool::handle::Hive;
use crate::topology::machine::PlaceUnit;

/// The owner of an index: see [`Plan::owner`].
///
/// ```
/// let hive = hive::Hive::new(2)?;
/// let owner = hive.plan(1000).owner(900);
/// assert_eq!(owner.bee, 1);
/// println!("index 900 is in the memory of node {:?}", owner.node);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The bee's number.
    pub bee: usize,
    /// The NUMA node of the bee, by the system's number; None: not known.
    pub node: Option<usize>,
}

/// Which bee of a team owns which of the indices `0..len`, and on which NUMA node each bee is. One plan serves for the
/// memory ([`Placement::LikeLoop`](crate::memory::placement::Placement::LikeLoop)), the loops ([`Hive::par_for`],
/// [`Bee::for_each`](crate::region::bee::Bee::for_each)), the reductions ([`Hive::par_reduce`]) and the parts of slices
/// ([`Parts::by_plan`](crate::slices::parts::Parts::by_plan)) that go over these indices. A loop takes `&plan`; inside
/// a region, `bee.for_each(&Loop::from(&plan), ...)` runs it.
///
/// Each bee owns one block, as with [`Bee::split`](crate::region::bee::Bee::split) and [`Schedule::Static`]. A plan is
/// made from a hive as it is at that moment and does not follow it: after a [resize](Hive::resize),
/// [`rebuild`](Self::rebuild) makes the new plan, and [`moves_to`](Self::moves_to) says what would move.
///
/// ```
/// let hive = hive::Hive::new(2)?;
/// let plan = hive.plan(10_000);
/// let mut x = hive.alloc(plan.len(), hive::Placement::LikeLoop(&plan), |i| i as f64);
/// hive.par_for_mut(&mut x, &plan, |range, x, bee| {
///     assert_eq!(range, plan.range(bee.id()));
///     x.iter_mut().for_each(|x| *x += 1.0); // in this bee's own memory
/// });
/// assert_eq!(x[9_999], 10_000.0);
/// # Ok::<(), hive::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// All blocks begin at multiples of this number of indices. At least 1.
    multiple: usize,
    /// Where the block of each bee ends. The last end is the number of indices.
    pub(crate) ends: Arc<[usize]>,
    /// The node of each bee; None: not known.
    nodes: Arc<[Option<usize>]>,
}

impl Hive {
    /// A plan for the indices `0..len` and all bees of the hive: see [`Plan::new`].
    ///
    /// ```
    /// let hive = hive::Hive::new(3)?;
    /// let plan = hive.plan(999);
    /// let mut squares = hive.alloc(plan.len(), hive::Placement::LikeLoop(&plan), |i| i * i);
    /// squares[998] += 1; // in the memory of bee 2's node
    /// assert_eq!((plan.range(2), squares[998]), (666..999, 996_005));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan(&self, len: usize) -> Plan {
        Plan::new(self, len, self.bees())
    }

    /// The system's number of the NUMA node that [`Place::node`](crate::topology::place_assignment::Place::node) calls
    /// `node`. None if there is no such node, or if its number is not known. See
    /// [`memory_nodes`](crate::memory::nodes::memory_nodes).
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// for place in hive.places().iter().flatten() {
    ///     println!("{place} has its memory on node {:?}", place.node().and_then(|node| hive.memory_node(node)));
    /// }
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn memory_node(&self, node: usize) -> Option<usize> {
        let cpus = &self.shared.machine_info.machine.cpus;
        nodes::common_node(&[cpus.iter().find(|cpu| cpu.unit_number(PlaceUnit::NumaDomains) == node)?.os_index])
    }
}

impl Plan {
    /// A plan for the indices `0..len` and the first `bees` bees of `hive`. These need not be awake, and their threads
    /// need not exist yet.
    ///
    /// The node of a bee is that of its place. The queen's is that of the place that is kept free for her, whether she
    /// is bound to it or not.
    ///
    /// ```
    /// use hive::{Hive, Plan};
    ///
    /// // Memory for four bees, two of which are hired later.
    /// let hive = Hive::builder().bees(2).max_bees(4).build()?;
    /// let plan = Plan::new(&hive, 1000, 4);
    /// assert_eq!((plan.bees(), plan.range(3)), (4, 750..1000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If `bees` is 0 or above the hive's [`max_bees`](Hive::max_bees).
    #[track_caller]
    pub fn new(hive: &Hive, len: usize, bees: usize) -> Self {
        let max_bees = hive.max_bees();
        assert!((1..=max_bees).contains(&bees), "a plan for {bees} bees of a hive that may have from 1 to {max_bees}");
        let node = |bee| nodes::common_node(hive.shared.place_map.place_of(bee)?.cpus());
        Self::with_nodes(len, 1, (0..bees).map(node).collect())
    }

    /// A plan for `0..len` with a bee on each of these nodes, and with blocks that begin at multiples of `multiple`.
    pub(crate) fn with_nodes(len: usize, multiple: usize, nodes: Arc<[Option<usize>]>) -> Self {
        let ends = (0..nodes.len()).map(|bee| aligned_block(0..len, multiple, bee, nodes.len()).end).collect();
        Self { multiple, ends, nodes }
    }

    /// The same plan with blocks that begin at multiples of `multiple` indices, like those of [`Loop::aligned`]: 8
    /// doubles are a cache line.
    ///
    /// ```
    /// let plan = hive::global().plan(1000).aligned(8);
    /// assert!((0..plan.bees()).all(|bee| plan.range(bee).start % 8 == 0 || plan.range(bee).is_empty()));
    /// ```
    ///
    /// # Panics
    /// If `multiple` is 0.
    #[track_caller]
    pub fn aligned(&self, multiple: usize) -> Self {
        assert!(multiple > 0, "blocks cannot begin at multiples of 0");
        Self::with_nodes(self.len(), multiple, Arc::clone(&self.nodes))
    }

    /// The same plan with blocks that are whole pages of a [`NumaVec<T>`](crate::memory::numa_vec::NumaVec), so that no
    /// page has two owners. This means the system's usual pages, not huge ones.
    ///
    /// ```
    /// let plan = hive::global().plan(1 << 20).in_pages::<f64>();
    /// assert_eq!(plan.range(plan.bees() - 1).start % 512, 0);
    /// ```
    pub fn in_pages<T>(&self) -> Self {
        // The smallest number of elements that fill whole pages exactly. 1 for elements of 0 bytes.
        self.aligned(page_size() / gcd(page_size(), size_of::<T>()))
    }

    /// The number of indices.
    ///
    /// ```
    /// let plan = hive::global().plan(1000).aligned(8);
    /// assert_eq!(plan.len(), 1000);
    /// ```
    pub fn len(&self) -> usize {
        self.ends[self.bees() - 1]
    }

    /// Whether there are no indices.
    ///
    /// ```
    /// assert!(hive::global().plan(0).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of bees that the plan is for.
    ///
    /// ```
    /// let hive = hive::Hive::new(3)?;
    /// assert_eq!(hive.plan(1000).bees(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bees(&self) -> usize {
        self.nodes.len()
    }

    /// The indices that bee number `bee` owns.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// let plan = hive.plan(100).aligned(8);
    /// assert_eq!((plan.range(0), plan.range(1)), (0..56, 56..100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the plan is for fewer bees.
    #[inline]
    #[track_caller]
    pub fn range(&self, bee: usize) -> Range<usize> {
        assert!(bee < self.bees(), "a plan for {} bees has nothing for bee {bee}", self.bees());
        let start = if bee == 0 { 0 } else { self.ends[bee - 1] };
        start..self.ends[bee]
    }

    /// The owner of `index`.
    ///
    /// ```
    /// let plan = hive::global().plan(100);
    /// assert!(plan.range(plan.owner(42).bee).contains(&42));
    /// ```
    ///
    /// # Panics
    /// If there is no such index.
    #[track_caller]
    pub fn owner(&self, index: usize) -> Owner {
        assert!(index < self.len(), "a plan for {} indices has nobody for index {index}", self.len());
        let bee = self.ends.partition_point(|end| *end <= index);
        Owner { bee, node: self.nodes[bee] }
    }

    /// The NUMA node of bee number `bee`, by the system's number (see
    /// [`memory_nodes`](crate::memory::nodes::memory_nodes)). None: the bee is not bound, it is bound to several nodes,
    /// or the nodes are not known.
    ///
    /// ```
    /// let plan = hive::global().plan(1 << 20);
    /// for bee in 0..plan.bees() {
    ///     println!("bee {bee} owns {:?} on node {:?}", plan.range(bee), plan.node(bee));
    /// }
    /// ```
    ///
    /// # Panics
    /// If the plan is for fewer bees.
    #[track_caller]
    pub fn node(&self, bee: usize) -> Option<usize> {
        assert!(bee < self.bees(), "a plan for {} bees has no node for bee {bee}", self.bees());
        self.nodes[bee]
    }

    /// The same plan, with the same alignment, for the bees that `hive` has now.
    ///
    /// ```
    /// let hive = hive::Hive::new(4)?;
    /// let plan = hive.plan(1000);
    /// hive.resize(2)?;
    /// let smaller = plan.rebuild(&hive);
    /// assert_eq!((smaller.bees(), smaller.len()), (2, 1000));
    /// // 0..250, 250..500, 500..750, 750..1000 become 0..500, 500..1000: only 0..250 stays with its bee.
    /// assert_eq!(plan.moves_to(&smaller).indices_to_other_bees(), 750);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rebuild(&self, hive: &Hive) -> Self {
        // A plan of length 0 is made only for the nodes of its bees.
        Self::with_nodes(self.len(), self.multiple, hive.plan(0).nodes)
    }

    /// A loop over the same indices, for a team of as many bees as the plan has, divided by another schedule. With
    /// [`Schedule::Dynamic`] and [`Schedule::Affinity`] each bee begins with about the block that it owns, and helps
    /// others when it is done. With [`Schedule::Static`] it is the plan's own loop, `Loop::from(&plan)`.
    ///
    /// ```
    /// use hive::Schedule;
    ///
    /// let plan = hive::global().plan(1000).aligned(8);
    /// hive::par_for(plan.to_loop(Schedule::Affinity), |range, bee| println!("{bee:?} runs {range:?}"));
    /// ```
    ///
    /// # Panics
    /// If the schedule asks for chunks of 0 indices.
    #[track_caller]
    pub fn to_loop(&self, schedule: Schedule) -> Loop {
        Loop::new(0..self.len(), schedule).aligned(self.multiple).with_owners(self.bees())
    }

    /// The blocks of all bees with their nodes, where neighbouring blocks on the same node are one range.
    pub(crate) fn by_node(&self) -> impl Iterator<Item = (Range<usize>, Option<usize>)> {
        let mut end = 0;
        self.nodes.chunk_by(PartialEq::eq).map(move |on_node| {
            let first = end;
            end += on_node.len();
            (self.range(first).start..self.ends[end - 1], on_node[0])
        })
    }
}

/// The loop by which each bee runs the indices that it owns. In a team that is smaller than the plan, such as a nested
/// region, the blocks whose owners are missing are divided among the team, block by block; in a larger one the other
/// bees have nothing to do.
///
/// ```
/// let plan = hive::global().plan(1000);
/// let by_plan = hive::Loop::from(&plan);
/// hive::spmd(plan.bees(), |bee| bee.for_each(&by_plan, |range| assert_eq!(range, plan.range(bee.id()))));
/// ```
impl From<&Plan> for Loop {
    #[inline]
    fn from(plan: &Plan) -> Self {
        plan.to_loop(Schedule::Static)
    }
}

impl LoopOver for &Plan {
    #[inline]
    #[track_caller]
    fn loop_over(self, len: usize) -> Loop {
        assert!(self.len() <= len, "a plan for {} indices does not fit a slice of {len}", self.len());
        self.into()
    }
}

/// The greatest common divisor of `a` and `b`.
fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plan(len: usize, multiple: usize, nodes: &[Option<usize>]) -> Plan {
        Plan::with_nodes(len, multiple, nodes.into())
    }

    #[test]
    fn neighbours_on_a_node_are_one_piece() {
        let pieces: Vec<_> = plan(10, 1, &[Some(0), Some(0), None, Some(1), Some(1)]).by_node().collect();
        assert_eq!(pieces, [(0..4, Some(0)), (4..6, None), (6..10, Some(1))]);
    }

    #[test]
    fn elements_that_do_not_divide_a_page_are_taken_by_the_pages_they_fill() {
        let pages = |plan: Plan| plan.multiple * page_size();
        let all = plan(1 << 20, 1, &[None; 3]);
        assert_eq!(all.in_pages::<f64>().multiple, page_size() / 8);
        assert_eq!(all.in_pages::<[u8; 3]>().multiple, page_size());
        assert_eq!(pages(all.in_pages::<()>()), page_size());
    }

    proptest! {
        #[test]
        fn each_index_has_one_owner(len in 0usize..5000, bees in 1usize..40, multiple in 1usize..70) {
            let plan = plan(len, multiple, &vec![None; bees]);
            let owned: Vec<_> = (0..bees).flat_map(|bee| plan.range(bee).map(move |index| (index, bee))).collect();
            prop_assert!(owned.iter().map(|(index, _)| *index).eq(0..len));
            prop_assert!(owned.iter().all(|(index, bee)| plan.owner(*index).bee == *bee));
            prop_assert!(
                (0..bees)
                    .all(|bee| plan.range(bee).is_empty() || plan.range(bee).start.is_multiple_of(multiple))
            );
        }
    }
}
