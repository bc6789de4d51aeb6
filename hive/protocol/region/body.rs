//! The body of a region, and a way to run one whose type is not known: the start order holds a plain function pointer,
//! so that it fits into the start line and needs no allocation.
//!
//! The queen makes a `BodyFn` for the type of her closure (`queen.rs`); the workers run it on the closure in the start
//! line's `ClosureCell` (`worker/main_loop.rs`).

#![allow(unsafe_code)]

use std::{hint, ptr};

use crate::protocol::region::closure_cell::ClosureCell;
use crate::protocol::region::region_context::RegionContext;

/// What every bee of a region runs.
pub(crate) trait RegionBody: Sync {
    /// Whether another bee may run a part of it in a bee's name, one part after another (`stand_in.rs`). It depends on
    /// the type only.
    fn runs_anywhere(&self) -> bool;

    /// Runs the body on the calling thread, as the bee that `region` describes. Called by `run_part`, and by a body
    /// that contains this one and passes its own `region` on: that has begun the loop already.
    fn run(&self, region: &RegionContext<'_>);

    /// Begins a part and runs it. Whoever starts a part calls this, also for a team of one. In a loop, whose parts may
    /// run anywhere, it first notes in `region` that the bee will meet no other.
    #[inline(always)]
    fn run_part(&self, region: &RegionContext<'_>) {
        if self.runs_anywhere() {
            region.begin_loop();
        }
        self.run(region);
    }
}

/// A reference to a body is a body as well. In a team of several groups, each group's cell holds such a reference.
impl<P: RegionBody + ?Sized> RegionBody for &P {
    #[inline(always)]
    fn runs_anywhere(&self) -> bool {
        P::runs_anywhere(self)
    }

    #[inline(always)]
    fn run(&self, region: &RegionContext<'_>) {
        P::run(self, region);
    }
}

/// A function that runs the body in a closure cell. It knows the type of that body.
#[derive(Clone, Copy)]
pub(crate) struct BodyFn(unsafe fn(&ClosureCell, &RegionContext<'_>));

impl BodyFn {
    /// The function of a start line on which no region has started yet. It is never run.
    pub(crate) fn unset() -> Self {
        Self(|_, _| unreachable!("no region has started yet"))
    }

    /// The function for bodies of type `P`. It may be run on any thread.
    #[inline(always)]
    pub(crate) fn of<P: RegionBody>() -> Self {
        /// # Safety
        /// As `BodyFn::run`.
        unsafe fn run<P: RegionBody>(cell: &ClosureCell, region: &RegionContext<'_>) {
            // SAFETY: the caller promises that there is a `P` in `cell`, and that it stays there.
            unsafe { cell.with(|body: &P| body.run_part(region)) }
        }
        Self(run::<P>)
    }

    /// The function for bodies of type `P` in regions that run in another floating-point mode than that of their team:
    /// see `region_mode.rs`.
    pub(crate) fn in_region_mode<P: RegionBody>() -> Self {
        /// # Safety
        /// As `BodyFn::run`.
        unsafe fn run<P: RegionBody>(cell: &ClosureCell, region: &RegionContext<'_>) {
            let _mode = region.team.enter_region_mode();
            // Unknown to the compiler, which could otherwise move what the body computes to before the change.
            let body_fn = hint::black_box(BodyFn::of::<P>());
            // SAFETY: as the caller promises.
            unsafe { body_fn.run(cell, region) }
        }
        Self(run::<P>)
    }

    /// A number that tells the type of the body from others: a hash of the function's address, in which the upper and
    /// the lower half depend on all of that. The compiler may merge the functions of two types if they are the same, so
    /// it is good for guesses only.
    pub(crate) fn hash(self) -> u64 {
        // A large odd factor spreads the address over the upper half of the product, and the shift brings it down.
        let product = (self.0 as usize as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ product >> 32
    }

    /// Runs the body in `cell` on the calling bee, which `region` describes.
    ///
    /// # Safety
    /// The body in `cell` has the type that this function was made for, and stays there until this returns.
    #[inline(always)]
    pub(crate) unsafe fn run(self, cell: &ClosureCell, region: &RegionContext<'_>) {
        // SAFETY: the caller's promise is the one that the function asks for.
        unsafe { (self.0)(cell, region) }
    }
}

/// A body that the bees of a region run by its address: it stays where it is until the region has ended.
#[derive(Clone, Copy)]
pub(crate) struct FarBody {
    /// Runs a reference to the body.
    pub(crate) body_fn: BodyFn,
    pub(crate) address: *const (),
    /// Whether its parts may run on any bee's thread.
    pub(crate) runs_anywhere: bool,
}

impl FarBody {
    /// `body_fn`: runs a `&P`.
    pub(crate) fn new<P: RegionBody>(body_fn: BodyFn, body: &P) -> Self {
        Self { body_fn, address: ptr::from_ref(body).cast(), runs_anywhere: body.runs_anywhere() }
    }
}
