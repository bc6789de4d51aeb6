//! The calls by which the bees of a region meet or share work, as a table.

use std::ops::Range;

use hive::{Bee, Loop, Ordered, Reduction, Schedule};

pub(super) const SCHEDULES: [Schedule; 6] = [
    Schedule::Static,
    Schedule::StaticChunk(1),
    Schedule::Dynamic(1),
    Schedule::Affinity,
    Schedule::Guided(1),
    Schedule::Factoring,
];

/// The indices of each loop: as many for each bee, in teams of up to three.
pub(super) const LEN: usize = 12;

/// The calls. A number is that of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Single,
    AllReduce,
    AllReduceCloned,
    Reduce,
    ScanInclusive,
    ScanExclusive,
    BroadcastFromFirst,
    BroadcastFromLast,
    ReduceOver,
    ReduceOverBlocks,
    Ordered,
    ForRange(usize),
    ForEach(usize),
    /// Has no work, so nothing is nested in it.
    Barrier,
    /// A region in itself.
    ParFor(usize),
}

impl Call {
    /// All that a bee makes.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        use Call::*;
        let others = [
            Single,
            AllReduce,
            AllReduceCloned,
            Reduce,
            ScanInclusive,
            ScanExclusive,
            BroadcastFromFirst,
            BroadcastFromLast,
            ReduceOver,
            ReduceOverBlocks,
            Ordered,
        ];
        others.into_iter().chain((0..SCHEDULES.len()).flat_map(|schedule| [ForRange(schedule), ForEach(schedule)]))
    }

    /// The name by which messages call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::AllReduce => "all_reduce",
            Self::AllReduceCloned => "all_reduce_cloned",
            Self::Reduce => "reduce",
            Self::ScanInclusive => "scan_inclusive",
            Self::ScanExclusive => "scan_exclusive",
            Self::BroadcastFromFirst | Self::BroadcastFromLast => "broadcast_from",
            Self::ReduceOver | Self::ReduceOverBlocks => "reduce_over",
            Self::Ordered => "ordered",
            Self::ForRange(_) => "for_range",
            Self::ForEach(_) => "for_each",
            Self::ParFor(_) => "par_for",
            Self::Barrier => "barrier",
        }
    }

    pub(super) fn is_loop(self) -> bool {
        matches!(self, Self::ForRange(_) | Self::ForEach(_) | Self::ParFor(_))
    }

    /// Whether it may be made in the work of `outer`.
    pub(super) fn is_allowed_in(self, outer: Self) -> bool {
        match outer {
            Self::ForRange(_) => self == Self::Ordered,
            Self::ForEach(_) => !matches!(self, Self::ForEach(_)),
            _ => false,
        }
    }

    /// Whether each bee of a team of up to three surely runs the work of this loop equally often.
    pub(super) fn is_even(self) -> bool {
        matches!(self, Self::ForRange(0 | 1) | Self::ForEach(0 | 1))
    }

    /// Makes the call, with the value `own`. `indices`: the turns that it brings, if it is `ordered`. `work` gets the
    /// indices that the call gives it, or these. Returns what the call does.
    pub(super) fn make(
        self,
        bee: &Bee<'_>,
        shared: &Shared,
        indices: &Range<usize>,
        own: usize,
        work: &dyn Fn(Range<usize>),
    ) -> Option<usize> {
        let given = |value| {
            work(indices.clone());
            value
        };
        let add = |a, b| given(a + b);
        match self {
            Self::Single => Some(bee.single(|| given(own))),
            Self::AllReduce => Some(bee.all_reduce(own, add)),
            Self::AllReduceCloned => Some(bee.all_reduce_cloned(vec![own], |a, b| vec![given(a[0] + b[0])])[0]),
            Self::Reduce => bee.reduce(own, add),
            Self::ScanInclusive => Some(bee.scan_inclusive(own, add)),
            Self::ScanExclusive => Some(bee.scan_exclusive(0, own, add)),
            Self::BroadcastFromFirst => Some(bee.broadcast_from(0, || given(own))),
            Self::BroadcastFromLast => Some(bee.broadcast_from(bee.bees() - 1, || given(own))),
            Self::ReduceOver => {
                Some(bee.reduce_over(0..LEN, &Reduction::per_team_size(0, |a, b| a + b), |range| given(range.len())))
            }
            Self::ReduceOverBlocks => {
                Some(bee.reduce_over(0..LEN, &Reduction::deterministic(0, add), |range| range.len()))
            }
            Self::Ordered => {
                indices.clone().for_each(|index| bee.ordered(&shared.turns, index, || work(index..index + 1)));
                None
            }
            Self::ForRange(schedule) => {
                bee.for_range((0..LEN, SCHEDULES[schedule]), work);
                None
            }
            Self::ForEach(schedule) => {
                bee.for_each(&shared.loops[schedule], work);
                None
            }
            Self::Barrier => {
                bee.barrier();
                None
            }
            Self::ParFor(_) => unreachable!("no call of a bee"),
        }
    }

    /// What the call returns on bee `id`, if each bee's own value is its id. None: it depends on who was first.
    pub(super) fn expected(self, id: usize, bees: usize) -> Option<Option<usize>> {
        let sum = |end| (0..end).sum();
        Some(match self {
            Self::Single => return None,
            Self::AllReduce | Self::AllReduceCloned => Some(sum(bees)),
            Self::Reduce => (id == 0).then(|| sum(bees)),
            Self::ScanInclusive => Some(sum(id + 1)),
            Self::ScanExclusive => Some(sum(id)),
            Self::BroadcastFromFirst => Some(0),
            Self::BroadcastFromLast => Some(bees - 1),
            Self::ReduceOver | Self::ReduceOverBlocks => Some(LEN),
            Self::Ordered | Self::ForRange(_) | Self::ForEach(_) | Self::Barrier | Self::ParFor(_) => None,
        })
    }
}

/// What the bees share in a case.
pub(super) struct Shared {
    pub(super) loops: [Loop; SCHEDULES.len()],
    pub(super) turns: Ordered,
}
