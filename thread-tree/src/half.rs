//! One of the two closures of a join, on its way to the bee that runs it, and its result on the way back.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

thread_local! {
    /// Whether the calling thread is inside of a closure of some join that has two threads.
    static IS_IN_HALF: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is inside of a closure of some join that has two threads.
pub(crate) fn is_in_half() -> bool {
    IS_IN_HALF.get()
}

/// Calls `run`, which runs a half of a join that has two threads.
pub(crate) fn in_half(run: impl FnOnce()) {
    let before = IS_IN_HALF.replace(true);
    let _restore = OnDrop(|| IS_IN_HALF.set(before));
    run();
}

/// A closure that is run once, and then its result.
// The two halves of a join are next to each other on the stack, and two threads write to them.
#[repr(align(128))]
pub(crate) struct Half<F, R>(Mutex<State<F, R>>);

enum State<F, R> {
    Waits(F),
    /// It runs, or has panicked.
    Taken,
    Done(R),
}

impl<F, R> Half<F, R> {
    pub(crate) fn new(work: F) -> Self {
        Self(Mutex::new(State::Waits(work)))
    }

    /// Runs the closure with its place in the tree. Called at most once.
    pub(crate) fn run<P>(&self, place: P)
    where
        F: FnOnce(P) -> R,
    {
        let State::Waits(work) = self.replace(State::Taken) else { unreachable!("a half is run once") };
        let result = work(place);
        self.replace(State::Done(result));
    }

    fn replace(&self, state: State<F, R>) -> State<F, R> {
        // Nothing of the program's runs while it is locked, so it is never poisoned.
        std::mem::replace(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), state)
    }

    /// The result of the closure, which has been run and has not panicked.
    pub(crate) fn into_result(self) -> R {
        match self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            State::Done(result) => result,
            State::Waits(_) | State::Taken => unreachable!("it has been run"),
        }
    }
}

/// Calls a function at the end of its life.
pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
