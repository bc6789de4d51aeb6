//! Prefix sums of a slice, as a region of its own: `Hive::par_scan`. The slice is cut into blocks. Each bee first
//! computes the sums of its blocks; the bees then exchange these sums, which is a barrier; at last each bee replaces
//! the elements of its blocks, starting from the sum of all blocks before them.

use smallvec::SmallVec;

use crate::loops::schedule::Schedule;
use crate::pool::handle::Hive;
use crate::pool::loop_costs::{LoopKind, Sharing};
use crate::protocol::region::exchange_slots::Operation;
use crate::reductions::reduction::{Cut, Reduction, Reproducibility};
use crate::region::bee::{Bee, ExactBody};
use crate::region::split;
use crate::slices::parts::Parts;

/// Whether the prefix sum at an element includes that element.
///
/// ```
/// use hive::{Reduction, Scan};
///
/// let sum = Reduction::deterministic(0, |a, b| a + b);
/// let (mut ends, mut begins) = (vec![3, 0, 2, 5], vec![3, 0, 2, 5]);
/// hive::par_scan(&mut ends, &sum, Scan::Inclusive);
/// hive::par_scan(&mut begins, &sum, Scan::Exclusive);
/// assert_eq!((ends, begins), (vec![3, 3, 5, 10], vec![0, 3, 3, 5]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scan {
    /// Element i becomes the combination of all elements up to and including i.
    Inclusive,
    /// Element i becomes the combination of all elements before i; the first element becomes the reduction's identity.
    Exclusive,
}

impl Hive {
    /// Replaces each element of `data` by its prefix sum under `reduction`, on all bees of the hive.
    ///
    /// The elements must be `Copy` and must not borrow (`'static`), because the bees exchange copies of their sums
    /// inside a region. [`par_reduce`](Self::par_reduce) takes any values that can be cloned.
    ///
    /// Each element is read twice and written once. With
    /// [`Deterministic`](crate::reductions::reduction::Deterministic) the result is bit by bit the same whatever
    /// the size of the team; otherwise it is the same as long as the size of the team is.
    ///
    /// ```
    /// use hive::{Reduction, Scan};
    ///
    /// // Where each row of a sparse matrix begins, from the number of elements in each row.
    /// let mut begins = vec![3, 0, 2, 5];
    /// hive::par_scan(&mut begins, &Reduction::deterministic(0, |a, b| a + b), Scan::Exclusive);
    /// assert_eq!(begins, [0, 3, 3, 5]);
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd).
    #[track_caller]
    #[doc(alias("prefix sum", "cumsum", "inscan", "scan"))]
    pub fn par_scan<L, T, F>(&self, data: &mut [T], reduction: &Reduction<L, T, F>, scan: Scan)
    where
        L: Reproducibility,
        T: Copy + Send + Sync + 'static,
        F: Fn(T, T) -> T + Sync,
    {
        let bees = data.len().clamp(1, self.bees());
        let blocks = match reduction.cut(&(0..data.len()), Schedule::Static, bees) {
            Cut::Blocks(blocks) => blocks,
            Cut::OnePerBee | Cut::BySchedule => bees.min(data.len()),
        };
        let (indices, kind) = (data.len(), LoopKind::Anonymous(Sharing::EqualParts));
        let (identity, op, parts) = (&reduction.identity, &reduction.op, &Parts::new(data, blocks.max(1)));
        // The bees meet at a barrier, so none stands in for another; but one alone can run all.
        let mut body = ExactBody::new(|bee: &Bee<'_>| {
            let own = split::block(0..blocks, bee.id(), bee.bees());
            // First pass: the sum of each own block.
            let sum = |block| parts.part_mut(bee, block).iter().copied().reduce(op).unwrap_or(*identity);
            let sums: SmallVec<[T; 1]> = own.clone().map(sum).collect();
            // The sum of everything before the first own block. This is a barrier.
            let mut before = sum_before(bee, &sums, op);
            // Second pass: replace the elements, block by block.
            for (block, sum) in own.zip(sums) {
                let first = before.or((scan == Scan::Exclusive).then_some(*identity));
                scan_block(&mut parts.part_mut(bee, block), first, scan, op);
                before = Some(before.map_or(sum, |before| op(before, sum)));
            }
        });
        self.run_loop_body(bees.min(blocks).max(1), indices, kind, &mut body);
    }
}

/// The combined sum of all blocks of the bees before this one. Each bee passes the sums of its own blocks as `sums`,
/// and all must call it. None: there are no blocks before, or there is nobody to exchange with.
fn sum_before<T: Copy + Send + 'static>(bee: &Bee<'_>, sums: &[T], op: &impl Fn(T, T) -> T) -> Option<T> {
    let slots = bee.exchange(Operation::ParScan, None, sums)?;
    let slots_of = |id| (0..slots.count(id).unwrap_or(0)).map(move |index| (id, index));
    (0..bee.context.id).flat_map(slots_of).filter_map(|(id, index)| slots.value(id, index)).reduce(op)
}

/// Replaces the elements of a block by their prefix sums. `before` is the sum of everything before the block; None:
/// there is nothing before it.
fn scan_block<T: Copy>(block: &mut [T], before: Option<T>, scan: Scan, op: &impl Fn(T, T) -> T) {
    let mut sum = before;
    for element in block {
        let inclusive = sum.map_or(*element, |sum| op(sum, *element));
        *element = match scan {
            Scan::Inclusive => inclusive,
            Scan::Exclusive => sum.unwrap_or(inclusive),
        };
        sum = Some(inclusive);
    }
}
