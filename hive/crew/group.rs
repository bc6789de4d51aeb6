//! Where a group starts and meets.

use crossbeam_utils::CachePadded;

use super::muster::{Base, Muster};
use super::signal::Signal;
use super::stage::Stage;

/// The largest part of a team that meets in the signal's own line. See `Signal::near`.
pub(super) const NEAR: u32 = 4;

/// A group's lines.
pub(super) struct Group {
    stage: Stage,
    /// Where those meet that are too many for the muster in the signal's line.
    far: CachePadded<Muster>,
}

impl Group {
    pub(super) fn new(stage: Stage) -> Self {
        Self { stage, far: CachePadded::new(Muster::new()) }
    }

    #[inline(always)]
    pub(super) fn signal(&self) -> &Signal {
        &self.stage
    }

    pub(super) fn musters(&self) -> impl Iterator<Item = &Muster> {
        [&self.stage.near, &*self.far].into_iter()
    }

    /// Where so many of the group meet. `signal` is its own.
    #[inline(always)]
    pub(super) fn muster<'g>(&'g self, signal: &'g Signal, size: u32) -> &'g Muster {
        if size <= NEAR { &signal.near } else { &self.far }
    }
}

/// Where the counts of a group's musters stand. Its group's head has it.
#[derive(Clone)]
pub(super) struct Ledger {
    near: Base,
    far: Base,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self { near: Base::first(), far: Base::first() }
    }

    #[inline(always)]
    pub(super) fn base(&mut self, size: u32) -> &mut Base {
        if size <= NEAR { &mut self.near } else { &mut self.far }
    }
}
