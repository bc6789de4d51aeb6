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

/// The work of a task that owns its closure.
pub(crate) trait Job: Send {
    /// What the job belongs to.
    type Owner: Sync;

    /// Takes the job out of `job` and runs it, on a thread that is no bee. Does not unwind. What the job has borrowed
    /// may go away as soon as another thread is told that the job has ended; nothing of the job may be left then. That
    /// is why the job itself is not an argument: references that are handed to a function are promised to be valid
    /// until it returns.
    ///
    /// # Safety
    /// `owner` and `job` are those of one call of `task_of`, and are passed once.
    unsafe fn run(owner: *const Self::Owner, job: JobPlace<Self>)
    where
        Self: Sized;

    /// The same on the bee that has `held`. See [`Run::run_on_bee`](crate::protocol::tasks::task::Run::run_on_bee).
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn run_on_bee(owner: *const Self::Owner, job: JobPlace<Self>, held: &HeldCredit)
    where
        Self: Sized,
    {
        held.give_back();
        // SAFETY: as the caller promises.
        unsafe { Self::run(owner, job) }
    }
}

/// A job, with what it belongs to.
struct OwnedJob<J: Job> {
    owner: *const J::Owner,
    job: J,
}

/// Where the job of a task that is being run is.
pub(crate) struct JobPlace<J: Job>(*mut OwnedJob<J>);

/// Makes a task that runs `job`, which belongs to `owner`.
///
/// # Safety
/// What `job` borrows, and `*owner` as far as `J::run` needs it, live until the job has ended.
#[inline(always)]
pub(crate) unsafe fn task_of<J: Job>(owner: *const J::Owner, job: J) -> Task {
    let place = put_on_heap(OwnedJob { owner, job });
    // SAFETY: it is there until the task takes the job out. The job is `Send`, its owner may be shared, and the caller
    // promises the rest.
    unsafe { Task::new(place) }
}

impl<J: Job> Run for OwnedJob<J> {
    #[inline(always)]
    unsafe fn run(this: *const Self) {
        // SAFETY: `task_of` has put it there, and a task is run once.
        let owner = unsafe { (*this).owner };
        // SAFETY: as above.
        unsafe { J::run(owner, JobPlace(this.cast_mut())) }
    }

    #[inline(always)]
    unsafe fn run_on_bee(this: *const Self, held: &HeldCredit) {
        // SAFETY: as in `run`.
        let owner = unsafe { (*this).owner };
        // SAFETY: as in `run`.
        unsafe { J::run_on_bee(owner, JobPlace(this.cast_mut()), held) }
    }
}

impl<J: Job> JobPlace<J> {
    /// Takes the job.
    #[inline(always)]
    pub(crate) fn take(self) -> J {
        // SAFETY: `task_of` has put the job there. There is one place for each, so nobody else takes it.
        unsafe { take_out(self.0) }.job
    }
}

/// A job that nothing waits for.
struct DetachedJob<F>(F);

/// Makes a task that runs `job` for the hive or task pool of `shared`. A panic of the job goes to the panic handler. In
/// a task pool the job is a keeper of the pool, which the caller has counted (`TaskPoolState::add_keepers`).
pub(crate) fn detached(shared: &Shared, job: impl FnOnce() + Send + 'static) -> Task {
    // SAFETY: the closure is `'static`. The hive's shared state outlives every task that is queued in its team: all of
    // them are run before it goes.
    unsafe { task_of(shared, DetachedJob(job)) }
}

impl<F: FnOnce() + Send> Job for DetachedJob<F> {
    type Owner = Shared;
    unsafe fn run(shared: *const Shared, job: JobPlace<Self>) {
        // SAFETY: see `detached`.
        let shared = unsafe { &*shared };
        shared.config.handlers.catch_panic(job.take().0);
        // In a hive this does nothing.
        shared.release_keeper();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Adds a number to the owner's list.
    struct Note<T>(T);

    impl<T: Into<u64> + Send> Job for Note<T> {
        type Owner = Mutex<Vec<u64>>;

        unsafe fn run(owner: *const Self::Owner, job: JobPlace<Self>) {
            // SAFETY: the test keeps its list.
            unsafe { &*owner }.lock().unwrap().push(job.take().0.into());
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
        fn run<T: Into<u64> + Send>(list: &Mutex<Vec<u64>>, number: T) {
            // SAFETY: the list lives, and the task is run once.
            unsafe { task_of(list, Note(number)) }.run();
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
