//! What becomes of a panic in a member: kept until the team is done, then the one of the lowest member goes on in the caller.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::sync::Mutex;

pub(crate) type Payload = Box<dyn Any + Send>;

/// The payload with which a member leaves a poisoned barrier. Not a panic of its own.
struct Released;

/// Unwinds the calling member out of a region that another member's panic has ended. The panic hook is not called.
pub(crate) fn release() -> ! {
    resume_unwind(Box::new(Released))
}

/// The panics of a region's members.
pub(crate) struct Panics {
    /// The lowest member's so far, with its id.
    lowest: Mutex<Option<(u32, Payload)>>,
}

impl Panics {
    pub(crate) fn new() -> Self {
        Self { lowest: Mutex::new(None) }
    }

    /// Runs `part`, member `id`'s. Says whether it ended without a panic of its own; keeps the payload if not.
    #[inline]
    pub(crate) fn catch(&self, id: u32, part: impl FnOnce()) -> bool {
        match catch_unwind(AssertUnwindSafe(part)) {
            Ok(()) => true,
            Err(payload) => self.keep(id, payload),
        }
    }

    #[cold]
    fn keep(&self, id: u32, payload: Payload) -> bool {
        if payload.is::<Released>() {
            return true;
        }
        let mut lowest = self.lowest.lock().expect("no code that can panic runs under this lock");
        let spare = match &*lowest {
            Some((kept, _)) if *kept <= id => Some(payload),
            _ => lowest.replace((id, payload)).map(|(_, other)| other),
        };
        drop(lowest);
        spare.into_iter().for_each(drop_quietly);
        false
    }

    /// Goes on with the panic that was kept, if there is one.
    #[cold]
    pub(crate) fn resume(&self) {
        let lowest = self.lowest.lock().expect("no code that can panic runs under this lock").take();
        if let Some((_, payload)) = lowest {
            resume_unwind(payload);
        }
    }
}

/// Goes on with a panic, because of which nobody will see `value`.
pub(crate) fn go_on<T>(panic: Payload, value: T) -> ! {
    quietly(|| drop(value));
    resume_unwind(panic)
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

    fn kept(panics: &Panics) -> Option<&'static str> {
        let payload = catch_unwind(AssertUnwindSafe(|| panics.resume())).err()?;
        payload.downcast_ref::<&'static str>().copied()
    }

    #[test]
    fn the_lowest_member_s_panic_is_kept() {
        let panics = Panics::new();
        assert!(panics.catch(0, || ()));
        assert!(!panics.catch(2, || resume_unwind(Box::new("two"))));
        assert!(!panics.catch(1, || resume_unwind(Box::new("one"))));
        assert!(!panics.catch(3, || resume_unwind(Box::new("three"))));
        assert_eq!(kept(&panics), Some("one"));
        assert_eq!(kept(&panics), None);
    }

    #[test]
    fn who_leaves_a_poisoned_barrier_has_not_panicked() {
        let panics = Panics::new();
        assert!(panics.catch(1, || release()));
        assert_eq!(kept(&panics), None);
    }

    #[test]
    fn a_payload_whose_drop_panics_stops_nothing() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                resume_unwind(Box::new(Bomb));
            }
        }
        let panics = Panics::new();
        panics.catch(1, || resume_unwind(Box::new("first")));
        panics.catch(2, || resume_unwind(Box::new(Bomb)));
        assert_eq!(kept(&panics), Some("first"));
    }
}
