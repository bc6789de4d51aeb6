//! The methods of [`Hive`] that run tasks: `join`, `scope`, `install`, `spawn`, `spawn_on` and `broadcast`. This is the
//! public side; it decides how a call gets to a bee (`enter.rs`, `blocking.rs`) and in which form (`join.rs`,
//! `scope.rs`, `owned_job.rs`).
//!
//! A guide with the equivalents of OpenMP's tasks is `docs/from-openmp-tasks.md`; the protocol underneath is described
//! in `docs/sleep.md`.

use std::sync::Arc;

use crate::pool::handle::Hive;
use crate::pool::shared::Shared;
use crate::region::closure_size::boxed_if_large;
use crate::region::no_double_panic::NoDoublePanic;
use crate::region::{nesting, results};
use crate::sys::fork::with_abort_in_child;
use crate::tasks::owned_job::detached;
use crate::tasks::scope::{Scope, scope};
use crate::tasks::{blocking, enter, join};

impl Hive {
    /// Runs two closures, possibly at the same time, and returns the results of both.
    ///
    /// `a` runs on the calling thread, if that is a bee of the hive or can become its queen. So does `b`, afterwards,
    /// unless another bee takes it first. Whether `b` is offered to other bees is decided when the join begins, and
    /// again whenever a later join begins or ends inside `a`: it is offered if a bee is idle at that time, and has not
    /// been offered something like it a moment ago that was too short for it. A thread from outside the hive offers it
    /// in any case. Joins are made for recursion: a join that no other bee helps with costs a few nanoseconds, there is
    /// always a next one, and it does not matter which half has the work, nor how deep the recursion is.
    ///
    /// It is not promised that both closures run at the same time. All other bees may be busy when the join begins, and
    /// a bee that becomes idle while a long `a` without joins runs does not find `b`. A bee counts as busy for some
    /// microseconds after it has ended something. Two closures that run for long, or that wait for something, are
    /// better made tasks of a [`scope`](Self::scope) or of [`spawn`](Self::spawn): these are in a queue from the
    /// beginning, for any bee that becomes idle later. If `a` waits for `b`, it has to do so by calling
    /// [`yield_now`](crate::tasks::caller::yield_now) again and again, and must not where the closures run one after
    /// the other (see below).
    ///
    /// If another bee has taken `b`, the calling thread runs other tasks until that has ended, on top of its own stack,
    /// but none of them once three quarters of the stack are in use, until it has had nothing to run for 50 ms.
    /// Closures that capture more than 1 KiB are put on the heap.
    ///
    /// A thread from outside cannot become the queen while another thread is, because a region or that thread's tasks
    /// are running. It then waits while a worker runs both closures; a worker is hired if there is none. Inside a
    /// region or a task of another hive it does not wait, but runs the closures one after the other, so that no two
    /// hives wait for each other.
    ///
    /// ```
    /// fn sum(data: &[u64]) -> u64 {
    ///     match data {
    ///         [] => 0,
    ///         [one] => *one,
    ///         _ => {
    ///             let (left, right) = data.split_at(data.len() / 2);
    ///             let (left, right) = hive::join(|| sum(left), || sum(right));
    ///             left + right
    ///         }
    ///     }
    /// }
    /// assert_eq!(sum(&[1, 2, 3, 4]), 10);
    /// ```
    ///
    /// # Panics
    /// If one of the closures panics, with that panic, after the other has ended. If both panic, with the panic of `a`.
    /// Also if a worker is needed to run them, there is none, and the system makes no thread for one; then neither
    /// closure has run.
    #[inline]
    #[doc(alias("sections", "omp sections", "fork-join"))]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        nesting::with_innermost_tasks(&self.shared.team, |context| match context {
            Some(context) => join::join::<false, _, _, _, _>(context, a, |_| b()),
            None => self.join_from_elsewhere(a, b),
        })
    }

    /// `join` on a thread that does not run tasks of this hive, or is inside something else further in.
    #[cold]
    #[inline(never)]
    fn join_from_elsewhere<RA: Send, RB: Send>(
        &self,
        a: impl FnOnce() -> RA + Send,
        b: impl FnOnce() -> RB + Send,
    ) -> (RA, RB) {
        enter::run_as_bee(&self.shared, |context| match context {
            Some(context) => join::join_linked::<true, _, _>(context, a, |_| b()),
            None => join::join_in_order(a, b),
        })
    }

    /// Runs `body`, which may spawn tasks that borrow from outside the scope, and returns when `body` and all tasks
    /// have ended.
    ///
    /// The calling thread runs `body` and then tasks, if it is a bee of the hive or can become its queen. Otherwise a
    /// worker runs `body` while the calling thread waits; a worker is hired if there is none. Inside a region or a task
    /// of another hive, or in a reduction or scan that its caller runs alone, while this hive is busy, the calling
    /// thread runs `body` and then all of the tasks by itself. So does the queen of a hive that has one bee. In these
    /// cases `body` may wait for one of its tasks only by calling
    /// [`yield_now`](crate::tasks::caller::yield_now) again and again: a task that it waits for in any other way would
    /// never run.
    ///
    /// While the calling thread waits for tasks that other bees run, it runs whatever tasks there are, on top of its
    /// own stack. Once three quarters of that are in use, it runs those of this scope only, until it has had nothing to
    /// run for 50 ms.
    ///
    /// ```
    /// let mut halves = [1, 2];
    /// let [left, right] = &mut halves;
    /// hive::scope(|scope| {
    ///     scope.spawn(|_| *left *= 10);
    ///     scope.spawn(|_| *right *= 10);
    /// });
    /// assert_eq!(halves, [10, 20]);
    /// ```
    ///
    /// # Panics
    /// If `body` or a task panics, with that panic, after all have ended. If several do, with the panic of `body`, or
    /// else with the first one. Also if a worker is needed to run `body`, there is none, and the system makes no thread
    /// for one.
    #[doc(alias = "taskgroup")]
    pub fn scope<'scope, R: Send>(&self, body: impl FnOnce(&Scope<'scope>) -> R + Send) -> R {
        enter::run_as_bee(&self.shared, |context| scope(context, body))
    }

    /// Runs `work` as a bee of the hive, and returns its result. Every [`join`](Self::join) and [`scope`](Self::scope)
    /// inside `work` then starts at once.
    ///
    /// `work` runs on the calling thread, if that is a bee of the hive or can become its queen. Otherwise it runs on a
    /// worker while the calling thread waits; a worker is hired if there is none. If the calling thread has become the
    /// queen, a region that `work` starts gets a full team as well. Otherwise, as where another thread is the queen at
    /// the moment, it is a team of one.
    ///
    /// ```
    /// assert_eq!(hive::install(|| hive::join(|| 1, || 2)), (1, 2));
    /// ```
    ///
    /// # Panics
    /// If `work` panics, with that panic. Also if a worker is needed to run it, there is none, and the system makes no
    /// thread for one.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        enter::run_as_bee(&self.shared, |_| work())
    }

    /// Queues a task, which some bee runs at some time. Nothing waits for the task, except that dropping the hive does.
    ///
    /// A task spawned by a bee goes to that bee's own queue, where other bees may steal it. In a hive that consists of
    /// the queen alone, one worker is woken for the task, after it has been hired if need be, and parks again
    /// afterwards. That is so even in a hive that [may have no more than one
    /// bee](crate::pool::builder::Builder::max_bees).
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// hive::spawn(move || sender.send(6 * 7).unwrap());
    /// assert_eq!(receiver.recv(), Ok(42));
    /// ```
    ///
    /// # Panics
    /// If the hive has no worker and the system makes no thread for one, or in a forked child. Then nothing is queued;
    /// outside a forked child, the next `spawn` tries again. A panic of the task itself goes to the
    /// [`panic_handler`](crate::pool::builder::Builder::panic_handler).
    #[doc(alias = "omp task")]
    pub fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        boxed_if_large!(task: dyn FnOnce() + Send => queue_task(&self.shared, task))
    }

    /// Queues a task that only worker `bee` runs, between its other tasks. A parked worker is woken for it and parks
    /// again afterwards.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// hive.spawn_on(1, move || sender.send(hive::current().map(|bee| bee.id)).unwrap());
    /// assert_eq!(receiver.recv(), Ok(Some(1)));
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such worker: bee 0 is the queen, who is not always there, and workers with ids from
    /// [`bees`](Self::bees) on may not have been hired yet. Also in a forked child. A panic of the task itself goes to
    /// the [`panic_handler`](crate::pool::builder::Builder::panic_handler).
    pub fn spawn_on(&self, bee: usize, task: impl FnOnce() + Send + 'static) {
        boxed_if_large!(task: dyn FnOnce() + Send => self.queue_task_on(bee, task))
    }

    /// Queues a task for worker `bee`.
    fn queue_task_on(&self, bee: usize, task: impl FnOnce() + Send + 'static) {
        let (team, task) = (&self.shared.team, NoDoublePanic::new(task));
        self.shared.assert_not_forked();
        assert!(bee > 0 && team.is_hired(bee), "spawn_on bee {bee}: a hive of {} has no such bee", self.bees());
        let task = detached(&self.shared, task.into_inner());
        team.inject_to_bee_or_any(bee as u32, task);
    }

    /// Runs `work` once on each worker of the hive, between its other tasks, and returns the results in the order of
    /// the workers' ids. `work` gets the worker's id, which starts at 1. The queen does not run it, so there is one
    /// result less than the hive has [`bees`](Self::bees).
    ///
    /// A worker that sleeps is woken for it; surplus workers are left alone. The calling thread waits. Inside
    /// [`install`](Self::install), if it has become the queen, it runs other tasks in the meantime.
    ///
    /// ```
    /// let hive = hive::Hive::new(3)?;
    /// assert_eq!(hive.broadcast(|bee| bee * 10), [10, 20]);
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `work` panics on some worker, with the first such panic, after all have ended. Also if the calling thread is
    /// a worker of any hive, or is inside a region of several bees, or inside a task or a join of another hive: the
    /// worker that it would wait for may be waiting for it. There, use [`spawn_on`](Self::spawn_on) for each worker.
    /// Also in a forked child.
    #[expect(unsafe_code, reason = "each bee writes its own result without a lock")]
    pub fn broadcast<R: Send>(&self, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
        let work = NoDoublePanic::new(work);
        self.shared.assert_not_forked();
        let team = &self.shared.team;
        assert!(
            !nesting::is_waited_for_elsewhere(team),
            "broadcast is called on a bee or inside a region, where it may wait for a bee that waits for its caller; \
             spawn_on each bee instead"
        );
        let workers = self.bees() - 1;
        results::collect_results(workers, |outputs| {
            let put = |bee: u32| {
                let bee = bee as usize;
                // SAFETY: each worker runs this once, for its own index, and the calling thread waits below until all
                // have.
                unsafe { outputs.write_with(bee - 1, workers, || with_abort_in_child(|| work(bee))) };
            };
            let (worker_ids, put) = (1..=workers as u32, &put);
            nesting::with_task_context(team, |context| match context {
                // The caller may have entered other hives since it became a bee of this one: in here, this one counts.
                Some(own_context) => nesting::within_tasks(own_context, || {
                    scope(context, |scope| {
                        // Two broadcasts at once come to all workers in the same order, so that `work` may wait for the
                        // other workers, as at a barrier.
                        team.send_in_one_order(|| {
                            worker_ids.for_each(|bee| scope.spawn_on(own_context, bee, move |_| put(bee)));
                        });
                    });
                }),
                None => blocking::run_each(team, worker_ids, put),
            });
        })
    }
}

/// Queues a task: in the deque of the calling bee, or for any bee to take if the calling thread is none.
pub(crate) fn queue_task(shared: &Arc<Shared>, task: impl FnOnce() + Send + 'static) {
    let task = NoDoublePanic::new(task);
    shared.ensure_worker();
    let team = &shared.team;
    let task = detached(shared, task.into_inner());
    nesting::with_task_context(team, |context| match context {
        Some(context) if context.id > 0 || team.bees() > 1 => context.push_and_notify(task),
        // The queen of a hive of one may be about to wait for something else, so the task is not left to her: a worker
        // is woken for it.
        _ => team.inject(task),
    });
}
