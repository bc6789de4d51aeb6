//! What becomes of a panic in a bee. The payload is kept until all bees have left the region; then the one of the bee
//! with the lowest id continues in the thread that called hive, which is the queen's.
//!
//! And what becomes of a region in which no panic was kept although some bee did not complete its body: the queen
//! panics, so that such a region never returns as if all had gone well.
//!
//! `Team::run_catching_panic` records what a bee's body ended with, and `Team::end_poisoned_region` ends the region.
//! See `docs/barrier.md`, "Panic".

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crossbeam_utils::CachePadded;

use crate::protocol::region::exchange_slots::Operation;
use crate::sync::{AtomicU64, Mutex, Ordering, is_unwinding};

pub(crate) type Payload = Box<dyn Any + Send>;

/// The payload with which a bee unwinds out of a barrier of a poisoned region. In that very region it does not count as
/// a panic of the bee's own. Anywhere else, where the program has caught and resumed it, it is a panic like any other.
struct BarrierRelease {
    /// The key of the poisoned region: see `RegionContext::region_key`.
    region_key: u64,
}

/// Unwinds the calling bee out of the region with this key, which another bee's panic has ended. The panic hook is not
/// called.
pub(crate) fn unwind_out_of_region(region_key: u64) -> ! {
    resume_unwind(Box::new(BarrierRelease { region_key }))
}

/// What a bee has not completed, so that its region has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// This call, which has ended by a panic. The bee may have caught that.
    Call(Operation),
    /// A call that should have panicked, in a destructor that could not unwind. The bee has gone on without it.
    InDestructor,
    /// What the region with this key was to do meanwhile, which the bee is in as well, further out. That region has
    /// failed, and knows why.
    InOuterRegion(u64),
}

impl Unfinished {
    /// Panics at the end of a region because bee `id` has left this undone, and no panic of a bee has come to the end
    /// of its body.
    #[cold]
    #[track_caller]
    pub(crate) fn panic_at_end(self, id: u32) -> ! {
        match self {
            Self::Call(call) => panic!(
                "a panic that was caught has ended a call of {} on bee {id}: with that the region has failed for all \
                 of its bees. Let the panic go on, or catch it in the work of the call",
                call.name()
            ),
            Self::InDestructor => panic!(
                "bee {id} has gone on after a call that should have panicked, in a destructor, where a panic would \
                 have ended the process: the region cannot return as if nothing had happened"
            ),
            Self::InOuterRegion(region_key) => unwind_out_of_region(region_key),
        }
    }
}

/// How far a bee is in its region. Changed by `call.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// In the region's body, outside of all calls.
    InBody,
    /// In its part of a loop that is a region of its own, whose parts do not wait for each other.
    InLoop,
    /// In the middle of this call; the innermost, if it is in several.
    InCall(Operation),
    /// It has not completed this. It will pass no barrier of the region any more.
    Failed(Unfinished),
}

/// Which region is poisoned: a bee of it has panicked or has left out a barrier, so no bee waits at its barriers any
/// more. `Team::poison_region` sets the poison, and then wakes the bees that are blocked at barriers. Every bee that
/// waits in a region polls it.
///
/// It is the epoch of the last region that was poisoned. It is never cleared, because no other region has that epoch.
/// It is in a cache line of its own: waiting bees read it again and again, and it hardly ever changes.
pub(crate) struct Poison(CachePadded<AtomicU64>);

impl Poison {
    /// No region has been poisoned yet. The initial value is an epoch that no region has; 0 would not do, because teams
    /// of one have that.
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicU64::new(u64::MAX)))
    }

    /// Poisons the region of this epoch.
    pub(crate) fn set(&self, epoch: u64) {
        // Release: pairs with the Acquire in `is_set_for`; publishes what the panicking bee did before.
        self.0.store(epoch, Ordering::Release);
    }

    /// Whether the region of this epoch has been poisoned.
    ///
    /// If a bee sees in the barrier's word that another bee has left the region, and asks this afterwards, the answer
    /// tells whether that bee had poisoned the region before it left. So it can tell a panic from a barrier that was
    /// left out.
    #[inline(always)]
    pub(crate) fn is_set_for(&self, epoch: u64) -> bool {
        // Acquire: pairs with the Release in `set`; what the panicking bee did before is visible.
        self.0.load(Ordering::Acquire) == epoch
    }
}

/// The panics of the bees of the running region.
pub(crate) struct RegionPanics {
    /// Written by each bee whose body has ended early, before the bee leaves the region. Taken out by the queen after
    /// all have left.
    record: Mutex<PanicRecord>,
    /// The epoch of the last region whose queen's thread was already unwinding as she began it, in a destructor that
    /// is. `u64::MAX`: none. Only the queen of that region asks for it.
    begun_while_unwinding: AtomicU64,
}

#[derive(Default)]
struct PanicRecord {
    /// The panic of the bee with the lowest id so far, with that id.
    panic: Option<(u32, Payload)>,
    /// What failed the region, if that was not the end of a bee's body by a panic, with the bee's id.
    unfinished: Option<(u32, Unfinished)>,
}

/// The payload of the panic that is not kept, if two bees have panicked; empty if only one has. Its drop swallows
/// panics. It runs the program's code, and so belongs inside the region.
#[must_use = "its drop runs the program's code, and so the place for it is to be chosen"]
pub(crate) struct UnheardPanic(Option<Payload>);

impl Drop for UnheardPanic {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(drop_ignoring_panics);
    }
}

impl RegionPanics {
    pub(crate) fn new() -> Self {
        Self { record: Mutex::new(PanicRecord::default()), begun_while_unwinding: AtomicU64::new(u64::MAX) }
    }

    /// Called on the queen's thread as the region of this epoch begins: notes whether that thread is already unwinding.
    #[inline(always)]
    pub(crate) fn begin_region(&self, epoch: u64) {
        if is_unwinding() {
            // Relaxed: only the queen of this region asks for its epoch, on the thread that stores it here.
            self.begun_while_unwinding.store(epoch, Ordering::Relaxed);
        }
    }

    /// Whether the calling thread, which is the queen's, was already unwinding as it began the region of this epoch.
    pub(crate) fn was_begun_while_unwinding(&self, epoch: u64) -> bool {
        // Relaxed: as in `begin_region`, the value was stored by this very thread or is that of another region.
        self.begun_while_unwinding.load(Ordering::Relaxed) == epoch
    }

    /// Records what the body of bee `id` has ended with, in the region with this key.
    ///
    /// If that is a panic of the bee's own, returns the payload that is not kept because of it. If it is the release
    /// from a barrier of this region, which has failed before for another reason, returns `None`.
    #[cold]
    pub(crate) fn record_panic(&self, id: u32, region_key: u64, payload: Payload) -> Option<UnheardPanic> {
        if payload.downcast_ref().is_some_and(|released: &BarrierRelease| released.region_key == region_key) {
            return None;
        }
        let mut record = self.record.lock();
        // Of two panics, the one of the bee with the lower id is kept.
        let unheard = match &record.panic {
            Some((lowest, _)) if *lowest <= id => Some(payload),
            _ => record.panic.replace((id, payload)).map(|(_, other)| other),
        };
        Some(UnheardPanic(unheard))
    }

    /// Records what bee `id` has left undone. Called before the region is poisoned because of it; the first record
    /// counts.
    #[cold]
    pub(crate) fn record_unfinished(&self, id: u32, unfinished: Unfinished) {
        self.record.lock().unfinished.get_or_insert((id, unfinished));
    }

    /// Ends a poisoned region, all of whose bees have left it. `is_in_region`: as for `rethrow`.
    ///
    /// # Panics
    /// Always: with the panic that was kept, if there is one. Otherwise because of what a bee has left undone.
    #[cold]
    pub(crate) fn end_region(&self, is_in_region: fn(u64) -> bool) -> ! {
        let PanicRecord { panic, unfinished } = std::mem::take(&mut *self.record.lock());
        match (panic, unfinished) {
            (Some((_, payload)), _) => rethrow(payload, is_in_region),
            (None, Some((id, unfinished))) => unfinished.panic_at_end(id),
            (None, None) => unreachable!("whoever poisons a region has recorded why"),
        }
    }
}

/// Continues a panic that was caught inside hive, on the thread that has called hive. `is_in_region`: whether that
/// thread is inside the region with a key. Code above the protocol calls `region/nesting.rs` instead, which knows the
/// answer.
#[cold]
pub(crate) fn rethrow(panic: Payload, is_in_region: fn(u64) -> bool) -> ! {
    resume_unwind(translate_release(panic, is_in_region))
}

/// The payload of a panic as it is shown to code that is in no region.
pub(crate) fn as_seen_outside(panic: Payload) -> Payload {
    translate_release(panic, |_| false)
}

/// The payload of a panic as it is shown to a thread that is inside the regions for whose keys `is_in` holds. To all
/// other threads a release from a barrier means nothing, so it is replaced by a message.
fn translate_release(panic: Payload, is_in: impl FnOnce(u64) -> bool) -> Payload {
    match panic.downcast_ref() {
        Some(&BarrierRelease { region_key }) if !is_in(region_key) => Box::new(String::from(
            "a bee of a region was let go from its barrier, because another one had panicked, \
             by a panic that somebody caught and resumed outside of that region",
        )),
        _ => panic,
    }
}

/// Runs `work` while a panic is on its way. If `work` panics as well, that panic is swallowed.
#[cold]
pub(crate) fn ignore_panic(work: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
        drop_ignoring_panics(payload);
    }
}

/// Drops a payload that nobody will see. If its drop panics, the payload of that panic is dropped in turn, and so on;
/// after a few rounds it is leaked instead. So this never unwinds, and cannot end a worker.
pub(crate) fn drop_ignoring_panics(mut payload: Payload) {
    const TRIES: u32 = 8;
    for _ in 0..TRIES {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(another) => payload = another,
        }
    }
    std::mem::forget(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message with which a region ends after `record` has recorded what became of them.
    fn ended(record: impl FnOnce(&RegionPanics)) -> String {
        let panics = RegionPanics::new();
        record(&panics);
        let message = |payload: Payload| match payload.downcast::<String>() {
            Ok(said) => *said,
            Err(payload) => (*payload.downcast::<&'static str>().expect("a message")).to_owned(),
        };
        let ended = message(caught(|| panics.end_region(|_| false)));
        let record = std::mem::take(&mut *panics.record.lock());
        assert!(record.panic.is_none() && record.unfinished.is_none(), "the next region has nothing of it");
        ended
    }

    const REGION: u64 = 17;

    fn caught(work: impl FnOnce()) -> Payload {
        catch_unwind(AssertUnwindSafe(work)).expect_err("a panic")
    }

    #[test]
    fn the_lowest_bee_s_panic_is_kept() {
        let ended = ended(|panics| {
            for (id, name) in [(2, "two"), (1, "one"), (3, "three")] {
                assert!(panics.record_panic(id, REGION, Box::new(name)).is_some());
            }
        });
        assert_eq!(ended, "one");
    }

    #[test]
    fn what_failed_the_region_is_reported_unless_a_panic_goes_on() {
        let fail_first = |panics: &RegionPanics| {
            panics.record_unfinished(2, Unfinished::Call(Operation::Single));
            panics.record_unfinished(0, Unfinished::InDestructor);
            // The others are let go from their barriers by it.
            assert!(panics.record_panic(1, REGION, caught(|| unwind_out_of_region(REGION))).is_none());
        };
        let message = ended(fail_first);
        assert!(message.contains("a call of single on bee 2: with that"), "{message}");
        let panicked = ended(|panics| {
            fail_first(panics);
            drop(panics.record_panic(2, REGION, Box::new("two")));
        });
        assert_eq!(panicked, "two", "what a bee has not caught goes before what it has");
        let message = ended(|panics| panics.record_unfinished(2, Unfinished::InDestructor));
        assert!(message.contains("bee 2 has gone on after a call that should have panicked"), "{message}");
    }

    #[test]
    fn a_release_from_another_region_is_a_panic_and_told_as_such() {
        let message = ended(|panics| {
            assert!(panics.record_panic(1, REGION, caught(|| unwind_out_of_region(REGION + 1))).is_some())
        });
        assert!(message.contains("resumed outside of that region"), "{message}");
        let kept = translate_release(caught(|| unwind_out_of_region(REGION)), |region| region == REGION);
        assert!(kept.is::<BarrierRelease>(), "who is in the region is let go by it");
    }

    #[test]
    fn a_payload_whose_drop_panics_stops_nothing() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                resume_unwind(Box::new(Bomb));
            }
        }
        let ended = ended(|panics| {
            drop(panics.record_panic(1, REGION, Box::new("first")));
            drop(panics.record_panic(2, REGION, Box::new(Bomb)));
        });
        assert_eq!(ended, "first");
    }
}
