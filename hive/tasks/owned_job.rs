//! Tasks that own what they run, for work that does not end inside the call that made it: those of `spawn` and of
//! scopes, and those of threads that wait (`blocking.rs`).
//!
//! A small job is kept in the task itself, and so in the queue that the task waits in. Only a larger one needs memory
//! on the heap: to ask the allocator and to give back to it takes as long as all else that a short task costs.

#![allow(unsafe_code)]

use std::marker::PhantomData;

use crate::protocol::tasks::held_credit::HeldCredit;
use crate::protocol::tasks::task::{Task, Words};
use crate::tasks::job_memory::{put_on_heap, take_out};

/// What a task does that owns it.
pub(crate) trait Job: Send {
    /// What the job belongs to.
    type Owner: Sync;

    /// Whether memory on the heap is such as threads keep (`job_memory.rs`).
    const KEEPS_MEMORY: bool;

    /// Runs the job, which this takes out of `job`, on a thread that is no bee. Does not unwind. What the job has
    /// borrowed may go away as soon as this tells another thread that the job has ended: nothing of the job is left
    /// then. That is why the job is not an argument: references that are handed to a function are promised to be valid
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

/// Where the job of a task that is being run is: in the words of that task, or on the heap.
pub(crate) struct JobPlace<J>(*const Words, PhantomData<J>);

/// Makes a task that runs `job`, which belongs to `owner`.
///
/// # Safety
/// What `job` borrows, and `*owner` as far as `J::run` needs it, live until the job has ended.
#[inline(always)]
pub(crate) unsafe fn task_of<J: Job>(owner: *const J::Owner, job: J) -> Task {
    /// # Safety
    /// As for `Job::run`.
    unsafe fn run<J: Job>(owner: *const (), words: *const Words, held: Option<&HeldCredit>) {
        let place = JobPlace(words, PhantomData);
        match held {
            // SAFETY: the parts of a task are passed once, as `task_of` has made them.
            Some(held) => unsafe { J::run_on_bee(owner.cast(), place, held) },
            // SAFETY: as above.
            None => unsafe { J::run(owner.cast(), place) },
        }
    }
    let mut words = Words::uninit();
    if fits::<J>() {
        // SAFETY: the words are large enough for the job, and aligned.
        unsafe { words.as_mut_ptr().cast::<J>().write(job) };
    } else {
        let place = if J::KEEPS_MEMORY { put_on_heap(job) } else { Box::into_raw(Box::new(job)) };
        // SAFETY: the words have room for a pointer.
        unsafe { words.as_mut_ptr().cast::<*mut J>().write(place) };
    }
    // SAFETY: the job is `Send`, its owner may be shared, and the caller promises the rest.
    unsafe { Task::from_parts(owner.cast(), words, run::<J>) }
}

impl<J: Job> JobPlace<J> {
    /// Takes the job.
    #[inline(always)]
    pub(crate) fn take(self) -> J {
        if fits::<J>() {
            // SAFETY: `task_of` has put it there. There is one place for each job, so nobody else takes it.
            return unsafe { self.0.cast::<J>().read() };
        }
        // SAFETY: in this case `task_of` has put the job's address there.
        let job = unsafe { self.0.cast::<*mut J>().read() };
        if J::KEEPS_MEMORY {
            // SAFETY: `task_of` has put the job on the heap, and nobody else takes it.
            unsafe { take_out(job) }
        } else {
            // SAFETY: `task_of` has made the pointer from a box, and this is the only owner.
            *unsafe { Box::from_raw(job) }
        }
    }
}

/// Whether a job is kept in the words of its task.
const fn fits<J>() -> bool {
    size_of::<J>() <= size_of::<Words>() && align_of::<J>() <= align_of::<Words>()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Adds a number to the owner's list.
    struct Note<T, const KEPT: bool>(T);

    impl<T: Into<u64> + Send, const KEPT: bool> Job for Note<T, KEPT> {
        type Owner = Mutex<Vec<u64>>;
        const KEEPS_MEMORY: bool = KEPT;

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
        fn run<T: Into<u64> + Send>(list: &Mutex<Vec<u64>>, [kept, boxed]: [T; 2]) {
            // SAFETY: the list lives, and the task is run once.
            unsafe { task_of(list, Note::<T, true>(kept)) }.run();
            // SAFETY: as above.
            unsafe { task_of(list, Note::<T, false>(boxed)) }.run();
        }
        let list = Mutex::default();
        run(&list, [1_u8, 2]);
        run(&list, [Wide([1, 2]), Wide([2, 2])]);
        run(&list, [Wide([1, 1, 1, 1, 1]), Wide([2, 1, 1, 1, 1])]);
        run(&list, [Wide([1; 100]), Wide([2; 100])]);
        run(&list, [Aligned(7), Aligned(8)]);
        assert_eq!(list.into_inner().unwrap(), [1, 2, 3, 4, 5, 6, 100, 200, 7, 8]);
    }

    #[test]
    fn the_task_of_a_small_job_needs_no_memory() {
        assert!(fits::<(&str, ())>() && fits::<Box<dyn FnOnce()>>() && fits::<()>());
        assert!(!fits::<[usize; 3]>() && !fits::<Aligned>());
    }
}
