//! Tasks that own what they run, for work that does not end inside the call that made it: those of `spawn`, for which
//! nothing waits ([`detached`]), of scopes, and of threads that wait (`blocking.rs`).
//!
//! A job is on the heap, with the address of what it belongs to, in memory that is used again and again
//! (`job_memory.rs`). To keep small ones in the tasks themselves was tried: tasks of four words cost more on their way
//! through a queue than is saved.

#![allow(unsafe_code)]

use crate::pool::shared::Shared;
use crate::protocol::tasks::held_credit::HeldCredit;
use crate::protocol::tasks::task::{Run, Task};
use crate::tasks::job_memory::{put_on_heap, take_out};

/// Makes a task that owns `job`, whose `run` takes it out once (`take_out`).
///
/// What the job has borrowed may go away as soon as another thread is told that the job has ended; nothing of the job
/// may be left then. So `run` is given the job's address, not the job: references that are handed to a function are
/// promised to be valid until it returns.
///
/// # Safety
/// The job may be run on any thread, and what it needs lives until it has ended.
#[inline(always)]
pub(crate) unsafe fn task_of<J: Run>(job: J) -> Task {
    // SAFETY: it is there until the task takes the job out. The caller promises the rest.
    unsafe { Task::new(put_on_heap(job)) }
}

/// A job of this hive or task pool that nothing waits for.
struct DetachedJob<F> {
    shared: *const Shared,
    job: F,
}

/// Makes a task that runs `job` for the hive or task pool of `shared`. A panic of the job goes to the panic handler. In
/// a task pool the job is a keeper of the pool, which the caller has counted (`TaskPoolState::add_keepers`).
pub(crate) fn detached(shared: &Shared, job: impl FnOnce() + Send + 'static) -> Task {
    // SAFETY: the closure is `'static`. The hive's shared state outlives every task that is queued in its team: all of
    // them are run before it goes.
    unsafe { task_of(DetachedJob { shared, job }) }
}

impl<F: FnOnce() + Send> Run for DetachedJob<F> {
    unsafe fn run(this: *const Self, _: Option<&HeldCredit>) {
        // SAFETY: `task_of` has put it there, and a task is run once.
        let Self { shared, job } = unsafe { take_out(this) };
        // SAFETY: see `detached`.
        let shared = unsafe { &*shared };
        shared.config.asked.handlers.catch_panic(job);
        // In a hive this does nothing.
        shared.release_keeper();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Adds a number to a list.
    struct Note<'l, T>(&'l Mutex<Vec<u64>>, T);

    impl<T: Into<u64>> Run for Note<'_, T> {
        unsafe fn run(this: *const Self, _: Option<&HeldCredit>) {
            // SAFETY: the task is run once.
            let Self(list, number) = unsafe { take_out(this) };
            list.lock().unwrap().push(number.into());
        }
    }

    /// A number in so many words.
    struct Wide<const WORDS: usize>([u64; WORDS]);

    impl<const WORDS: usize> From<Wide<WORDS>> for u64 {
        fn from(wide: Wide<WORDS>) -> Self {
            wide.0.iter().sum()
        }
    }

    /// A number that has to be aligned.
    #[repr(align(32))]
    struct Aligned(u64);

    impl From<Aligned> for u64 {
        fn from(aligned: Aligned) -> Self {
            aligned.0
        }
    }

    #[test]
    fn a_job_is_run_as_it_was_made_wherever_it_is_kept() {
        fn run<T: Into<u64>>(list: &Mutex<Vec<u64>>, number: T) {
            // SAFETY: the list lives, and the task is run once.
            unsafe { task_of(Note(list, number)) }.run(None);
        }
        let list = Mutex::default();
        run(&list, 1_u8);
        run(&list, Wide([1, 1]));
        run(&list, Wide([1; 7]));
        run(&list, Wide([1; 100]));
        run(&list, Aligned(8));
        assert_eq!(list.into_inner().unwrap(), [1, 2, 7, 100, 8]);
    }
}
