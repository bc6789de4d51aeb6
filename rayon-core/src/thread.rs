//! Threads as a spawn handler gets them.

use std::cell::Cell;
use std::marker::PhantomData;
use std::{fmt, io, thread};

use hive::adapters::task_pool::thread::PoolThread;

/// A thread that a pool needs, for a [`spawn_handler`](crate::ThreadPoolBuilder::spawn_handler): it has to be made, and
/// to call [`run`](Self::run).
pub struct ThreadBuilder {
    pub(crate) name: Option<String>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) thread: PoolThread,
    /// As in Rayon, it can be sent to another thread, but not shared.
    pub(crate) not_sync: PhantomData<Cell<()>>,
}

impl ThreadBuilder {
    /// The number of the thread in its pool, from 0.
    pub fn index(&self) -> usize {
        self.thread.index()
    }

    /// The name that the thread is to have.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The size that the thread's stack is to have, in bytes.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Runs the pool's tasks on the calling thread until the pool has ended.
    pub fn run(self) {
        self.thread.run();
    }

    /// A thread with this name and stack size that has not been started.
    pub(crate) fn to_std(&self) -> thread::Builder {
        let mut builder = thread::Builder::new();
        if let Some(name) = self.name() {
            builder = builder.name(name.to_owned());
        }
        if let Some(bytes) = self.stack_size() {
            builder = builder.stack_size(bytes);
        }
        builder
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index())
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

/// What starts the threads of a pool. It is public because it bounds public functions, and cannot be named outside.
pub trait ThreadSpawn {
    /// Starts a thread.
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Starts threads by the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.to_std().spawn(|| thread.run()).map(drop)
    }
}

/// Starts threads by a function of the program.
#[derive(Debug)]
pub struct CustomSpawn<F>(pub(crate) F);

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}
