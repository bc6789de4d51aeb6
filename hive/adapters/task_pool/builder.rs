//! How a task pool is built: [`PoolBuilder`].

#![allow(unsafe_code)]

use std::any::Any;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;
use std::{io, mem};

use crate::adapters::task_pool::handle::TaskPool;
use crate::adapters::task_pool::resizing;
use crate::adapters::task_pool::thread::PoolThread;
use crate::on_drop::on_drop;
use crate::pool::build::prepare_process;
use crate::pool::builder::Builder;
use crate::pool::environment::Environment;
use crate::pool::shared::Shared;
use crate::pool::task_pool_state::TaskPoolState;
use crate::pool::worker_thread::LiveOwner;
use crate::protocol::Team;
use crate::protocol::region::max_bees::MAX_BEES;
use crate::protocol::region::shape::BarrierShape;
use crate::protocol::tasks::pool_rules::PoolRules;
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::nesting;
use crate::sys::part_time::COST_OF_WAKING;
use crate::sys::warn_once::warn_once;
use crate::topology::machine_info::MachineInfo;
use crate::topology::pin_policy::Pin;
use crate::topology::place_map::PlaceMap;

/// The largest number of threads that a pool can have.
pub const MAX_THREADS: usize = MAX_BEES as usize - 1;

/// How long a thread polls for a task before it sleeps. A task that comes later costs its caller a wake-up, which takes
/// no longer than the polling would have. A hive polls for longer because its regions need all of their bees.
const DEFAULT_SPIN: Duration = COST_OF_WAKING;

/// Settings of a pool that is to be built.
///
/// ```
/// use hive::adapters::task_pool::builder::PoolBuilder;
///
/// let builder = PoolBuilder::default().exit_handler(|index| println!("{index} ends"));
/// let pool = builder.build(2, |thread| std::thread::Builder::new().spawn(|| thread.run()).map(drop))?;
/// assert_eq!(pool.threads(), 2);
/// # Ok::<(), hive::adapters::task_pool::builder::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until build() is called"]
pub struct PoolBuilder {
    uses_current_thread: bool,
    is_breadth_first: bool,
    fixed_parts: Option<NonZero<u32>>,
    hive: Builder,
}

/// Why a pool was not built. The threads that it had by then end by themselves.
#[derive(Debug)]
pub enum BuildError {
    /// The calling thread was to be the pool's first one, and is a thread of a pool or of a hive already.
    AlreadyInPool,
    /// A thread could not be started, or the hive that the pool is made of could not be built.
    Io(io::Error),
}

impl PoolBuilder {
    /// Makes the thread that calls [`build`](Self::build) the pool's thread 0, until it ends. It runs tasks while it
    /// waits for something in the pool, and when it yields.
    pub fn use_current_thread(self) -> Self {
        Self { uses_current_thread: true, ..self }
    }

    /// Makes each thread run its oldest task first, and not its newest.
    pub fn breadth_first(self) -> Self {
        Self { is_breadth_first: true, ..self }
    }

    /// Has the pool's work divided as for so many threads, whatever their number, so that the results of what is
    /// divided by [`TaskPool::parts`] and not by who has taken what depend on nothing else. A pool has no more threads
    /// than that. With 0, the default, the variable `HIVE_POOL_PARTS` says the number; without that, work is divided as
    /// suits the threads.
    pub fn fixed_parts(self, parts: usize) -> Self {
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        Self { fixed_parts: NonZero::new(parts), ..self }
    }

    /// A function that each thread calls with its index before anything else, but for the one that builds the pool.
    pub fn start_handler(self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        Self { hive: self.hive.start_handler(handler), ..self }
    }

    /// A function that each of these threads calls with its index when the pool has ended. What it spawns is still run.
    pub fn exit_handler(self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        Self { hive: self.hive.exit_handler(handler), ..self }
    }

    /// A function that gets the panics that nobody waits for: those of spawned jobs and of the other handlers. Without
    /// it, such a panic ends the process.
    pub fn panic_handler(self, handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static) -> Self {
        Self { hive: self.hive.panic_handler(handler), ..self }
    }

    /// Builds a pool of so many threads: at least 1; if there are more than [`MAX_THREADS`], so many. `start` is called
    /// once for each of them but the calling one (`use_current_thread`), in the order of their indices, and has to call
    /// [`PoolThread::run`] on that thread, now or later. Tasks are run as soon as one of the threads is there.
    ///
    /// # Errors
    /// The first error of `start`; or if the calling thread cannot be the pool's.
    ///
    /// # Panics
    /// If `start` does. As after an error, the threads that run already end by themselves.
    pub fn build(
        self,
        threads: usize,
        mut start: impl FnMut(PoolThread) -> io::Result<()>,
    ) -> Result<TaskPool, BuildError> {
        if self.uses_current_thread && nesting::is_inside_any() {
            return Err(BuildError::AlreadyInPool);
        }
        let first_bee = u32::from(!self.uses_current_thread);
        let shared = self.shared(first_bee, threads)?;
        let bees = shared.config.bees;
        // From here on an early return, or a panic, ends the threads that there are.
        let pool = TaskPool { shared };
        let team = &pool.shared.team;
        // A start handler may spawn a broadcast, which has a part for each thread, before all threads are there.
        team.make_all_slots();
        let first_thread = self.uses_current_thread.then(|| make_first_thread(&pool.shared));
        // The hiring ends here after an error or a panic as well.
        let hiring = on_drop(|| team.end_hiring(0));
        // One after the other, so that each runs tasks as soon as it is there: the next call of `start` may wait for
        // one.
        for size in 2..=bees {
            team.grow_to(size, |bee, epoch| start(PoolThread::new(&pool.shared, bee, epoch)))
                .map_err(BuildError::Io)?;
        }
        drop(hiring);
        // The thread belongs to the pool until it has ended. It may use the pool and its context at any time until
        // then, in the destructors of its thread-locals as well, so both stay for ever.
        mem::forget(first_thread);
        resizing::begin(&pool.shared);
        Ok(pool)
    }

    /// What the pool's threads share. `threads`: how many the program wants.
    fn shared(&self, first_bee: u32, threads: usize) -> Result<Arc<Shared>, BuildError> {
        prepare_process();
        let machine_info = MachineInfo::detect();
        // What the environment says of bees and places is for hives.
        let Environment { spin, pool_parts, pool_threads, warnings, .. } = Environment::read();
        let concern_pools = |warning: &&String| ["HIVE_POOL_", "HIVE_SPIN"].iter().any(|name| warning.contains(name));
        warnings.iter().filter(concern_pools).for_each(|warning| warn_once(warning));
        let environment = Environment { spin, ..Environment::default() };
        let parts = self.fixed_parts.or(pool_parts);
        let most = parts.map_or(MAX_THREADS, |parts| MAX_THREADS.min(parts.get() as usize));
        let threads = threads.clamp(1, most) as u32;
        let count = (first_bee + threads) as usize;
        let builder = Builder { is_urgent: true, ..self.hive.clone() };
        let builder = builder.bees(count).max_bees(count).pin(Pin::None).barrier(BarrierShape::Flat);
        let config = builder.resolve(&environment, machine_info.usable_cpus());
        let mut config = config.map_err(|error| BuildError::Io(io::Error::other(error)))?;
        if config.learns_to_poll {
            config.spin = DEFAULT_SPIN;
        }
        let place_map = PlaceMap::build(&config.places, count, count, &machine_info);
        let place_map = place_map.unwrap_or_else(|error| unreachable!("no thread has a place: {error}"));
        let rules = PoolRules::new(threads, parts, self.is_breadth_first);
        let state = TaskPoolState::new(rules, first_bee, pool_threads.unwrap_or(usize::MAX));
        Ok(Shared::new(config, machine_info, place_map, None, Some(state)))
    }
}

/// Makes the calling thread bee 0 of a pool that is being built. If the pool cannot be built, the drop of the result
/// has the thread belong to no pool again. The other threads of the pool run what this one has queued; if there are
/// none, it does so itself.
fn make_first_thread(shared: &Arc<Shared>) -> impl Drop + use<> {
    // The thread's share in the pool: what is still queued when the last share is given up is run there and then.
    let owner = LiveOwner::new(shared);
    // SAFETY: the owner keeps it until the context is gone.
    let team: &'static Team = unsafe { &(*Arc::as_ptr(shared)).team };
    let context = Box::into_raw(Box::new(TaskContext::new(team, 0)));
    // SAFETY: the box is there until `stop_running_tasks`.
    nesting::run_tasks_from_now_on(unsafe { &*context });
    on_drop(move || {
        let team = &owner.shared().team;
        if team.policy().is_forked() {
            // What is queued is the parent's, and its threads are not in this process.
            return;
        }
        team.end_hiring(1);
        // SAFETY: it is there until the end of this function.
        let lent = unsafe { &*context };
        if team.has_worker() {
            lent.inject_remaining()
        } else {
            lent.run_all()
        }
        nesting::stop_running_tasks(lent);
        // SAFETY: it is from a box, and nothing refers to it any more.
        drop(unsafe { Box::from_raw(context) });
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_polls_for_a_shorter_time_than_a_hive_if_nobody_has_chosen_one() {
        // As in the other tests, the environment says nothing.
        let pool = PoolBuilder::default().shared(1, 2).unwrap();
        let hive = Builder::default().bees(2).pin(Pin::None).build().unwrap();
        let policy = pool.team.policy();
        assert_eq!((policy.spin, policy.is_learning), (DEFAULT_SPIN, true));
        assert!(hive.shared.team.policy().spin > DEFAULT_SPIN);
    }
}
