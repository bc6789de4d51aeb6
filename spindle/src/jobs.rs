//! How jobs are run: on the bees of the current hive, or as tasks of the Rayon pool that the caller belongs to.

use std::sync::atomic::{AtomicUsize, Ordering};

use hive::{Loop, Schedule};

use crate::place::{Place, max_num_threads};

/// Calls `job` with each number below `jobs`. The calling thread runs some of them, and all if it is alone.
pub(crate) fn run(jobs: usize, job: &(impl Fn(usize) + Sync)) {
    if jobs <= 1 {
        return (0..jobs).for_each(job);
    }
    let allowed = max_num_threads();
    let threads = allowed.min(jobs);
    if threads <= 1 {
        return Place { threads: allowed, index: Some(0) }.hold(|| (0..jobs).for_each(job));
    }
    let next = AtomicUsize::new(0);
    // What one of the threads does, by its number. Where there is a job for each, it has the same number; otherwise
    // each takes the next one when it is done.
    let run_some = |index: usize| {
        Place { threads: allowed, index: Some(index) }.hold(|| {
            if jobs == threads {
                return job(index);
            }
            // Relaxed: the number says which job is whose, and nothing else.
            while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < jobs) {
                job(number);
            }
        });
    };
    if rayon::current_thread_index().is_some() {
        run_in_pool(threads, &run_some);
    } else {
        // The type of `job` is a part of that of this closure, so hive learns how long its jobs take.
        hive::par_for(Loop::new(0..threads, Schedule::Static), |indices, _| indices.for_each(&run_some));
    }
}

/// Calls `run_some` with each number below `threads` in the pool of the calling thread. Whoever is idle there takes
/// one; what nobody has begun when the caller is done, it runs itself.
fn run_in_pool(threads: usize, run_some: &(impl Fn(usize) + Sync)) {
    Place::leave(|| {
        rayon::scope(|scope| {
            (1..threads).for_each(|index| scope.spawn(move |_| run_some(index)));
            run_some(0);
        });
    });
}
