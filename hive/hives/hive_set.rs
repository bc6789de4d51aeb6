//! `HiveSet`: the handle of several hives, each on the CPUs of one NUMA node or another unit of the machine.
//!
//! It owns the hives and one more hive of leaders. `builder.rs` makes it, `regions.rs` has its regions and all else
//! that starts one, `report.rs` its report. The user's page is `docs/hive-sets.md`.

use std::ops::Deref;
use std::{fmt, slice};

use crate::pool::handle::Hive;
use crate::topology::machine::PlaceUnit;

/// Several hives, each on the CPUs of one NUMA node or package, and one team over all of them.
///
/// Each is a [`Hive`] like any other and can run work of its own: `hives[1].spmd(...)`. A `HiveSet` dereferences to a
/// slice of hives, so they can be counted and iterated over. No two of them share a CPU. A region over all of them,
/// [`spmd`](Self::spmd), runs on the bees of every hive, each on its own node, and has a
/// [barrier](crate::HiveSetBee::barrier) across all. When a single hive over all nodes is the simpler choice, what a
/// set costs, and how it goes together with memory is described in [`guides::hive_sets`](crate::guides::hive_sets).
///
/// ```
/// let hives = hive::HiveSet::per_node()?;
/// let x = vec![0.5; 100_000];
/// hives.spmd(|bee| {
///     let total = bee.all_reduce(x[bee.split(0..x.len())].iter().sum::<f64>(), |a, b| a + b);
///     assert_eq!(total, 50_000.0); // over all nodes
/// });
/// let ids = hives[0].spmd_map(2, |bee| bee.id()); // on one of them
/// assert_eq!(ids, [0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Leaders
/// Each hive has a leader: a thread on the hive's first place, which is the hive's queen in all work that runs over the
/// whole set. The leader of hive 0 is the calling thread, which is bound only if
/// [`pin_queen`](crate::pool::builder::Builder::pin_queen) is set. The other leaders are the workers of one more hive,
/// which does nothing else.
///
/// # Nesting
/// A region over several hives that is started inside a region or a task of any hive runs at once, as a team of one. So
/// no nesting can deadlock. Started from outside, it waits until it is the next region on each of the hives.
#[doc(alias("NUMA", "hierarchical"))]
pub struct HiveSet {
    /// The hives, in the order of their units on the machine.
    pub(crate) hives: Vec<Hive>,
    /// The hive of the leaders. It has one bee for each hive of the set; bee i leads hive i.
    pub(crate) leaders: Hive,
    /// The kind of unit that each hive has one of.
    pub(crate) unit_kind: PlaceUnit,
    /// The number of each hive's unit on the machine, by the hive's number.
    pub(crate) units: Vec<usize>,
    /// The NUMA node of each hive, by the hive's number; the node's number is the operating system's.
    pub(crate) nodes: Vec<Option<usize>>,
    /// What the report says about units that got no hive, and about an environment that was not followed.
    pub(crate) warnings: Vec<String>,
}

impl HiveSet {
    /// The number of bees that are not surplus, over all hives.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// println!("{} bees on {} nodes", hives.bees(), hives.len());
    /// assert_eq!(hives.bees(), hives.iter().map(|hive| hive.bees()).sum::<usize>());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bees(&self) -> usize {
        self.iter().map(Hive::bees).sum()
    }

    /// Returns when no surplus bee of any of the hives is on a core: see [`Hive::wait_until_parked`]. Call it outside
    /// of the hives' regions.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives[0].resize(1)?;
    /// hives.wait_until_parked();
    /// assert_eq!(hives[0].bees_not_yet_tucked_in(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_until_parked(&self) {
        self.iter().for_each(Hive::wait_until_parked);
    }

    /// Sends every bee that waits for a region, of any of the hives, to sleep at once: see [`Hive::stop_spinning`].
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives.spmd(|bee| bee.barrier());
    /// hives.stop_spinning(); // the next step writes to a disk
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn stop_spinning(&self) {
        self.with_leaders().for_each(Hive::stop_spinning);
    }

    /// The hives of the set and, after them, the leaders' hive.
    pub(crate) fn with_leaders(&self) -> impl Iterator<Item = &Hive> {
        self.iter().chain([&self.leaders])
    }

    /// The NUMA node that a hive's memory is best placed on, by the operating system's number, as
    /// [`Placement::Bind`](crate::memory::placement::Placement::Bind) takes it. None if the hive's CPUs are on several
    /// nodes, or if the node is not known.
    ///
    /// ```
    /// use hive::{HiveSet, Placement};
    ///
    /// let hives = HiveSet::per_node()?;
    /// let tables = hives.on_each(|number, hive| {
    ///     let placement = hives.node(number).map_or(Placement::FirstTouch, Placement::Bind);
    ///     hive.alloc(1000, placement, |i| i as f64)
    /// });
    /// assert_eq!(tables[0][999], 999.0);
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no hive with that number.
    #[track_caller]
    pub fn node(&self, hive: usize) -> Option<usize> {
        self.nodes[hive]
    }
}

/// The set as a slice of hives, in the order of their units on the machine.
impl Deref for HiveSet {
    type Target = [Hive];

    fn deref(&self) -> &[Hive] {
        &self.hives
    }
}

impl<'h> IntoIterator for &'h HiveSet {
    type Item = &'h Hive;
    type IntoIter = slice::Iter<'h, Hive>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for HiveSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HiveSet").field(&self.hives).finish()
    }
}
