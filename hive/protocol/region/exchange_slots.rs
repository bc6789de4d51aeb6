//! The exchange slots of one bee: where the bee puts the values that it shows to the others of its team at a barrier.
//! It writes them before the barrier; the others read them after it. `exchange.rs` is the only user.
//!
//! A bee has two slots, one for barriers of even number and one for odd. It writes to the same slot again two barriers
//! later, and by then every reader has come to the barrier in between. So one barrier is enough for an exchange.
//!
//! Each slot says for which region and barrier it was written, and what it holds. So a bee that came to the barrier for
//! something else is found out, and nothing is read that is not there. There are no atomic operations here: the
//! barriers order all accesses. The proof is in `docs/collectives.md`.

#![allow(unsafe_code)]

use std::any::TypeId;
use std::mem::MaybeUninit;

use crate::sync::UnsafeCell;

/// The largest alignment, in bytes, of values that can be shown: that of a cache line and of the widest vector
/// registers.
pub(crate) const MAX_ALIGNMENT: usize = 64;

/// Memory for values, in units of the largest alignment.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Block([MaybeUninit<u8>; MAX_ALIGNMENT]);

/// The calls of the public interface by which the bees of a team meet or share work, by their names.
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
    ForRange,
    AllReduceCloned,
    ParScan,
    /// The operation on several hives. This is what the bees of each hive do among themselves for it.
    AllReduceOfHives,
    /// In this and the following calls no bee shows values to the others.
    Barrier,
    ForEach,
    Ordered,
    Signal,
    WaitFor,
}

impl Operation {
    /// The name of the operation, as the program calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::Reduce => "reduce",
            Self::ScanInclusive => "scan_inclusive",
            Self::ScanExclusive => "scan_exclusive",
            Self::BroadcastFrom => "broadcast_from",
            Self::Single => "single",
            Self::ReduceOver => "reduce_over",
            Self::ForRange => "for_range",
            Self::AllReduceCloned => "all_reduce_cloned",
            Self::ParScan => "par_scan",
            Self::AllReduceOfHives => "all_reduce of several hives",
            Self::Barrier => "barrier",
            Self::ForEach => "for_each",
            Self::Ordered => "ordered",
            Self::Signal => "signal",
            Self::WaitFor => "wait_for",
        }
    }
}

/// What a bee comes to a barrier for. All bees of the team must come for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    value_type: TypeId,
    pub(crate) operation: Operation,
    /// The bee whose values all others read. `NO_ROOT`: each bee has values of its own to show.
    root: u32,
}

/// An id that no bee has.
const NO_ROOT: u32 = u32::MAX;

impl Purpose {
    /// An exchange of values of type `T`, to which bee `root` alone brings them, or each bee if that is `None`.
    #[inline(always)]
    pub(crate) fn new<T: 'static>(operation: Operation, root: Option<u32>) -> Self {
        Self { value_type: TypeId::of::<T>(), operation, root: root.unwrap_or(NO_ROOT) }
    }

    /// The bee whose values all read, in an exchange from one bee.
    pub(crate) fn root(self) -> Option<u32> {
        (self.root != NO_ROOT).then_some(self.root)
    }
}

/// What a slot was written for, and how much is in it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Header {
    /// The region. 0 until the first exchange: teams of one have that, and exchange nothing.
    epoch: u64,
    /// How many barriers of the region the bee had passed.
    barriers_passed: u64,
    purpose: Purpose,
    /// The number of values.
    count: usize,
}

/// One slot. As long as the values fit into it, a reader fetches two neighbouring cache lines, which arrive as one.
#[repr(C, align(128))]
struct ExchangeSlot {
    header: Header,
    /// The values, if they need no more than 64 bytes together.
    inline_values: Block,
}

/// The two slots of one bee.
pub(crate) struct ExchangeSlots {
    /// For barriers of even and of odd number, by `barriers_passed % 2`.
    slots: [UnsafeCell<ExchangeSlot>; 2],
    /// The values that do not fit into their slot, for even and odd barriers. Only the bee that owns the slots makes
    /// these grow; they never shrink.
    overflow: [UnsafeCell<Vec<Block>>; 2],
}

// SAFETY: only the owning bee writes a slot, and the others read it only where the barriers exclude a write: see
// `write`, `count` and `read`. The values in it are `Send`.
unsafe impl Sync for ExchangeSlots {}

impl ExchangeSlots {
    pub(crate) fn new() -> Self {
        let header =
            Header { epoch: 0, barriers_passed: 0, purpose: Purpose::new::<()>(Operation::AllReduce, None), count: 0 };
        let blank =
            || UnsafeCell::new(ExchangeSlot { header, inline_values: Block([MaybeUninit::uninit(); MAX_ALIGNMENT]) });
        Self { slots: [blank(), blank()], overflow: [UnsafeCell::new(Vec::new()), UnsafeCell::new(Vec::new())] }
    }

    /// Writes `values` to the slot for the next barrier of the region with this epoch, after the `passed` ones so far.
    ///
    /// # Safety
    /// The caller is the bee that owns the slots, is in that region, has passed every barrier that it has come to, and
    /// has not come to the next one yet.
    pub(crate) unsafe fn write<T: Copy + Send>(&self, epoch: u64, passed: u64, purpose: Purpose, values: &[T]) {
        let parity = (passed % 2) as usize;
        let header = Header { epoch, barriers_passed: passed, purpose, count: values.len() };
        let fits = size_of_val(values) <= MAX_ALIGNMENT;
        if !fits {
            // The overflow for barriers of this parity is made large enough, and keeps that size.
            let blocks = size_of_val(values).div_ceil(MAX_ALIGNMENT);
            self.overflow[parity].with_mut(|overflow| {
                // SAFETY: the readers of two barriers ago have come to the barrier after that, and the caller has
                // passed that one.
                let overflow = unsafe { &mut *overflow };
                overflow.resize(blocks.max(overflow.len()), Block([MaybeUninit::uninit(); MAX_ALIGNMENT]));
                // SAFETY: the memory is as large as the values and aligned for them.
                unsafe { copy(values, overflow.as_mut_ptr()) };
            });
        }
        self.slots[parity].with_mut(|slot| {
            // SAFETY: as for the overflow.
            let slot = unsafe { &mut *slot };
            slot.header = header;
            if fits {
                // SAFETY: the values fit, and the memory is aligned for them.
                unsafe { copy(values, &raw mut slot.inline_values) };
            }
        });
    }

    /// The number of values that the owner wrote for the barrier after the `passed` first ones of the region with this
    /// epoch.
    ///
    /// # Errors
    /// If the owner came to that barrier for another purpose: with that purpose, or `None` if it did not come for an
    /// exchange.
    ///
    /// # Safety
    /// The caller is of the same team, is in that region, and has passed that barrier and come to none after it.
    pub(crate) unsafe fn count(&self, epoch: u64, passed: u64, purpose: Purpose) -> Result<usize, Option<Purpose>> {
        // The header says what the owner wrote last into the slot for barriers of this parity.
        // SAFETY: the owner writes to this slot again only after the caller has come to its next barrier.
        let header = self.slots[(passed % 2) as usize].with(|slot| unsafe { (*slot).header });
        if (header.epoch, header.barriers_passed) != (epoch, passed) {
            return Err(None);
        }
        if header.purpose == purpose { Ok(header.count) } else { Err(Some(header.purpose)) }
    }

    /// Value number `index` of the `count` that were written.
    ///
    /// # Safety
    /// As for `count`, which has returned `count`; `T` is the type in its purpose, and `index` is below `count`.
    pub(crate) unsafe fn read<T: Copy + 'static>(&self, barriers_passed: u64, count: usize, index: usize) -> T {
        let parity = (barriers_passed % 2) as usize;
        let value = |blocks: *const Block| {
            // SAFETY: `write` has put `count` values of type `T` there, and `index` is below `count`.
            unsafe { blocks.cast::<T>().wrapping_add(index).read() }
        };
        if count * size_of::<T>() <= MAX_ALIGNMENT {
            // SAFETY: as in `count`: the owner does not write to the slot now.
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
/// The memory at `blocks` is as large as `values`, and nobody else uses it.
unsafe fn copy<T: Copy>(values: &[T], blocks: *mut Block) {
    const {
        // Checked when this is compiled for a given `T`.
        assert!(align_of::<T>() <= MAX_ALIGNMENT, "values aligned to more than 64 bytes cannot be shown to other bees")
    };
    // SAFETY: the caller promises that there is enough memory. The blocks are aligned at least as strictly as `T`, and
    // the two places do not overlap.
    unsafe { blocks.cast::<T>().copy_from_nonoverlapping(values.as_ptr(), values.len()) };
}
