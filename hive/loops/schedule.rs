//! The schedules: how the indices of a loop are divided among the bees of a team. `Loop::run_dealt` in `shared_loop.rs`
//! carries them out.

use crate::pool::loop_costs::Sharing;

/// How the indices of a [`Loop`](crate::loops::shared_loop::Loop) are divided among the bees of a team. These are
/// OpenMP's schedules, under OpenMP's names where it has them.
///
/// Which to choose: [`Static`](Self::Static) if all indices take equally long; [`Dynamic`](Self::Dynamic) if they do
/// not; [`Affinity`](Self::Affinity) if they mostly do, and each bee should come back to the same data in each run.
/// Chunk lengths are numbers of indices.
///
/// ```
/// use hive::{Reduction, Schedule};
///
/// // A schedule is a value: the program may choose it when it runs.
/// let schedule = if std::env::args().count() > 9 { Schedule::Guided(64) } else { Schedule::Static };
/// let sum = Reduction::deterministic(0.0, |a, b| a + b);
/// let pi = hive::par_reduce((0..100_000, schedule), &sum, |range| {
///     range.map(|i| if i % 2 == 0 { 4.0 } else { -4.0 } / (2 * i + 1) as f64).sum()
/// });
/// assert!((pi - std::f64::consts::PI).abs() < 1e-4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias("OMP_SCHEDULE", "dynamic", "guided", "chunk"))]
pub enum Schedule {
    /// One contiguous block for each bee, as [`Bee::split`](crate::region::bee::Bee::split) computes it: OpenMP's
    /// `static`. The bees need not coordinate, so it costs nothing.
    Static,
    /// Chunks of the given number of indices, assigned to the bees in turn: bee 0 gets the first chunk, bee 1 the
    /// second, and so on. OpenMP's `static, k`. The bees need not coordinate, so it costs nothing.
    StaticChunk(usize),
    /// Chunks of the given number of indices, each for the first bee that asks for it: OpenMP's `dynamic, k`, which
    /// does not promise an order either.
    ///
    /// Each bee begins with its own block, in rising order, and then steals half of what is left to the bee with the
    /// most left. A bee claims several chunks at a time if they take less than a few microseconds, and gives them back
    /// when another bee has run out of work; so chunks of a single index are cheap.
    Dynamic(usize),
    /// Chunks that get smaller, down to the given number of indices: the length of each is what is left of the loop,
    /// divided by twice the number of bees. OpenMP's `guided, k`.
    Guided(usize),
    /// As many equal chunks as there are bees, together half of what is left; then again for the other half, and so on:
    /// the factoring of Hummel, Schonberg and Flynn (1992). Chunks get smaller more slowly than with
    /// [`Guided`](Self::Guided), and even if the first chunks are slow, enough is left for the other bees to catch up.
    Factoring,
    /// Each bee works through its own block, a part of it at a time, and then steals from the bee with the most left:
    /// the affinity scheduling of Markatos and LeBlanc (1994). A loop that is run repeatedly over the same data finds
    /// most of it in the same bee's cache.
    Affinity,
}

impl Schedule {
    /// The same schedule for a loop over blocks of `indices` indices each: chunk lengths are converted from indices to
    /// blocks, so that chunks stay about as large.
    pub(crate) fn in_units_of(self, indices: usize) -> Self {
        let blocks = |chunk: usize| (chunk / indices.max(1)).max(1);
        match self {
            Self::StaticChunk(chunk) => Self::StaticChunk(blocks(chunk)),
            Self::Dynamic(chunk) => Self::Dynamic(blocks(chunk)),
            Self::Guided(chunk) => Self::Guided(blocks(chunk)),
            // These have no length of chunks.
            Self::Static | Self::Factoring | Self::Affinity => self,
        }
    }

    /// How the bees share the indices.
    #[inline(always)]
    pub(crate) const fn sharing(self) -> Sharing {
        match self {
            Self::Static | Self::StaticChunk(_) => Sharing::EqualParts,
            Self::Dynamic(_) | Self::Affinity | Self::Guided(_) | Self::Factoring => Sharing::AsTheyCome,
        }
    }

    /// The smallest number of indices that the user allows in a chunk; 1 for schedules without a chunk length.
    pub(crate) const fn min_chunk(self) -> usize {
        match self {
            Self::StaticChunk(chunk) | Self::Dynamic(chunk) | Self::Guided(chunk) => chunk,
            Self::Static | Self::Factoring | Self::Affinity => 1,
        }
    }
}
