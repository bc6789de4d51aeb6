//! Where in the calls of this crate the calling thread is: in a lock, or in a job.

use std::cell::Cell;

thread_local! {
    /// None: in none of them.
    static PLACE: Cell<Option<Place>> = const { Cell::new(None) };
}

/// The innermost lock or job that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// How many threads may run jobs there.
    pub(crate) threads: usize,
    /// In a job: which of these threads this is.
    pub(crate) index: Option<usize>,
}

impl Place {
    /// That of the calling thread.
    pub(crate) fn current() -> Option<Self> {
        PLACE.get()
    }

    /// Calls `f` at this place.
    pub(crate) fn hold<R>(self, f: impl FnOnce() -> R) -> R {
        Self::hold_or_none(Some(self), f)
    }

    /// Calls `f` at no place: it waits, and meanwhile runs tasks that do not belong to the caller's.
    pub(crate) fn leave<R>(f: impl FnOnce() -> R) -> R {
        Self::hold_or_none(None, f)
    }

    fn hold_or_none<R>(place: Option<Self>, f: impl FnOnce() -> R) -> R {
        /// Goes back to the place before, after a panic as well.
        struct Restore(Option<Place>);

        impl Drop for Restore {
            fn drop(&mut self) {
                PLACE.set(self.0);
            }
        }

        let _restore = Restore(PLACE.replace(place));
        f()
    }
}

/// How many threads may run the jobs of a call that is made here: [`max_num_threads`]. (The crate whose place this one
/// takes says how many are ready to. Here none is kept ready, and each may come.)
///
/// ```
/// assert_eq!(spindle::current_num_threads(), spindle::max_num_threads());
/// ```
pub fn current_num_threads() -> usize {
    max_num_threads()
}

/// How many threads may run the jobs of a call that is made here: what the [`with_lock`](crate::with_lock) says that
/// counts here, or outside of all, as many as Rayon's current pool has.
///
/// ```
/// assert_eq!(spindle::max_num_threads(), rayon::current_num_threads());
/// ```
pub fn max_num_threads() -> usize {
    Place::current().map_or_else(rayon::current_num_threads, |place| place.threads)
}

/// In a job, which of the threads this is that may run it, from 0: no two jobs of a call that run at the same time have
/// the same number. In a lock, but in no job: None. Elsewhere what `rayon::current_thread_index` says. (A call of a
/// single job runs it as if there were no call.)
///
/// ```
/// spindle::for_each_raw(4, |_| {
///     let index = spindle::current_thread_index().expect("in a job");
///     assert!(index < spindle::max_num_threads());
/// });
/// assert_eq!(spindle::with_lock(2, spindle::current_thread_index), None);
/// ```
pub fn current_thread_index() -> Option<usize> {
    Place::current().map_or_else(rayon::current_thread_index, |place| place.index)
}
