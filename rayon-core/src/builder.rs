//! How a pool is built.

use std::any::Any;
use std::marker::PhantomData;
use std::num::NonZero;
use std::{env, fmt, io, thread};

use hive::adapters::task_pool::builder::PoolBuilder;
use hive::adapters::task_pool::handle::TaskPool;

use crate::error::ThreadPoolBuildError;
use crate::thread::{CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadSpawn};

/// Settings of a pool that is to be built.
///
/// ```
/// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(2).thread_name(|index| format!("solver {index}"));
/// let pool = builder.build()?;
/// assert!(pool.install(|| std::thread::current().name().unwrap().starts_with("solver")));
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    uses_current_thread: bool,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    stack_size: Option<usize>,
    pool: PoolBuilder,
    spawn: S,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            num_threads: 0,
            uses_current_thread: false,
            thread_name: None,
            stack_size: None,
            pool: PoolBuilder::default(),
            spawn: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// A builder with the default settings.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    pub(crate) fn build_pool(self) -> Result<TaskPool, ThreadPoolBuildError> {
        let Self { num_threads, uses_current_thread, mut thread_name, stack_size, pool, mut spawn } = self;
        let threads = if num_threads > 0 { num_threads } else { default_threads() };
        if uses_current_thread {
            // The thread keeps its own name, but the function is called for each index.
            thread_name.as_mut().map(|name| name(0));
        }
        let pool = pool.build(threads, |thread| {
            let name = thread_name.as_mut().map(|name| name(thread.index()));
            spawn.spawn(ThreadBuilder { name, stack_size, thread, not_sync: PhantomData })
        });
        Ok(pool?)
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// The number of threads. With 0, the default, it is that of the variable `RAYON_NUM_THREADS`, or else of
    /// `RAYON_RS_NUM_CPUS`, or else the number of CPUs that the process may use.
    pub fn num_threads(self, num_threads: usize) -> Self {
        Self { num_threads, ..self }
    }

    /// Has work divided as for so many threads, whatever their number and whoever helps. So the results of parallel
    /// iterators with an index depend on their lengths alone, to the last bit. A pool has no more threads than that.
    /// With 0, the default, the variable `HIVE_POOL_PARTS` says the number, or else work is divided as Rayon does.
    ///
    /// Rayon has no such method: a program that calls it does not build without this package.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).fixed_parts(64).build()?;
    /// assert_eq!(pool.install(rayon_core::current_num_threads), 64);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn fixed_parts(self, parts: usize) -> Self {
        Self { pool: self.pool.fixed_parts(parts), ..self }
    }

    /// Makes the calling thread the pool's thread 0, for as long as it lives, so that one thread less is started. It
    /// runs tasks of the pool when it waits for something in the pool, and when it yields.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn(move || sender.send(6 * 7).unwrap());
    /// assert_eq!(rayon_core::yield_now(), Some(rayon_core::Yield::Executed));
    /// assert_eq!(receiver.recv(), Ok(42));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn use_current_thread(self) -> Self {
        Self { uses_current_thread: true, pool: self.pool.use_current_thread(), ..self }
    }

    /// Makes each thread run its oldest task first.
    #[deprecated(note = "`scope_fifo` and `spawn_fifo` do much the same")]
    pub fn breadth_first(self) -> Self {
        Self { pool: self.pool.breadth_first(), ..self }
    }

    /// A function that gives each thread a name, by its index.
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(self, name: F) -> Self {
        Self { thread_name: Some(Box::new(name)), ..self }
    }

    /// The size of the threads' stacks in bytes.
    pub fn stack_size(self, bytes: usize) -> Self {
        Self { stack_size: Some(bytes), ..self }
    }

    /// A function that gets the panics of spawned jobs and of the other handlers. Without it, such a panic ends the
    /// process.
    pub fn panic_handler<H>(self, handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        Self { pool: self.pool.panic_handler(handler), ..self }
    }

    /// A function that each thread calls with its index as it begins.
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self { pool: self.pool.start_handler(handler), ..self }
    }

    /// A function that each thread calls with its index when the pool has ended. What it spawns is still run.
    pub fn exit_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self { pool: self.pool.exit_handler(handler), ..self }
    }

    /// A function that starts the threads. It is called once for each but the calling one (`use_current_thread`), and
    /// has to see to it that the thread calls [`ThreadBuilder::run`].
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| {
    ///         std::thread::spawn(|| thread.run());
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            spawn: CustomSpawn(spawn),
            num_threads: self.num_threads,
            uses_current_thread: self.uses_current_thread,
            thread_name: self.thread_name,
            stack_size: self.stack_size,
            pool: self.pool,
        }
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("stack_size", &self.stack_size)
            .field("has_thread_name", &self.thread_name.is_some())
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}

/// How many threads a pool has whose program does not say.
pub(crate) fn default_threads() -> usize {
    let variable = |name| env::var(name).ok().and_then(|value| value.parse::<usize>().ok());
    // A 0 in the first one asks for the number of CPUs, whatever the second one says.
    let asked = variable("RAYON_NUM_THREADS").or_else(|| variable("RAYON_RS_NUM_CPUS"));
    asked.filter(|&threads| threads > 0).unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZero::get))
}
