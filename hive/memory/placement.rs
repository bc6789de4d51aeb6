//! On which nodes memory is, and how it gets there.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::memory::mapping::{move_pages, page_size};
use crate::memory::nodes;
use crate::memory::nodes::NodePolicy;
use crate::memory::numa_vec::{NumaVec, PartialVec};
use crate::memory::plan::Plan;
use crate::pool::handle::Hive;
use crate::region::no_double_panic::NoDoublePanic;
use crate::topology::machine::Unit;

/// On which NUMA nodes the pages of a [`NumaVec`] are to be. What to take when is in `docs/memory.md`.
///
/// Nodes have the system's numbers: see [`memory_nodes`](crate::memory::nodes::memory_nodes). Where a node is full, or the system refuses, pages are where there is room: placement is no reason to fail.
#[derive(Clone, Copy, Debug)]
pub enum Placement<'p> {
    /// Each where the bee is that makes its first element: blocks as [`Schedule::Static`](crate::loops::schedule::Schedule::Static) deals them to all bees that are awake. Nothing is asked of the system.
    FirstTouch,
    /// All on this node.
    Bind(usize),
    /// On one node after the other, of those with CPUs that the process may use: for what all bees read everywhere.
    Interleave,
    /// Each on the node of the bee that owns it by this plan, which also makes its elements. A page with several owners goes with the one that has most of it; where a bee's node is not
    /// known, its pages are where it is when it makes them.
    LikeLoop(&'p Plan),
}

impl Hive {
    /// A vector of `deque_len` elements, made by `init` of their indices, in fresh memory on the nodes that `placement` says.
    ///
    /// The elements are made in a region, by the bees that own them: by those of the plan of [`LikeLoop`](Placement::LikeLoop), else by all that are awake. Where the system does not
    /// place memory as asked, the vector is there all the same, and [`report`](Self::report) has a warning.
    ///
    /// Memory is the system's own, not malloc's. Where huge pages are switched on for all memory (`/sys/kernel/mm/transparent_hugepage/enabled` is `always`), one of 2 MiB goes to whoever touches
    /// it first, so the edges between first touchers are as coarse as that; memory that is bound to different nodes never shares one.
    ///
    /// ```
    /// use hive::{Hive, Placement};
    ///
    /// let hive = Hive::new(2)?;
    /// let plan = hive.plan(100_000).in_pages::<f64>();
    /// let x = hive.alloc(plan.len(), Placement::LikeLoop(&plan), |i| i as f64);
    /// let y = hive.alloc(plan.len(), Placement::FirstTouch, |_| 1.0);
    /// assert_eq!(x[1234] + y[1234], 1235.0);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// With the panic of `init`, if it panics: elements that were made are dropped, and the memory is given back. If `deque_len` is not the plan's, if the system has not as much memory,
    /// and as [`spmd`](Self::spmd). (A `T` that is aligned to more than 4096 bytes does not compile.)
    #[track_caller]
    pub fn alloc<T: Send, F: Fn(usize) -> T + Sync>(
        &self,
        len: usize,
        placement: Placement<'_>,
        init: F,
    ) -> NumaVec<T> {
        let plan = match placement {
            Placement::LikeLoop(plan) => plan.clone(),
            _ => self.plan(len),
        };
        let init = NoDoublePanic::new(init);
        assert_eq!(len, plan.len(), "the plan is for another number of elements");
        let mut partial = PartialVec::new(&plan);
        if let Err(why) = self.request_placement::<T>(partial.memory(), placement) {
            self.add_warning(format!(
                "memory is where it was touched first, and not as {} has it: {why}",
                placement.name()
            ));
        }
        self.spmd(plan.bees(), |bee| {
            (bee.id()..plan.bees()).step_by(bee.bees()).for_each(|bee| partial.fill(bee, &*init));
        });
        partial.finish()
    }

    /// Moves the pages of `data` to the nodes where `plan` has their owners, as after a resize: what has not changed its node stays. Costs about as much as copying what
    /// [moves](Plan::moves_to).
    ///
    /// ```
    /// use hive::{Hive, Placement};
    ///
    /// let hive = Hive::new(4)?;
    /// let plan = hive.plan(100_000);
    /// let mut x = hive.alloc(plan.len(), Placement::LikeLoop(&plan), |i| i);
    /// hive.resize(2)?;
    /// let plan = plan.rebuild(&hive);
    /// hive.migrate(&mut x, &plan);
    /// assert_eq!(x[77], 77);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Pages that the system does not move stay where they are, and [`report`](Self::report) has a warning.
    ///
    /// # Panics
    /// If the plan is for another number of elements.
    #[track_caller]
    pub fn migrate<T>(&self, data: &mut NumaVec<T>, plan: &Plan) {
        assert_eq!(data.len(), plan.len(), "the plan is for another number of elements");
        let moved = pieces_by_node::<T>(data.memory(), plan).try_for_each(|(memory, node)| {
            // What has not been touched yet, or has been swapped out, goes by the binding.
            nodes::bind(memory, &[node], NodePolicy::Bind)?;
            move_pages(memory, node)
        });
        if let Err(why) = moved {
            self.add_warning(format!("memory is not moved to where a plan has it: {why}"));
        }
    }

    /// Asks the system for the placement of the elements' memory, before it is touched. Or says why it is not as asked.
    fn request_placement<T>(&self, memory: &[MaybeUninit<u8>], placement: Placement<'_>) -> Result<(), String> {
        match placement {
            Placement::FirstTouch => Ok(()),
            _ if memory.is_empty() => Ok(()),
            Placement::Bind(node) => nodes::bind(memory, &[node], NodePolicy::Bind),
            Placement::Interleave => nodes::bind(memory, &self.nodes_with_cpus(), NodePolicy::Interleave),
            Placement::LikeLoop(plan) => pieces_by_node::<T>(memory, plan)
                .try_for_each(|(memory, node)| nodes::bind(memory, &[node], NodePolicy::Bind)),
        }
    }

    /// By the system's numbers.
    fn nodes_with_cpus(&self) -> Vec<usize> {
        let node_count = self.shared.machine_info.machine.unit_count(Unit::Node);
        (0..node_count).filter_map(|node| self.memory_node(node)).collect()
    }
}

impl Placement<'_> {
    /// For warnings.
    fn name(&self) -> String {
        match self {
            Self::FirstTouch => "FirstTouch".to_owned(),
            Self::Bind(node) => format!("Bind({node})"),
            Self::Interleave => "Interleave".to_owned(),
            Self::LikeLoop(_) => "LikeLoop".to_owned(),
        }
    }
}

/// The pieces of the elements' memory that go to a node by `plan`, with it.
fn pieces_by_node<'m, T>(
    memory: &'m [MaybeUninit<u8>],
    plan: &Plan,
) -> impl Iterator<Item = (&'m [MaybeUninit<u8>], usize)> {
    let piece = |(range, node)| Some((&memory[whole_pages::<T>(&range, memory.len())], node?));
    plan.by_node().filter_map(piece).filter(|(piece, _)| !piece.is_empty())
}

/// The bytes of the pages of which the elements of `range` are the greater part, in memory of `bytes`.
fn whole_pages<T>(range: &Range<usize>, bytes: usize) -> Range<usize> {
    let page = page_size();
    let nearest = |element: usize| {
        // No overflow: elements lie in the memory.
        let byte = element * size_of::<T>();
        if byte == bytes { bytes } else { ((byte + page / 2) / page * page).min(bytes) }
    };
    nearest(range.start)..nearest(range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_goes_with_who_has_most_of_it() {
        let page = page_size();
        assert_eq!(whole_pages::<u8>(&(0..page + 1), 3 * page), 0..page);
        assert_eq!(whole_pages::<u8>(&(page + 1..3 * page - 1), 3 * page - 1), page..3 * page - 1);
        assert_eq!(whole_pages::<u8>(&(0..2 * page - 1), 3 * page), 0..2 * page);
        assert_eq!(whole_pages::<u64>(&(0..3), 24), 0..24);
    }
}
