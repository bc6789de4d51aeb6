//! What a program calls to run tasks on a hive.

use std::sync::Arc;

use crate::pool::handle::Hive;
use crate::protocol::tasks::task::Task;
use crate::region::no_double_panic::NoDoublePanic;
use crate::region::{nesting, results};
use crate::tasks::caller;
use crate::tasks::heap_job::{HeapJob, is_large};
use crate::tasks::scope::{Scope, scope};
use crate::tasks::send_ptr::SendPtr;
use crate::tasks::{blocking, enter, join};

impl Hive {
    /// Runs two closures, perhaps at the same time, and returns what both return.
    ///
    /// `a` runs on the calling thread, if that is a bee or can take the queen's place; `b` does, too, unless another bee takes it first. Whether `b` is offered is decided when
    /// the join begins, and again as later joins inside of `a` begin: it is if somebody is idle then, and by a thread from outside in any case. Recursion is what this is made for: a join that nobody
    /// helps with costs a few nanoseconds, and there is always a next one.
    ///
    /// That both run at the same time is not promised: everybody else may be busy when the join begins, and who becomes idle while a long `a` without joins runs does not find `b`. A bee counts as busy
    /// for some microseconds after it has ended something. Two closures that are long, or that wait for something, are better tasks of a [`scope`](Self::scope) or of [`spawn`](Self::spawn),
    /// which are in a queue from the beginning, for whoever becomes idle later.
    ///
    /// A thread from outside whose place is taken, because a region or another thread's tasks are on, waits while a bee
    /// runs both, hired if there is none; inside a region or a task of another hive it runs one after the other
    /// instead, so that no two hives wait for each other.
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
    /// If one of the closures does, with that panic, after the other has ended. If both do, with that of `a`. And if a
    /// bee is to run them, there is none, and the system makes no thread for one: neither has run then.
    #[inline]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        nesting::with_innermost_tasks(&self.shared.team, |context| match context {
            Some(context) => join::join(context, a, b),
            None => self.join_from_elsewhere(a, b),
        })
    }

    #[cold]
    fn join_from_elsewhere<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        enter::run_as_bee(&self.shared, |context| match context {
            Some(context) => join::join_from_outside(context, a, b),
            None => join::join_in_order(a, b),
        })
    }

    /// Runs `body`, which may spawn tasks that borrow from outside, and returns when it and all tasks have ended.
    ///
    /// The calling thread runs `body` and then tasks, if it is a bee or can take the queen's place; else a bee does,
    /// hired if there is none, while it waits. Inside a region or a task of another hive, where this one is busy, the
    /// calling thread runs `body` and then all of the tasks by itself; in `body` it may wait for one of them by
    /// [`yield_now`](crate::tasks::caller::yield_now) only.
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
    /// If `body` or a task does, with that panic, after all have ended. That of `body` goes before, then the first. And
    /// if a bee is to run `body`, there is none, and the system makes no thread for one.
    pub fn scope<'scope, R: Send>(&self, body: impl FnOnce(&Scope<'scope>) -> R + Send) -> R {
        enter::run_as_bee(&self.shared, |context| scope(context, body))
    }

    /// Runs `work` as a bee of the hive, so that [`join`](Self::join) and [`scope`](Self::scope) inside start at
    /// once, and returns what it returns: on the calling thread, if that is a bee or can take the queen's place; else
    /// on a bee, hired if there is none, while it waits. In the queen's place a region that `work` starts is a real
    /// one, too.
    ///
    /// ```
    /// assert_eq!(hive::install(|| hive::join(|| 1, || 2)), (1, 2));
    /// ```
    ///
    /// # Panics
    /// If `work` does, with that panic. And if a bee is to run it, there is none, and the system makes no thread for
    /// one.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        if is_large(&work) {
            self.run_installed(Box::new(work) as Box<dyn FnOnce() -> R + Send + '_>)
        } else {
            self.run_installed(work)
        }
    }

    fn run_installed<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        enter::run_as_bee(&self.shared, |_| work())
    }

    /// Queues a task that some bee runs at some time. Nobody waits for it, but dropping the hive does.
    ///
    /// Spawned by a bee, it goes to that bee's own queue, where others may steal it. In a hive that is the queen alone one bee is called for it, hired if need be,
    /// and parks again; also where the hive [may have no other bee](crate::pool::config::Builder::max_bees).
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// hive::spawn(move || sender.send(6 * 7).unwrap());
    /// assert_eq!(receiver.recv(), Ok(42));
    /// ```
    ///
    /// # Panics
    /// If the hive has no bee and the system makes no thread for one, or in a forked child; nothing is queued then, and
    /// the next `spawn` tries again. A panic of the task goes to the [`panic_handler`](crate::pool::config::Builder::panic_handler).
    pub fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        if is_large(&task) {
            self.queue_task(Box::new(task) as Box<dyn FnOnce() + Send>)
        } else {
            self.queue_task(task)
        }
    }

    fn queue_task(&self, task: impl FnOnce() + Send + 'static) {
        let task = NoDoublePanic::new(task);
        self.shared.ensure_worker();
        let team = &self.shared.team;
        let task = self.detached(task.into_inner());
        nesting::with_task_context(team, |context| match context {
            Some(context) if context.id() > 0 || team.bees() > 1 => context.push(task),
            // A queen alone may be about to wait for something else, so a bee is called.
            _ => team.inject(task),
        });
    }

    /// Queues a task that only bee `bee` runs, between its other tasks. One that is parked is called for it and parks again.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// hive.spawn_on(1, move || sender.send(hive::current().map(|(_, bee)| bee)).unwrap());
    /// assert_eq!(receiver.recv(), Ok(Some(1)));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such bee: 0 is the queen, who is not always there, and those from [`bees`](Self::bees) on may not have been hired yet. As
    /// [`spawn`](Self::spawn) otherwise.
    pub fn spawn_on(&self, bee: usize, task: impl FnOnce() + Send + 'static) {
        if is_large(&task) {
            self.queue_task_on(bee, Box::new(task) as Box<dyn FnOnce() + Send>)
        } else {
            self.queue_task_on(bee, task)
        }
    }

    fn queue_task_on(&self, bee: usize, task: impl FnOnce() + Send + 'static) {
        let (team, task) = (&self.shared.team, NoDoublePanic::new(task));
        self.shared.assert_not_forked();
        assert!(bee > 0 && team.is_hired(bee), "spawn_on bee {bee}: a hive of {} has no such bee", self.bees());
        let task = self.detached(task.into_inner());
        team.inject_to(bee as u32, task);
    }

    /// Runs `work` once on each bee of the hive, between its other tasks, and returns what it returned, in order of the bees. `work` gets the bee's
    /// number, from 1.
    ///
    /// A bee that sleeps is woken for it; surplus ones are left alone. The calling thread waits; inside [`install`](Self::install), in the queen's place, it runs other
    /// tasks meanwhile.
    ///
    /// ```
    /// let hive = hive::Hive::new(3)?;
    /// assert_eq!(hive.broadcast(|bee| bee * 10), [10, 20]);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `work` does on some bee, with the first such panic, after all have ended. If it is called on a bee or by a bee of a region, of whatever hive, or in a task or a
    /// join of another hive: the bee that it waits for may be waiting for its caller. There, [`spawn_on`](Self::spawn_on) each bee.
    #[expect(unsafe_code, reason = "each bee writes its own result without a lock")]
    pub fn broadcast<R: Send>(&self, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
        let work = NoDoublePanic::new(work);
        self.shared.assert_not_forked();
        let team = &self.shared.team;
        assert!(
            !nesting::is_worker() && !nesting::is_waited_for_elsewhere(team),
            "broadcast is called on a bee or inside a region, where it may wait for a bee that waits for its caller; spawn_on each bee instead"
        );
        let workers = self.bees() - 1;
        results::collect_results(workers, |outputs| {
            let put = |bee: u32| {
                let bee = bee as usize;
                // SAFETY: each bee runs this once, and the calling thread waits for all of them below.
                unsafe { outputs.write_with(bee - 1, workers, || work(bee)) };
            };
            let (worker_ids, put) = (1..=workers as u32, &put);
            nesting::with_task_context(team, |context| match context {
                Some(own_context) => caller::with_context(own_context, || {
                    scope(context, |scope| worker_ids.for_each(|bee| scope.spawn_on(bee, move |_| put(bee))));
                }),
                None => blocking::run_each(worker_ids, |bee, task| team.inject_to(bee, task), put),
            });
        })
    }

    /// A task that nobody waits for.
    #[expect(unsafe_code, reason = "erases the task's type")]
    fn detached(&self, task: impl FnOnce() + Send + 'static) -> Task {
        let shared = SendPtr(Arc::as_ptr(&self.shared));
        let work = move || {
            // SAFETY: the pool outlives what is queued in its team: its end runs all of it.
            let shared = unsafe { shared.get() };
            shared.config.hooks.catch_panic(task);
        };
        // SAFETY: the task borrows nothing that ends.
        unsafe { HeapJob::task(work, || ()) }
    }
}
