//! A region's part with its type erased, so that it fits into the signal's cache line and into no allocation.

#![allow(unsafe_code)]

use crate::protocol::region::closure_cell::ClosureCell;
use crate::protocol::region::region_context::RegionContext;

/// What each bee of a region runs.
pub(crate) trait RegionBody: Sync {
    /// Runs as `member`.
    fn run(&self, region: &RegionContext<'_>);
}

/// A part that lies elsewhere.
impl<P: RegionBody> RegionBody for &P {
    #[inline(always)]
    fn run(&self, region: &RegionContext<'_>) {
        P::run(self, region);
    }
}

/// The function that knows the type of the part in the berth.
#[derive(Clone, Copy)]
pub(crate) struct BodyFn(unsafe fn(&ClosureCell, &RegionContext<'_>));

impl BodyFn {
    /// The job of no region, for the time before the first.
    pub(crate) fn unset() -> Self {
        Self(|_, _| unreachable!("no region has started yet"))
    }

    /// To run a `P`, on whichever thread.
    #[inline(always)]
    pub(crate) fn of<P: RegionBody>() -> Self {
        /// # Safety
        /// As `BodyFn::run`.
        unsafe fn run<P: RegionBody>(cell: &ClosureCell, region: &RegionContext<'_>) {
            // SAFETY: the caller's promise.
            unsafe { cell.with(|body: &P| body.run(region)) }
        }
        Self(run::<P>)
    }

    /// Runs the part in `berth` as `member`.
    ///
    /// # Safety
    /// It is of the type that this job was made for, and stays there until this returns.
    #[inline(always)]
    pub(crate) unsafe fn run(self, cell: &ClosureCell, region: &RegionContext<'_>) {
        // SAFETY: the caller's promise.
        unsafe { (self.0)(cell, region) }
    }
}
