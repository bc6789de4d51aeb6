//! Lets a guest library own some of the hive's worker threads: the library's code runs on the thread from its first
//! step to its last, and calls the worker's main function in between.
//!
//! The rayon adapter uses this so that a worker of the hive is also a worker of a rayon pool. It gives the builder a
//! [`StartGuest`], which is called while the hive is built; the hive's handle holds the [`Guest`] that this returns.
//! `Shared::start_worker` asks [`ThreadHosts::host_for`] for what each new thread has to run.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::pool::error::Error;
use crate::pool::handlers::Handlers;

/// A guest library that runs on a hive's threads. Its adapter finds it in the hive's handle by its type.
pub(crate) trait Guest: Send + Sync {
    /// Gives up the handle's share in the guest, which ends with its last share. Called on the thread that drops the
    /// hive, before the workers are terminated: they can still help, and their threads, which do not end before the
    /// guest, are not waited for yet. `is_forked`: this process is a forked child of the one that built the hive. It
    /// has none of the workers, so this must neither run the guest's jobs nor wait.
    fn leave(self: Box<Self>, is_forked: bool);

    /// The guest as a value whose type can be asked for. (From Rust 1.86 a conversion does this.)
    #[cfg_attr(not(feature = "rayon"), allow(dead_code))]
    fn as_any(&self) -> &dyn Any;
}

/// Starts a guest library in a hive that starts with `bees` bees and has these handlers. Called on the thread that
/// builds the hive, before any worker's thread exists; the guest reserves in `hosts` the threads that it wants to own.
pub(crate) type StartGuest = fn(bees: u32, handlers: &Handlers, hosts: &ThreadHosts) -> Result<Box<dyn Guest>, Error>;

/// The main function of a worker: it begins when the worker has been hired and returns when the worker has been
/// terminated.
pub(crate) type WorkerMain = Box<dyn FnOnce() + Send>;

/// The guest's main function for one thread. It gets the worker's main function and calls it exactly once.
pub(crate) type ThreadHost = Box<dyn FnOnce(WorkerMain) + Send>;

/// The hosts that a guest has reserved and that no thread has taken yet, by the number of the worker that each is for.
#[derive(Default)]
pub(crate) struct ThreadHosts(Mutex<BTreeMap<u32, ThreadHost>>);

impl ThreadHosts {
    /// Makes the thread of `worker`, which must not have been hired yet, run `host`.
    #[cfg(feature = "rayon")]
    pub(crate) fn reserve(&self, worker: u32, host: ThreadHost) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(worker, host);
    }

    /// Returns what the thread of `worker` has to run: the host reserved for it, around `main`; or `main` alone if
    /// there is no such host. Takes the host out of the table.
    pub(crate) fn host_for<L: FnOnce() + Send + 'static>(&self, worker: u32, main: L) -> impl FnOnce() + Send + use<L> {
        let main = Box::new(main) as WorkerMain;
        let host = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&worker);
        move || match host {
            Some(host) => host(main),
            None => main(),
        }
    }

    /// Drops the hosts that no worker's thread has taken. Called when the hive shuts down.
    pub(crate) fn clear(&self) {
        let hosts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        // Dropped after the lock has been released: dropping a host runs the guest's code.
        drop(hosts);
    }
}
