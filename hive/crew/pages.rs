//! What a member shows the others of its team at a barrier: it lays values out on a page of its own before, and they read them after.
//!
//! A member has two pages, for barriers of even and of odd number. It writes to one again two barriers later, and by then whoever read it has come to the
//! barrier between: so one barrier an exchange is enough. Each page says for which region and barrier it was laid out and what
//! is on it, so that a member that came to that barrier for something else is found, and nothing is read that is not there.

#![allow(unsafe_code)]

use std::any::TypeId;
use std::mem::MaybeUninit;

use crate::sync::UnsafeCell;

/// The largest alignment of what can be shown: a cache line's, and that of the widest vectors.
pub(super) const ALIGNMENT: usize = 64;

/// Room in the unit that no value needs an alignment beyond.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Room([MaybeUninit<u8>; ALIGNMENT]);

/// What a program calls to have values shown to other members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Operation {
    AllReduce,
    Reduce,
    ScanInclusive,
    ScanExclusive,
    BroadcastFrom,
    Single,
    ReduceOver,
    ParScan,
    /// Over several hives; what their members do within each.
    AllReduceOfHives,
}

impl Operation {
    /// What the program has called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::Reduce => "reduce",
            Self::ScanInclusive => "scan_inclusive",
            Self::ScanExclusive => "scan_exclusive",
            Self::BroadcastFrom => "broadcast_from",
            Self::Single => "single",
            Self::ReduceOver => "reduce_over",
            Self::ParScan => "par_scan",
            Self::AllReduceOfHives => "all_reduce of several hives",
        }
    }
}

/// What a member comes to a barrier for. The others have to come for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    of: TypeId,
    operation: Operation,
    /// The member whose values are for all. `NOBODY`: each has its own to show.
    root: u32,
}

/// No member's number.
const NOBODY: u32 = u32::MAX;

impl Purpose {
    /// Values of type `T` from all.
    #[inline(always)]
    pub(super) fn all<T: 'static>(operation: Operation) -> Self {
        Self { of: TypeId::of::<T>(), operation, root: NOBODY }
    }

    /// Those of this member.
    #[inline(always)]
    pub(super) fn one<T: 'static>(operation: Operation, root: u32) -> Self {
        Self { of: TypeId::of::<T>(), operation, root }
    }

    pub(super) fn operation(self) -> Operation {
        self.operation
    }

    /// Whose values they are, if one member's are for all.
    pub(super) fn root(self) -> Option<u32> {
        (self.root != NOBODY).then_some(self.root)
    }
}

/// What is on a page.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Heading {
    /// 0, no team's region: nothing yet.
    region: u64,
    /// The barriers that its member had passed.
    round: u64,
    purpose: Purpose,
    count: usize,
}

/// One page. With few values its reader fetches two neighbouring cache lines, as one.
#[repr(C, align(128))]
struct Page {
    heading: Heading,
    few: Room,
}

/// A member's pages.
pub(super) struct Pages {
    pages: [UnsafeCell<Page>; 2],
    /// For what does not fit on a page. Grown by their member only.
    appendices: [UnsafeCell<Vec<Room>>; 2],
}

// SAFETY: a page is written by its member only and read by others only as the barriers between allow: see `lay_out` and `read`. What lies on it is Send.
unsafe impl Sync for Pages {}

impl Pages {
    pub(super) fn new() -> Self {
        let heading = Heading { region: 0, round: 0, purpose: Purpose::all::<()>(Operation::AllReduce), count: 0 };
        let blank = || UnsafeCell::new(Page { heading, few: Room([MaybeUninit::uninit(); ALIGNMENT]) });
        Self { pages: [blank(), blank()], appendices: [UnsafeCell::new(Vec::new()), UnsafeCell::new(Vec::new())] }
    }

    /// Lays out `values` for the barrier after the `round` passed so far in `region`.
    ///
    /// # Safety
    /// The caller is the pages' member, in that region, has passed all barriers that it has come to, and not come to that one.
    pub(super) unsafe fn lay_out<T: Copy + Send + 'static>(&self, region: u64, round: u64, purpose: Purpose, values: &[T]) {
        let which = (round % 2) as usize;
        let heading = Heading { region, round, purpose, count: values.len() };
        let fits = size_of_val(values) <= ALIGNMENT;
        if !fits {
            let rooms = size_of_val(values).div_ceil(ALIGNMENT);
            self.appendices[which].with_mut(|appendix| {
                // SAFETY: its readers of two rounds ago have come to the barrier of the last round, and the caller has passed that.
                let appendix = unsafe { &mut *appendix };
                appendix.resize(rooms.max(appendix.len()), Room([MaybeUninit::uninit(); ALIGNMENT]));
                // SAFETY: as much room as the values take, aligned for them.
                unsafe { copy(values, appendix.as_mut_ptr()) };
            });
        }
        self.pages[which].with_mut(|page| {
            // SAFETY: as for the appendix.
            let page = unsafe { &mut *page };
            page.heading = heading;
            if fits {
                // SAFETY: they fit.
                unsafe { copy(values, &raw mut page.few) };
            }
        });
    }

    /// How many values were laid out for the barrier after the `round` passed in `region`. If that was for another purpose, this is the error;
    /// None: for nothing of this kind.
    ///
    /// # Safety
    /// The caller is of the same team, in that region, and has passed that barrier and come to none after it.
    pub(super) unsafe fn count(&self, region: u64, round: u64, purpose: Purpose) -> Result<usize, Option<Purpose>> {
        // SAFETY: the page's member writes to it next when the caller has come to its next barrier.
        let heading = self.pages[(round % 2) as usize].with(|page| unsafe { (*page).heading });
        if (heading.region, heading.round) != (region, round) {
            return Err(None);
        }
        if heading.purpose == purpose { Ok(heading.count) } else { Err(Some(heading.purpose)) }
    }

    /// The value number `index` of those.
    ///
    /// # Safety
    /// As for `count`, which has said that there are more than `index`.
    pub(super) unsafe fn read<T: Copy + 'static>(&self, round: u64, count: usize, index: usize) -> T {
        let which = (round % 2) as usize;
        let value = |rooms: *const Room| {
            // SAFETY: `lay_out` has written so many values from there on.
            unsafe { rooms.cast::<T>().wrapping_add(index).read() }
        };
        if count * size_of::<T>() <= ALIGNMENT {
            // SAFETY: as in `count`.
            self.pages[which].with(|page| value(unsafe { &raw const (*page).few }))
        } else {
            // SAFETY: as in `count`.
            self.appendices[which].with(|appendix| value(unsafe { (*appendix).as_ptr() }))
        }
    }
}

/// Copies `values` to `rooms`.
///
/// # Safety
/// There is room for them.
unsafe fn copy<T: Copy>(values: &[T], rooms: *mut Room) {
    const { assert!(align_of::<T>() <= ALIGNMENT, "values aligned to more than 64 bytes cannot be shown to other members") };
    // SAFETY: the caller's promise; the type's alignment is no larger than the room's, and the two do not overlap.
    unsafe { rooms.cast::<T>().copy_from_nonoverlapping(values.as_ptr(), values.len()) };
}
