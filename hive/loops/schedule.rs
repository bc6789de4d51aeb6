//! How a loop's indices are dealt out.

/// How the indices of a [`Loop`](crate::loops::shared_loop::Loop) are dealt out to the bees of a team: OpenMP's schedules, by their names.
///
/// Which to take: [`Static`](Self::Static) where all indices take equally long; [`Dynamic`](Self::Dynamic) where they do not; [`Affinity`](Self::Affinity) where they
/// mostly do, and each bee should come back to the same data. Chunks are counted in indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// One contiguous block a bee, as [`Bee::split`](crate::region::bee::Bee::split) has it: OpenMP's `static`. Costs nothing.
    Static,
    /// Chunks of so many indices, dealt round like cards: bee 0 has the first, bee 1 the second: OpenMP's `static, k`. Costs nothing.
    StaticChunk(usize),
    /// Chunks of so many indices that go to whoever comes for them: OpenMP's `dynamic, k`, which does not say in which order.
    ///
    /// Each bee begins with its block, in rising order, and then takes half of what the bee with most has left. Chunks that take less than a few microseconds are
    /// claimed several at a time, and given back when somebody else has nothing to do; so a chunk of one index is nothing to be afraid of.
    Dynamic(usize),
    /// Chunks that get smaller, down to so many indices: each is the rest of the loop, by twice the number of bees: OpenMP's `guided, k`.
    Guided(usize),
    /// As many equal chunks as there are bees, together half of what is left, and so on: the factoring of Hummel, Schonberg and Flynn (1992). Chunks
    /// get smaller more slowly than by [`Guided`](Self::Guided), and the first are no larger than the others can make up for.
    Factoring,
    /// Each bee works through its own block, a part of it at a time, and then takes from the bee that has most left: the affinity scheduling of
    /// Markatos and LeBlanc (1994). A loop that is run again and again over the same data finds most of it in the same bee's cache.
    Affinity,
}

impl Schedule {
    /// The same of blocks of so many indices: chunks are about as large.
    pub(crate) fn in_units_of(self, indices: usize) -> Self {
        let blocks = |chunk: usize| (chunk / indices.max(1)).max(1);
        match self {
            Self::StaticChunk(chunk) if chunk > 0 => Self::StaticChunk(blocks(chunk)),
            Self::Dynamic(chunk) if chunk > 0 => Self::Dynamic(blocks(chunk)),
            Self::Guided(chunk) if chunk > 0 => Self::Guided(blocks(chunk)),
            other => other,
        }
    }

    /// The indices of a chunk at least, as it was asked for.
    pub(crate) const fn min_chunk(self) -> usize {
        match self {
            Self::StaticChunk(chunk) | Self::Dynamic(chunk) | Self::Guided(chunk) => chunk,
            Self::Static | Self::Factoring | Self::Affinity => 1,
        }
    }
}
