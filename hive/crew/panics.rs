//! What becomes of a panic in a member: kept until the team is done, then the one of the lowest member goes on in the caller. And what becomes of a region in which
//! nobody's was kept although somebody's part has not come to its end.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, is_in_region, is_unwinding};

pub(crate) type Payload = Box<dyn Any + Send>;

/// The payload with which a member leaves a barrier of a poisoned region. In that very region it is not a panic of the member's own; anywhere else, where somebody has
/// caught and resumed it, it is one like any other.
struct Released {
    /// The region's key.
    region: u64,
}

/// Unwinds the calling member out of the region of this key, which another member's panic has ended. The panic hook is not called.
pub(super) fn release(region: u64) -> ! {
    resume_unwind(Box::new(Released { region }))
}

/// What a member of a poisoned region has left undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undone {
    /// Its part, which it left at a barrier.
    Part,
    /// What it came for to a barrier or to what others share with it, and went on without, because it could not unwind from there.
    Meeting,
}

/// The panics of a region's members.
pub(super) struct Panics {
    kept: Mutex<Kept>,
    /// The epoch of the last region that a thread began while it was unwinding, in a destructor that is. Only the queen of a region wants to know.
    begun_amid_unwinding: AtomicU64,
}

#[derive(Default)]
struct Kept {
    /// The lowest member's so far, with its id.
    panic: Option<(u32, Payload)>,
    /// What some member has left undone, if any has.
    undone: Option<(u32, Undone)>,
}

/// The payload of which nobody will hear, of two members that have panicked; none, if only one has. It is dropped
/// quietly. That runs code of the program's, and so belongs inside of the region.
#[must_use = "its drop runs the program's code, and so the place for it is to be chosen"]
pub(super) struct Spare(Option<Payload>);

impl Drop for Spare {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(drop_quietly);
    }
}

impl Panics {
    pub(super) fn new() -> Self {
        Self { kept: Mutex::new(Kept::default()), begun_amid_unwinding: AtomicU64::new(u64::MAX) }
    }

    /// As `region` begins, on the queen's thread: notes whether that was unwinding already.
    #[inline(always)]
    pub(super) fn begin(&self, region: u64) {
        if is_unwinding() {
            // Relaxed: who asks for this region is on the thread that has stored it, if any has.
            self.begun_amid_unwinding.store(region, Ordering::Relaxed);
        }
    }

    /// Whether the calling thread, the queen's, was unwinding already when `region` began.
    pub(super) fn has_begun_amid_unwinding(&self, region: u64) -> bool {
        // Relaxed: as above.
        self.begun_amid_unwinding.load(Ordering::Relaxed) == region
    }

    /// Keeps what the part of member `id`, in the region of this key, has ended with. If that is a panic of its own,
    /// returns what is not kept for it.
    #[cold]
    pub(super) fn keep(&self, id: u32, region: u64, payload: Payload) -> Option<Spare> {
        if payload.downcast_ref().is_some_and(|released: &Released| released.region == region) {
            self.note(id, Undone::Part);
            return None;
        }
        let mut kept = self.kept();
        let spare = match &kept.panic {
            Some((lowest, _)) if *lowest <= id => Some(payload),
            _ => kept.panic.replace((id, payload)).map(|(_, other)| other),
        };
        Some(Spare(spare))
    }

    /// Notes what member `id` of a poisoned region leaves undone.
    #[cold]
    pub(super) fn note(&self, id: u32, undone: Undone) {
        self.kept().undone.get_or_insert((id, undone));
    }

    /// Ends a poisoned region of `team`, all of whom have left. Returns only if all have come to the end of their parts, and have left nothing undone.
    ///
    /// # Panics
    /// With the panic that was kept, if there is one; else because of what was left undone.
    #[cold]
    pub(super) fn end(&self, team: u32) {
        let Kept { panic, undone } = std::mem::take(&mut *self.kept());
        if let Some((_, payload)) = panic {
            rethrow(payload);
        }
        match undone {
            Some((id, Undone::Part)) => panic!(
                "the part of member {id} of {team} was cut short at a barrier that a panic had broken, and whoever panicked has caught that panic: the region \
                 cannot return as if all parts had come to their end"
            ),
            Some((id, Undone::Meeting)) => panic!(
                "member {id} of {team} has gone on without having met the others, in a destructor that could not unwind from there, and whoever panicked has caught \
                 that panic: the region cannot return as if they had met"
            ),
            None => {}
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no code that can panic runs under this lock")
    }
}

/// Goes on with a panic that was caught, in who has called hive.
#[cold]
pub(crate) fn rethrow(panic: Payload) -> ! {
    resume_unwind(told(panic, is_in_region))
}

/// A panic as those hear of it who are in no region.
pub(crate) fn as_heard_outside(panic: Payload) -> Payload {
    told(panic, |_| false)
}

/// A panic as it is for those who are in the regions for whose keys `is_in` holds: to others a release says nothing.
fn told(panic: Payload, is_in: impl FnOnce(u64) -> bool) -> Payload {
    match panic.downcast_ref() {
        Some(&Released { region }) if !is_in(region) => Box::new(String::from(
            "a member of a region was let go from its barrier, because another one had panicked, by a panic that somebody caught and resumed outside of that region",
        )),
        _ => panic,
    }
}

/// Goes on with a panic, because of which nobody will see `value`.
pub(crate) fn go_on<T>(panic: Payload, value: T) -> ! {
    quietly(|| drop(value));
    rethrow(panic)
}

/// Does something for its effects while a panic goes on. A panic of its own is not heard of.
#[cold]
pub(crate) fn quietly(work: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
        drop_quietly(payload);
    }
}

/// Drops a payload nobody will see. If its drop panics, that panic's payload is dropped in its place, and so on; a payload that
/// does not end even so is leaked. None of this can end a bee.
pub(crate) fn drop_quietly(mut payload: Payload) {
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

    /// A region of three members, who have ended as `keep` has it, ends.
    fn ended(keep: impl FnOnce(&Panics)) -> Result<(), String> {
        let panics = Panics::new();
        keep(&panics);
        let said = |payload: Payload| match payload.downcast::<String>() {
            Ok(said) => *said,
            Err(payload) => (*payload.downcast::<&'static str>().expect("a message")).to_owned(),
        };
        let ended = catch_unwind(AssertUnwindSafe(|| panics.end(3))).map_err(said);
        assert!(catch_unwind(AssertUnwindSafe(|| panics.end(3))).is_ok(), "the next region has nothing of it");
        ended
    }

    const REGION: u64 = 17;

    fn caught(work: impl FnOnce()) -> Payload {
        catch_unwind(AssertUnwindSafe(work)).expect_err("a panic")
    }

    #[test]
    fn the_lowest_member_s_panic_is_kept() {
        let ended = ended(|panics| {
            for (id, name) in [(2, "two"), (1, "one"), (3, "three")] {
                assert!(panics.keep(id, REGION, Box::new(name)).is_some());
            }
        });
        assert_eq!(ended, Err("one".to_owned()));
        assert_eq!(self::ended(|_| ()), Ok(()));
    }

    #[test]
    fn who_is_let_go_has_not_panicked_and_has_not_come_to_the_end() {
        let let_go = |panics: &Panics| assert!(panics.keep(1, REGION, caught(|| release(REGION))).is_none());
        let said = ended(let_go).expect_err("its part is not done");
        assert!(said.contains("member 1 of 3 was cut short"), "{said}");
        let panicked = ended(|panics| {
            let_go(panics);
            drop(panics.keep(2, REGION, Box::new("two")));
        });
        assert_eq!(panicked, Err("two".to_owned()), "what has happened goes before what came of it");
    }

    #[test]
    fn a_barrier_that_was_not_met_at_is_told_of() {
        let said = ended(|panics| panics.note(2, Undone::Meeting)).expect_err("they have not met");
        assert!(said.contains("member 2 of 3 has gone on without"), "{said}");
    }

    #[test]
    fn a_release_from_another_region_is_a_panic_and_told_as_such() {
        let said =
            ended(|panics| assert!(panics.keep(1, REGION, caught(|| release(REGION + 1))).is_some())).expect_err("a panic");
        assert!(said.contains("resumed outside of that region"), "{said}");
        let kept = told(caught(|| release(REGION)), |region| region == REGION);
        assert!(kept.is::<Released>(), "who is in the region is let go by it");
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
            drop(panics.keep(1, REGION, Box::new("first")));
            drop(panics.keep(2, REGION, Box::new(Bomb)));
        });
        assert_eq!(ended, Err("first".to_owned()));
    }
}
