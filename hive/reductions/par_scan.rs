//! Prefix sums of a slice, in one call.

use std::ops::Range;

use smallvec::{Array, SmallVec};

use super::level::Level;
use super::level::sealed::Cut;
use super::reduction::Reduction;
use super::tree;
use crate::crew::Operation;
use crate::hive::Hive;
use crate::loops::Schedule;
use crate::region::Bee;
use crate::slices::Parts;
use crate::split;

/// Whether a prefix sum counts its own element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scan {
    /// Element i becomes the combination of all up to and with i.
    Inclusive,
    /// Element i becomes the combination of all before i, the reduction's neutral value at the head.
    Exclusive,
}

impl Hive {
    /// Replaces each element of `data` by its prefix sum under `reduction`, on all members that are awake.
    ///
    /// The elements are `Copy` and borrow nothing (`'static`), where [`par_reduce`](Self::par_reduce) takes any values that can be cloned: here members show one another their sums inside a region, as copies.
    ///
    /// Each element is read twice and written once. With [`Fixed`](crate::Fixed) the result is bit by bit the same whatever the size of the team; else as long as that is.
    ///
    /// ```
    /// use hive::{Reduction, Scan};
    ///
    /// // Where each row of a sparse matrix begins, from how many elements each has.
    /// let mut begins = vec![3, 0, 2, 5];
    /// hive::par_scan(&mut begins, &Reduction::fixed(0, |a, b| a + b), Scan::Exclusive);
    /// assert_eq!(begins, [0, 3, 3, 5]);
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd).
    #[track_caller]
    pub fn par_scan<L, T, F>(&self, data: &mut [T], reduction: &Reduction<L, T, F>, scan: Scan)
    where
        L: Level,
        T: Copy + Send + Sync + 'static,
        F: Fn(T, T) -> T + Sync,
    {
        let members = data.len().clamp(1, self.bees());
        let blocks = match reduction.cut(&(0..data.len()), Schedule::Static, members) {
            Cut::Blocks(blocks) => blocks,
            Cut::Team | Cut::AsItComes => members.min(data.len()),
        };
        let (op, parts) = (&reduction.op, &Parts::new(data, blocks.max(1)));
        self.spmd(members.min(blocks).max(1), |bee| {
            let own = split::block(0..blocks, bee.id(), bee.count());
            if tree::is_large::<T>() {
                scan_blocks::<[T; 0], _>(bee, parts, own, (&reduction.neutral, op), scan);
            } else {
                scan_blocks::<[T; SUMS], _>(bee, parts, own, (&reduction.neutral, op), scan);
            }
        });
    }
}

/// Replaces the elements of the blocks `own` of this member; their sums lie on the stack as far as there is room in `A`.
fn scan_blocks<A: Array, F>(
    bee: &Bee<'_>,
    parts: &Parts<'_, A::Item>,
    own: Range<usize>,
    (neutral, op): (&A::Item, &F),
    scan: Scan,
) where
    A::Item: Copy + Send + Sync + 'static,
    F: Fn(A::Item, A::Item) -> A::Item,
{
    let sum = |block| parts.take_number(bee, block).iter().copied().reduce(op).unwrap_or(*neutral);
    let sums: SmallVec<A> = own.clone().map(sum).collect();
    let mut before = sum_before(bee, &sums, op);
    for (block, sum) in own.zip(sums) {
        let first = match scan {
            Scan::Inclusive => before,
            Scan::Exclusive => Some(before.unwrap_or(*neutral)),
        };
        fill(&mut parts.take_number(bee, block), first, scan, op);
        before = Some(before.map_or(sum, |before| op(before, sum)));
    }
}

/// So many sums of blocks need no allocation, if they are small.
const SUMS: usize = 16;

/// The sum of all blocks of the members before this one, each with `sums` of its own.
fn sum_before<T: Copy + Send + 'static>(bee: &Bee<'_>, sums: &[T], op: &impl Fn(T, T) -> T) -> Option<T> {
    let shown = bee.show(Operation::ParScan, sums)?;
    let of = |id| (0..shown.count(id).unwrap_or(0)).map(move |index| (id, index));
    (0..bee.member.id()).flat_map(of).filter_map(|(id, index)| shown.value(id, index)).reduce(op)
}

/// Replaces the elements of a block by their prefix sums, `before` being that of all before the block.
fn fill<T: Copy>(block: &mut [T], before: Option<T>, scan: Scan, op: &impl Fn(T, T) -> T) {
    let mut sum = before;
    for element in block {
        let with = sum.map_or(*element, |sum| op(sum, *element));
        *element = match scan {
            Scan::Inclusive => with,
            Scan::Exclusive => sum.unwrap_or(with),
        };
        sum = Some(with);
    }
}
