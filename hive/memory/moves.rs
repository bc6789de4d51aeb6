//! The difference between two plans: which indices get another owner. For users who decide after a resize whether
//! moving the data is worth its cost.

use std::ops::Range;

use crate::memory::plan::{Owner, Plan};

/// A range of neighbouring indices that go from the same old owner to the same new owner.
///
/// ```
/// let hive = hive::Hive::new(4)?;
/// let plan = hive.plan(1000);
/// hive.resize(2)?;
/// let moves = plan.moves_to(&plan.rebuild(&hive));
/// for one in moves.ranges() {
///     println!("{:?}: from bee {} to bee {}", one.range, one.from.bee, one.to.bee);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The indices.
    pub range: Range<usize>,
    /// The old owner.
    pub from: Owner,
    /// The new owner.
    pub to: Owner,
}

impl Move {
    /// Whether the indices go to another node. False if one of the nodes is not known.
    ///
    /// ```
    /// let hive = hive::Hive::new(4)?;
    /// let plan = hive.plan(1000);
    /// hive.resize(2)?;
    /// let moves = plan.moves_to(&plan.rebuild(&hive));
    /// let far = moves.ranges().iter().filter(|one| one.is_to_another_node()).count();
    /// assert!(far <= moves.ranges().len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_to_another_node(&self) -> bool {
        self.from.node.zip(self.to.node).is_some_and(|(from, to)| from != to)
    }
}

/// What moves from one plan to another, in order of the indices: see [`Plan::moves_to`].
///
/// ```
/// let hive = hive::Hive::new(4)?;
/// let plan = hive.plan(1000);
/// hive.resize(2)?;
/// let moves = plan.moves_to(&plan.rebuild(&hive));
/// // 250..500 go to bee 0, 500..1000 to bee 1.
/// assert_eq!(moves.indices_to_other_bees(), 750);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moves {
    moves: Vec<Move>,
}

impl Moves {
    /// The single moves. Indices that keep both their bee and their node are not among them.
    ///
    /// ```
    /// let hive = hive::Hive::new(4)?;
    /// let plan = hive.plan(1000);
    /// hive.resize(2)?;
    /// let moves = plan.moves_to(&plan.rebuild(&hive));
    /// assert_eq!(moves.ranges()[0].range, 250..500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ranges(&self) -> &[Move] {
        &self.moves
    }

    /// How many indices get another bee.
    ///
    /// ```
    /// let hive = hive::Hive::new(4)?;
    /// let plan = hive.plan(1000);
    /// hive.resize(2)?;
    /// let moves = plan.moves_to(&plan.rebuild(&hive));
    /// assert_eq!(moves.indices_to_other_bees(), 750);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn indices_to_other_bees(&self) -> usize {
        self.count(|one| one.from.bee != one.to.bee)
    }

    /// How many bytes have to go to another node, if each index stands for a `T`.
    ///
    /// ```
    /// let hive = hive::Hive::new(4)?;
    /// let plan = hive.plan(1000);
    /// hive.resize(2)?;
    /// let moves = plan.moves_to(&plan.rebuild(&hive));
    /// if moves.bytes_to_other_nodes::<f64>() > 1 << 30 {
    ///     println!("moving the memory would take a while");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bytes_to_other_nodes<T>(&self) -> usize {
        self.count(Move::is_to_another_node).saturating_mul(size_of::<T>())
    }

    fn count(&self, is_counted: impl Fn(&Move) -> bool) -> usize {
        self.moves.iter().filter(|one| is_counted(one)).map(|one| one.range.len()).sum()
    }
}

impl Plan {
    /// What moves when `new` replaces this plan: which indices get another bee, or keep their bee while it gets another
    /// node.
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(2).max_bees(4).build()?;
    /// let (two, four) = (hive::Plan::new(&hive, 1000, 2), hive::Plan::new(&hive, 1000, 4));
    /// let moves = two.moves_to(&four);
    /// assert_eq!(moves.indices_to_other_bees(), 750); // all but 0..250
    /// println!("{} bytes cross to another node", moves.bytes_to_other_nodes::<f64>());
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the plans have different numbers of indices.
    #[track_caller]
    pub fn moves_to(&self, new: &Self) -> Moves {
        assert_eq!(self.len(), new.len(), "nothing moves between plans for different numbers of indices");
        let mut moves = Vec::new();
        let mut start = 0;
        while start < self.len() {
            // Up to the nearest end of a block in either plan, both owners stay the same.
            let (from, to) = (self.owner(start), new.owner(start));
            let end = self.range(from.bee).end.min(new.range(to.bee).end);
            let change = Move { range: start..end, from, to };
            if from.bee != to.bee || change.is_to_another_node() {
                moves.push(change);
            }
            start = end;
        }
        Moves { moves }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nodes() -> impl Strategy<Value = Vec<Option<usize>>> {
        proptest::collection::vec(proptest::option::of(0usize..3), 1..20)
    }

    #[test]
    fn a_plan_does_not_move_to_itself() {
        let plan = Plan::with_nodes(100, 8, [Some(0), None, Some(1)].into());
        assert_eq!(plan.moves_to(&plan).ranges(), []);
    }

    #[test]
    fn the_same_bee_on_another_node_moves() {
        let at = |node| Plan::with_nodes(100, 1, [Some(0), Some(node)].into());
        let moves = at(0).moves_to(&at(1));
        let (from, to) = (Owner { bee: 1, node: Some(0) }, Owner { bee: 1, node: Some(1) });
        assert_eq!(moves.ranges(), [Move { range: 50..100, from, to }]);
        assert_eq!((moves.indices_to_other_bees(), moves.bytes_to_other_nodes::<u64>()), (0, 400));
    }

    proptest! {
        #[test]
        fn moves_are_what_differs_index_by_index(
            len in 0usize..600, old in nodes(), new in nodes(), old_multiple in 1usize..20, new_multiple in 1usize..20,
        ) {
            let old = Plan::with_nodes(len, old_multiple, old.into());
            let new = Plan::with_nodes(len, new_multiple, new.into());
            let moves = old.moves_to(&new);
            let pairs = || (0..len).map(|index| (old.owner(index), new.owner(index)));
            let to_other_bees = pairs().filter(|(from, to)| from.bee != to.bee).count();
            let differ = |from: Option<usize>, to: Option<usize>| from.is_some() && to.is_some() && from != to;
            let to_other_nodes = pairs().filter(|(from, to)| differ(from.node, to.node)).count();
            prop_assert_eq!(
                (moves.indices_to_other_bees(), moves.bytes_to_other_nodes::<u8>()),
                (to_other_bees, to_other_nodes)
            );
            prop_assert!(moves.ranges().windows(2).all(|two| two[0].range.end <= two[1].range.start));
            for one in moves.ranges() {
                prop_assert!(!one.range.is_empty());
                prop_assert!(one.range.clone().all(|index| (old.owner(index), new.owner(index)) == (one.from, one.to)));
            }
        }
    }
}
