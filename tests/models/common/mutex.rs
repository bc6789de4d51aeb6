//! The checker's mutex and condition variable, with a wait that may end by itself.
//!
//! Of each checker's `sync`: `raw` has its own types, `yield_core` lets other threads run.

use std::ops::{Deref, DerefMut};
use std::sync::LockResult;

use super::{give_way, raw};

pub(crate) struct Mutex<T>(raw::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(raw::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        Ok(MutexGuard { mutex: self, guard: Some(self.0.lock().expect("nobody panics under a lock")) })
    }
}

/// The checker's guard, and whose it is.
pub(crate) struct MutexGuard<'m, T> {
    mutex: &'m Mutex<T>,
    /// None: given up for a wait.
    guard: Option<raw::MutexGuard<'m, T>>,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("a guard in use is not given up")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("a guard in use is not given up")
    }
}

pub(crate) struct Condvar(raw::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(raw::Condvar::new())
    }

    pub(crate) fn wait<'m, T>(&self, mut guard: MutexGuard<'m, T>) -> LockResult<MutexGuard<'m, T>> {
        let inner = guard.guard.take().expect("a guard in use is not given up");
        guard.guard = Some(self.0.wait(inner).expect("nobody panics under a lock"));
        Ok(guard)
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// The wait that ends by itself: here as soon as the others have had their chance. Who was not notified must look again anyway, so
/// a notification adds nothing to check.
pub(crate) fn wait_briefly<'m, T>(_: &Condvar, guard: MutexGuard<'m, T>, _looks: u32) -> MutexGuard<'m, T> {
    let mutex = guard.mutex;
    drop(guard);
    give_way();
    mutex.lock().expect("nobody panics under a lock")
}
