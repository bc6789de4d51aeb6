//! A reduction over a range, inside a region.

use std::ops::Range;

use super::level::Level;
use super::level::sealed::Cut;
use super::reduction::Reduction;
use super::tree::{self, Node, Nodes};
use crate::crew::{Operation, Shown};
use crate::loops::Schedule;
use crate::region::Bee;
use crate::split;

impl Bee<'_> {
    /// Combines what `map` returns for parts of `range`, of which each member has its [`part`](Reduction::part), for all members: a static loop and an
    /// [`all_reduce`](Self::all_reduce) in one, as reproducible as `reduction` says.
    ///
    /// All members must call it, with the same range and reduction. It is a barrier as well.
    ///
    /// ```
    /// let sum = hive::Reduction::fixed(0.0, |a, b| a + b);
    /// let x: Vec<f64> = (0..1000).map(|i| f64::from(i) * 0.1).collect();
    /// let norm_with = |members| hive::spmd_map(members, |bee| bee.reduce_over(0..1000, &sum, |range| x[range].iter().map(|x| x * x).sum()))[0];
    /// assert_eq!(norm_with(3).to_bits(), norm_with(1).to_bits());
    /// ```
    ///
    /// # Panics
    /// As [`all_reduce`](Self::all_reduce).
    #[track_caller]
    pub fn reduce_over<L, T, F>(&self, range: Range<usize>, reduction: &Reduction<L, T, F>, map: impl Fn(Range<usize>) -> T) -> T
    where
        L: Level,
        T: Copy + Send + 'static,
        F: Fn(T, T) -> T,
    {
        let op = &reduction.op;
        let result = match reduction.cut(&range, Schedule::Static, self.count()) {
            Cut::Blocks(blocks) => {
                let (own, block) =
                    (split::block(0..blocks, self.id(), self.count()), |block| split::block(range.clone(), block, blocks));
                if tree::is_large::<T>() {
                    self.reduce_large(own, op, |i| map(block(i)))
                } else {
                    self.reduce_small(own, op, |i| map(block(i)))
                }
            }
            Cut::Team | Cut::AsItComes => {
                let own = self.split(range);
                let own = (!own.is_empty()).then(|| map(own));
                self.all_reduce_for(Operation::ReduceOver, own, |a, b| match (a, b) {
                    (Some(a), Some(b)) => Some(op(a, b)),
                    (a, b) => a.or(b),
                })
            }
        };
        result.unwrap_or(reduction.neutral)
    }

    /// The blocks of all members, of which this one has those numbered `own`, combined along the tree by each member.
    #[track_caller]
    fn reduce_small<T>(&self, own: Range<usize>, op: &impl Fn(T, T) -> T, value: impl Fn(usize) -> T) -> Option<T>
    where
        T: Copy + Send + 'static,
    {
        let mut nodes = Nodes::new();
        tree::collect(&mut nodes, own, op, value);
        let shown = self.show::<Node<T>>(Operation::ReduceOver, nodes.as_slice());
        let all = shown.and_then(|shown| all_nodes(&shown, self.member.team(), op, |value| value));
        all.unwrap_or(nodes).combine(op)
    }

    /// The same of values that are too large to have many of them on the stack.
    #[track_caller]
    fn reduce_large<T>(&self, own: Range<usize>, op: &impl Fn(T, T) -> T, value: impl Fn(usize) -> T) -> Option<T>
    where
        T: Copy + Send + 'static,
    {
        let op = &tree::boxed(op);
        let mut nodes = Nodes::new();
        tree::collect(&mut nodes, own, op, |block| Box::new(value(block)));
        // What is shown lies in one piece, without boxes that are this member's.
        let own: Vec<Node<T>> = nodes.iter().map(Node::unboxed).collect();
        let shown = self.show::<Node<T>>(Operation::ReduceOver, &own);
        let all = shown.and_then(|shown| all_nodes(&shown, self.member.team(), op, Box::new));
        all.unwrap_or(nodes).combine(op).map(|value| *value)
    }
}

/// The nodes of a whole team, with their values as `form` makes them.
#[track_caller]
fn all_nodes<T: Copy + 'static, V>(
    shown: &Shown<'_, Node<T>>,
    team: u32,
    op: &impl Fn(V, V) -> V,
    form: impl Fn(T) -> V,
) -> Option<Nodes<V>> {
    let mut all = Nodes::new();
    for id in 0..team {
        for index in 0..shown.count(id)? {
            all.push(shown.value(id, index)?.map(&form), op);
        }
    }
    Some(all)
}
