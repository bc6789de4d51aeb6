//! What a bee shows the others of its team at a barrier: it lays values out on a page of its own before, and they read them after.
//!
//! A bee has two pages, for barriers of even and of odd number. It writes to one again two barriers later, and by then whoever read it has come to the
//! barrier between: so one barrier an exchange is enough. Each page says for which region and barrier it was laid out and what
//! is on it, so that a bee that came to that barrier for something else is found, and nothing is read that is not there.

#![allow(unsafe_code)]

use std::any::TypeId;
use std::mem::MaybeUninit;

use crate::sync::UnsafeCell;

/// The largest alignment of what can be shown: a cache line's, and that of the widest vectors.
pub(crate) const MAX_ALIGNMENT: usize = 64;

/// Room in the unit that no value needs an alignment beyond.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Block([MaybeUninit<u8>; MAX_ALIGNMENT]);

/// What a program calls to have values shown to other bees.
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
    /// Over several hives; what their bees do within each.
    AllReduceOfHives,
}

impl Operation {
    /// What the program has called.
    pub(crate) fn name(self) -> &'static str {
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

/// What a bee comes to a barrier for. The others have to come for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    value_type: TypeId,
    operation: Operation,
    /// The bee whose values are for all. `NOBODY`: each has its own to show.
    root: u32,
}

/// No bee's number.
const NO_ROOT: u32 = u32::MAX;

impl Purpose {
    /// Values of type `T` from all.
    #[inline(always)]
    pub(crate) fn from_all<T: 'static>(operation: Operation) -> Self {
        Self { value_type: TypeId::of::<T>(), operation, root: NO_ROOT }
    }

    /// Those of this bee.
    #[inline(always)]
    pub(crate) fn from_root<T: 'static>(operation: Operation, root: u32) -> Self {
        Self { value_type: TypeId::of::<T>(), operation, root }
    }

    pub(crate) fn operation(self) -> Operation {
        self.operation
    }

    /// Whose values they are, if one bee's are for all.
    pub(crate) fn root(self) -> Option<u32> {
        (self.root != NO_ROOT).then_some(self.root)
    }
}

/// What is on a page.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Header {
    /// 0, no team's region: nothing yet.
    epoch: u64,
    /// The barriers that its bee had passed.
    barriers_passed: u64,
    purpose: Purpose,
    count: usize,
}

/// One page. With few values its reader fetches two neighbouring cache lines, as one.
#[repr(C, align(128))]
struct ExchangeSlot {
    header: Header,
    inline_values: Block,
}

/// A bee's pages.
pub(crate) struct ExchangeSlots {
    slots: [UnsafeCell<ExchangeSlot>; 2],
    /// For what does not fit on a page. Grown by their bee only.
    overflow: [UnsafeCell<Vec<Block>>; 2],
}

// SAFETY: a page is written by its bee only and read by others only as the barriers between allow: see `write` and `read`. What lies on it is Send.
unsafe impl Sync for ExchangeSlots {}

impl ExchangeSlots {
    pub(crate) fn new() -> Self {
        let header =
            Header { epoch: 0, barriers_passed: 0, purpose: Purpose::from_all::<()>(Operation::AllReduce), count: 0 };
        let blank =
            || UnsafeCell::new(ExchangeSlot { header, inline_values: Block([MaybeUninit::uninit(); MAX_ALIGNMENT]) });
        Self { slots: [blank(), blank()], overflow: [UnsafeCell::new(Vec::new()), UnsafeCell::new(Vec::new())] }
    }

    /// Lays out `values` for the barrier after the `barriers_passed` passed so far in `region`.
    ///
    /// # Safety
    /// The caller is the pages' bee, in that region, has passed all barriers that it has come to, and not come to that one.
    pub(crate) unsafe fn write<T: Copy + Send + 'static>(
        &self,
        epoch: u64,
        barriers_passed: u64,
        purpose: Purpose,
        values: &[T],
    ) {
        let parity = (barriers_passed % 2) as usize;
        let header = Header { epoch, barriers_passed, purpose, count: values.len() };
        let fits = size_of_val(values) <= MAX_ALIGNMENT;
        if !fits {
            let blocks = size_of_val(values).div_ceil(MAX_ALIGNMENT);
            self.overflow[parity].with_mut(|overflow| {
                // SAFETY: its readers of two rounds ago have come to the barrier of the last round, and the caller has passed that.
                let overflow = unsafe { &mut *overflow };
                overflow.resize(blocks.max(overflow.len()), Block([MaybeUninit::uninit(); MAX_ALIGNMENT]));
                // SAFETY: as much room as the values take, aligned for them.
                unsafe { copy(values, overflow.as_mut_ptr()) };
            });
        }
        self.slots[parity].with_mut(|slot| {
            // SAFETY: as for the appendix.
            let slot = unsafe { &mut *slot };
            slot.header = header;
            if fits {
                // SAFETY: they fit.
                unsafe { copy(values, &raw mut slot.inline_values) };
            }
        });
    }

    /// How many values were laid out for the barrier after the `barriers_passed` passed in `region`. If that was for another purpose, this is the error;
    /// None: for nothing of this kind.
    ///
    /// # Safety
    /// The caller is of the same team, in that region, and has passed that barrier and come to none after it.
    pub(crate) unsafe fn count(
        &self,
        epoch: u64,
        barriers_passed: u64,
        purpose: Purpose,
    ) -> Result<usize, Option<Purpose>> {
        // SAFETY: the page's bee writes to it next when the caller has come to its next barrier.
        let header = self.slots[(barriers_passed % 2) as usize].with(|slot| unsafe { (*slot).header });
        if (header.epoch, header.barriers_passed) != (epoch, barriers_passed) {
            return Err(None);
        }
        if header.purpose == purpose { Ok(header.count) } else { Err(Some(header.purpose)) }
    }

    /// The value number `index` of those.
    ///
    /// # Safety
    /// As for `count`, which has said that there are more than `index`.
    pub(crate) unsafe fn read<T: Copy + 'static>(&self, barriers_passed: u64, count: usize, index: usize) -> T {
        let parity = (barriers_passed % 2) as usize;
        let value = |blocks: *const Block| {
            // SAFETY: `write` has written so many values from there on.
            unsafe { blocks.cast::<T>().wrapping_add(index).read() }
        };
        if count * size_of::<T>() <= MAX_ALIGNMENT {
            // SAFETY: as in `count`.
            self.slots[parity].with(|slot| value(unsafe { &raw const (*slot).inline_values }))
        } else {
            // SAFETY: as in `count`.
            self.overflow[parity].with(|overflow| value(unsafe { (*overflow).as_ptr() }))
        }
    }
}

/// Copies `values` to `blocks`.
///
/// # Safety
/// There is room for them.
unsafe fn copy<T: Copy>(values: &[T], blocks: *mut Block) {
    const { assert!(align_of::<T>() <= MAX_ALIGNMENT, "values aligned to more than 64 bytes cannot be shown to other bees") };
    // SAFETY: the caller's promise; the type's alignment is no larger than the room's, and the two do not overlap.
    unsafe { blocks.cast::<T>().copy_from_nonoverlapping(values.as_ptr(), values.len()) };
}
