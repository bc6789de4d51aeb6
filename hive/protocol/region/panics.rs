//! What becomes of a panic in a bee: kept until the team is done, then the one of the lowest bee goes on in the caller. And what becomes of a region in which
//! nobody's was kept although somebody's part has not come to its end.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, is_in_region, is_unwinding};

pub(crate) type Payload = Box<dyn Any + Send>;

/// The payload with which a bee leaves a barrier of a poisoned region. In that very region it is not a panic of the bee's own; anywhere else, where somebody has
/// caught and resumed it, it is one like any other.
struct BarrierRelease {
    /// The region's key.
    region_key: u64,
}

/// Unwinds the calling bee out of the region of this key, which another bee's panic has ended. The panic hook is not called.
pub(crate) fn unwind_out_of_region(region_key: u64) -> ! {
    resume_unwind(Box::new(BarrierRelease { region_key }))
}

/// What a bee of a poisoned region has left undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// Its part, which it left at a barrier.
    Body,
    /// What it came for to a barrier or to what others share with it, and went on without, because it could not unwind from there.
    Barrier,
}

/// The panics of a region's bees.
pub(crate) struct RegionPanics {
    record: Mutex<PanicRecord>,
    /// The epoch of the last region that a thread began while it was unwinding, in a destructor that is. Only the queen of a region wants to know.
    begun_while_unwinding: AtomicU64,
}

#[derive(Default)]
struct PanicRecord {
    /// The lowest bee's so far, with its id.
    panic: Option<(u32, Payload)>,
    /// What some bee has left undone, if any has.
    unfinished: Option<(u32, Unfinished)>,
}

/// The payload of which nobody will hear, of two bees that have panicked; none, if only one has. It is dropped
/// quietly. That runs code of the program's, and so belongs inside of the region.
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

    /// As `region` begins, on the queen's thread: notes whether that was unwinding already.
    #[inline(always)]
    pub(crate) fn begin_region(&self, epoch: u64) {
        if is_unwinding() {
            // Relaxed: who asks for this region is on the thread that has stored it, if any has.
            self.begun_while_unwinding.store(epoch, Ordering::Relaxed);
        }
    }

    /// Whether the calling thread, the queen's, was unwinding already when `region` began.
    pub(crate) fn was_begun_while_unwinding(&self, epoch: u64) -> bool {
        // Relaxed: as above.
        self.begun_while_unwinding.load(Ordering::Relaxed) == epoch
    }

    /// Keeps what the part of bee `id`, in the region of this key, has ended with. If that is a panic of its own,
    /// returns what is not kept for it.
    #[cold]
    pub(crate) fn record_panic(&self, id: u32, region_key: u64, payload: Payload) -> Option<UnheardPanic> {
        if payload.downcast_ref().is_some_and(|released: &BarrierRelease| released.region_key == region_key) {
            self.record_unfinished(id, Unfinished::Body);
            return None;
        }
        let mut record = self.lock_record();
        let unheard = match &record.panic {
            Some((lowest, _)) if *lowest <= id => Some(payload),
            _ => record.panic.replace((id, payload)).map(|(_, other)| other),
        };
        Some(UnheardPanic(unheard))
    }

    /// Notes what bee `id` of a poisoned region leaves undone.
    #[cold]
    pub(crate) fn record_unfinished(&self, id: u32, unfinished: Unfinished) {
        self.lock_record().unfinished.get_or_insert((id, unfinished));
    }

    /// Ends a poisoned region of `team`, all of whom have left. Returns only if all have come to the end of their parts, and have left nothing undone.
    ///
    /// # Panics
    /// With the panic that was kept, if there is one; else because of what was left undone.
    #[cold]
    pub(crate) fn end_region(&self, bees: u32) {
        let PanicRecord { panic, unfinished } = std::mem::take(&mut *self.lock_record());
        if let Some((_, payload)) = panic {
            rethrow(payload);
        }
        match unfinished {
            Some((id, Unfinished::Body)) => panic!(
                "the part of member {id} of {bees} was cut short at a barrier that a panic had broken, and whoever panicked has caught that panic: the region \
                 cannot return as if all parts had come to their end"
            ),
            Some((id, Unfinished::Barrier)) => panic!(
                "member {id} of {bees} has gone on without having met the others, in a destructor that could not unwind from there, and whoever panicked has caught \
                 that panic: the region cannot return as if they had met"
            ),
            None => {}
        }
    }

    fn lock_record(&self) -> MutexGuard<'_, PanicRecord> {
        self.record.lock().expect("no code that can panic runs under this lock")
    }
}

/// Goes on with a panic that was caught, in who has called hive.
#[cold]
pub(crate) fn rethrow(panic: Payload) -> ! {
    resume_unwind(translate_release(panic, is_in_region))
}

/// A panic as those hear of it who are in no region.
pub(crate) fn as_seen_outside(panic: Payload) -> Payload {
    translate_release(panic, |_| false)
}

/// A panic as it is for those who are in the regions for whose keys `is_in` holds: to others a release says nothing.
fn translate_release(panic: Payload, is_in: impl FnOnce(u64) -> bool) -> Payload {
    match panic.downcast_ref() {
        Some(&BarrierRelease { region_key }) if !is_in(region_key) => Box::new(String::from(
            "a bee of a region was let go from its barrier, because another one had panicked, by a panic that somebody caught and resumed outside of that region",
        )),
        _ => panic,
    }
}

/// Goes on with a panic, because of which nobody will see `value`.
pub(crate) fn drop_and_rethrow<T>(panic: Payload, value: T) -> ! {
    ignore_panic(|| drop(value));
    rethrow(panic)
}

/// Does something for its effects while a panic goes on. A panic of its own is not heard of.
#[cold]
pub(crate) fn ignore_panic(work: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
        drop_ignoring_panics(payload);
    }
}

/// Drops a payload nobody will see. If its drop panics, that panic's payload is dropped in its place, and so on; a payload that
/// does not end even so is leaked. None of this can end a bee.
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

    /// A region of three bees, who have ended as `keep` has it, ends.
    fn ended(record: impl FnOnce(&RegionPanics)) -> Result<(), String> {
        let panics = RegionPanics::new();
        record(&panics);
        let message = |payload: Payload| match payload.downcast::<String>() {
            Ok(said) => *said,
            Err(payload) => (*payload.downcast::<&'static str>().expect("a message")).to_owned(),
        };
        let ended = catch_unwind(AssertUnwindSafe(|| panics.end_region(3))).map_err(message);
        assert!(catch_unwind(AssertUnwindSafe(|| panics.end_region(3))).is_ok(), "the next region has nothing of it");
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
        assert_eq!(ended, Err("one".to_owned()));
        assert_eq!(self::ended(|_| ()), Ok(()));
    }

    #[test]
    fn a_released_bee_has_neither_panicked_nor_come_to_the_end() {
        let release_first = |panics: &RegionPanics| {
            assert!(panics.record_panic(1, REGION, caught(|| unwind_out_of_region(REGION))).is_none())
        };
        let message = ended(release_first).expect_err("its part is not done");
        assert!(message.contains("bee 1 of 3 was cut short"), "{message}");
        let panicked = ended(|panics| {
            release_first(panics);
            drop(panics.record_panic(2, REGION, Box::new("two")));
        });
        assert_eq!(panicked, Err("two".to_owned()), "what has happened goes before what came of it");
    }

    #[test]
    fn a_barrier_that_was_left_out_is_reported() {
        let message = ended(|panics| panics.record_unfinished(2, Unfinished::Barrier)).expect_err("they have not met");
        assert!(message.contains("bee 2 of 3 has gone on without"), "{message}");
    }

    #[test]
    fn a_release_from_another_region_is_a_panic_and_told_as_such() {
        let message = ended(|panics| {
            assert!(panics.record_panic(1, REGION, caught(|| unwind_out_of_region(REGION + 1))).is_some())
        })
        .expect_err("a panic");
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
        assert_eq!(ended, Err("first".to_owned()));
    }
}
