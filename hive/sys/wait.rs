//! How the bees of a hive wait: what they go by, and who gives way to whom.
//!
//! Each hive has a [`WaitPolicy`]. Every wait in the protocols takes a `Spinner` from it (`spinner.rs`), which says how
//! long it polls.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::yield_now;
use std::time::Duration;

use crate::on_drop::on_drop;
use crate::sys::cpu_count::CpuCount;
use crate::sys::cpu_mask::CpuMask;
use crate::sys::{affinity, costly_yields, fork, presence};

/// How the bees of one hive wait, and whether they should go on polling at present.
#[derive(Debug, Default)]
pub(crate) struct WaitPolicy {
    /// The generation (see `fork.rs`) of the process whose threads wait for each other by this policy.
    generation: u32,
    /// How long a wait polls. `Duration::MAX` means for ever.
    pub(crate) spin: Duration,
    /// Whether a worker may poll for less than `spin` where it has learned that polling does not pay (`poll_time.rs`):
    /// the program has not chosen the spin time.
    pub(crate) is_learning: bool,
    /// How often a sleeping bee looks for something to do by itself; None if it does not.
    poll_interval: Option<Duration>,
    /// The number of CPUs that this process may use. Workers find out when it changes, when a wait of theirs has polled
    /// for its spin time and is about to sleep: see `cpu_count.rs`, which also says what they cannot find out.
    pub(crate) cpus: CpuCount,
    /// The CPUs that workers are bound to, where a worker is bound to a single one.
    worker_cpus: CpuMask,
    /// Whether the program has asked hive to bind the queen, so that hive may change the masks of the program's
    /// threads.
    pub(crate) may_move_queen: bool,
    /// Whether the hive's own threads run everything, so that no queen wants a CPU as well: it is a task pool, whose
    /// callers wait while its workers run.
    pub(crate) has_no_queen: bool,
    /// The number of `keep_spinning` sections that are open. While there are any, a waiting bee polls and does not go
    /// to sleep, unless there are fewer CPUs than threads that want one.
    spin_sections: AtomicU32,
    /// How often `stop_spinning` has been called. A waiting thread compares it with its value at the beginning of the
    /// wait.
    pub(super) spin_epoch: AtomicU32,
    /// The CPU on which a worker was woken for a region last, by a thread that goes on there.
    waker_cpu: CpuHint,
    /// The CPU of a worker on which another thread was seen last that waits for the hive's workers.
    shared_cpu: CpuHint,
    /// The CPU of a worker that has left it for such a thread.
    left_cpu: CpuHint,
    /// The CPU that it has moved to, if there was only one.
    taken_cpu: CpuHint,
    /// The number of workers that are bound to a CPU otherwise, and sleep or run unbound at present.
    unbound_workers: AtomicU32,
}

/// The number of a CPU that one thread leaves for others, or none.
#[derive(Debug)]
struct CpuHint(AtomicUsize);

/// Stands for none.
const NO_CPU: usize = usize::MAX;

impl Default for CpuHint {
    fn default() -> Self {
        Self(AtomicUsize::new(NO_CPU))
    }
}

impl CpuHint {
    fn get(&self) -> Option<usize> {
        // Relaxed, and in `set`, whose stores this reads: a hint, which publishes nothing else.
        Some(self.0.load(Ordering::Relaxed)).filter(|cpu| *cpu != NO_CPU)
    }

    fn set(&self, cpu: Option<usize>) {
        self.0.store(cpu.unwrap_or(NO_CPU), Ordering::Relaxed);
    }
}

impl WaitPolicy {
    /// A policy by which bees poll for `spin` and then sleep, and look for something to do every `poll_interval` while
    /// they sleep. The process may use `cpus` CPUs, and workers are bound to `worker_cpus`.
    pub(crate) fn new(spin: Duration, poll_interval: Option<Duration>, cpus: usize, worker_cpus: CpuMask) -> Self {
        let (generation, cpus) = (fork::generation(), CpuCount::new(cpus));
        Self { generation, spin, poll_interval, cpus, worker_cpus, ..Self::default() }
    }

    /// Whether the calling process is a forked child of the one whose threads wait for each other.
    #[inline(always)]
    pub(crate) fn is_forked(&self) -> bool {
        self.generation != fork::generation()
    }

    /// Aborts the process if it is a forked child. Call it where a thread is about to wait for other bees or to do
    /// their work: a child has no other bees that it could wait for.
    #[inline(always)]
    pub(crate) fn abort_if_forked(&self) {
        if self.is_forked() {
            fork::abort_forked_child();
        }
    }

    /// How often a sleeping bee looks for something to do by itself.
    pub(crate) fn poll_interval(&self) -> Option<Duration> {
        self.poll_interval
    }

    /// Gives way to a worker that is bound to the calling thread's CPU. The calling thread is usually the queen. She
    /// need not be bound, and the kernel may have moved her there while the worker slept. The worker can run on no
    /// other CPU, and the kernel takes many milliseconds to notice that it waits for this one.
    ///
    /// A thread of hive's own moves to another CPU, and so does any thread if the program has asked for the queen to be
    /// bound. Another thread belongs to the program, and its mask is not changed, not even for a moment: a change that
    /// the program makes at the same time would be lost, and for Linux a thread whose mask was set once is no longer
    /// one that may use CPUs which the process gets later. Such a thread only yields. Then the worker runs, and the
    /// kernel usually moves the yielding thread to an idle CPU when it next balances the load. Until it does, which may
    /// take some milliseconds, the two share the CPU: the queen's part waits for the worker's, or the reverse.
    #[cold]
    pub(crate) fn give_way_to_workers(&self) {
        // Relaxed: a hint. A worker that is not bound at present can run elsewhere, and if it is queued here, the
        // yields between polls let it run.
        if self.unbound_workers.load(Ordering::Relaxed) > 0 {
            return;
        }
        // The caller's mask is hive's to change then.
        if self.may_move_queen || presence::is_worker() {
            self.migrate_off_worker_cpus();
        } else {
            self.yield_to_worker();
        }
    }

    /// Moves the calling thread off a CPU that a worker is bound to, whoever it belongs to. Its mask is another one for
    /// a moment.
    pub(crate) fn migrate_off_worker_cpus(&self) {
        affinity::migrate_off(&self.worker_cpus);
    }

    /// Yields once, if the calling thread and one that it may be waiting for have the same CPU. In a wait that polls
    /// this comes now and then, and not after each poll: if another thread wants the CPU as well, a yield costs a time
    /// slice.
    ///
    /// A thread of the program says so, if it is on a worker's CPU and hive may not move it. The worker yields in turn
    /// then, and moves to another CPU when it next waits for a region (`cpu_to_leave`).
    pub(super) fn yield_to_worker(&self) {
        let cpu = affinity::current_cpu();
        let is_shared = if presence::is_worker() {
            cpu.is_some() && self.shared_cpu.get() == cpu
        } else {
            let is_shared = !self.may_move_queen && cpu.is_some_and(|cpu| self.is_worker_cpu(cpu));
            // A worker that has left this CPU does not come back as long as this thread is here.
            let shared_cpu = cpu.filter(|_| is_shared || self.left_cpu.get() == cpu);
            if self.shared_cpu.get() != shared_cpu {
                self.shared_cpu.set(shared_cpu);
            }
            is_shared
        };
        if is_shared {
            yield_now();
        }
    }

    /// The CPU of the calling worker, if a thread was seen there last that waits for the hive's workers.
    pub(crate) fn cpu_to_leave(&self) -> Option<usize> {
        self.shared_cpu.get().filter(|cpu| affinity::current_cpu() == Some(*cpu))
    }

    /// Says that the calling worker has left this CPU of its own, and may use `others` instead.
    pub(crate) fn note_left_cpu(&self, cpu: usize, others: &CpuMask) {
        self.cpus.note_left_place(others);
        self.taken_cpu.set(if others.len() == 1 { others.last().copied() } else { None });
        self.left_cpu.set(Some(cpu));
    }

    /// Says that it is back on its own.
    pub(crate) fn note_return(&self) {
        self.left_cpu.set(None);
        self.taken_cpu.set(None);
    }

    /// The CPUs to which a worker may move that leaves one of its own: those that no worker is bound to, if there are
    /// any.
    pub(crate) fn other_cpus(&self, usable: &CpuMask, left: usize) -> CpuMask {
        let free = usable.difference(&self.worker_cpus);
        if free.is_empty() { usable.difference(&CpuMask::from_iter([left])) } else { free }
    }

    /// Whether a worker is bound to this CPU at present.
    fn is_worker_cpu(&self, cpu: usize) -> bool {
        self.taken_cpu.get() == Some(cpu) || self.left_cpu.get() != Some(cpu) && self.worker_cpus.contains(&cpu)
    }

    /// Whether a worker may be bound to its own `cpus` again: none of them is one that it would have to share.
    pub(crate) fn may_bind_to(&self, cpus: Option<&CpuMask>) -> bool {
        self.shared_cpu.get().is_none_or(|cpu| cpus.is_none_or(|cpus| !cpus.contains(&cpu)))
    }

    /// Notes where the calling thread runs, which has woken workers for a region and takes part in it itself.
    #[cold]
    pub(crate) fn note_waker(&self) {
        if self.binds_no_worker() {
            self.waker_cpu.set(affinity::current_cpu());
        }
    }

    /// Moves the calling worker off the CPU of the thread that has woken a worker last, after it has come too late. A
    /// worker that is bound stays where it is.
    #[cold]
    pub(crate) fn leave_wakers_cpu(&self) {
        if let Some(cpu) = self.waker_cpu.get().filter(|_| self.binds_no_worker()) {
            affinity::migrate_off(&CpuMask::from_iter([cpu]));
        }
    }

    /// Whether the workers are bound to no CPUs at all.
    pub(crate) fn binds_no_worker(&self) -> bool {
        self.worker_cpus.is_empty()
    }

    /// Whether some worker is bound to no CPU at present, so that it may be queued behind a thread that waits for it.
    pub(super) fn has_unbound_worker(&self) -> bool {
        // Relaxed: a hint. A thread that wakes an unbound worker has seen it count itself.
        self.binds_no_worker() || self.unbound_workers.load(Ordering::Relaxed) > 0
    }

    /// Counts a worker that is unbound from now on.
    pub(crate) fn count_unbound(&self) {
        // Relaxed, here and below: see `has_unbound_worker`.
        self.unbound_workers.fetch_add(1, Ordering::Relaxed);
    }

    /// A worker that was unbound is bound again.
    pub(crate) fn uncount_unbound(&self) {
        self.unbound_workers.fetch_sub(1, Ordering::Relaxed);
    }

    /// The number of times that waits have been told to stop polling. A thread that will begin to wait later asks for
    /// it beforehand, and passes it to `worker_spinner`, so that it does not miss a `stop_spinning` that comes before
    /// the wait begins.
    #[inline(always)]
    pub(crate) fn spin_epoch(&self) -> u32 {
        // Relaxed: the number is only compared with itself. Suppose that this thread does something after this load and
        // publishes it by a Release, and that another thread sees it by an Acquire and then calls `stop_spinning`. This
        // load cannot see that call, so the comparison later will notice it.
        self.spin_epoch.load(Ordering::Relaxed)
    }

    /// Makes all waiting bees of the hive go on polling until the guard is dropped, as long as there are CPUs enough.
    pub(crate) fn keep_spinning(&self) -> impl Drop + use<'_> {
        // Relaxed, both: a waiting thread sees it sooner or later; the region that wakes all bees comes after it.
        self.spin_sections.fetch_add(1, Ordering::Relaxed);
        on_drop(|| _ = self.spin_sections.fetch_sub(1, Ordering::Relaxed))
    }

    /// Whether waits go on polling at present, because a `keep_spinning` section is open.
    pub(crate) fn keeps_spinning(&self) -> bool {
        // Relaxed: see `keep_spinning`.
        self.spin_sections.load(Ordering::Relaxed) > 0
    }

    /// Makes all bees that wait now stop polling.
    pub(crate) fn stop_spinning(&self) {
        // Relaxed: a waiting thread sees it sooner or later.
        self.spin_epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Lets another thread have the core for a moment, for a thread that goes on waiting. It does nothing where the
    /// thread had better sleep, and soon does: where a yield costs a time slice, or where nobody is to poll. Returns
    /// whether it has yielded.
    pub(crate) fn yield_if_it_pays(&self) -> bool {
        !self.spin.is_zero() && costly_yields::yield_if_it_pays()
    }

    /// Lets another thread have the core for a moment.
    pub(crate) fn yield_core(&self) {
        yield_now();
    }

    /// See [`presence::while_off_core`].
    pub(crate) fn while_off_core<R>(&self, sleep: impl FnOnce() -> R) -> R {
        presence::while_off_core(sleep)
    }

    /// Whether more threads want a core than there are cores: the workers that are awake, and one queen. A thread that
    /// polls then may keep the very thread that it waits for off its core.
    #[inline(always)]
    pub(super) fn is_oversubscribed(&self) -> bool {
        presence::awake_workers() + usize::from(!self.has_no_queen) > self.cpus.get()
    }
}
