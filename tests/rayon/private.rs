//! What rayon-core's unit tests use of its private names, by public means.

pub mod unwind {
    //! Catching panics.

    use std::panic::AssertUnwindSafe;

    /// Calls `f`, and returns its panic as an error.
    pub fn halt_unwinding<R>(f: impl FnOnce() -> R) -> std::thread::Result<R> {
        std::panic::catch_unwind(AssertUnwindSafe(f))
    }
}

pub mod registry {
    //! Getting onto a worker.

    /// Calls `f` on a worker: here, if this thread is one, or else on one of the global pool. The arguments mean
    /// nothing.
    pub fn in_worker<R: Send>(f: impl FnOnce((), ()) -> R + Send) -> R {
        rayon_core::scope(|_| f((), ()))
    }
}
