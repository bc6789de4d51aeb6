//! A mutex and a condition variable for the protocol files under a checker, with a wait that may end by itself.
//!
//! Both checkers include this file in their `sync` module. That module supplies `raw`, the checker's own types, and
//! `give_way`, which lets other threads run.

use std::ops::{Deref, DerefMut};
use std::sync::LockResult;

use super::{give_way, raw};

#[derive(Default)]
pub(crate) struct Mutex<T>(raw::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(raw::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, guard: Some(self.0.lock().expect("nobody panics under a lock")) }
    }
}

/// The checker's guard, together with the mutex that it locks.
pub(crate) struct MutexGuard<'m, T> {
    mutex: &'m Mutex<T>,
    /// None while the guard is given up for a wait.
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

#[derive(Default)]
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

/// A wait that also ends without a notification: in the library after a time, here as soon as the other threads have
/// had a chance to run. A thread that was not notified must look again anyway, so notifications add nothing that would
/// have to be checked.
pub(crate) fn wait_briefly<'m, T>(_: &Condvar, guard: MutexGuard<'m, T>, _looks: u32) -> MutexGuard<'m, T> {
    let mutex = guard.mutex;
    drop(guard);
    give_way();
    mutex.lock()
}
