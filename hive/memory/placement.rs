//! On which NUMA nodes the memory of a vector is placed: `Hive::alloc` makes a `NumaVec` with its pages where a
//! `Placement` says, and `Hive::migrate` moves them after a resize. See `docs/memory.md`.

#![expect(unsafe_code, reason = "several bees fill the elements of one vector")]

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::memory::nodes;
use crate::memory::numa_vec::NumaVec;
use crate::memory::pages::{move_pages, page_size};
use crate::memory::plan::Plan;
use crate::pool::handle::Hive;
use crate::region::no_double_panic::NoDoublePanic;
use crate::topology::machine::PlaceUnit;

/// On which NUMA nodes the pages of a [`NumaVec`] are to be. Which placement to choose when is described in
/// `docs/memory.md`.
///
/// Nodes are given by the system's numbers: see [`memory_nodes`](crate::memory::nodes::memory_nodes). If a node is
/// full, or the system refuses, the pages are where there is room: a placement that fails is not an error.
///
/// ```
/// use hive::{Hive, Placement};
///
/// let hive = Hive::new(2)?;
/// let plan = hive.plan(1 << 16);
/// let x = hive.alloc(plan.len(), Placement::LikeLoop(&plan), |_| 1.0); // each bee's part on its own node
/// let table = hive.alloc(256, Placement::Interleave, |i| (i as f64).sqrt()); // all bees read all of it
/// hive.par_for(&plan, |range, _| assert!(range.clone().all(|i| x[i] * table[i % 256] < 16.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[doc(alias("first touch", "numactl", "mbind"))]
pub enum Placement<'p> {
    /// Each page is on the node of the bee that is the first to write to it. The elements are made in blocks, as
    /// [`Schedule::Static`](crate::loops::schedule::Schedule::Static) divides them among all bees of the hive.
    /// Nothing is asked of the system.
    FirstTouch,
    /// All pages are on this node.
    Bind(usize),
    /// The pages are on each of several nodes in turn, those with CPUs that the process may use: for data that all bees
    /// read everywhere.
    Interleave,
    /// Each page is on the node of the bee that owns it by this plan and also makes its elements. A page with several
    /// owners goes with the owner of most of it. If the node of a bee is not known, its pages are where the bee is when
    /// it makes them.
    LikeLoop(&'p Plan),
}

impl Hive {
    /// Makes a vector of `len` elements, each by `init` from its index, in fresh memory on the nodes that `placement`
    /// says.
    ///
    /// The elements are made in a region, by the bees that own them: by the plan of [`LikeLoop`](Placement::LikeLoop),
    /// otherwise in equal blocks by all bees of the hive. If the system does not place the memory as asked, the
    /// vector is made all the same, and [`report`](Self::report) has a warning.
    ///
    /// The memory comes directly from the system, not from malloc. If huge pages are switched on for all memory
    /// (`/sys/kernel/mm/transparent_hugepage/enabled` says `always`), the first bee to touch one of 2 MiB gets all of
    /// it, so with `FirstTouch` the edges between bees are as coarse as that. Memory that is bound to different nodes
    /// never shares a huge page.
    ///
    /// ```
    /// use hive::{Hive, Placement};
    ///
    /// let hive = Hive::new(2)?;
    /// let plan = hive.plan(100_000).in_pages::<f64>();
    /// let x = hive.alloc(plan.len(), Placement::LikeLoop(&plan), |i| i as f64);
    /// let y = hive.alloc(plan.len(), Placement::FirstTouch, |_| 1.0);
    /// assert_eq!(x[1234] + y[1234], 1235.0);
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `init` panics, with its panic: elements that have been made are dropped, and the memory is given back. If
    /// `len` is not the plan's length, if the system does not have enough memory, and as [`spmd`](Self::spmd). (A `T`
    /// with an alignment of more than 4096 bytes does not compile.)
    #[track_caller]
    #[doc(alias("first touch", "numa_alloc", "mbind"))]
    pub fn alloc<T: Send>(&self, len: usize, placement: Placement<'_>, init: impl Fn(usize) -> T + Sync) -> NumaVec<T> {
        let plan = if let Placement::LikeLoop(plan) = placement { plan.clone() } else { self.plan(len) };
        let init = NoDoublePanic::new(init);
        assert_eq!(len, plan.len(), "the plan is for another number of elements");
        let place = |memory: &[_]| {
            if let Err(why) = self.request_placement::<T>(memory, placement) {
                let asked = if let Placement::LikeLoop(_) = placement { "LikeLoop" } else { &format!("{placement:?}") };
                let message = format!("memory is where it was touched first, and not as {asked} has it: {why}");
                self.shared.add_warning(message);
            }
        };
        NumaVec::new(len, place, move |elements| {
            self.spmd(plan.bees(), |bee| {
                // In a nested region one bee fills the parts of all bees.
                for part in (bee.id()..plan.bees()).step_by(bee.bees()) {
                    // SAFETY: each bee of the region fills other parts, and parts do not overlap.
                    unsafe { elements.fill(plan.range(part), &*init) };
                }
            });
            // Here and not later: the elements are dropped if dropping the closure panics.
            drop(init);
        })
    }

    /// Moves the pages of `data` to the nodes where `plan` has their owners, for example after a resize. Pages whose
    /// node stays the same do not move. Costs about as much as copying what [moves](Plan::moves_to).
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
    /// If the plan's number of indices is not the number of elements.
    #[track_caller]
    #[doc(alias = "move_pages")]
    pub fn migrate<T>(&self, data: &mut NumaVec<T>, plan: &Plan) {
        assert_eq!(data.len(), plan.len(), "the plan is for another number of elements");
        let moved = pieces::<T>(data.memory(), plan).try_for_each(|(memory, node)| {
            // `move_pages` moves only pages that exist. Those that have not been touched yet, or have been swapped out,
            // go by the binding when they are touched.
            nodes::bind(memory, &[node])?;
            move_pages(memory, node)
        });
        if let Err(why) = moved {
            self.shared.add_warning(format!("memory is not moved to where a plan has it: {why}"));
        }
    }

    /// Asks the system to place the memory of the elements, before it is touched. An error says why it will not be
    /// placed as asked.
    fn request_placement<T>(&self, memory: &[MaybeUninit<u8>], placement: Placement<'_>) -> Result<(), String> {
        match placement {
            Placement::FirstTouch => Ok(()),
            _ if memory.is_empty() => Ok(()),
            Placement::Bind(node) => nodes::bind(memory, &[node]),
            Placement::Interleave => nodes::bind(memory, &self.nodes_with_cpus()),
            Placement::LikeLoop(plan) => {
                pieces::<T>(memory, plan).try_for_each(|(memory, node)| nodes::bind(memory, &[node]))
            }
        }
    }

    /// The nodes with CPUs that the process may use, by the system's numbers.
    fn nodes_with_cpus(&self) -> Vec<usize> {
        let node_count = self.shared.machine_info.machine.unit_count(PlaceUnit::NumaDomains);
        (0..node_count).filter_map(|node| self.memory_node(node)).collect()
    }
}

/// The pieces of the elements' memory whose node is known by `plan`, each with its node.
fn pieces<'m, T>(memory: &'m [MaybeUninit<u8>], plan: &Plan) -> impl Iterator<Item = (&'m [MaybeUninit<u8>], usize)> {
    let piece = |(range, node)| Some((&memory[whole_pages::<T>(&range, memory.len())], node?));
    plan.by_node().filter_map(piece).filter(|(piece, _)| !piece.is_empty())
}

/// The bytes of those pages whose middle is in the elements of `range`, in memory of `bytes` bytes. A last page that
/// ends before its middle goes with its end. (Of two owners of a whole page, that is the one with more of it.)
fn whole_pages<T>(range: &Range<usize>, bytes: usize) -> Range<usize> {
    let page = page_size();
    // The page boundary that is nearest to where an element begins. The end of the memory counts as one.
    let nearest = |element: usize| {
        // No overflow: the element lies in the memory, or ends it.
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
