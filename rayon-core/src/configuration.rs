//! What `ThreadPoolBuilder` was called before it had that name.

#![allow(deprecated)]

use std::any::Any;
use std::error::Error;

use crate::builder::ThreadPoolBuilder;
use crate::pool::ThreadPool;

/// Settings of a pool that is to be built.
#[deprecated(note = "`ThreadPoolBuilder` does the same")]
#[derive(Debug, Default)]
pub struct Configuration(ThreadPoolBuilder);

impl Configuration {
    /// The default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// See [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    /// As that.
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error + 'static>> {
        self.0.build().map_err(Box::from)
    }

    /// See [`ThreadPoolBuilder::thread_name`].
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(self, name: F) -> Self {
        Self(self.0.thread_name(name))
    }

    /// See [`ThreadPoolBuilder::num_threads`].
    pub fn num_threads(self, num_threads: usize) -> Self {
        Self(self.0.num_threads(num_threads))
    }

    /// See [`ThreadPoolBuilder::panic_handler`].
    pub fn panic_handler<H>(self, handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        Self(self.0.panic_handler(handler))
    }

    /// See [`ThreadPoolBuilder::stack_size`].
    pub fn stack_size(self, bytes: usize) -> Self {
        Self(self.0.stack_size(bytes))
    }

    /// See [`ThreadPoolBuilder::breadth_first`].
    pub fn breadth_first(self) -> Self {
        Self(self.0.breadth_first())
    }

    /// See [`ThreadPoolBuilder::start_handler`].
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self(self.0.start_handler(handler))
    }

    /// See [`ThreadPoolBuilder::exit_handler`].
    pub fn exit_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self(self.0.exit_handler(handler))
    }
}

impl ThreadPool {
    /// Builds a pool.
    ///
    /// # Errors
    /// As [`ThreadPoolBuilder::build`].
    #[deprecated(note = "`ThreadPoolBuilder::build` does the same")]
    pub fn new(configuration: Configuration) -> Result<Self, Box<dyn Error>> {
        configuration.build()
    }
}

/// Builds the global pool: see [`ThreadPoolBuilder::build_global`].
///
/// # Errors
/// As that.
#[deprecated(note = "`ThreadPoolBuilder::build_global` does the same")]
pub fn initialize(configuration: Configuration) -> Result<(), Box<dyn Error>> {
    configuration.0.build_global().map_err(Box::from)
}
