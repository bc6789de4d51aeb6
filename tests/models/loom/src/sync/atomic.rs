//! loom's atomics and fences behind the interface of the library's. Each operation first asks whether it is the one
//! that the mutant breaks.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;

use loom::sync::atomic as loom_atomic;

use super::Ordering;
use crate::mutation::{self, Change};

/// Reduces an ordering to what a load can have.
fn of_load(order: Ordering) -> Ordering {
    match order {
        Ordering::Release | Ordering::Relaxed => Ordering::Relaxed,
        _ => Ordering::Acquire,
    }
}

/// Reduces an ordering to what a store can have.
fn of_store(order: Ordering) -> Ordering {
    match order {
        Ordering::Acquire | Ordering::Relaxed => Ordering::Relaxed,
        _ => Ordering::Release,
    }
}

/// A read-modify-write by `$method`, or what the mutant makes of it. `$result` computes the new value from the old one.
macro_rules! modify {
    ($self:ident . $method:ident ( $value:ident, $order:ident ), $result:expr) => {{
        let modified = $result;
        match mutation::at(Location::caller()) {
            None => $self.0.$method($value, $order),
            Some(Change::Order { to, .. }) => $self.0.$method($value, *to),
            Some(Change::Torn) => {
                let before = $self.0.load(of_load($order));
                $self.0.store(modified(before), of_store($order));
                before
            }
            Some(Change::Set) => {
                let before = $self.0.load(of_load($order));
                $self.0.store(modified(Default::default()), of_store($order));
                before
            }
            Some(Change::Skip) => $self.0.load(of_load($order)),
            Some(change) => mutation::reject_change(change),
        }
    }};
}

/// The operations that integers and flags have in common.
macro_rules! common {
    ($value:ty) => {
        #[track_caller]
        pub(crate) fn load(&self, order: Ordering) -> $value {
            match mutation::at(Location::caller()) {
                None => self.0.load(order),
                Some(Change::Order { to, .. }) => self.0.load(*to),
                Some(change) => mutation::reject_change(change),
            }
        }

        #[track_caller]
        pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
            modify!(self.swap(value, order), |_: $value| value)
        }
    };
}

macro_rules! integer {
    ($name:ident, $int:ty) => {
        impl $name {
            common!($int);

            #[track_caller]
            pub(crate) fn store(&self, value: $int, order: Ordering) {
                match mutation::at(Location::caller()) {
                    None => self.0.store(value, order),
                    Some(Change::Order { to, .. }) => self.0.store(value, *to),
                    Some(Change::Skip) => {}
                    Some(Change::Mask(mask)) => self.0.store(value & *mask as $int, order),
                    Some(change) => mutation::reject_change(change),
                }
            }

            #[track_caller]
            pub(crate) fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                modify!(self.fetch_add(value, order), |before: $int| before.wrapping_add(value))
            }

            #[track_caller]
            pub(crate) fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                modify!(self.fetch_sub(value, order), |before: $int| before.wrapping_sub(value))
            }

            #[track_caller]
            pub(crate) fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                modify!(self.fetch_and(value, order), |before: $int| before & value)
            }

            #[track_caller]
            pub(crate) fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                modify!(self.fetch_or(value, order), |before: $int| before | value)
            }

            #[track_caller]
            pub(crate) fn compare_exchange(
                &self,
                from: $int,
                to: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                match mutation::at(Location::caller()) {
                    None => self.0.compare_exchange(from, to, success, failure),
                    Some(Change::Order { index: 0, to: order }) => self.0.compare_exchange(from, to, *order, failure),
                    Some(Change::Order { to: order, .. }) => self.0.compare_exchange(from, to, success, *order),
                    Some(Change::Blind { from: only_from, to: only_to }) => {
                        if (u64::from(from), u64::from(to)) != (*only_from, *only_to) {
                            return self.0.compare_exchange(from, to, success, failure);
                        }
                        self.0.store(to, of_store(success));
                        Ok(from)
                    }
                    Some(Change::Torn) => {
                        let before = self.0.load(of_load(success));
                        if before != from {
                            return Err(before);
                        }
                        self.0.store(to, of_store(success));
                        Ok(before)
                    }
                    Some(change) => mutation::reject_change(change),
                }
            }

            #[track_caller]
            pub(crate) fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut update: impl FnMut($int) -> Option<$int>,
            ) -> Result<$int, $int> {
                match mutation::at(Location::caller()) {
                    None => self.0.fetch_update(set, fetch, update),
                    Some(Change::Order { index: 0, to }) => self.0.fetch_update(*to, fetch, update),
                    Some(Change::Order { to, .. }) => self.0.fetch_update(set, *to, update),
                    Some(Change::Torn) => {
                        let before = self.0.load(fetch);
                        let after = update(before).ok_or(before)?;
                        self.0.store(after, of_store(set));
                        Ok(before)
                    }
                    Some(change) => mutation::reject_change(change),
                }
            }
        }
    };
}

#[derive(Default)]
pub(crate) struct AtomicU64(loom_atomic::AtomicU64);

impl AtomicU64 {
    pub(crate) fn new(value: u64) -> Self {
        Self(loom_atomic::AtomicU64::new(value))
    }
}

integer!(AtomicU64, u64);

/// The value is shared with the models, which read the bees' states through `with_states`.
#[derive(Default)]
pub(crate) struct AtomicU32(Arc<loom_atomic::AtomicU32>);

thread_local! {
    /// The state words that `slot.rs` has made by `new` in this execution, in the order of the bees' numbers.
    static STATES: RefCell<Vec<Arc<loom_atomic::AtomicU32>>> = const { RefCell::new(Vec::new()) };
}

impl AtomicU32 {
    #[track_caller]
    pub(crate) fn new(value: u32) -> Self {
        let word = Arc::new(loom_atomic::AtomicU32::new(value));
        if Location::caller().file().ends_with("worker/slot.rs") {
            STATES.with_borrow_mut(|states| states.push(Arc::clone(&word)));
        }
        Self(word)
    }
}

integer!(AtomicU32, u32);

/// Calls `look` with the state words that have been made so far.
pub(crate) fn with_states<R>(look: impl FnOnce(&mut Vec<Arc<loom_atomic::AtomicU32>>) -> R) -> R {
    STATES.with_borrow_mut(look)
}

#[derive(Default)]
pub(crate) struct AtomicBool(loom_atomic::AtomicBool);

impl AtomicBool {
    pub(crate) fn new(value: bool) -> Self {
        Self(loom_atomic::AtomicBool::new(value))
    }

    common!(bool);

    #[track_caller]
    pub(crate) fn store(&self, value: bool, order: Ordering) {
        match mutation::at(Location::caller()) {
            None => self.0.store(value, order),
            Some(Change::Order { to, .. }) => self.0.store(value, *to),
            Some(Change::Skip) => {}
            Some(change) => mutation::reject_change(change),
        }
    }
}

#[track_caller]
pub(crate) fn fence(order: Ordering) {
    match mutation::at(Location::caller()) {
        None => loom_atomic::fence(order),
        Some(Change::Order { to, .. }) => loom_atomic::fence(*to),
        Some(Change::Skip) => {}
        Some(change) => mutation::reject_change(change),
    }
}

/// The light fence of a pair. It is modelled as a full fence, because the heavy fence of the other thread makes it as
/// strong as that.
#[track_caller]
pub(crate) fn light_fence() {
    pair_fence(Location::caller());
}

/// The heavy fence of a pair, which is not refused.
#[track_caller]
pub(crate) fn try_heavy_fence() -> bool {
    pair_fence(Location::caller());
    true
}

fn pair_fence(location: &Location<'_>) {
    match mutation::at(location) {
        None => loom_atomic::fence(Ordering::SeqCst),
        Some(Change::Skip) => {}
        Some(change) => mutation::reject_change(change),
    }
}
